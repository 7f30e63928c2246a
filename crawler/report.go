package crawler

import (
	"cmp"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/defect"
)

// Summary is the report of a run. `crawl --json` prints it as JSON.
type Summary struct {
	Fetched     int     `json:"fetched"` // pages with a response, each counted once
	Stored      int     `json:"stored"`
	Indexed     int     `json:"indexed"`
	Rendered    int     `json:"rendered,omitempty"` // pages whose scripts ran
	Refused     Refusal `json:"refused"`
	Unreachable int     `json:"unreachable"` // addresses refused because their policy could not be read
	Errors      int     `json:"errors"`      // addresses that failed after all retries
	Bytes       int64   `json:"bytes"`       // bytes of bodies, as sent
	Duration    float64 `json:"duration_s"`
	Rate        float64 `json:"pages_per_s"`

	Requests int `json:"requests"` // requests for pages and required resources, including redirect hops
	Hosts    int `json:"hosts"`    // hosts that received a request
	// number of fetched pages that were too large, so a part of each was not kept, read or indexed
	Cut        int     `json:"cut"`
	Unchanged  int     `json:"unchanged"`  // fetched pages that have not changed since they were last received
	Redirected int     `json:"redirected"` // addresses that redirect to a page, which is counted at its own address
	Skipped    Skipped `json:"skipped"`
	TakenDown  int     `json:"taken_down"` // addresses that were not requested, because they are taken down

	// Queue lengths include addresses of pages and of required resources.
	Queued int `json:"queued"` // addresses left for another run
	// queued addresses that were found from seeds that this run did not name. A run that names no
	// seeds visits them
	OtherSeeds  int `json:"queued_other_seeds"`
	QueuedHosts int `json:"queued_hosts"`
	// when the next queued address can be visited, if known; may be in the past
	NextDue   time.Time `json:"next_due,omitzero"`
	Waiting   int       `json:"waiting"`             // addresses to be revisited
	NextAgain time.Time `json:"next_again,omitzero"` // when the first of the Waiting addresses is due
	// links not recorded in this or earlier runs, because their hosts have too many addresses
	Beyond      int   `json:"beyond"`
	Interrupted bool  `json:"interrupted"`     // the run was stopped by a limit or by the end of its context
	Limit       Limit `json:"limit,omitempty"` // the limit that stopped the run; "": none

	Stopped error `json:"-"` // the error of Options.Room that stopped the run, or nil

	SeedsRefused     bool   `json:"-"` // the run named seeds, and policy refused all of them, or asks for licences
	RefusedWhy       string `json:"-"` // why the first of these seeds was refused, as a sentence
	SeedsUnreachable bool   `json:"-"` // the run named seeds, and none of them could be reached
	UnreachableWhy   string `json:"-"` // why the first of these seeds could not be reached, as a sentence
}

// Limit is a limit of Options, by the name of the setting of a crawl or a job.
type Limit string

// The limits that stop a run.
const (
	LimitPages  Limit = "max_pages" // Options.MaxPages
	LimitBytes  Limit = "max_bytes" // Options.MaxBytes
	LimitTime   Limit = "max_time"  // Options.MaxTime
	LimitStored Limit = "quota"     // Options.MaxStored
)

// SeedsFailed returns as a sentence why the run could not fetch any of its seeds; "" if it could, or if it was
// interrupted.
func (s *Summary) SeedsFailed() string {
	switch {
	case s.Interrupted:
		return ""
	case s.SeedsRefused:
		return "every seed was refused by policy: " + s.RefusedWhy
	case s.SeedsUnreachable:
		return "no seed could be reached: " + s.UnreachableWhy
	}
	return ""
}

// NoteSeeds sets what the summary says about the seeds that a run has named. seeds are their records at its end.
func (s *Summary) NoteSeeds(seeds []Record) {
	s.SeedsRefused, s.SeedsUnreachable = len(seeds) > 0, len(seeds) > 0
	for _, rec := range seeds {
		refused := rec.State == Refused
		unreachable := rec.State == Unreachable || rec.State == Failed && rec.Status == 0
		if refused {
			s.RefusedWhy = cmp.Or(s.RefusedWhy, rec.Why)
		}
		if unreachable && s.UnreachableWhy == "" {
			s.UnreachableWhy = rec.URL + ": " + rec.Why
		}
		s.SeedsRefused = s.SeedsRefused && refused
		s.SeedsUnreachable = s.SeedsUnreachable && unreachable
	}
}

// Refusal counts refused pages by usage.
type Refusal struct {
	Crawl    int `json:"crawl"`
	Follow   int `json:"follow"`
	Index    int `json:"index"`
	Preserve int `json:"preserve"`
}

// Skipped counts addresses that were found and not requested, by reason.
type Skipped struct {
	Outside int `json:"out-of-scope"`
	Deep    int `json:"too-deep"`
	Trapped int `json:"trap"`
}

// Progress is a snapshot of a run.
type Progress struct {
	Done     int // pages with an outcome in this run, whatever it is
	Fetched  int
	Refused  int // refused pages, including taken-down and unreachable ones
	Errors   int
	UnderWay int // number of visits under way
	Queued   int
	Hosts    int       // hosts with queued addresses
	Rate     float64   // pages per second over the last ten seconds
	NextDue  time.Time // time when the next host is due; in the past if all workers are busy
	SoFar    Summary
}

// Skip is an address that was not fetched, with the reason. State is Refused, Unreachable, Failed,
// Outside, Deep or Trapped.
type Skip struct {
	URL   string    `json:"url"`
	State State     `json:"reason"`
	Why   string    `json:"why"` // the reason, as a sentence
	Final string    `json:"-"`   // target of the redirects; "" if there was none
	When  time.Time `json:"-"`
	// decision of the policy or of the page; zero if the address is skipped for another reason
	Decision acap.Decision `json:"-"`
	// take-down request of the publisher because of which the address is skipped, or nil
	TakeDown *acap.Field   `json:"-"`
	Defect   *defect.Error `json:"-"` // the panic that ended the visit, or nil
}

// countLeft sets the fields of s that count what the run leaves for the next run. It returns the
// counts of the queue.
func (r *run) countLeft(s *Summary) Counts {
	c := r.queue.Counts()
	s.Queued, s.QueuedHosts, s.NextDue = c.Queued, c.Hosts, c.NextDue
	s.Waiting, s.NextAgain, s.Beyond = c.Waiting, c.NextAgain, c.Beyond
	return c
}

// progress calls Options.Progress at once and then at each interval, until stop is closed.
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

// now returns a snapshot of the run. m measures the pages per second.
func (r *run) now(m *meter) Progress {
	s, settled := r.tally.now()
	at := time.Now()
	s.Duration = at.Sub(r.start).Seconds()
	s.Rate = float64(s.Fetched) / max(s.Duration, 1e-3)
	c := r.countLeft(&s)
	return Progress{Done: settled, Fetched: s.Fetched, Refused: s.Refused.Crawl + s.TakenDown + s.Unreachable,
		Errors:   s.Errors,
		UnderWay: c.Leased, Queued: s.Queued, Hosts: s.QueuedHosts, Rate: m.rate(at, s.Fetched), NextDue: s.NextDue,
		SoFar: s}
}
