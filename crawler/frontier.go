package crawler

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/address"
)

// FrontierOptions configure a Frontier. Zero values take the default named.
type FrontierOptions struct {
	Delay    time.Duration    // between two requests to a host that asks for less
	PerHost  int              // addresses of a host leased at once; 1
	Backoff  time.Duration    // first pause of a host that does not answer, doubled each time; 1 s
	Patience time.Duration    // how long Next waits for a host that is not due; 5 min
	Adaptive bool             // pauses grow where a host gets slower or errs; needs a Delay
	MaxHost  int              // addresses noted of one host, further ones are counted (Counts.Beyond); 0: no limit
	Working  int              // hosts held in memory; 1024
	Now      func() time.Time // time.Now
}

// queueLength is how many changes may wait for the writer.
const queueLength = 256

// errClosed is what calls get after Close.
var errClosed = errors.New("the frontier is closed")

// Frontier is the list of addresses to be visited and of what became of those that were, in one
// file. It is keyed by host: Next leases the first address of a host that is due, so that a slow
// host holds nobody up. A leased address stays in its queue on disk until Done has been committed;
// a process that dies gives its leases back thereby. Done groups its writes with those of others
// and does not wait for the disk. Memory is bounded: a working set of hosts with a few addresses
// each. Safe for concurrent use.
type Frontier struct {
	name    string
	o       FrontierOptions
	now     func() time.Time
	db      *bbolt.DB
	changes chan *change
	stopped chan struct{} // the writer has ended
	wake    chan struct{} // one who waits in Next should look again

	mu       sync.Mutex
	err      error // the first failure of the disk; nothing works after it
	closed   bool
	senders  sync.WaitGroup
	disk     counts                    // as committed
	pending  int                       // changes handed to the writer and not committed
	leases   int                       // given and not given back
	hosts    map[string]*host          // the working set
	due      dueHeap                   // those of the working set that may have something to lease
	outside  time.Time                 // no host outside the working set is due before; zero: none has anything queued
	crowded  bool                      // the last of those that was due found no room
	again    time.Time                 // when the first address is to be visited again; zero: none
	skipped  func(Record)              // Selection.Skipped
	exact    bool                      // hold back addresses whose depth may still turn out smaller
	only     bool                      // lease what re-crawls ask for alone
	selected atomic.Pointer[selection] // what this run visits; nil: everything
	resumed  time.Time                 // when a file that held something was opened; zero: it was new
	random   func() float64            // in [0,1): chance in back-off
	inject   func() error              // tests: fails a transaction
}

// Open opens or makes the frontier in the file name. One process owns it.
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
	db, c, err := openDisk(name)
	if err != nil {
		return nil, err
	}
	f := &Frontier{
		name: name, o: o, now: o.Now, db: db, disk: c,
		changes: make(chan *change, queueLength), stopped: make(chan struct{}), wake: make(chan struct{}, 1),
		hosts: map[string]*host{}, random: rand.Float64,
	}
	if err := f.view(f.begin); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if c != (counts{}) {
		f.resumed = o.Now()
	}
	go f.write()
	return f, nil
}

// begin reads when there is something to do.
func (f *Frontier) begin(tx *bbolt.Tx) error {
	f.outside, f.again = firstTime(tx.Bucket(bReady)), firstTime(tx.Bucket(bAgain))
	return nil
}

// Close commits what was handed in and closes the file. Leases not given back stay queued.
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
	return errors.Join(f.fault(), f.db.Close())
}

// AddSeeds offers addresses that the operator named, and returns their normal forms.
func (f *Frontier) AddSeeds(seeds ...string) (urls []string, err error) {
	var offers []Offer
	for _, s := range seeds {
		u, err := address.Normal(s)
		if err != nil {
			return nil, err
		}
		urls = append(urls, u)
		offers = append(offers, Offer{URL: u, Seed: true, State: Queued})
	}
	_, err = f.Offer(offers...)
	return urls, err
}

// Offer queues addresses, or notes that they are not visited, and returns when that is durable.
// Seeds are queued ahead of all links, unless they were fetched. It returns how many were queued
// newly.
func (f *Frontier) Offer(offers ...Offer) (added int, err error) {
	if err := f.arouse(offers); err != nil {
		return 0, err
	}
	if offers = f.fresh(offers); len(offers) == 0 {
		return 0, nil
	}
	c := &change{offers: offers}
	err = f.wait(c)
	return c.added, err
}

// arouse makes the hosts of seeds due as soon as their delay permits, if they did not answer
// before. It does so in the working set, and the writer does on disk.
func (f *Frontier) arouse(offers []Offer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range offers {
		if !o.Seed {
			continue
		}
		name, err := address.Host(o.URL)
		if err != nil {
			return err
		}
		if h := f.hosts[name]; h != nil && h.failures > 0 {
			h.failures, h.due = 0, h.held
			if h.busy > 0 {
				h.due = later(h.held, h.leased)
			}
			f.offerHost(h)
		}
	}
	return nil
}

// AddListed queues addresses that a sitemap lists, before links of the same depth, and returns how
// many were new. They count as found from the seed of visited, the address in normal form of the
// page whose visit caused the sitemap to be read. Known addresses, and those that are not http or
// https, are skipped; the scope is checked when they are due.
func (f *Frontier) AddListed(visited string, depth int, links ...string) (int, error) {
	from, err := f.foundFrom(visited)
	if err != nil {
		return 0, err
	}
	return f.add(from, depth, links, true)
}

func (f *Frontier) add(from uint64, depth int, links []string, listed bool) (int, error) {
	var offers []Offer
	for _, s := range links {
		if u, err := address.Normal(s); err == nil {
			offers = append(offers, Offer{URL: u, Depth: depth, Listed: listed, From: from, State: Queued})
		}
	}
	return f.Offer(offers...)
}

// Get tells what is known of an address in normal form.
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

// Each calls fn for what is known of the addresses that begin with prefix, in order of address,
// until fn fails. The frontier must not be closed meanwhile, and fn should be quick.
func (f *Frontier) Each(prefix string, fn func(Record) error) error {
	return f.view(func(tx *bbolt.Tx) error { return each(tx.Bucket(bKnown), prefix, "", fn) })
}

// Seeds returns the addresses that the operator named in this and earlier runs, in order.
func (f *Frontier) Seeds() ([]string, error) {
	numbers, err := f.SeedNumbers()
	return slices.Sorted(maps.Keys(numbers)), err
}

// SeedNumbers returns the addresses that the operator named in this and earlier runs, with the
// number of each.
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

// Counts is cheap: it reads no disk.
func (f *Frontier) Counts() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := &f.disk
	return Counts{Queued: d[0], Fetched: d[1], Refused: d[2], Unreachable: d[3], Failed: d[4], Outside: d[5],
		Deep: d[6], Trapped: d[7],
		Waiting: d[waitingCount], NextAgain: f.again, Beyond: d[beyondCount],
		Hosts: d[hostCount], Leased: f.leases, NextDue: f.nextDue()}
}

// Flush returns when everything handed in before is durable.
func (f *Frontier) Flush() error { return f.wait(&change{}) }

// wait hands c to the writer and waits for its commit.
func (f *Frontier) wait(c *change) error {
	c.done = make(chan error, 1)
	if err := f.send(c); err != nil {
		return err
	}
	return <-c.done
}

// send hands c to the writer. It waits while the writer is far behind.
func (f *Frontier) send(c *change) error {
	f.mu.Lock()
	err := f.err
	if f.closed {
		err = errClosed
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

// fresh drops the links that say nothing new, so that the writer need not look at them. It keeps
// those of required resources that are visited now: what becomes of that visit is not known yet.
func (f *Frontier) fresh(offers []Offer) []Offer {
	kept := offers[:0]
	visited := f.visited(offers) // before the file is looked at: a visit may be recorded meanwhile
	err := f.view(func(tx *bbolt.Tx) error {
		known := tx.Bucket(bKnown).Cursor() // one for all costs less than as many Gets
		for _, o := range offers {
			if o.Seed || o.Again {
				kept = append(kept, o)
				continue
			}
			if k, v := known.Seek([]byte(o.URL)); string(k) == o.URL {
				r, err := glance(v)
				if err != nil {
					return err
				}
				if r.State == Queued && f.selects() {
					if r, err = decodeRecord(o.URL, v); err != nil {
						return err
					}
				}
				if !news(&r, &o) && !visited[o.URL] && !f.adopts(r.from, o.From) {
					continue
				}
			}
			kept = append(kept, o)
		}
		return nil
	})
	if err != nil {
		return offers // the writer meets the same error and reports it
	}
	return kept
}

// visited gives those of offers that are of required resources of which a visit is under way, or
// not yet recorded.
func (f *Frontier) visited(offers []Offer) (visited map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range offers {
		if _, _, part := partOf(o.URL); part && f.leaseOf(o.URL) != nil {
			if visited == nil {
				visited = map[string]bool{}
			}
			visited[o.URL] = true
		}
	}
	return visited
}

func (f *Frontier) fault() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// committed tells the schedule what the writer has made durable. It returns what is to be called
// with links that are newly noted as not visited.
func (f *Frontier) committed(group []*change, b *batch, err error) (skipped func(Record)) {
	f.mu.Lock()
	defer f.signal()
	defer f.mu.Unlock()
	f.pending -= len(group)
	if err != nil {
		f.err = err // once set, every later commit meets it
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
	for name, rec := range b.dirty {
		if h := f.hosts[name]; h != nil {
			f.refresh(h, rec, b)
		} else if rec.queued > 0 && (f.outside.IsZero() || instant(rec.ready).Before(f.outside)) {
			f.outside = instant(rec.ready)
		}
	}
	if f.skipped == nil {
		return func(Record) {}
	}
	return f.skipped
}

// refresh drops what was read ahead of a host if something else comes first now, or nothing at all.
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

// leased reports whether an address is leased, or given back and not yet committed.
func (f *Frontier) leased(address string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.leaseOf(address) != nil
}

// leaseOf returns the lease of url until its end is committed, nil if there is none. f.mu is held.
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

// Extent returns the extent that SetExtent stored last.
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

// SetExtent stores how far this crawl goes, for the next one.
func (f *Frontier) SetExtent(e Extent) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return f.wait(&change{extent: text})
}
