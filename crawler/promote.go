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

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// ErrFull means that no further address of a host is recorded, because FrontierOptions.MaxHost is
// reached.
var ErrFull = errors.New("the host has too many addresses")

// Promote queues an address ahead of all other addresses of its host, whatever the state of the
// address is (P1 2.6.2: re-crawl), and returns when that is durable. P1 2.6.2 (P08): scope and
// policy are checked when the address is visited. Until then Get returns a queued record, and
// afterwards the outcome. An unknown address counts as a link of a seed; Promote returns an error
// that wraps ErrFull if the address cannot be recorded. An address that was promoted and not
// visited since is not changed.
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

// promote queues url because of a re-crawl request. full says why it is not recorded.
func (b *batch) promote(url string) (full, err error) {
	r, found, err := b.get(url)
	if err != nil {
		return nil, err
	}
	name, h, err := b.hostFor(r.URL)
	switch {
	case err != nil:
		return nil, err
	case b.asked.Get(askedKey(name, r.URL)) != nil:
		return nil, nil
	case !found && b.f.o.MaxHost > 0 && h.known >= b.f.o.MaxHost:
		return fmt.Errorf("%s is not visited, since %d addresses of %s are recorded, which is the limit: %w", r.URL,
			h.known, name, ErrFull), nil
	case !found:
		r.Depth = 1
	}
	r.When = b.f.now().UTC()
	return nil, b.enqueueFirst(&r, r.State, found)
}

// enqueueFirst queues r ahead of all other addresses of its host, because of a re-crawl request.
func (b *batch) enqueueFirst(r *Record, old State, found bool) error {
	host, err := address.Host(r.URL)
	if err != nil {
		return err
	}
	r.Tries, r.Status, r.Why, r.Led = 0, 0, "", ""
	return errors.Join(b.asked.Put(askedKey(host, r.URL), number(0)), b.enqueue(r, old, found, promoted, 0))
}

// askedKey returns a key of the bucket of re-crawl requests: host, NUL, address. A host contains no
// NUL.
func askedKey(host, address string) []byte { return []byte(host + "\x00" + address) }

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// Begin starts a run with a selection of queued addresses. It requeues fetched seeds that an
// earlier run found from another seed, so that their links count as found from them.
func (f *Frontier) Begin(s Selection) error {
	if !f.shared() { // otherwise the cluster offers the seeds to their owners, once
		if _, err := f.AddSeeds(s.Seeds...); err != nil {
			return err
		}
	}
	selected, err := f.selectFrom(s.Seeds)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.only, f.exact, f.skipped = s.Promoted, s.Exact, s.Skipped
	early := f.early
	f.early = nil
	f.selected.Store(&selected)
	for _, h := range f.hosts { // forget the addresses in memory: they may belong to another selection
		h.items, h.dry = nil, false
		f.offerHost(h)
	}
	err = f.view(f.readDueTimes)
	f.mu.Unlock()
	for _, r := range early {
		if s.Skipped != nil {
			s.Skipped(r)
		}
	}
	if err != nil || s.Promoted || selected.from == nil || f.shared() {
		return err
	}
	return f.revisitSeeds(s.Seeds)
}

// parts returns the parts of a host's queue from which this run may lease, each as the prefix of
// its keys. prefix is the prefix of all keys of the queue. The caller holds f.mu.
func (f *Frontier) parts(prefix []byte) [][]byte {
	if !f.only {
		return [][]byte{prefix}
	}
	return [][]byte{append(bytes.Clone(prefix), byte(promoted)), append(bytes.Clone(prefix), byte(retried))}
}

// waiting returns the hosts that have queued addresses which may be leased, with their due times in
// nanoseconds, the earliest first. The caller holds f.mu.
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

// hostDue is a host with the time, in nanoseconds, when the host is due.
type hostDue struct {
	at   int64
	name string
}

// waitingAsked is like waiting for a run that leases only addresses which re-crawl requests name.
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
		h, _ := decodeHost(hosts.Get([]byte(all[i].name))) // a damaged record is reported when the host is loaded
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

// readyAsked reads from disk when the first address of a host that a re-crawl request names is due.
// It is called only in a run that leases only such addresses. The caller holds f.mu.
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
