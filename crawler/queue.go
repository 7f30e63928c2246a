package crawler

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Queue holds the addresses of a crawl, what became of each, and when each host may be requested
// next. A Crawler visits what its queue leases. Frontier is the implementation in one file; another
// one may lease from several machines. All arguments and results are plain values, which an
// implementation can write to a journal or send to another process.
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
	// Begin starts a run: it queues its seeds and selects what Next leases from now on.
	Begin(Selection) error
	// Next leases the first address of the next host that is due, and waits for one. It returns
	// ErrIdle if nothing is due within the patience of the queue and nothing is leased that could
	// add links.
	Next(context.Context) (*Lease, error)
	// Done ends a lease with the outcome of its visit. It need not wait until that is durable.
	Done(*Lease, End) error
	// Return ends a lease as if it had not been given. p, which may be nil, is what was learned of
	// its host.
	Return(l *Lease, p *Pace) error
	// Offer queues addresses, or notes that they are not visited. It returns how many were queued
	// newly.
	Offer(...Offer) (added int, err error)
	// Requeue queues again what matches a filter, at its depth, and returns the number of
	// addresses.
	Requeue(Filter) (int, error)
	// Get returns what is known of an address in normal form.
	Get(address string) (r Record, found bool, err error)
	// SeedNumbers returns the seeds of this run and earlier ones, and the number that the queue
	// gave each.
	SeedNumbers() (map[string]uint64, error)
	// Barred returns, in order, addresses after the address after that begin with prefix and are
	// taken down, if other addresses were not visited for that. It returns some of them, and none
	// at the end.
	Barred(prefix, after string) ([]string, error)
	// Extent returns what SetExtent stored last; found is false before that.
	Extent() (e Extent, found bool, err error)
	SetExtent(Extent) error
	// Counts returns how many addresses are in each state. It is cheap.
	Counts() Counts
	// Others returns how many queued addresses the selection leaves out.
	Others() (int, error)
	// Flush returns when everything handed in before is durable, and visible to Get.
	Flush() error
	// Close makes everything durable and closes the queue.
	Close() error
}

// ErrIdle is returned by Next when nothing is left that is due within the patience of the queue.
var ErrIdle = errors.New("nothing is due")

// ErrLost is returned for a lease that the queue does not own any more. The visit has no effect; a
// new owner repeats it.
var ErrLost = errors.New("the lease has ended")

// Selection says which of the queued addresses a run visits.
type Selection struct {
	Seeds    []string     // in normal form; only what was found from them. Empty: everything
	Promoted bool         // only what re-crawl requests ask for
	Exact    bool         // hold an address back while a visit could still find it at a smaller depth
	Skipped  func(Record) // called once for each link of a visit that is newly noted as not visited; may be nil
}

// Every record has the number of the seed from which its address was found, so that a run that
// names seeds visits only what was found from these.
const (
	NoSeed          = iota // found from no seed: runs that name seeds do not visit it
	RequiredByPages        // archived pages require it: every run visits it
	FirstSeed              // the number of the first seed
)

// Lease is the right to visit one address. It ends with Done or Return, once.
type Lease struct {
	URL     string // in normal form
	Host    string // of URL, with its port if not the default
	Depth   int
	Tries   int           // visits that failed before
	Met     bool          // the delay that the host asks for is known
	Pause   time.Duration // that delay
	Recrawl bool          // a re-crawl request asks for the address
	From    uint64        // the number of the seed from which it was found
	Expires time.Time     // no request may be made from then on; zero: the lease lasts until it is given back

	host          *host
	failures      int
	before, after time.Time // when the host was due before and after this lease was given
	deferred      []Offer   // of the resource that it visits, made since; guarded by Frontier.mu
}

// Pace is what was learned of a host without a visit.
type Pace struct {
	Asked time.Time     // when it was requested, for robots.txt
	Delay time.Duration // that it asks for between two requests
}

// End is how a visit ended.
type End struct {
	State  State     // Queued: to be tried again, not before Retry
	Status int       // HTTP status of the last answer, 0 without one
	Why    string    // the sentence that decided, for all but Fetched
	Final  string    // target of the redirects, in normal form; "" for the address itself
	Led    string    // the redirect hop that was refused, in normal form; "" for the address itself
	Retry  time.Time // for Queued; the queue adds its own pause for repeated failures

	Asked   time.Time     // start of the last request to the host of the lease, zero: none was made
	Delay   time.Duration // that the host asks for between two requests
	Trouble bool          // the host does not answer, or asks to be left alone
	Rest    time.Time     // until when, if it says so
	Took    time.Duration // of the last request to the host of the lease

	Again     time.Time     // when the address is due to be visited again; zero: never
	Interval  time.Duration // between this visit and that
	TakenDown bool          // the address, or Led, is taken down: the visit was refused, or nothing is archived
	Offers    []Offer       // links of the page
}

// Offer is an address that may be new.
type Offer struct {
	URL    string // in normal form; of a required resource it begins with "part:"
	Depth  int
	Seed   bool   // the operator named it: it is queued ahead of all links, and again unless it was fetched
	From   uint64 // the number of the seed from which it was found; ignored for a seed
	Listed bool   // by a sitemap: it is queued before links of the same depth
	// Queued, or Outside, Deep or Trapped: noted, not visited. Fetched for a required resource that
	// was read
	State State
	Why   string // the sentence that decided, for the others
	Again bool   // queue it if it was visited, at its depth

	Revisit  time.Time     // of a required resource that was read: when it is due again
	Interval time.Duration // of it
}

// Filter selects addresses that are not queued. The zero value selects all of them; every field
// that is set restricts that. A filter is a plain value.
type Filter struct {
	Prefix   string    // of the address
	States   []State   // any of these
	Within   *Extent   // a crawl of this extent visits them
	Selected bool      // Begin selected them
	DueBy    time.Time // they are due to be visited again by then; the longest due first
	Barred   []string  // they were not visited since one of these addresses is taken down

	From uint64 // does not restrict: what is selected counts as found from this seed; NoSeed: as before
}

// matcher is a filter that is ready for use.
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

// matches reports whether r, of which prefix, due time and take-down match, matches.
func (m *matcher) matches(r *Record) bool {
	switch {
	case r.State == Queued, len(m.States) > 0 && !slices.Contains(m.States, r.State):
		return false
	case m.Selected && !m.selected(r.from):
		return false
	}
	return m.reach == nil || m.reach.visits(r)
}

// Counts is what a queue holds, over all runs: addresses of pages, and of what pages require.
type Counts struct {
	Queued, Fetched, Refused, Unreachable, Failed, Outside, Deep, Trapped int

	Waiting   int       // to be visited again at some time; counted above by their outcome
	NextAgain time.Time // when the first of them is; zero: none
	Beyond    int       // links to addresses that were not noted, because their hosts have too many

	Hosts   int       // with something queued
	Leased  int       // of those queued
	NextDue time.Time // when the next host is due; zero: none
}
