package present

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"iter"
	"slices"
)

// Listing selects archived addresses, for a list of their versions.
type Listing struct {
	// Key returns the key of an address. The list is in the order of keys.
	Key func(address string) string
	// In reports whether addresses with this key are selected.
	In func(key string) bool
	// Origin reports whether addresses of an origin, such as http://example.com, may be selected. Addresses
	// of other origins are not read.
	Origin func(origin string) bool
	// Addresses are the only addresses that may be selected; nil: all. The rest of the archive is not read.
	Addresses []string
	// Text describes the listing for another process, in a form that the caller of List chooses. List does not use it.
	Text string

	held int // number of addresses held in memory; 0: mostHeld
}

// mostHeld is the number of addresses that a listing holds in memory.
const mostHeld = 20_000

// List returns the versions of the selected addresses that the reader may see. They are in the
// order of their keys; versions with the same key are in the order of time. List leaves out
//
//   - addresses to which the reader may not see a link,
//   - pages whose policy cannot be read,
//   - versions of the page to which a selected address redirects.
//
// An error ends the list. List reads the selected origins once for every 20,000 selected
// addresses, so that its memory is bounded.
func (p *Presenter) List(ctx context.Context, l Listing, who Reader) iter.Seq2[Version, error] {
	return func(yield func(Version, error) bool) {
		l.held = cmp.Or(l.held, mostHeld)
		var after keyed
		for more := true; more; {
			list, err := p.selected(ctx, l, after)
			if more = len(list) == l.held; more {
				list = whole(list)
				after = list[len(list)-1]
			}
			for len(list) > 0 && err == nil {
				same := 1
				for same < len(list) && list[same].key == list[0].key {
					same++
				}
				var versions []Version
				versions, err = p.listed(ctx, list[:same], who)
				for _, v := range versions {
					if !yield(v, nil) {
						return
					}
				}
				list = list[same:]
			}
			if err != nil {
				yield(Version{}, err)
				return
			}
		}
	}
}

// keyed is an address with its key.
type keyed struct{ key, address string }

func compareKeyed(a, b keyed) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.address, b.address))
}

// whole removes the addresses with the last key, because list may not contain all addresses with
// this key. If all addresses have the same key, whole returns the whole list.
func whole(list []keyed) []keyed {
	last := list[len(list)-1].key
	if n := slices.IndexFunc(list, func(k keyed) bool { return k.key == last }); n > 0 {
		return list[:n]
	}
	return list
}

// selected returns the first selected addresses after the given one, in order.
func (p *Presenter) selected(ctx context.Context, l Listing, after keyed) ([]keyed, error) {
	var first largest
	add := func(address string) {
		k := keyed{l.Key(address), address}
		if compareKeyed(k, after) <= 0 || !l.In(k.key) || len(first) == l.held && compareKeyed(k, first[0]) >= 0 {
			return
		}
		if heap.Push(&first, k); len(first) > l.held {
			heap.Pop(&first)
		}
	}
	for _, address := range l.Addresses {
		add(address)
	}
	if l.Addresses == nil {
		if err := p.eachAddress(ctx, l.Origin, add); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(first, compareKeyed)
	return first, nil
}

func (p *Presenter) eachAddress(ctx context.Context, wanted func(origin string) bool, fn func(string)) error {
	for origin, err := range p.library.Origins(ctx) {
		if err != nil {
			return err
		}
		if !wanted(origin) {
			continue
		}
		for address, err := range p.library.Addresses(ctx, origin+"/") {
			if err != nil {
				return err
			}
			fn(address)
		}
	}
	return nil
}

// listed returns the versions of addresses, in order of time. See List.
func (p *Presenter) listed(ctx context.Context, addresses []keyed, who Reader) (all []Version, err error) {
	for _, one := range addresses {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		open, _, err := p.Listed(ctx, one.address, who)
		if err != nil {
			return nil, err
		}
		if !open {
			continue
		}
		list, _, err := p.listVersions(ctx, []string{one.address}, who)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b Version) int { return a.Fetched.Compare(b.Fetched) })
	return all, nil
}

// largest is a heap of addresses whose first element has the largest key.
type largest []keyed

func (l largest) Len() int           { return len(l) }
func (l largest) Less(i, j int) bool { return compareKeyed(l[i], l[j]) > 0 }
func (l largest) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *largest) Push(x any)        { *l = append(*l, x.(keyed)) }
func (l *largest) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

// errStop ends a walk through the archive when the caller needs no more strings.
var errStop = errors.New("no more is needed")

func (l stored) Origins(ctx context.Context) iter.Seq2[string, error] {
	return walked(ctx, l.archive.EachOrigin)
}

func (l stored) Addresses(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return walked(ctx, func(fn func(string) error) error { return l.archive.EachAddress(prefix, fn) })
}

// walked returns the strings that each passes to its function. If ctx ends, or each fails, the
// last element is the error.
func walked(ctx context.Context, each func(func(string) error) error) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := each(func(one string) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !yield(one, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield("", err)
		}
	}
}
