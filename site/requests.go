package site

import (
	"context"
	"errors"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/crawler"
)

// RunOptions say which policies RunRequests reads again, and how long it may work.
type RunOptions struct {
	Origins   []string               // read only these again; none: all origins with anything held or requested
	NoRefresh bool                   // read none again
	OlderThan time.Duration          // read those again whose requests would not be seen within that time; 0: all
	Soon      []string               // origins that somebody waits for: they are read unless they were read just before
	Only      bool                   // no other origin is
	AtMost    time.Duration          // begin no origin and no visit after that time; 0: no limit
	Ready     func()                 // is called once other methods of the site may be used; may be nil
	Progress  func(crawler.Progress) // is called at intervals; may be nil
	Every     time.Duration          // the interval; 0: the usual
}

// RequestsRun is the result of RunRequests.
type RequestsRun struct {
	Reread
	Visited  int               `json:"visited"`  // pages requested
	More     bool              `json:"more"`     // the time was over before everything was done
	Open     int               `json:"open"`     // requests that are due, under way or failed
	Left     bool              `json:"left"`     // there are such, or files that hold traces of what was erased
	Requests []actions.Request `json:"requests"` // of which anything was noted
	Erased   []archive.Erasure `json:"erased"`
}

// RunRequests reads again what publishers ask for, and executes it: it erases what is to be taken
// down, and visits what is to be crawled again. On a site that a crawl lent, the crawl makes the
// visits. If ctx ends, the result says what was done until then.
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
	run.Requests, err = s.ledger.Noted(head.Seq) // also those of a run that was stopped
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
		c, end, err = s.begin(ctx, order) // executes what is open
	}
	if err != nil && !unexecuted(err) { // requests that could not be executed are counted with those that are open
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
		var next time.Time // when another run comes; zero: none may
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

// end returns when the last origin may be begun; zero: at any time.
func (o RunOptions) end(began time.Time) time.Time {
	if o.AtMost <= 0 {
		return time.Time{}
	}
	return began.Add(o.AtMost)
}

// visitPromoted visits what requests ask to crawl again, and nothing else. It begins no visit after
// end, unless that is zero. It returns the number of pages requested.
func (s *session) visitPromoted(ctx context.Context, o crawlOrder, end time.Time) (int, error) {
	cfg := *s.site.cfg
	if !end.IsZero() {
		cfg.MaxTime = max(time.Until(end), time.Second)
	}
	o.promoted = true
	sum, err := s.crawler(&cfg, o).Run(ctx, nil)
	return sum.Fetched, err
}

// Submit notes a request of the operator and executes it, and returns what became of it. A request
// that the ledger rejects is an *actions.Rejection. The error is a *NotExecutedError if the request
// is noted.
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
	if err == nil && !s.lent { // the process that has the directory compacts in its own time
		if _, err = s.held(ctx); err == nil {
			err = s.compactBeforeEnd(ctx, s.executor(nil), time.Time{})
		}
	}
	if err != nil {
		return request, &NotExecutedError{request.ID, err}
	}
	return request, nil
}

// MustExecute reports whether the answer to a call made a request that is to be executed before it
// is answered.
func MustExecute(call actions.Call, a actions.Answer) bool {
	return a.Request != nil && !a.Replayed && (call.Do == actions.DoSubmit && a.Request.State == actions.Due ||
		call.Do == actions.DoWithdraw)
}
