package crawler

import (
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/defect"
)

// Summary is what a run did. Its JSON is that of `crawl --json`.
type Summary struct {
	Fetched     int     `json:"fetched"` // pages that gave a response, each counted once
	Stored      int     `json:"stored"`
	Indexed     int     `json:"indexed"`
	Refused     Refusal `json:"refused"`
	Unreachable int     `json:"unreachable"` // addresses refused because their policy could not be read
	Errors      int     `json:"errors"`      // addresses that failed as often as they were tried
	Bytes       int64   `json:"bytes"`       // of bodies, as sent
	Duration    float64 `json:"duration_s"`
	Rate        float64 `json:"pages_per_s"`

	Requests int `json:"requests"` // for pages, and in visits of what pages require; redirect hops included
	Hosts    int `json:"hosts"`    // that were sent any of them
	// fetched, of which some was not kept, read or indexed, because they are too large
	Cut        int     `json:"cut"`
	Unchanged  int     `json:"unchanged"`  // fetched, and the same as when last received
	Redirected int     `json:"redirected"` // addresses that lead to a page at another address, which is counted there
	Skipped    Skipped `json:"skipped"`
	TakenDown  int     `json:"taken_down"` // addresses not asked for, since their publisher has them taken down

	// Addresses of pages, and of what pages require, which is visited by itself.
	Queued int `json:"queued"` // left for another run
	// of those, found from seeds that this run did not name: a run without seeds visits them
	OtherSeeds  int `json:"queued_other_seeds"`
	QueuedHosts int `json:"queued_hosts"`
	// when the next of them can be visited, as far as it is known; it may have passed
	NextDue   time.Time `json:"next_due,omitzero"`
	Waiting   int       `json:"waiting"`             // visited, and to be visited again
	NextAgain time.Time `json:"next_again,omitzero"` // when the first of them is due
	// links not noted in this or earlier runs, because their hosts have too many addresses
	Beyond      int  `json:"beyond"`
	Interrupted bool `json:"interrupted"` // stopped by its context or by a limit

	Stopped error `json:"-"` // what Options.Room said

	SeedsRefused     bool   `json:"-"` // there were seeds, and policy refused every one
	RefusedWhy       string `json:"-"` // the sentence that refused the first of them
	SeedsUnreachable bool   `json:"-"` // there were seeds, and none could be reached
	UnreachableWhy   string `json:"-"` // the sentence that says why the first of them could not
}

// Refusal counts pages refused per usage.
type Refusal struct {
	Crawl    int `json:"crawl"`
	Follow   int `json:"follow"`
	Index    int `json:"index"`
	Preserve int `json:"preserve"`
}

// Skipped counts addresses found and not asked for.
type Skipped struct {
	Outside int `json:"out-of-scope"`
	Deep    int `json:"too-deep"`
	Trapped int `json:"trap"`
}

// Progress is the state of a run at a moment.
type Progress struct {
	Done     int // pages settled in this run, whatever the outcome
	Fetched  int
	Refused  int // those taken down and unreachable ones included
	Errors   int
	UnderWay int // visits
	Queued   int
	Hosts    int       // with something queued
	Rate     float64   // pages per second in the last ten seconds
	NextDue  time.Time // when the next host is due; in the past while there is more to do than workers
	SoFar    Summary
}

// Skip is an address that was not fetched, and why. State is Refused, Unreachable, Failed, Outside,
// Deep or Trapped.
type Skip struct {
	URL      string        `json:"url"`
	State    State         `json:"reason"`
	Why      string        `json:"why"` // the sentence that decided
	Final    string        `json:"-"`   // where its redirects led; "" for the address itself
	When     time.Time     `json:"-"`
	Decision acap.Decision `json:"-"` // where policy or the page decided; otherwise zero
	TakeDown *acap.Field   `json:"-"` // the request of its publisher that bars it
	Defect   *defect.Error `json:"-"` // the panic that ended the visit, nil where none did
}

// left fills what a run leaves for another, from the counts of the frontier, which it returns.
func (r *run) left(s *Summary) Counts {
	c := r.queue.Counts()
	s.Queued, s.QueuedHosts, s.NextDue = c.Queued, c.Hosts, c.NextDue
	s.Waiting, s.NextAgain, s.Beyond = c.Waiting, c.NextAgain, c.Beyond
	return c
}

// progress tells the state at once and then every interval, until stop is closed.
func (r *run) progress(stop <-chan struct{}) {
	ticker := time.NewTicker(r.o.Every)
	defer ticker.Stop()
	var m meter
	m.rate(r.start, 0)
	for {
		r.o.Progress(r.now(&m))
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
	}
}

// now is the state of the run.
func (r *run) now(m *meter) Progress {
	s, settled := r.tally.now()
	at := time.Now()
	s.Duration = at.Sub(r.start).Seconds()
	s.Rate = float64(s.Fetched) / max(s.Duration, 1e-3)
	c := r.left(&s)
	return Progress{Done: settled, Fetched: s.Fetched, Refused: s.Refused.Crawl + s.TakenDown + s.Unreachable,
		Errors:   s.Errors,
		UnderWay: c.Leased, Queued: s.Queued, Hosts: s.QueuedHosts, Rate: m.rate(at, s.Fetched), NextDue: s.NextDue,
		SoFar: s}
}
