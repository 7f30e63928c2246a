package crawler

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// adoption is a call of Adopt that has not returned.
type adoption struct{ lost bool }

// chunk is a piece of a journal to apply to the file.
type chunk struct {
	partition int
	puts      []journalPut
	size      int    // bytes of the puts
	position  uint64 // position of the last entry that the file contains completely after this chunk
	current   uint64 // position of the entry of which the last puts come
}

// The limits of one chunk.
const (
	maxChunkPuts = 2000
	maxChunkSize = 4 << 20
)

// Adopt makes this machine the owner of a partition: it applies entries of its journal to the file
// and then leases addresses of its hosts. entries are the entries after the position that Position
// returned, in order. fresh says that entries are the whole journal, because the journal no longer
// contains everything after that position; then Adopt first removes what the file has of the
// partition.
//
// The machine that owned the partition before may have requested its hosts just before. So no host
// is leased before one full delay has passed since Adopt, unless no host of the partition was ever
// requested. Only the time that passes here counts, since the clocks of two machines differ; a time
// until which a host asks not to be requested stays in force.
//
// entries end with the record with which this machine took the journal over; see Entry.Adopted.
//
// After each transaction the file contains the journal up to some position, so that a crash or an
// error of entries leaves a usable file: the next Adopt continues where this one ended.
func (f *Frontier) Adopt(partition int, fresh bool, entries iter.Seq2[JournalRecord, error]) (err error) {
	a, err := f.beginAdoption(partition)
	if err != nil {
		return err
	}
	defer func() {
		if f.endAdoption(partition) {
			err = ErrLost
		}
	}()
	if err := f.awaitDrop(partition); err != nil {
		return err
	}
	before, known, err := f.stampOf(partition)
	if err != nil {
		return err
	}
	if fresh || !known {
		f.drop(partition)
		if err := f.awaitDrop(partition); err != nil {
			return err
		}
		before = stamp{}
	}
	c := &chunk{partition: partition, position: before.journal, current: before.journal}
	for e, err := range entries {
		if err != nil {
			return err
		}
		if err := f.restoreEntry(a, c, e); err != nil {
			return err
		}
	}
	c.position = c.current
	if err := f.restore(a, c); err != nil {
		return err
	}
	return f.openPartition(a, partition)
}

func (f *Frontier) beginAdoption(partition int) (*adoption, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.shared():
		return nil, fmt.Errorf("partition %d cannot be adopted without a journal", partition)
	case f.partitions[partition] != nil || f.adopting[partition] != nil:
		return nil, fmt.Errorf("partition %d is already adopted", partition)
	}
	a := &adoption{}
	f.adopting[partition] = a
	return a, nil
}

// endAdoption reports whether the partition was lost meanwhile. Then it removes the partition from
// the file.
func (f *Frontier) endAdoption(partition int) (lost bool) {
	f.mu.Lock()
	lost = f.adopting[partition].lost
	delete(f.adopting, partition)
	f.mu.Unlock()
	f.signal()
	if lost {
		f.drop(partition)
	}
	return lost
}

// restoreEntry adds an entry to the chunk c, and applies c to the file whenever it is large.
func (f *Frontier) restoreEntry(a *adoption, c *chunk, e JournalRecord) error {
	switch {
	case e.Position < c.current:
		return fmt.Errorf("the journal of partition %d has position %d after %d", c.partition, e.Position, c.current)
	case e.Position > c.current:
		c.position, c.current = c.current, e.Position
	}
	for _, put := range e.Puts {
		p, err := decodePut(put)
		if err != nil {
			return fmt.Errorf("partition %d, position %d: %w", c.partition, e.Position, err)
		}
		if p.kind != putLinks && f.o.Journal.Partition(p.host) != c.partition {
			return fmt.Errorf("the journal of partition %d has a record of %s, which is not in it", c.partition, p.host)
		}
		c.puts, c.size = append(c.puts, p), c.size+len(put)
		if len(c.puts) >= maxChunkPuts || c.size >= maxChunkSize {
			if err := f.restore(a, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// restore applies c to the file and empties it.
func (f *Frontier) restore(a *adoption, c *chunk) error {
	f.mu.Lock()
	lost := a.lost
	f.mu.Unlock()
	if lost {
		return ErrLost
	}
	err := f.wait(&change{restore: c})
	c.puts, c.size = nil, 0
	return err
}

// openPartition permits leases from a partition whose journal was applied.
func (f *Frontier) openPartition(a *adoption, n int) error {
	s, _, err := f.stampOf(n)
	if err != nil {
		return err
	}
	p := &partition{number: n, open: true, stamp: s, adopted: s.journal, ended: make(chan struct{}),
		drained: make(chan struct{}, 1)}
	if p.asked, err = f.requested(n); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.lost {
		return ErrLost
	}
	p.since = f.now()
	f.partitions[n] = p
	return f.view(f.readDueTimes)
}

// requested reports whether a request may have been made to a host of a partition. If so, each host
// of the partition may have been requested, because redirects between them are followed at once.
func (f *Frontier) requested(n int) (asked bool, err error) {
	err = f.view(func(tx *bbolt.Tx) error {
		prefix, hosts, cursor := partitionKey(n), tx.Bucket(bHosts), tx.Bucket(bMembers).Cursor()
		for k, _ := cursor.Seek(prefix); bytes.HasPrefix(k, prefix) && !asked; k, _ = cursor.Next() {
			h, err := decodeHost(hosts.Get(k[len(prefix):]))
			if err != nil {
				return err
			}
			asked = h.asked
		}
		return nil
	})
	return asked, err
}

// Receive applies offers that came from other partitions by Journal.Send. position is their
// position in the stream of links of the partition. Offers up to a position that was applied before
// are ignored. Receive returns when offers and position are durable, or ErrLost if the partition is
// not adopted.
func (f *Frontier) Receive(partition int, position uint64, offers []Offer) error {
	f.mu.Lock()
	p := f.partitions[partition]
	if p == nil || !p.open {
		f.mu.Unlock()
		return ErrLost
	}
	applied := p.stamp.links >= position
	f.mu.Unlock()
	if applied {
		return nil
	}
	offers = slices.Clone(offers)
	if err := f.checkOffers(offers); err != nil {
		return err
	}
	return f.wait(&change{part: p, offers: f.fresh(offers), links: position})
}

// checkOffers reports an error if offers from elsewhere are not valid, and clears the failures of
// the hosts of seeds.
func (f *Frontier) checkOffers(offers []Offer) error {
	for _, o := range offers {
		if _, err := address.Host(o.URL); err != nil {
			return err
		}
		if _, err := o.State.number(); err != nil && !o.Again && !o.Promote && o.Down == "" {
			return fmt.Errorf("%s: %w", o.URL, err)
		}
	}
	if err := f.checkSeeds(offers); err != nil {
		return err
	}
	return f.clearFailures(offers)
}

// restore applies puts of the journal. Everything that follows from them is computed and not
// trusted, because an entry may have been applied in part.
func (b *batch) restore(c *chunk) error {
	s := b.shared
	s.quiet = true
	defer func() { s.quiet = false }()
	st, _, err := s.stamp(c.partition)
	if err != nil {
		return err
	}
	for i := range c.puts {
		switch p := &c.puts[i]; p.kind {
		case putLinks:
			st.links = max(st.links, p.links)
		case putHost:
			err = b.restoreHost(p)
		default:
			err = b.restoreRecord(p)
		}
		if err != nil {
			return err
		}
		if host := c.puts[i].host; host != "" {
			s.before[host] = b.dirty[host].portable() // nothing of this chunk goes to the journal again
		}
	}
	st.journal, st.dropping = max(st.journal, c.position), false
	s.stamps[c.partition] = st
	return nil
}

func (b *batch) restoreHost(p *journalPut) error {
	h, err := b.host(p.host)
	if err != nil {
		return err
	}
	b.counts[beyondCount] += p.state.beyond - h.beyond
	known, queued, ready := h.known, h.queued, h.ready
	*h = p.state
	if until := h.held.Add(b.f.o.Skew); b.f.o.Skew > 0 && until.After(b.f.now()) {
		h.held, h.due = until, later(h.due, until)
	}
	h.known, h.queued, h.ready = known, queued, ready
	return nil
}

func (b *batch) restoreRecord(p *journalPut) error {
	r := p.record
	old, found, err := b.get(r.URL)
	if err != nil {
		return err
	}
	name, h, err := b.hostFor(r.URL)
	if err != nil {
		return err
	}
	if found && old.State == Queued {
		if err := b.unqueue(name, h, r.URL, old.place); err != nil {
			return err
		}
	}
	r.noted, r.marked, r.filed, r.filedFrom = old.noted, old.marked, old.filed, old.filedFrom
	if r.State != Queued {
		return b.put(&r, old.State, found)
	}
	if err := b.restorePlace(&r, name); err != nil {
		return err
	}
	h.queued++
	if p.kind == putAsked {
		at := uint64(0)
		if r.place.class == retried {
			at = r.place.rank
		}
		if err := b.asked.Put(askedKey(name, r.URL), number(at)); err != nil {
			return err
		}
	}
	return b.put(&r, old.State, found)
}

// restorePlace puts r at its place in the queue of its host. New places get greater sequence
// numbers than all restored ones, so that places of two machines do not collide. If a damaged
// journal names a place twice, r gets a new one.
func (b *batch) restorePlace(r *Record, host string) error {
	if err := raiseSequence(b.queue, r.place.seq); err != nil {
		return err
	}
	if b.queue.Get(queueKey(host, r.place)) != nil {
		seq, err := b.queue.NextSequence()
		if err != nil {
			return err
		}
		r.place.seq = seq
	}
	return b.queue.Put(queueKey(host, r.place), encodeItem(r, host))
}

func raiseSequence(queue *bbolt.Bucket, to uint64) error {
	if queue.Sequence() >= to {
		return nil
	}
	return queue.SetSequence(to)
}
