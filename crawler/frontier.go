package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// FrontierOptions configure a Frontier. The comment of a field names the default that replaces its
// zero value.
type FrontierOptions struct {
	Delay    time.Duration // shortest delay between two requests to a host
	PerHost  int           // number of leases that may be held for one host at the same time; default 1
	Backoff  time.Duration // first pause for a host that does not answer, doubled after each failure; default 1 s
	Patience time.Duration // how long Next waits for a host that is not due; default 5 min
	Adaptive bool          // lengthen the delay of a host that answers slowly or with errors; requires Delay
	// number of addresses recorded for one host; further addresses are only counted
	// (Counts.Beyond); 0: no limit
	MaxHost int
	Working int              // number of hosts kept in memory; default 1024
	Now     func() time.Time // clock; default time.Now

	// Journal is set if several machines share the crawl. Then the frontier leases only addresses
	// of partitions that Adopt has made its own. nil: only this machine crawls
	Journal Journal
	// Lost is called when the journal says that another machine owns a partition which this machine
	// had adopted. Its leases have ended with ErrLost. The function must not wait for the frontier.
	// It may be nil
	Lost func(partition int)
	// Skew is the largest difference between the clocks of two machines that share the crawl. What
	// another machine has recorded counts as that much later.
	Skew time.Duration
}

// queueLength is the number of changes that can wait for the writer goroutine.
const queueLength = 256

// errClosed is returned by calls after Close.
var errClosed = errors.New("the frontier is closed")

// errForeign is returned by calls that would change a file of several machines without a journal.
var errForeign = errors.New("the frontier belongs to a crawl of several machines, so it can only be read here; name " +
	"the cluster to change it")

// Frontier stores, in one file, the addresses to visit and the outcomes of earlier visits. Queues
// are kept by host: Next leases the first address of a host that is due, so a slow host delays no
// other. A leased address stays in its queue on disk until Done is committed. If the process dies,
// its leased addresses are therefore still queued. Done does not wait for the disk: the writer
// goroutine commits several changes together. Memory is limited to a working set of hosts with a
// few addresses each. A Frontier is safe for concurrent use.
type Frontier struct {
	name    string
	o       FrontierOptions
	now     func() time.Time
	db      *bbolt.DB
	changes chan *change
	stopped chan struct{} // closed when the writer goroutine has ended
	wake    chan struct{} // a value wakes one goroutine that waits in Next

	mu      sync.Mutex
	err     error // the first disk error; every later call returns it
	closed  bool
	senders sync.WaitGroup
	disk    counts           // numbers of addresses as last committed
	pending int              // number of changes sent to the writer and not committed
	leases  int              // number of leases that have not ended
	hosts   map[string]*host // the working set, by name of the host
	// hosts of the working set that may have an address to lease, as a heap ordered by due time
	due dueHeap
	// no host outside the working set is due before this time; zero: no such host has a queued
	// address
	outside  time.Time
	crowded  bool                      // a host on disk is due, but the working set has no room for it
	again    time.Time                 // when the first address is due to be revisited; zero: none
	skipped  func(Record)              // the function Skipped of this run's Selection
	early    []Record                  // links from other partitions to be reported to Skipped when the run begins
	exact    bool                      // do not lease an address while a visit could still find it at a smaller depth
	only     bool                      // lease only addresses that re-crawl requests name
	selected atomic.Pointer[selection] // the addresses that this run visits; nil: all, because no run has begun
	resumed  time.Time                 // when the file was opened; zero: the file was empty
	random   func() float64            // returns a random number in [0,1) for back-off
	inject   func() error              // set by tests: its error fails a transaction
	checking sync.Mutex                // held during a write transaction and during Check

	// With a journal only. These fields are guarded by mu, except those of the writer.
	partitions map[int]*partition
	adopting   map[int]*adoption
	drops      map[int]chan struct{} // partitions being removed from the file
	finishing  bool                  // Finish was called
	foreign    bool                  // the file needs a journal and there is none, so it is only read
	background sync.WaitGroup        // goroutines that remove partitions
	context    context.Context       // for calls of the journal
	abort      context.CancelFunc
	sequence   uint64    // the greatest number of a place; used by the writer
	sent       sentLinks // used by the writer
}

// Open opens or creates the frontier file name. Only one process can open it at a time.
func Open(name string, o FrontierOptions) (*Frontier, error) {
	if o.PerHost <= 0 {
		o.PerHost = 1
	}
	if o.Backoff <= 0 {
		o.Backoff = time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 5 * time.Minute
	}
	if o.Working <= 0 {
		o.Working = 1024
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	db, c, foreign, err := openDisk(name, o.Journal != nil)
	if err != nil {
		return nil, err
	}
	f := &Frontier{
		name: name, o: o, now: o.Now, db: db, disk: c,
		changes: make(chan *change, queueLength), stopped: make(chan struct{}), wake: make(chan struct{}, 1),
		hosts: map[string]*host{}, random: rand.Float64, foreign: foreign,
		partitions: map[int]*partition{}, adopting: map[int]*adoption{}, drops: map[int]chan struct{}{},
	}
	f.context, f.abort = context.WithCancel(context.Background())
	if err := f.view(f.readDueTimes); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if c != (counts{}) && !f.shared() { // with a journal, each partition has such a time of its own
		f.resumed = o.Now()
	}
	go f.write()
	if f.shared() {
		if err := f.dropIncomplete(); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// readDueTimes reads from disk when the first host and the first revisit are due.
func (f *Frontier) readDueTimes(tx *bbolt.Tx) error {
	f.outside, f.again = firstTime(tx.Bucket(bReady)), firstTime(tx.Bucket(bAgain))
	return nil
}

// Close commits all changes and closes the file. Leased addresses stay queued.
func (f *Frontier) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	f.mu.Unlock()
	f.signal()
	f.senders.Wait()
	close(f.changes)
	<-f.stopped
	f.background.Wait()
	f.abort()
	return errors.Join(f.fault(), f.db.Close())
}

// Get returns the record of an address in normal form. found is false if the address is unknown.
func (f *Frontier) Get(address string) (r Record, found bool, err error) {
	err = f.view(func(tx *bbolt.Tx) error {
		v := tx.Bucket(bKnown).Get([]byte(address))
		if v == nil {
			return nil
		}
		found = true
		r, err = decodeRecord(address, v)
		return err
	})
	return r, found, err
}

// Each calls fn for the record of each address that begins with prefix, in order of address, until
// fn returns an error. Do not close the frontier during the call; fn should be quick.
func (f *Frontier) Each(prefix string, fn func(Record) error) error {
	return f.view(func(tx *bbolt.Tx) error { return each(tx.Bucket(bKnown), prefix, "", fn) })
}

// Seeds returns the addresses that the operator named in this and earlier runs, in order.
func (f *Frontier) Seeds() ([]string, error) {
	numbers, err := f.SeedNumbers()
	return slices.Sorted(maps.Keys(numbers)), err
}

// SeedNumbers returns the addresses that the operator named in this and earlier runs. The value of
// each is the number of the seed.
func (f *Frontier) SeedNumbers() (map[string]uint64, error) {
	numbers := map[string]uint64{}
	err := f.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(bSeeds).ForEach(func(k, v []byte) error {
			numbers[string(k)] = seedNumber(v)
			return nil
		})
	})
	return numbers, err
}

// Counts returns how many addresses are in each state. It does not read the disk.
func (f *Frontier) Counts() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := &f.disk
	return Counts{Queued: d[0], Fetched: d[1], Refused: d[2], Unreachable: d[3], Failed: d[4], Outside: d[5],
		Deep: d[6], Trapped: d[7],
		Waiting: d[waitingCount], NextAgain: f.again, Beyond: d[beyondCount],
		Hosts: d[hostCount], Leased: f.leases, NextDue: f.nextDue()}
}

// Flush waits until all earlier changes are durable.
func (f *Frontier) Flush() error { return f.wait(&change{}) }

// wait sends c to the writer and waits for the commit.
func (f *Frontier) wait(c *change) error {
	c.done = make(chan error, 1)
	if err := f.send(c); err != nil {
		return err
	}
	return <-c.done
}

// send sends c to the writer. It blocks while queueLength changes wait for the writer.
func (f *Frontier) send(c *change) error {
	f.mu.Lock()
	err := f.err
	switch {
	case f.closed:
		err = errClosed
	case f.foreign && !c.flushes():
		err = errForeign
	}
	if err == nil {
		f.pending++
		f.senders.Add(1)
	}
	f.mu.Unlock()
	if err != nil {
		return err
	}
	f.changes <- c
	f.senders.Done()
	return nil
}

func (f *Frontier) fault() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// committed updates the schedule with a committed group of changes. It returns the function to call
// for each link that was newly recorded as not visited.
func (f *Frontier) committed(group []*change, b *batch, err error) (skipped func(Record)) {
	f.mu.Lock()
	defer f.signal()
	defer f.mu.Unlock()
	f.pending -= len(group)
	if err != nil {
		f.err = err // every later commit returns this error
		return nil
	}
	f.disk, f.again = b.counts, b.next
	for _, c := range group {
		if c.lease != nil {
			delete(c.lease.host.taken, c.lease.URL)
		}
		if c.touch != nil {
			c.touch.host.unsaved--
		}
	}
	if b.shared != nil {
		for n, s := range b.shared.stamps {
			if p := f.partitions[n]; p != nil {
				p.stamp = s
			}
		}
	}
	for name, rec := range b.dirty {
		if h := f.hosts[name]; h != nil {
			f.refresh(h, rec, b)
		} else if rec.queued > 0 && (!f.shared() || f.openOf(name) != nil) &&
			(f.outside.IsZero() || instant(rec.ready).Before(f.outside)) {
			f.outside = instant(rec.ready)
		}
	}
	if f.selected.Load() == nil {
		for _, c := range group {
			f.early = append(f.early, c.skips...)
		}
	}
	if f.skipped == nil {
		return func(Record) {}
	}
	return f.skipped
}

// refresh drops the addresses of h that were read ahead if another address now comes first in the
// queue of h, or if the queue is empty.
func (f *Frontier) refresh(h *host, rec *hostRecord, b *batch) {
	first, moved := b.moved[h.name]
	if n := len(h.items); rec.queued == 0 || moved && n > 0 && first.before(h.items[n-1].place) {
		h.items = nil
	}
	h.dry = rec.queued == 0 || h.dry && !moved
	h.ready = instant(rec.ready)
	if f.only {
		h.ready = f.readyAsked(rec, h.name)
	}
	f.offerHost(h)
}

// leased reports whether an address is leased, or was leased until now and the end of the lease is
// not committed.
func (f *Frontier) leased(address string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.leaseOf(address) != nil
}

// leaseOf returns the lease of url, also if it has ended but the end is not committed. Without such
// a lease it returns nil. The caller holds f.mu.
func (f *Frontier) leaseOf(url string) *Lease {
	name, err := address.Host(url)
	if err != nil {
		return nil
	}
	if h := f.hosts[name]; h != nil {
		return h.taken[url]
	}
	return nil
}

// Extent returns the extent that SetExtent stored last. found is false if there is none.
func (f *Frontier) Extent() (e Extent, found bool, err error) {
	err = f.view(func(tx *bbolt.Tx) error {
		text := tx.Bucket(bMeta).Get(kExtent)
		if found = text != nil; !found {
			return nil
		}
		return json.Unmarshal(text, &e)
	})
	return e, found, err
}

// SetExtent stores the extent of this crawl. The next crawl compares its own extent with it.
func (f *Frontier) SetExtent(e Extent) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return f.wait(&change{extent: text})
}
