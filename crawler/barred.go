package crawler

import (
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// bar says that address must not be visited while the address down is taken down. Both addresses
// are equal, or address redirects to down.
type bar struct{ address, down string }

// Bar records that the addresses in down, in normal form, are taken down (P1 2.6.1). It marks pages
// and required resources that were visited at these addresses, so that Lift can queue them again.
func (f *Frontier) Bar(down ...string) error {
	var bars []bar
	for _, address := range down {
		bars = append(bars, bar{address, address})
	}
	return f.bar(bars)
}

// BarLed records that the addresses in led redirect to the address down, which is taken down.
// Otherwise it is like Bar.
func (f *Frontier) BarLed(down string, led ...string) error {
	var bars []bar
	for _, address := range led {
		bars = append(bars, bar{address, down})
	}
	return f.bar(bars)
}

// bar tells the writer which addresses must not be visited while a take-down is in force. It leaves
// out those whose records would not change.
func (f *Frontier) bar(bars []bar) error {
	if len(bars) == 0 {
		return nil
	}
	c, owned := &change{}, f.ownership()
	bars = slices.DeleteFunc(bars, func(bar bar) bool {
		if owned(bar.address) {
			return false
		}
		c.offers = append(c.offers, Offer{URL: bar.address, Down: bar.down}) // its owner records it
		return true
	})
	err := f.view(func(tx *bbolt.Tx) error {
		known := tx.Bucket(bKnown)
		note := func(address, down string, v []byte) error {
			r, err := decodeRecord(address, v)
			if err == nil && r.canBeBarred() {
				c.bars = append(c.bars, bar{address, down})
			}
			return err
		}
		parts := known.Cursor()
		for _, bar := range bars {
			if v := known.Get([]byte(bar.address)); v != nil {
				if err := note(bar.address, bar.down, v); err != nil {
					return err
				}
			}
			if bar.address != bar.down {
				continue
			}
			for k, v := parts.Seek([]byte(required + bar.down)); hasPrefix(k, required+bar.down); k, v = parts.Next() {
				address, _, _ := partOf(string(k))
				if address != bar.down {
					break
				}
				if err := note(string(k), bar.down, v); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil || len(c.bars) == 0 && len(c.offers) == 0 {
		return err
	}
	return f.wait(c)
}

// barOffered does for one address what Bar and BarLed do.
func (b *batch) barOffered(o *Offer) error {
	bars := []bar{{o.URL, o.Down}}
	if o.URL == o.Down {
		prefix, parts := required+o.URL, b.known.Cursor()
		for k, _ := parts.Seek([]byte(prefix)); hasPrefix(k, prefix); k, _ = parts.Next() {
			if address, _, _ := partOf(string(k)); address != o.URL {
				break
			}
			bars = append(bars, bar{string(k), o.Down})
		}
	}
	return b.bar(bars)
}

// canBeBarred reports whether a take-down must be recorded in r, so that r is queued again when the
// take-down is lifted. For a queued address, the next visit finds out whether it is taken down.
func (r *Record) canBeBarred() bool {
	return r.State != Queued && !notAskedFor(r.State) && r.Led == "" && r.TakenDown == ""
}

func (b *batch) bar(bars []bar) error {
	for _, bar := range bars {
		r, found, err := b.get(bar.address)
		if err != nil {
			return err
		}
		if !found || !r.canBeBarred() || !b.owns(r.URL) {
			continue
		}
		if _, _, part := partOf(bar.address); !part && bar.down != bar.address {
			r.Led = bar.down
		}
		r.TakenDown = bar.down
		if err := b.put(&r, r.State, true); err != nil {
			return err
		}
	}
	return nil
}

// Barred returns addresses that are taken down and because of which other addresses are not
// visited. Queue.Barred describes the parameters prefix and after.
func (f *Frontier) Barred(prefix, after string) (down []string, err error) {
	err = f.view(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(bBarred).Cursor()
		for k, _ := cursor.Seek([]byte(max(prefix, after+"\x01"))); k != nil && hasPrefix(k, prefix) &&
			len(down) < maxBarred; {
			address, _, _ := strings.Cut(string(k), "\x00")
			down = append(down, address)
			k, _ = cursor.Seek([]byte(address + "\x01"))
		}
		return nil
	})
	return down, err
}

// maxBarred is the largest number of addresses that one call of Barred returns.
const maxBarred = 1000

// Lift queues addresses again, at their depth, that were not visited because of a take-down that is
// no longer in force. It calls stands for each taken-down address that begins with prefix; the
// empty prefix matches all. stands reports whether the take-down is still in force. Lift returns
// how many addresses it queued.
func (f *Frontier) Lift(prefix string, stands func(address string) bool) (int, error) {
	return lift(f, prefix, stands)
}

func lift(q Queue, prefix string, stands func(address string) bool) (n int, err error) {
	for after := ""; ; {
		down, err := q.Barred(prefix, after)
		if err != nil || len(down) == 0 {
			return n, err
		}
		after = down[len(down)-1]
		if down = slices.DeleteFunc(down, stands); len(down) == 0 {
			continue
		}
		added, err := q.Requeue(Filter{Barred: down})
		if n += added; err != nil {
			return n, err
		}
	}
}

// lift queues the addresses that were not visited because an address in c.requeue.Barred was taken
// down. One call queues at most maxOffers addresses and sets c.next if more remain.
func (b *batch) lift(c *change) error {
	var picked []Record
	for _, down := range c.requeue.Barred {
		prefix := down + "\x00"
		cursor := b.barred.Cursor()
		for k, _ := cursor.Seek([]byte(prefix)); k != nil && hasPrefix(k, prefix); k, _ = cursor.Next() {
			if len(picked) == maxOffers {
				c.next = down
				break
			}
			r, found, err := b.get(string(k[len(prefix):]))
			if err != nil {
				return err
			}
			if found && r.TakenDown == down && b.owns(r.URL) && c.requeue.matches(&r) {
				picked = append(picked, r)
			}
		}
	}
	c.added = len(picked)
	return b.enqueueAgain(picked)
}

// updateBarred updates the bucket of barred addresses if the take-down recorded in r has changed.
func (b *batch) updateBarred(r *Record) error {
	if r.marked != "" {
		if err := b.barred.Delete(barKey(r.marked, r.URL)); err != nil {
			return err
		}
	}
	if r.marked = r.TakenDown; r.TakenDown == "" {
		return nil
	}
	return b.barred.Put(barKey(r.TakenDown, r.URL), nil)
}

// barKey returns a key of the bucket of barred addresses: the address that is taken down, NUL, the
// address that is not visited.
func barKey(down, address string) []byte { return []byte(down + "\x00" + address) }
