package crawler

import (
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// The buckets of a file with a journal. Without a journal they do not exist.
var (
	bPartitions = []byte("partitions") // number of a partition → stamp: the partitions of which the file has data
	bMembers    = []byte("members")    // number of a partition, host → nothing: the hosts in bHosts by partition
)

// partition is a partition that this machine owns. Its fields are guarded by Frontier.mu.
type partition struct {
	number  int
	open    bool          // addresses of its hosts may be leased, and changes are accepted
	over    bool          // the partition is no longer owned; this value is not used again
	ended   chan struct{} // closed when over becomes true
	since   time.Time     // when it was adopted
	asked   bool          // a host of the partition may have been requested before it was adopted
	leases  int           // number of leases that have not ended
	stamp   stamp         // as committed
	adopted uint64        // see Entry.Adopted
	drained chan struct{} // receives a value when leases becomes 0 and open is false
}

// stamp says which part of the journal of a partition the file contains.
type stamp struct {
	journal  uint64 // position of the last entry that was applied
	links    uint64 // position of the last offers from other partitions that were applied
	dropping bool   // the data are incomplete, because they are being deleted
}

const stampSize = 17

func (s stamp) encode() []byte {
	b := make([]byte, 0, stampSize)
	if s.dropping {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.BigEndian.AppendUint64(b, s.journal)
	return binary.BigEndian.AppendUint64(b, s.links)
}

func decodeStamp(b []byte) (stamp, error) {
	if len(b) != stampSize || b[0] > 1 {
		return stamp{}, errRecord
	}
	return stamp{binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint64(b[9:]), b[0] == 1}, nil
}

func partitionKey(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func memberKey(n int, host string) []byte { return append(partitionKey(n), host...) }

// shared reports whether several machines share the crawl.
func (f *Frontier) shared() bool { return f.o.Journal != nil }

// openOf returns the partition of a host if it is open, otherwise nil. The caller holds f.mu.
func (f *Frontier) openOf(host string) *partition {
	if p := f.partitions[f.o.Journal.Partition(host)]; p != nil && p.open {
		return p
	}
	return nil
}

// ownership returns a function that reports whether the partition of an address is open. One
// machine owns everything.
func (f *Frontier) ownership() func(url string) bool {
	if !f.shared() {
		return func(string) bool { return true }
	}
	hosts := map[string]bool{}
	return func(url string) bool {
		host, err := address.Host(url)
		if err != nil {
			return false
		}
		owned, found := hosts[host]
		if !found {
			f.mu.Lock()
			owned = f.openOf(host) != nil
			f.mu.Unlock()
			hosts[host] = owned
		}
		return owned
	}
}

// Owned returns the numbers of the partitions that are adopted, in order.
func (f *Frontier) Owned() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.partitions))
}

// Stored returns the numbers of all partitions of which the file has complete data, in order. After
// Open these are the partitions that were owned when the frontier was closed. Lose removes those
// that are owned no longer.
func (f *Frontier) Stored() (list []int, err error) {
	err = f.eachStamp(func(n int, s stamp) {
		if !s.dropping {
			list = append(list, n)
		}
	})
	return list, err
}

func (f *Frontier) eachStamp(fn func(n int, s stamp)) error {
	return f.view(func(tx *bbolt.Tx) error {
		stamps := tx.Bucket(bPartitions)
		if stamps == nil {
			return nil
		}
		return stamps.ForEach(func(k, v []byte) error {
			s, err := decodeStamp(v)
			if err == nil {
				fn(int(binary.BigEndian.Uint32(k)), s)
			}
			return err
		})
	})
}

// Position returns up to which position of its journal the file contains the partition, and up to
// which position of the stream of links from other partitions. known is false if the file does not
// contain the partition. It is false also if the file cannot be read; Adopt reports the error.
func (f *Frontier) Position(partition int) (journal, links uint64, known bool) {
	f.mu.Lock()
	_, dropping := f.drops[partition]
	f.mu.Unlock()
	if dropping {
		return 0, 0, false
	}
	s, known, err := f.stampOf(partition)
	return s.journal, s.links, known && err == nil
}

func (f *Frontier) stampOf(partition int) (s stamp, known bool, err error) {
	err = f.view(func(tx *bbolt.Tx) error {
		v := tx.Bucket(bPartitions).Get(partitionKey(partition))
		if v == nil {
			return nil
		}
		s, err = decodeStamp(v)
		known = !s.dropping
		return err
	})
	if !known {
		s = stamp{}
	}
	return s, known, err
}

// Release gives a partition up: it leases no more of its addresses, waits until all its leases have
// ended and all its changes are in the journal, and then forgets it. When Release returns nil,
// another machine may adopt the partition. The file is cleaned in the background. If ctx ends
// first, the partition stays owned but nothing of it is leased; then call Lose.
func (f *Frontier) Release(ctx context.Context, partition int) error {
	f.mu.Lock()
	p := f.partitions[partition]
	if p == nil {
		f.mu.Unlock()
		f.Lose(partition)
		return nil
	}
	p.open = false
	for _, h := range f.hosts {
		if h.part == p {
			f.offerHost(h) // removes h from the schedule
		}
	}
	f.mu.Unlock()
	for f.leasesOf(p) > 0 {
		select {
		case <-p.drained:
		case <-p.ended:
			return ErrLost
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := f.Flush(); err != nil {
		return err
	}
	if !f.lose(p) {
		return ErrLost
	}
	return nil
}

func (f *Frontier) leasesOf(p *partition) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return p.leases
}

// Lose forgets a partition at once, because another machine may own it by now. Its leases end with
// ErrLost. Changes that are not in the journal are dropped. Lose does not wait; the file is cleaned
// in the background. Lose also removes a partition that the file contains but that is not adopted.
func (f *Frontier) Lose(partition int) {
	f.mu.Lock()
	p, a := f.partitions[partition], f.adopting[partition]
	if a != nil {
		a.lost = true // Adopt notices it and removes the partition
	}
	f.mu.Unlock()
	switch {
	case p != nil:
		f.lose(p)
	case a == nil:
		f.drop(partition)
	}
}

// lose removes p from memory and begins to remove it from the file. It returns false if that was
// done before.
func (f *Frontier) lose(p *partition) bool {
	f.mu.Lock()
	defer f.signal()
	defer f.mu.Unlock()
	if p.over {
		return false
	}
	p.open, p.over = false, true
	close(p.ended)
	f.leases -= p.leases
	delete(f.partitions, p.number)
	for name, h := range f.hosts {
		if h.part != p {
			continue
		}
		if h.index >= 0 {
			heap.Remove(&f.due, h.index)
		}
		delete(f.hosts, name)
	}
	f.dropLocked(p.number)
	return true
}

// Wake makes Next look again whether it may lease. Call it when Journal.Until has moved.
func (f *Frontier) Wake() { f.signal() }

// Finish says that the crawl ends when nothing is left: from now on Next returns ErrIdle if Idle
// would return true. Before that, Next waits, because other machines may send links.
func (f *Frontier) Finish() {
	f.mu.Lock()
	f.finishing = true
	f.mu.Unlock()
	f.signal()
}

// Idle reports whether this machine has nothing to do: no owned host is due within the patience,
// nothing is leased, and every change is committed.
func (f *Frontier) Idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	// loading corrects the time when the first host outside the working set is due
	for (len(f.due) == 0 || f.due[0].due.After(now)) && f.load(now) {
	}
	return f.idle(now)
}

// idle is Idle for a caller that holds f.mu and has called load.
func (f *Frontier) idle(now time.Time) bool {
	due := f.nextDue()
	return f.pending == 0 && f.leases == 0 && len(f.adopting) == 0 && !f.crowded &&
		(due.IsZero() || due.Sub(now) > f.o.Patience)
}

// Abort makes the calls of the journal under way fail, and every later change. Call it before Close
// if the other machines cannot be reached and Close must not wait for them.
func (f *Frontier) Abort() { f.abort() }

// SetSeeds stores the numbers of seeds, in normal form. The numbers are the same on all machines.
// An offer of a seed without a number is an error. The number of a seed never changes.
func (f *Frontier) SetSeeds(numbers map[string]uint64) error {
	known, err := f.SeedNumbers()
	if err != nil {
		return err
	}
	for seed, n := range numbers {
		if old, found := known[seed]; n < FirstSeed || found && old != n {
			return fmt.Errorf("the seed %s has the number %d, so it cannot have the number %d", seed, old, n)
		}
	}
	return f.wait(&change{seeds: numbers})
}

// checkSeeds reports an error if the number of a seed in offers is not known.
func (f *Frontier) checkSeeds(offers []Offer) error {
	for _, o := range offers {
		if !o.Seed {
			continue
		}
		if n, err := f.seed(o.URL); n == NoSeed {
			return errors.Join(err, fmt.Errorf("the seed %s has no number; call SetSeeds first", o.URL))
		}
	}
	return nil
}
