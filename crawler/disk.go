package crawler

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// The names of the buckets of frontier.db, with their keys → values.
var (
	bMeta  = []byte("meta")  // "format" → format number, "counts" → counts, "extent" → Extent of the last crawl
	bKnown = []byte("known") // address → Record
	bQueue = []byte("queue") // host, NUL, place → item
	bHosts = []byte("hosts") // host → hostRecord
	bReady = []byte("ready") // due time, host → nothing: the hosts that have queued addresses
	bAgain = []byte("again") // due time, address → nothing: the addresses to revisit
	bSeeds = []byte("seeds") // address of a seed → its number
	// number of a seed, host → how many addresses of the host are queued that were found from the
	// seed
	bFound = []byte("found")
	// host, NUL, address → time before which the address is not retried: the addresses that
	// re-crawl requests name and that were not visited since
	bAsked = []byte("asked")

	bBarred = []byte("barred") // address that is taken down, NUL, address that is not visited because of that → nothing

	buckets = [][]byte{bMeta, bKnown, bQueue, bHosts, bReady, bAgain, bSeeds, bFound, bAsked, bBarred}
)

// kExtent is the key in bMeta of the Extent of the last crawl, as JSON.
var kExtent = []byte("extent")

// counts holds the number of addresses in each state, in the order of the array states, and after
// them the numbers whose indexes are named below.
type counts [len(states) + 3]int

const (
	hostCount    = len(states) + iota // index of the number of hosts that have queued addresses
	waitingCount                      // index of the number of addresses to revisit
	// index of the number of links to addresses that were not recorded, because their hosts have
	// too many
	beyondCount
)

func (c *counts) encode() []byte {
	b := make([]byte, 0, 8*len(c))
	for _, n := range c {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

func decodeCounts(b []byte) (c counts, err error) {
	if len(b) != 8*len(c) {
		return c, errRecord
	}
	for i := range c {
		c[i] = int(binary.BigEndian.Uint64(b[8*i:]))
	}
	return c, nil
}

// view calls fn with a transaction that reads the committed state.
func (f *Frontier) view(fn func(*bbolt.Tx) error) error {
	return guard(f.name, func() error { return f.db.View(fn) })
}

// batch is one write transaction. Only the writer goroutine creates batches.
type batch struct {
	f      *Frontier
	known  *bbolt.Bucket
	queue  *bbolt.Bucket
	hosts  *bbolt.Bucket
	ready  *bbolt.Bucket
	again  *bbolt.Bucket
	seeds  *bbolt.Bucket
	found  *bbolt.Bucket
	asked  *bbolt.Bucket
	barred *bbolt.Bucket
	meta   *bbolt.Bucket
	look   *bbolt.Cursor // cursor of the bucket bKnown
	counts counts
	dirty  map[string]*hostRecord
	// host with a new or moved queue entry → its first such place in the queue; the schedule reads
	// this map after the commit
	moved map[string]place
	next  time.Time // result: when the first address is due to be revisited

	shared *sharedBatch // nil if only this machine crawls
}

func (f *Frontier) newBatch(tx *bbolt.Tx) *batch {
	known := tx.Bucket(bKnown)
	b := &batch{
		f: f, counts: f.disk, known: known, look: known.Cursor(),
		queue: tx.Bucket(bQueue), hosts: tx.Bucket(bHosts), ready: tx.Bucket(bReady),
		again: tx.Bucket(bAgain), seeds: tx.Bucket(bSeeds), found: tx.Bucket(bFound), asked: tx.Bucket(bAsked),
		barred: tx.Bucket(bBarred), meta: tx.Bucket(bMeta),
		dirty: map[string]*hostRecord{}, moved: map[string]place{},
	}
	if f.shared() {
		b.shared = f.newSharedBatch(tx)
	}
	return b
}

func (b *batch) host(name string) (*hostRecord, error) {
	if h := b.dirty[name]; h != nil {
		return h, nil
	}
	h := &hostRecord{}
	if v := b.hosts.Get([]byte(name)); v != nil {
		old, err := decodeHost(v)
		if err != nil {
			return nil, err
		}
		h = &old
	} else if s := b.shared; s != nil {
		if err := s.members.Put(memberKey(s.partition(name), name), nil); err != nil {
			return nil, err
		}
	}
	if b.shared != nil {
		b.shared.before[name] = h.portable()
	}
	b.dirty[name] = h
	return h, nil
}

// hostFor returns the name and the record of the host of an address in normal form.
func (b *batch) hostFor(normal string) (string, *hostRecord, error) {
	name, err := address.Host(normal)
	if err != nil {
		return "", nil, err
	}
	h, err := b.host(name)
	return name, h, err
}

func (b *batch) get(address string) (r Record, found bool, err error) {
	k, v := b.look.Seek([]byte(address))
	if string(k) != address {
		return Record{URL: address}, false, nil
	}
	r, err = decodeRecord(address, v)
	return r, true, err
}

// put writes the record r. found says whether the address already has a record; old is the state in
// that record.
func (b *batch) put(r *Record, old State, found bool) error {
	v, err := r.encode()
	if err != nil {
		return err
	}
	if found {
		n, err := old.number()
		if err != nil {
			return err
		}
		b.counts[n]--
	} else {
		_, h, err := b.hostFor(r.URL)
		if err != nil {
			return err
		}
		h.known++
	}
	b.counts[v[0]]++
	if b.shared != nil {
		b.shared.note(r.URL, v)
	}
	if err := b.updateFound(r); err != nil {
		return err
	}
	if !r.noted.Equal(r.Again) {
		if err := b.updateRevisits(r); err != nil {
			return err
		}
	}
	if r.marked != r.TakenDown {
		if err := b.updateBarred(r); err != nil {
			return err
		}
	}
	return b.known.Put([]byte(r.URL), v)
}

// updateRevisits updates the index of addresses to revisit when the time in r has changed.
func (b *batch) updateRevisits(r *Record) error {
	if !r.noted.IsZero() {
		b.counts[waitingCount]--
		if err := b.again.Delete(timeKey(nanos(r.noted), r.URL)); err != nil {
			return err
		}
	}
	if r.noted = r.Again; r.Again.IsZero() {
		return nil
	}
	b.counts[waitingCount]++
	return b.again.Put(timeKey(nanos(r.Again), r.URL), nil)
}

// enqueue puts r in the queue of its host, and writes r with the state Queued.
func (b *batch) enqueue(r *Record, old State, found bool, c class, rank uint64) error {
	host, h, err := b.hostFor(r.URL)
	if err != nil {
		return err
	}
	if found && old == Queued {
		if err := b.queue.Delete(queueKey(host, r.place)); err != nil {
			return err
		}
		h.queued--
	}
	seq, err := b.queue.NextSequence()
	if err != nil {
		return err
	}
	r.State, r.Again, r.TakenDown, r.place = Queued, time.Time{}, "", place{c, rank, seq}
	h.queued++
	if first, ok := b.moved[host]; !ok || r.place.before(first) {
		b.moved[host] = r.place
	}
	if err := b.queue.Put(queueKey(host, r.place), encodeItem(r, host)); err != nil {
		return err
	}
	if key := askedKey(host, r.URL); c == retried && b.asked.Get(key) != nil {
		if err := b.asked.Put(key, number(rank)); err != nil {
			return err
		}
	}
	return b.put(r, old, found)
}

// unqueue removes a queued address from the queue of its host.
func (b *batch) unqueue(host string, h *hostRecord, url string, at place) error {
	h.queued--
	err := b.queue.Delete(queueKey(host, at))
	if err == nil && at.class != ordinary { // a re-crawl request may name the address
		err = b.asked.Delete(askedKey(host, url))
	}
	return err
}

// writeOutcome removes r from the queue, if r is queued, and writes r with the state s.
func (b *batch) writeOutcome(r *Record, old State, found bool, s State) error {
	if found && old == Queued {
		host, h, err := b.hostFor(r.URL)
		if err != nil {
			return err
		}
		if err := b.unqueue(host, h, r.URL, r.place); err != nil {
			return err
		}
	}
	r.State, r.place = s, place{}
	return b.put(r, old, found)
}

// flush writes the changed hosts, in the order of the file, and the counts. It is called at the end
// of the transaction.
func (b *batch) flush() error {
	cursor := b.queue.Cursor()
	for _, name := range slices.Sorted(maps.Keys(b.dirty)) {
		h := b.dirty[name]
		before := h.ready
		h.ready = 0
		if h.queued > 0 {
			h.ready = max(nanos(h.due), 1)
			first, _ := cursor.Seek(append([]byte(name), 0))
			if at, ok := hostOf(first); ok && at == name {
				if p := readPlace(first[len(name)+1:]); p.class == retried {
					h.ready = max(h.ready, int64(p.rank))
				}
			}
		}
		if err := b.move(name, before, h.ready); err != nil {
			return err
		}
		if err := b.hosts.Put([]byte(name), h.encode()); err != nil {
			return err
		}
	}
	b.next = firstTime(b.again)
	return b.meta.Put([]byte("counts"), b.counts.encode())
}

// firstTime returns the first time in an index by time, or zero if the index is empty.
func firstTime(index *bbolt.Bucket) time.Time {
	first, _ := index.Cursor().First()
	if first == nil {
		return time.Time{}
	}
	at, _ := splitTime(first)
	return instant(at)
}

// move changes the due time of a host in the index of hosts that have queued addresses. The time 0
// means that the host is not in the index.
func (b *batch) move(name string, from, to int64) error {
	if from == to {
		return nil
	}
	if from != 0 {
		b.counts[hostCount]--
		if err := b.ready.Delete(timeKey(from, name)); err != nil {
			return err
		}
	}
	if to == 0 {
		return nil
	}
	b.counts[hostCount]++
	return b.ready.Put(timeKey(to, name), nil)
}
