package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/fetch"
	"github.com/acapcrawl/acapcrawl/internal/memory"
	"github.com/acapcrawl/acapcrawl/internal/render"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// scripts runs the scripts of pages during a crawl. What they request passes the gate, and is stored like any
// other resource.
type scripts struct {
	*session
	browser *render.Browser
	ctx     context.Context  // when it ends, no more scripts run
	pages   crawler.Patterns // pages whose scripts run
	exclude crawler.Patterns // addresses that are not requested
	budget  render.Budget
	blocked func(crawler.Skip)      // called for each request that was not made
	failed  func(*page.Page, error) // called for each page whose scripts could not run; may be nil

	mu     sync.Mutex
	count  ScriptCounts
	stored map[string]*storedPart // by address
}

// storedPart is a response that was stored in this run.
type storedPart struct {
	start   time.Time
	refused *gate.Refusal // the response itself prohibits its use; nil: it does not
}

// scriptRun is the run of the scripts of one page.
type scriptRun struct {
	*scripts
	page   string          // its address
	follow acap.Decision   // on following links of the page
	asking map[string]bool // addresses whose request would ask the publisher for permission (L02)
	public bool            // the page is from a public network address
	began  time.Time

	mu       sync.Mutex
	made     []string // addresses of the resources that scripts got
	requests int
	bytes    int64
	failed   error // why a response could not be stored
}

// scripted is what became of a page whose scripts may run.
type scripted struct {
	page     *page.Page // the rendered page, or the page as it was
	why      error      // why the scripts of the page did not run although they should; nil: they ran, or should not
	had      []string   // addresses of the resources that were requested and stored
	requests int
	bytes    int64
}

// newScripts returns what runs the scripts of pages, or nil if they do not run.
func (s *session) newScripts(ctx context.Context, b *render.Browser, o CrawlOptions) *scripts {
	want := s.site.cfg.Render
	if len(want.Pages) == 0 {
		return nil
	}
	return &scripts{session: s, browser: b, ctx: ctx, pages: crawler.NewPatterns(want.Pages),
		exclude: crawler.NewPatterns(s.site.cfg.Exclude), blocked: o.Blocked,
		failed: o.Unrendered, stored: map[string]*storedPart{},
		budget: render.Budget{Time: want.Time, Requests: want.Requests, Bytes: int(want.Bytes), Screens: want.Screens,
			Images: s.site.cfg.Requisites}}
}

// counts returns what the scripts of pages could not do so far.
func (s *scripts) counts() ScriptCounts {
	if s == nil {
		return ScriptCounts{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// report counts and reports a request of a page's scripts that was not made or not answered.
func (s *scripts) report(skip crawler.Skip) {
	s.mu.Lock()
	s.count.Blocked++
	s.mu.Unlock()
	s.log.Debug("blocked", "url", skip.URL, "why", skip.Why)
	if s.blocked != nil {
		s.blocked(skip)
	}
}

// reportFailed counts and reports a page whose scripts did not run.
func (s *scripts) reportFailed(pg *page.Page, why error) {
	s.mu.Lock()
	s.count.Failed++
	s.mu.Unlock()
	s.log.Warn("the scripts of a page were not run, and it is kept as it was sent", "url", pg.URL().String(),
		"why", why)
	if s.failed != nil {
		s.failed(pg, why)
	}
}

// selects reports whether the scripts of the page at u shall run.
func (s *scripts) selects(u *url.URL) bool { return s != nil && s.pages.Match(u) }

// run runs the scripts of a page, if a pattern selects it and it may be crawled. It fails if the page must be
// visited again, because the crawl ends, or if something could not be stored.
func (s *scripts) run(ctx context.Context, pg *page.Page) (scripted, error) {
	out := scripted{page: pg}
	last := pg.Last()
	if last.Status/100 != 2 || pg.MIME() != "text/html" || !s.selects(pg.URL()) {
		return out, nil
	}
	origin, err := s.Policy(ctx, pg.URL())
	if err != nil {
		return out, err
	}
	sources := terms.Sources{Policies: s, Licences: s.site.policy}
	t := terms.Of(ctx, origin, pg.URL(), pg, sources, acap.Facts{Now: time.Now()})
	if !t.Decide(acap.Crawl).Allowed || terms.TakeDown(origin, pg.URL()) != nil {
		return out, nil
	}
	r := &scriptRun{scripts: s, page: last.URL, follow: t.Decide(acap.Follow), asking: t.PermissionLinks(), began: time.Now(),
		public: last.Address.IsValid() && address.Special(last.Address) == ""}
	ctx, cancel := context.WithCancel(s.site.o.Budget.Require(ctx))
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	got, err := s.browser.Run(ctx, render.Page{URL: last.URL, Body: last.Body, Header: last.Header,
		ContentType: cmp.Or(pg.DocumentType(), pg.MIME())}, s.budget, r.fetch)
	out.had, out.requests, out.bytes = r.made, r.requests, r.bytes
	switch {
	case s.ctx.Err() != nil: // the next run visits the page again
		return out, crawler.ErrLost
	case r.failed != nil:
		return out, r.failed
	case err != nil:
		out.why = err
		return out, nil
	}
	out.page = renderedPage(pg, got, r.made)
	if _, risky := out.page.Weight(); risky {
		err = memory.Of(ctx).Alone(ctx, out.page.Parse)
	}
	return out, err
}

// renderedPage returns pg with the document that its scripts made of the resources at the addresses made.
func renderedPage(pg *page.Page, got render.Result, made []string) *page.Page {
	hops := slices.Clone(pg.Hops())
	last := &hops[len(hops)-1]
	slices.Sort(made)
	last.Rendered, last.Made = got.HTML, slices.Compact(made)
	rendered := page.New(hops)
	if got.Ended != "" {
		rendered.NoteCut("its scripts were ended: " + got.Ended)
	}
	return rendered
}

// fetch requests what scripts request. It reports what is refused.
func (r *scriptRun) fetch(ctx context.Context, rawurl string, _ render.Kind) (render.Part, error) {
	pg, err := r.obtain(ctx, rawurl)
	if err != nil {
		if ctx.Err() == nil {
			r.report(blockedRequest(r.page, rawurl, err))
		}
		return render.Part{}, err
	}
	last := pg.Last()
	return render.Part{Status: last.Status, Page: render.Page{URL: last.URL, Body: last.Body, Header: last.Header,
		ContentType: cmp.Or(pg.DocumentType(), pg.MIME())}}, nil
}

// obtain requests a resource, if the page permits that its links are followed, and stores it.
func (r *scriptRun) obtain(ctx context.Context, rawurl string) (*page.Page, error) {
	u, err := url.Parse(rawurl)
	if err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	switch {
	case r.exclude.Match(u):
		return nil, fmt.Errorf("%w: %s matches exclude", errExcluded, rawurl)
	case !r.follow.Allowed:
		return nil, r.follow.Err(rawurl)
	case r.asking[u.String()]:
		return nil, errors.New("a request for it would ask the publisher for permission")
	}
	if down := terms.TakenDown(ctx, r, u.String()); down != nil { // the response may have been requested before that
		return nil, &gate.Refusal{URL: rawurl, Rule: gate.RuleTakeDown, TakeDown: down,
			Why: "its publisher asks that it be taken down: " + down.String()}
	}
	t, err := r.resources.Visit(ctx, u.String(), nil)
	if err != nil {
		return nil, fetch.NoAnswer(err)
	}
	pg := fetch.PageOf(t)
	if last := pg.Last(); r.public && last.Address.IsValid() && address.Special(last.Address) != "" {
		return nil, fmt.Errorf("%s is %s address, and the page is not at one", last.Address, address.Special(last.Address))
	}
	if err := r.store(ctx, pg); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, hop := range pg.Hops() {
		r.made = append(r.made, hop.URL)
		if !hop.Start.Before(r.began) { // otherwise it was requested for another page
			r.requests++
			r.bytes += int64(len(hop.Wire))
		}
	}
	return pg, nil
}

// store stores a response, if it was not stored before in this run. If the response itself prohibits its use,
// the error is a *gate.Refusal.
func (r *scriptRun) store(ctx context.Context, pg *page.Page) error {
	at, start := pg.URL().String(), pg.Last().Start
	r.scripts.mu.Lock()
	known := r.stored[at]
	r.scripts.mu.Unlock()
	if known == nil || !known.start.Equal(start) {
		known = &storedPart{start: start}
		if r.site.owns(pg.URL()) {
			got, err := r.receive(context.WithoutCancel(ctx), pg)
			switch {
			case err != nil:
				r.mu.Lock()
				defer r.mu.Unlock()
				r.failed = errors.Join(r.failed, err)
				return err
			case got.RefusedCrawl:
				known.refused = &gate.Refusal{URL: at, Decision: got.Decision}
			}
		}
		r.scripts.mu.Lock()
		r.stored[at] = known
		r.scripts.mu.Unlock()
	}
	if known.refused != nil {
		return known.refused
	}
	return nil
}

var errExcluded = errors.New("not requested")

// blockedRequest returns the report of a request of a script that was not made, or whose response could not
// be used.
func blockedRequest(page, rawurl string, err error) crawler.Skip {
	skip := crawler.Skip{URL: rawurl, State: crawler.Failed, When: time.Now(),
		Why: fmt.Sprintf("%v; scripts of %s request it", err, page)}
	var refused *acap.Refused
	switch refusal, is := errors.AsType[*gate.Refusal](err); {
	case is && refusal.Rule != gate.RuleLease:
		skip.State, skip.Decision, skip.TakeDown = crawler.Refused, refusal.Decision, refusal.TakeDown
		if refusal.Rule != "" {
			skip.Decision = acap.Decision{}
		}
	case errors.Is(err, errExcluded):
		skip.State = crawler.Outside
	case errors.As(err, &refused):
		skip.State, skip.Decision = crawler.Refused, refused.Decision
	}
	return skip
}
