package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// actionsRun is what actions run --json prints.
type actionsRun struct {
	reread
	Visited  int               `json:"visited"`  // pages requested
	More     bool              `json:"more"`     // its time was over before it was done
	Open     int               `json:"open"`     // requests that are due, under way or failed
	Left     bool              `json:"left"`     // there are such, or files that hold traces of what was erased
	Requests []actions.Request `json:"requests"` // of which anything was noted
	Erased   []archive.Erasure `json:"erased"`
}

// runActionsRun does what the open requests and those of the policies of today ask for. While a crawl has the data directory it is done
// there, and the crawl visits what is to be crawled again.
func (c *Command) runActionsRun(ctx context.Context, cfg *config.Config, r actionsRunRequest) (err error) {
	s, err := c.openRecorded(cfg)
	if err != nil {
		return c.orNothing(r.JSON, actionsRun{Requests: []actions.Request{}, Erased: []archive.Erasure{}}, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	erased, endWatch := s.erased.watch()
	defer endWatch()
	began, err := s.ledger.Head()
	if err != nil {
		return err
	}
	screen := newProgress(c.Stderr)
	run := actionRunner{cfg: cfg, request: r, began: time.Now(), screen: screen}
	did, stopped := run.run(ctx, s)
	screen.Done()
	if stopped != nil && ctx.Err() == nil {
		return stopped
	}
	if did.Requests, err = s.ledger.Noted(began.Seq); err != nil { // those of a run that is stopped too
		return errors.Join(stopped, err)
	}
	did.Erased = erased.List()
	if r.JSON {
		err = c.printJSON(did)
	} else {
		err = printActionsRun(c.Stdout, did)
	}
	if err = errors.Join(stopped, err); err == nil && did.Open > 0 && r.AtMost == 0 && c.owner == nil {
		return nothing(several(did.Open, "request") + " could not be executed; acapcrawl actions ls says why.")
	}
	return err
}

// actionRunner is one run of action requests.
type actionRunner struct {
	cfg     *config.Config
	request actionsRunRequest
	began   time.Time
	screen  *progress
}

func (a *actionRunner) run(ctx context.Context, s *store) (did actionsRun, err error) {
	own := s.crawl == nil
	h, end := s.crawl, func() {}
	order := crawlOrder{requests: true, log: logger(a.screen, a.cfg), every: redraw, progress: func(p crawler.Progress) {
		a.screen.Set("%s", progressLine(p, time.Now(), ctx.Err() != nil))
	}}
	if own {
		h, end, err = s.begin(ctx, a.cfg, order) // what is open is executed by that
	} else {
		err = h.store.resume(ctx, h.executor, h.store.frontier)
	}
	if err != nil && !unexecuted(err) { // else it is told with what is open
		return did, err
	}
	defer end()
	if !a.request.NoRefresh {
		r := rereading{named: a.request.Origins, within: a.request.OlderThan, until: a.until(), soon: a.request.Soon, only: a.request.Only}
		if did.reread, err = h.reread(ctx, r); err != nil && !unexecuted(err) {
			return did, err
		}
	}
	if own {
		if did.Visited, err = a.visit(ctx, h, order); err != nil {
			return did, err
		}
		h.holdings.AwaitRejudged(ctx)
		if end(); ctx.Err() != nil {
			return did, context.Cause(ctx)
		}
	}
	if err := h.executor.Settle(ctx); err != nil {
		return did, err
	}
	did.More = a.request.AtMost > 0 && time.Since(a.began) > a.request.AtMost
	if own {
		if err := h.store.settle(ctx, a.cfg, h.executor, a.next()); err != nil {
			return did, err
		}
	}
	st, err := s.ledger.Status()
	did.Open, did.Left = st.Due, st.Due > 0 || !st.Erased.IsZero()
	return did, err
}

// until is when the last origin may be begun; zero: at any time.
func (a *actionRunner) until() time.Time {
	if a.request.AtMost <= 0 {
		return time.Time{}
	}
	return a.began.Add(a.request.AtMost)
}

// next is when another run comes at the latest; zero: there may be none.
func (a *actionRunner) next() time.Time {
	if a.request.AtMost <= 0 {
		return time.Time{}
	}
	return time.Now().Add(a.cfg.Actions.SeenWithin)
}

// visit visits what is to be crawled again, and nothing else.
func (a *actionRunner) visit(ctx context.Context, h *handler, order crawlOrder) (int, error) {
	cfg := *a.cfg
	if end := a.until(); !end.IsZero() {
		cfg.MaxTime = max(time.Until(end), time.Second)
	}
	order.promoted, h.sitemaps = true, false
	sum, err := h.crawler(&cfg, order).Run(ctx, nil)
	return sum.Fetched, err
}

// printActionsRun prints a line for each request, and what was read and visited.
func printActionsRun(w io.Writer, did actionsRun) error {
	var b strings.Builder
	for _, r := range did.Requests {
		fmt.Fprintln(&b, actionInWords(r))
	}
	fmt.Fprintf(&b, "%s read again", several(did.Read, "robots.txt file"))
	if did.Unreachable > 0 {
		fmt.Fprintf(&b, ", %s could not be read", number(did.Unreachable))
	}
	if did.Visited > 0 {
		fmt.Fprintf(&b, ", %s visited", several(did.Visited, "page"))
	}
	b.WriteString(".\n")
	_ = printErased(&b, did.Erased)
	_, err := io.WriteString(w, b.String())
	return err
}

// actionInWords is a request and what came of it, on one line.
func actionInWords(r actions.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s: %s", r.Action, r.URL, r.State)
	switch {
	case r.Why != "":
		fmt.Fprintf(&b, ", %s", r.Why)
	case lifted(r):
		b.WriteString(", no longer asked for")
	case r.State != actions.Done:
	case r.Action == acap.TakeDown && r.Erased == 0:
		b.WriteString(", no copy was held")
	case r.Action == acap.TakeDown:
		fmt.Fprintf(&b, ", %s erased", copies(r.Erased))
	case r.Status != 0:
		fmt.Fprintf(&b, ", HTTP status %d", r.Status)
	}
	fmt.Fprintf(&b, " (%s)", r.Source)
	return snippet.Plain(b.String())
}

func copies(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return number(n) + " copies"
}
