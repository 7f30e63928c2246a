package crawler

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/address"
)

// ErrFull means that so many addresses of a host are noted that no further one is
// (FrontierOptions.MaxHost).
var ErrFull = errors.New("the host has too many addresses")

// Promote queues an address ahead of everything else of its host, whatever became of it before (P1
// 2.6.2: re-crawl), and returns when that is durable. Scope and policy are asked when its turn
// comes (P08): then Get tells what became of it, and until then that it is queued. One that is not
// known yet counts as a link of a seed; there is an ErrFull where it is not noted. One that was
// promoted and not visited since stays as it is.
func (f *Frontier) Promote(raw string) error {
	u, err := address.Normal(raw)
	if err != nil {
		return err
	}
	c := &change{promote: u}
	if err := f.wait(c); err != nil {
		return err
	}
	return c.full
}

func (b *batch) promote(c *change) error {
	r, found, err := b.get(c.promote)
	if err != nil {
		return err
	}
	name, h, err := b.hostFor(r.URL)
	switch {
	case err != nil:
		return err
	case b.asked.Get(askedKey(name, r.URL)) != nil:
		return nil
	case !found && b.f.o.MaxHost > 0 && h.known >= b.f.o.MaxHost:
		c.full = fmt.Errorf("%s is not visited, since %d addresses of %s are noted, which is the limit: %w", r.URL,
			h.known, name, ErrFull)
		return nil
	case !found:
		r.Depth = 1
	}
	r.When = b.f.now().UTC()
	return b.first(&r, r.State, found)
}

// first queues r ahead of everything else of its host, since a re-crawl asks for it.
func (b *batch) first(r *Record, old State, found bool) error {
	host, err := address.Host(r.URL)
	if err != nil {
		return err
	}
	r.Tries, r.Status, r.Why, r.Led = 0, 0, "", ""
	return errors.Join(b.asked.Put(askedKey(host, r.URL), number(0)), b.enqueue(r, old, found, promoted, 0))
}

// askedKey is host, NUL, address; hosts hold no NUL.
func askedKey(host, address string) []byte { return []byte(host + "\x00" + address) }

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// Begin starts a run. Seeds that an earlier run found from another seed and fetched are queued
// again, so that their links count as found from them.
func (f *Frontier) Begin(s Selection) error {
	if _, err := f.AddSeeds(s.Seeds...); err != nil {
		return err
	}
	selected, err := f.selectFrom(s.Seeds)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.only, f.exact, f.skipped = s.Promoted, s.Exact, s.Skipped
	f.selected.Store(&selected)
	for _, h := range f.hosts { // what was read ahead was read for all
		h.items, h.dry = nil, false
		f.offerHost(h)
	}
	err = f.view(f.begin)
	f.mu.Unlock()
	if err != nil || s.Promoted || selected.from == nil {
		return err
	}
	return f.revisitSeeds(s.Seeds)
}

// parts gives the beginnings of the keys of a queue, which begin with prefix, that hold what may be
// leased. f.mu is held.
func (f *Frontier) parts(prefix []byte) [][]byte {
	if !f.only {
		return [][]byte{prefix}
	}
	return [][]byte{append(bytes.Clone(prefix), byte(promoted)), append(bytes.Clone(prefix), byte(retried))}
}

// waiting gives the hosts that have something queued which may be leased, with when they are due,
// those due first. f.mu is held.
func (f *Frontier) waiting(tx *bbolt.Tx) iter.Seq2[int64, string] {
	if f.only {
		return f.waitingAsked(tx)
	}
	if s := f.selected.Load(); s != nil && s.from != nil {
		return f.waitingSelected(tx, *s)
	}
	return func(yield func(int64, string) bool) {
		cursor := tx.Bucket(bReady).Cursor()
		for k, _ := cursor.First(); k != nil && yield(splitTime(k)); k, _ = cursor.Next() {
		}
	}
}

// hostDue is when a host is due, in nanoseconds.
type hostDue struct {
	at   int64
	name string
}

// waitingAsked is waiting where what re-crawls ask for is leased alone.
func (f *Frontier) waitingAsked(tx *bbolt.Tx) iter.Seq2[int64, string] {
	var all []hostDue
	hosts, asked := tx.Bucket(bHosts), tx.Bucket(bAsked).Cursor()
	for k, v := asked.First(); k != nil; k, v = asked.Next() {
		name, _, _ := strings.Cut(string(k), "\x00")
		at := int64(binary.BigEndian.Uint64(v))
		if last := len(all) - 1; last >= 0 && all[last].name == name {
			all[last].at = min(all[last].at, at)
			continue
		}
		all = append(all, hostDue{at, name})
	}
	for i := range all {
		h, _ := decodeHost(hosts.Get([]byte(all[i].name))) // who takes it meets the error
		all[i].at = max(all[i].at, nanos(h.due), 1)
	}
	slices.SortFunc(all, func(a, b hostDue) int { return cmp.Compare(a.at, b.at) })
	return func(yield func(int64, string) bool) {
		for _, d := range all {
			if !yield(d.at, d.name) {
				return
			}
		}
	}
}

// readyAsked is when what re-crawls ask for of a host is due by the index on disk, where that alone
// is leased. f.mu is held.
func (f *Frontier) readyAsked(h *hostRecord, name string) (at time.Time) {
	prefix, first := askedKey(name, ""), int64(math.MaxInt64)
	err := f.view(func(tx *bbolt.Tx) error {
		asked := tx.Bucket(bAsked).Cursor()
		for k, v := asked.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = asked.Next() {
			first = min(first, int64(binary.BigEndian.Uint64(v)))
		}
		return nil
	})
	if err != nil {
		f.err = err
	}
	return instant(max(first, nanos(h.due), 1))
}
