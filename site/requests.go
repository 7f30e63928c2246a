package site

import (
	"context"
	"errors"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/address"
)

// RunOptions select which policies RunRequests reads again, and how long it may run.
type RunOptions struct {
	// read only the policies of these origins again; none: of all origins with stored pages or
	// requests
	Origins   []string
	NoRefresh bool // read no policy again
	// read each policy again early enough to see new requests within that time; 0: read all
	// policies now
	OlderThan time.Duration
	// origins for which somebody waits: read their policies too, unless they were just read
	Soon []string
	Only bool // read only the policies of the origins in Soon
	// after that time, start to read no further policy and start no further visit; 0: no limit
	AtMost   time.Duration
	Ready    func()                 // called once other methods of the site may be used; may be nil
	Progress func(crawler.Progress) // called at regular intervals with the progress of visits; may be nil
	Every    time.Duration          // interval between calls of Progress; 0: the default
}

// RequestsRun is the result of RunRequests.
type RequestsRun struct {
	Reread
	Visited int  `json:"visited"` // number of pages that were requested
	More    bool `json:"more"`    // the time limit was reached before all work was done
	Open    int  `json:"open"`    // number of requests that are due, running or failed
	// set if Open is not 0, or if files still contain traces of erased data
	Left     bool              `json:"left"`
	Requests []actions.Request `json:"requests"` // requests that the run recorded or changed
	Erased   []archive.Erasure `json:"erased"`
}

// RunRequests reads the policies again, and executes the requests in them: it erases the pages that
// are to be taken down, and visits the pages that are to be crawled again. If a running crawl lent
// the site, that crawl makes the visits. If ctx ends, run describes the work done until then.
func (s *Site) RunRequests(ctx context.Context, o RunOptions) (run RequestsRun, err error) {
	erased, endWatch := s.erased.watch()
	defer endWatch()
	head, err := s.ledger.Head()
	if err != nil {
		return run, err
	}
	run, stopped := s.runRequests(ctx, o, time.Now())
	if stopped != nil && ctx.Err() == nil {
		return run, stopped
	}
	run.Requests, err = s.ledger.Noted(head.Seq) // also includes requests recorded by an interrupted run
	run.Erased = erased.List()
	return run, errors.Join(stopped, err)
}

func (s *Site) runRequests(ctx context.Context, o RunOptions, began time.Time) (run RequestsRun, err error) {
	order := crawlOrder{CrawlOptions: CrawlOptions{Every: o.Every, Progress: o.Progress, Ready: o.Ready},
		requests: true}
	c, end := s.session, func() {}
	if s.lent {
		err = s.resumeRequests(ctx, c.executor, s.frontier)
	} else {
		c, end, err = s.begin(ctx, order) // also executes the open requests
	}
	// requests that could not be executed are not an error here: they are included in Open
	if err != nil && !unexecuted(err) {
		return run, err
	}
	defer end()
	if !o.NoRefresh {
		again := rereadOptions{named: o.Origins, within: o.OlderThan, until: o.end(began), soon: o.Soon, only: o.Only}
		if run.Reread, err = c.rereadPolicies(ctx, again); err != nil && !unexecuted(err) {
			return run, err
		}
	}
	if !s.lent {
		if run.Visited, err = c.visitPromoted(ctx, order, o.end(began)); err != nil {
			return run, err
		}
		c.holdings.AwaitRejudged(ctx)
		if end(); ctx.Err() != nil {
			return run, context.Cause(ctx)
		}
	}
	if err := c.executor.Settle(ctx); err != nil {
		return run, err
	}
	run.More = o.AtMost > 0 && time.Since(began) > o.AtMost
	if !s.lent {
		var next time.Time // start of the next run; zero: no further run is expected
		if o.AtMost > 0 {
			next = time.Now().Add(s.cfg.Actions.SeenWithin)
		}
		if err := s.compactBeforeEnd(ctx, c.executor, next); err != nil {
			return run, err
		}
	}
	st, err := s.ledger.Status()
	run.Open, run.Left = st.Due, st.Due > 0 || !st.Erased.IsZero()
	return run, err
}

// end returns the time after which no further policy is read and no further visit is started; zero:
// no limit.
func (o RunOptions) end(began time.Time) time.Time {
	if o.AtMost <= 0 {
		return time.Time{}
	}
	return began.Add(o.AtMost)
}

// visitPromoted visits only pages that publishers request to be crawled again. It starts no visit
// after end, unless end is zero. It returns the number of pages requested.
func (s *session) visitPromoted(ctx context.Context, o crawlOrder, end time.Time) (int, error) {
	cfg := *s.site.cfg
	if !end.IsZero() {
		cfg.MaxTime = max(time.Until(end), time.Second)
	}
	o.promoted = true
	sum, err := s.crawler(&cfg, o).Run(ctx, nil)
	return sum.Fetched, err
}

// Submit records a request of the operator, executes the request, and returns the request with its
// new state. If the ledger rejects the request, the error is an *actions.Rejection. If the request
// is recorded but cannot be executed completely, the error is a *NotExecutedError.
func (s *Site) Submit(ctx context.Context, sub actions.Submission) (actions.Request, error) {
	request, replayed, err := s.ledger.Submit(sub)
	if err != nil {
		return request, err
	}
	if !replayed {
		var list []actions.Request
		if list, err = s.ExecuteRequests(ctx, request.ID); err == nil {
			request = list[0]
		}
	}
	// a lent site is compacted by the process that owns the directory, when compaction is due
	if err == nil && !s.lent {
		if _, err = s.held(ctx); err == nil {
			err = s.compactBeforeEnd(ctx, s.executor(nil), time.Time{})
		}
	}
	if err != nil {
		return request, &NotExecutedError{request.ID, err}
	}
	return request, nil
}

// Holding returns what is archived at a URL, in all spellings that a take-down of the URL erases.
func (s *Site) Holding(ctx context.Context, rawurl string) (out actions.Holding, err error) {
	normal, err := address.Normal(rawurl)
	if err != nil {
		return out, nil // nothing is stored under an invalid address
	}
	h, err := s.held(ctx)
	if err != nil {
		return out, err
	}
	spelt, err := h.Spellings(normal)
	for _, at := range spelt {
		if err != nil {
			break
		}
		var list []archive.Moment
		list, err = s.archive.Moments(at)
		for _, one := range list {
			if out.Versions++; out.First.IsZero() || one.Fetched.Before(out.First) {
				out.First = one.Fetched
			}
			if one.Fetched.After(out.Last) {
				out.Last = one.Fetched
			}
		}
	}
	return out, err
}

// MustExecute reports whether a, the answer to call, created a request in the ledger that must be
// executed before the answer is sent.
func MustExecute(call actions.Call, a actions.Answer) bool {
	return a.Request != nil && !a.Replayed && (call.Do == actions.DoSubmit && a.Request.State == actions.Due ||
		call.Do == actions.DoWithdraw)
}
