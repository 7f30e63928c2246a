package crawler

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Queue holds the addresses of a crawl, the outcome of each, and the time when each host may be
// requested next. A Crawler visits what its queue leases. Frontier is the implementation in one
// file; another one may lease from several machines. All arguments and results are plain values,
// which an implementation can write to a journal or send to another process.
//
// An implementation guarantees:
//
//   - An address is leased to one visit at a time, and the visits of a host keep its delay. Before
//     Next returns a lease, or at the latest when the queue is opened again after a crash, the
//     implementation knows when the host may be requested next.
//   - A leased address stays queued until Done is durable. A crash repeats visits and loses none.
//   - Done and the offers in its End become durable together.
//   - Calls fail with ErrLost for a lease that the implementation no longer owns, and change
//     nothing.
//
// Methods may be called concurrently, except that Begin is called while nothing is leased. Every
// error but ErrIdle and ErrLost means that the queue cannot be used any more.
type Queue interface {
	// Begin starts a run: it queues the seeds of the selection, and selects the addresses that Next
	// leases from now on.
	Begin(Selection) error
	// Next leases the first address of the next host that is due, and waits until a host is due. It
	// returns ErrIdle if nothing is due within the patience of the queue and nothing is leased that
	// could add links.
	Next(context.Context) (*Lease, error)
	// Done ends a lease with the outcome of its visit. It may return before that is durable.
	Done(*Lease, End) error
	// Return ends a lease; its address stays in its place in the queue. p holds what the crawler
	// learned about the host from robots.txt during the lease, or is nil.
	Return(l *Lease, p *Pace) error
	// Offer queues addresses, or records that they are not visited. It returns how many were newly
	// queued.
	Offer(...Offer) (added int, err error)
	// Requeue queues known addresses that match a filter again, at their depth. It returns how many
	// it queued.
	Requeue(Filter) (int, error)
	// Get returns the record of an address in normal form. found is false if it is unknown.
	Get(address string) (r Record, found bool, err error)
	// SeedNumbers returns the seeds of this run and earlier ones, and the number that the queue
	// gave each.
	SeedNumbers() (map[string]uint64, error)
	// Barred returns addresses that are taken down and because of which other addresses are not
	// visited. It returns addresses that begin with prefix and come after the address after, in
	// order. One call returns only some of them; an empty list means that there are no more.
	Barred(prefix, after string) ([]string, error)
	// Extent returns the extent that SetExtent stored last. found is false if there is none.
	Extent() (e Extent, found bool, err error)
	SetExtent(Extent) error
	// Counts returns how many addresses are in each state. It is cheap.
	Counts() Counts
	// Others returns the number of queued addresses that the selection of this run leaves out.
	Others() (int, error)
	// Flush waits until all earlier changes are durable and visible to Get.
	Flush() error
	// Close makes everything durable and closes the queue.
	Close() error
}

// ErrIdle is returned by Next when nothing is left that is due within the patience of the queue.
var ErrIdle = errors.New("nothing is due")

// ErrLost is returned for a lease that the queue no longer owns. The visit has no effect; the new
// owner of the lease repeats it.
var ErrLost = errors.New("the lease has ended")

// Selection says which of the queued addresses a run visits.
type Selection struct {
	// seeds in normal form; visit only addresses found from these seeds. If empty, visit all queued
	// addresses
	Seeds    []string
	Promoted bool         // visit only addresses that re-crawl requests name
	Exact    bool         // do not lease an address while a visit could still find it at a smaller depth
	Skipped  func(Record) // called once for each link of a page that is newly recorded as not visited; may be nil
}

// Every record has the number of the seed from which its address was found. A run that names seeds
// visits only addresses found from these seeds.
const (
	NoSeed          = iota // the address was found from no seed; runs that name seeds do not visit it
	RequiredByPages        // archived pages require the resource; every run visits it
	FirstSeed              // the number of the first seed; the others follow
)

// Lease is the right to visit one address. It ends with Done or Return, once.
type Lease struct {
	URL     string // address to visit, in normal form
	Host    string // host of URL, followed by its port if that is not the default port
	Depth   int
	Tries   int             // number of failed visits before this one
	Met     bool            // the delay that the host asks for is known
	Pause   time.Duration   // the delay that the host asks for
	Recrawl bool            // a re-crawl request names the address
	From    uint64          // number of the seed from which the address was found
	Ended   <-chan struct{} // closed when the queue has lost the lease: then no request may be made; nil: never

	host          *host
	announced     *change // write-ahead of the request; nil without a journal
	failures      int
	before, after time.Time // when the host was due before the lease began, and when it was due after that
	deferred      []Offer   // offers of the leased address made during its visit; guarded by Frontier.mu
}

// lost reports whether the queue has lost the lease.
func (l *Lease) lost() bool {
	select {
	case <-l.Ended:
		return true
	default: // also if l.Ended is nil
		return false
	}
}

// Pace is what the crawler learned about a host without a visit.
type Pace struct {
	Asked time.Time     // when robots.txt was requested
	Delay time.Duration // delay between two requests that the host asks for
}

// End is how a visit ended.
type End struct {
	State  State  // Queued means that the address is visited again, but not before Retry
	Status int    // HTTP status of the last response, 0 if there was none
	Why    string // reason for the outcome, as a sentence; empty if Fetched
	Final  string // target of the redirects, in normal form; "" for the address itself
	Led    string // the redirect hop that was refused, in normal form; "" for the address itself
	// when to visit the address again if State is Queued; the queue adds a pause after repeated
	// failures
	Retry time.Time

	Asked   time.Time     // start of the last request to the host of the lease; zero: no request was made
	Delay   time.Duration // delay between two requests that the host asks for
	Trouble bool          // the host does not answer, or asks the client to retry later
	Rest    time.Time     // time before which the host asks not to be requested; zero: none
	Took    time.Duration // duration of the last request to the host of the lease

	Again     time.Time     // when the address is due to be revisited; zero: never
	Interval  time.Duration // time between this visit and Again
	TakenDown bool          // the address, or Led, is taken down, so the visit was refused or nothing was archived
	Offers    []Offer       // links of the page and resources that it requires
}

// Offer is an address to queue or to record as not visited.
type Offer struct {
	URL    string // address in normal form; the address of a required resource begins with "part:"
	Depth  int
	Seed   bool   // named by the operator: queued ahead of all links, and queued again unless it was fetched
	From   uint64 // number of the seed from which the address was found; ignored for a seed
	Listed bool   // listed in a sitemap: queued before links of the same depth
	// Queued: visit the address. Outside, Deep or Trapped: record it, do not visit it. Fetched: a
	// required resource that was received
	State State
	Why   string // reason for a State other than Queued, as a sentence
	Again bool   // queue the address again, at its depth, if it was visited

	Promote bool   // a re-crawl request names the address: queue it as Frontier.Promote does
	Down    string // the address is not visited while this address is taken down: record that as Frontier.BarLed does

	Revisit  time.Time     // when a received required resource is due to be revisited
	Interval time.Duration // time until Revisit
}

// Filter selects addresses that are not queued. The zero value selects all addresses that are not
// queued. Each field that is set excludes some of them. A filter is a plain value.
type Filter struct {
	Prefix   string  // select only addresses that begin with this prefix
	States   []State // select only addresses in one of these states
	Within   *Extent // select only addresses that a crawl of this extent visits
	Selected bool    // select only addresses that the Selection of Begin includes
	// select only addresses due to be revisited by this time; begin with the one that has been due
	// longest
	DueBy  time.Time
	Barred []string // select only addresses that were not visited because one of these addresses is taken down

	From uint64 // does not exclude anything: the selected addresses count as found from this seed; NoSeed: no change
}

// matcher is a Filter prepared for matching.
type matcher struct {
	Filter
	reach    *reach
	selected func(from uint64) bool
}

func (f Filter) matcher(selected func(from uint64) bool) (*matcher, error) {
	m := &matcher{Filter: f, selected: selected}
	if f.Within == nil {
		return m, nil
	}
	var err error
	m.reach, err = newReach(*f.Within)
	return m, err
}

// matches reports whether r matches the filter. The caller has checked prefix, due time and
// take-down.
func (m *matcher) matches(r *Record) bool {
	switch {
	case r.State == Queued, len(m.States) > 0 && !slices.Contains(m.States, r.State):
		return false
	case m.Selected && !m.selected(r.from):
		return false
	}
	return m.reach == nil || m.reach.visits(r)
}

// Counts says how many addresses of pages and required resources a queue holds, over all runs.
type Counts struct {
	Queued, Fetched, Refused, Unreachable, Failed, Outside, Deep, Trapped int

	Waiting   int       // addresses to be revisited; each is also counted above under its state
	NextAgain time.Time // when the first of the Waiting addresses is due; zero: there is none
	Beyond    int       // links to addresses that were not recorded, because their hosts have too many

	Hosts   int       // hosts with queued addresses
	Leased  int       // queued addresses that are leased
	NextDue time.Time // when the next host is due; zero: no host is
}
