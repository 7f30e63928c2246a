package crawler

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// sharedBatch is what a write transaction needs if several machines share the crawl.
type sharedBatch struct {
	journal    Journal
	partitions *bbolt.Bucket
	members    *bbolt.Bucket
	open       map[int]*partition // the partitions that accept changes, when the transaction began
	owned      map[int]*partition // these, and those that are being released
	numbers    map[string]int     // host → its partition
	stamps     map[int]stamp      // changed stamps of partitions
	links      map[int]bool       // partitions whose position in the stream of links goes to the journal
	before     map[string][]byte  // host → its portable record in the file
	quiet      bool               // the changes are in the journal already
	urls       []string           // addresses whose records changed, in the order of their first change
	records    map[string][]byte  // these addresses → their records
	hosts      map[string]bool    // hosts that go to the journal although they did not change
	send       []Offer            // offers for other partitions
	sending    map[sentKey]int    // the links among them
}

func (f *Frontier) newSharedBatch(tx *bbolt.Tx) *sharedBatch {
	s := &sharedBatch{journal: f.o.Journal, partitions: tx.Bucket(bPartitions), members: tx.Bucket(bMembers),
		open: map[int]*partition{}, owned: map[int]*partition{}, numbers: map[string]int{}, stamps: map[int]stamp{},
		links: map[int]bool{}, before: map[string][]byte{}, records: map[string][]byte{}, hosts: map[string]bool{},
		sending: map[sentKey]int{}}
	f.mu.Lock()
	defer f.mu.Unlock()
	for n, p := range f.partitions {
		s.owned[n] = p
		if p.open {
			s.open[n] = p
		}
	}
	return s
}

func (s *sharedBatch) partition(host string) int {
	n, found := s.numbers[host]
	if !found {
		n = s.journal.Partition(host)
		s.numbers[host] = n
	}
	return n
}

// owns reports whether changes of an address are accepted.
func (b *batch) owns(url string) bool {
	if b.shared == nil {
		return true
	}
	host, err := address.Host(url)
	return err == nil && b.shared.open[b.shared.partition(host)] != nil
}

// stamp returns the stamp of a partition, with the changes of this transaction.
func (s *sharedBatch) stamp(n int) (st stamp, found bool, err error) {
	if st, found = s.stamps[n]; found {
		return st, true, nil
	}
	v := s.partitions.Get(partitionKey(n))
	if v == nil {
		return stamp{}, false, nil
	}
	st, err = decodeStamp(v)
	return st, true, err
}

// note records that the record of an address changed to v.
func (s *sharedBatch) note(url string, v []byte) {
	if s.quiet {
		return
	}
	if s.records[url] == nil {
		s.urls = append(s.urls, url)
	}
	s.records[url] = v
}

// route reports whether the change c may apply the offer o. If not, it keeps o to be sent to
// another partition. A change of one partition must not change another one, because their journals
// are independent: the link could be lost although the outcome of the visit is not. A call without
// a lease applies offers to all owned partitions; if it fails in between, the caller repeats it.
func (b *batch) route(c *change, o *Offer) (mine bool, err error) {
	s := b.shared
	host, err := address.Host(o.URL)
	if err != nil {
		return false, err
	}
	n := s.partition(host)
	if p := c.part; p != nil && p.number == n || p == nil && s.open[n] != nil {
		return true, nil
	}
	b.sendLater(o)
	return false, nil
}

// sendLater keeps an offer to be sent to another partition.
func (b *batch) sendLater(o *Offer) {
	s := b.shared
	if forgettable(o) {
		key := sentKeyOf(o)
		if depth, found := s.sending[key]; found && depth <= o.Depth || b.f.sent.has(o) {
			return
		}
		s.sending[key] = o.Depth
	}
	s.send = append(s.send, *o)
}

// attempt makes a group of changes durable in one transaction. With a journal, it sends the offers
// for other partitions and appends the changes to the journals before it commits. If a partition is
// lost, it returns lostError and changes nothing here.
func (f *Frontier) attempt(group []*change) (b *batch, err error) {
	err = f.update(func(tx *bbolt.Tx) error {
		b = f.newBatch(tx)
		if f.shared() {
			if err := raiseSequence(b.queue, f.sequence); err != nil {
				return err
			}
		}
		for _, c := range group {
			c.added, c.full, c.skips, c.next = 0, nil, nil, "" // a change may be repeated
			if c.part != nil {
				b.shared.owned[c.part.number] = c.part // also if it was lost since withoutLost
			}
			if err := b.apply(c); err != nil {
				return err
			}
		}
		if err := b.flush(); err != nil {
			return err
		}
		if f.shared() {
			return f.publish(b)
		}
		return nil
	})
	return b, err
}

// lostError says that other machines own partitions.
type lostError struct{ partitions []int }

func (e *lostError) Error() string {
	return fmt.Sprintf("partitions %v belong to another machine", e.partitions)
}

func (f *Frontier) publish(b *batch) error {
	// also after a rollback the numbers of places are not used again: the journal may have them
	f.sequence = b.queue.Sequence()
	s := b.shared
	if len(s.send) > 0 {
		if err := s.journal.Send(f.context, s.send); err != nil {
			return fmt.Errorf("links cannot be sent to other machines: %w", err)
		}
		f.sent.add(s.send)
	}
	entries, err := b.entries()
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		positions, lost, err := s.journal.Append(f.context, entries)
		switch {
		case len(lost) > 0:
			return &lostError{lost}
		case err != nil:
			return fmt.Errorf("the journal cannot be written: %w", err)
		case len(positions) != len(entries):
			return fmt.Errorf("the journal returned %d positions of %d entries", len(positions), len(entries))
		}
		for i, e := range entries {
			st, _, err := s.stamp(e.Partition)
			if err != nil {
				return err
			}
			st.journal = max(st.journal, positions[i])
			s.stamps[e.Partition] = st
		}
	}
	for n, st := range s.stamps {
		if err := s.partitions.Put(partitionKey(n), st.encode()); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the additions to the journals. In each, the outcomes of visits come behind the
// addresses that they queue, because a crash may cut an entry: then a visit is repeated and no link
// is lost. The position in the stream of links comes last for the same reason. Hosts come first, so
// that their pace is known in any case.
func (b *batch) entries() ([]Entry, error) {
	s := b.shared
	puts := map[int][][]byte{}
	for _, name := range slices.Sorted(maps.Keys(b.dirty)) {
		if v := b.dirty[name].portable(); s.hosts[name] || !bytes.Equal(v, s.before[name]) {
			n := s.partition(name)
			puts[n] = append(puts[n], appendPut(putHost, name, v))
		}
	}
	for _, outcomes := range []bool{false, true} {
		for _, url := range s.urls {
			v := s.records[url]
			if state := states[v[0]]; outcomes != (state != Queued && !notAskedFor(state)) {
				continue
			}
			host, err := address.Host(url)
			if err != nil {
				return nil, err
			}
			put, err := recordPut(url, v, v[0] == 0 && b.asked.Get(askedKey(host, url)) != nil)
			if err != nil {
				return nil, err
			}
			n := s.partition(host)
			puts[n] = append(puts[n], put)
		}
	}
	for n := range s.links {
		st, _, err := s.stamp(n)
		if err != nil {
			return nil, err
		}
		puts[n] = append(puts[n], linksPut(st.links))
	}
	entries := make([]Entry, 0, len(puts))
	for _, n := range slices.Sorted(maps.Keys(puts)) {
		p := s.owned[n]
		if p == nil {
			return nil, fmt.Errorf("partition %d is changed but not owned", n)
		}
		entries = append(entries, Entry{n, p.adopted, puts[n]})
	}
	return entries, nil
}

// withoutLost answers the changes of group whose partitions are lost, and returns the others.
func (f *Frontier) withoutLost(group []*change) []*change {
	if !f.shared() {
		return group
	}
	var lost []*change
	f.mu.Lock()
	group = slices.DeleteFunc(group, func(c *change) bool {
		if c.part == nil || !c.part.over {
			return false
		}
		lost = append(lost, c)
		return true
	})
	f.pending -= len(lost)
	f.mu.Unlock()
	for _, c := range lost {
		if c.done != nil {
			c.done <- ErrLost
		}
	}
	return group
}

// loseAll forgets the partitions that err says are lost, and reports whether there are any.
func (f *Frontier) loseAll(err error) bool {
	e, is := errors.AsType[*lostError](err)
	if !is {
		return false
	}
	for _, n := range e.partitions {
		f.mu.Lock()
		p := f.partitions[n]
		f.mu.Unlock()
		if p != nil && f.lose(p) && f.o.Lost != nil {
			f.o.Lost(n)
		}
	}
	return true
}

// applyShared applies the part of a change that exists only with a journal.
func (b *batch) applyShared(c *change) error {
	switch {
	case c.restore != nil:
		return b.restore(c.restore)
	case c.drop != nil:
		return b.dropSome(c)
	case c.rewrite != nil:
		return b.rewriteSome(c)
	}
	for seed, n := range c.seeds {
		if err := b.seeds.Put([]byte(seed), number(n)); err != nil {
			return err
		}
	}
	return nil
}

// receive records the position of offers from other partitions. done says that they were applied
// before.
func (b *batch) receive(c *change) (done bool, err error) {
	s, n := b.shared, c.part.number
	st, _, err := s.stamp(n)
	if err != nil || st.links >= c.links {
		return true, err
	}
	st.links = c.links
	s.stamps[n], s.links[n] = st, true
	return false, nil
}

// together reports whether two addresses are in the same partition.
func (b *batch) together(url, other string) bool {
	host, err := address.Host(url)
	target, otherErr := address.Host(other)
	return err == nil && otherErr == nil && b.shared.partition(host) == b.shared.partition(target)
}
