package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
	failed  func(*page.Page, error) // called for each page that could not be rendered; may be nil

	mu     sync.Mutex
	count  ScriptCounts
	stored map[string]*storedPart // by address
}

// mostStored is the maximal number of addresses that scripts remember.
const mostStored = 10_000

// storedPart is a response that was stored in this run.
type storedPart struct {
	start   time.Time
	refused *gate.Refusal  // the response itself prohibits crawl; nil: it does not
	barred  *acap.Decision // why its text may not become text of a page; nil: it may
}

// scriptRun is the run of the scripts of one page.
type scriptRun struct {
	*scripts
	page   string        // its address
	follow acap.Decision // on following links of the page
	// addresses that elements of the page name, and whether these permit to follow them
	named  map[string]bool
	byRel  map[string]bool // those that elements with rel=nofollow name
	part   *acap.Decision  // the decision on the elements that do not; nil if it is not known
	asking map[string]bool // addresses whose request would ask the publisher for permission (L02)
	public bool            // the page is from a public network address
	began  time.Time

	mu        sync.Mutex
	made, ran []string // addresses of the data (with style sheets) and scripts that the page got, redirects included
	had       []string // addresses of everything that the page got
	reported  map[string]bool
	requests  int
	bytes     int64
	failed    error // why a response could not be stored
}

// scripted is the result of run for one page.
type scripted struct {
	page     *page.Page // the rendered page, or the page as sent
	why      error      // why the page could not be rendered; nil: it was rendered, or no pattern selects it
	had      []string   // addresses of the resources that were requested and stored
	requests int
	bytes    int64
}

// newScripts returns a scripts for the setting render; nil if no pattern is set. b is nil if the browser cannot be
// started.
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

// selects reports whether a pattern selects the page at u, so that its scripts run.
func (s *scripts) selects(u *url.URL) bool { return s != nil && s.pages.Match(u) }

// run runs the scripts of a page, if a pattern selects it and it may be crawled. It fails if the page must be
// visited again, because the crawl or the browser has ended, or if a response could not be stored.
func (s *scripts) run(ctx context.Context, pg *page.Page) (scripted, error) {
	out := scripted{page: pg}
	if !pg.Last().OK() || pg.MIME() != "text/html" || !s.selects(pg.URL()) {
		return out, nil
	}
	origin, err := s.Policy(ctx, pg.URL())
	if err != nil {
		return out, err
	}
	t := s.termsOf(ctx, origin, pg)
	if !t.Decide(acap.Crawl).Allowed || terms.TakeDown(origin, pg.URL()) != nil {
		return out, nil
	}
	if s.browser == nil {
		return out, fmt.Errorf("%w: the browser cannot be started", crawler.ErrLater)
	}
	r := s.newRun(pg, t)
	ctx, cancel := context.WithCancel(s.site.o.Budget.Require(ctx))
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	got, err := s.browser.Run(ctx, forBrowser(pg), s.budget, r.fetch)
	out.had, out.requests, out.bytes = r.had, r.requests, r.bytes
	switch {
	case s.ctx.Err() != nil: // the next run visits the page again
		return out, crawler.ErrLost
	case r.failed != nil:
		return out, r.failed
	case errors.Is(err, render.ErrGone): // says nothing about the page, so it is visited again later
		return out, fmt.Errorf("%w: %w", crawler.ErrLater, err)
	case err != nil:
		out.why = err
		return out, nil
	}
	s.mu.Lock()
	s.count.Blocked += got.Unmade
	s.mu.Unlock()
	if got.Opens != "" {
		s.log.Warn("a page tries to open another one, so its rendered document may be incomplete",
			"url", pg.URL().String(), "opens", got.Opens)
		s.report(blockedRequest(r.page, got.Opens,
			fmt.Errorf("%w: a page opens no other one while its scripts run", errExcluded)))
	}
	out.page = r.rendered(pg, got)
	if _, risky := out.page.Weight(); risky {
		err = memory.Of(ctx).Alone(ctx, out.page.Parse)
	}
	return out, err
}

// forBrowser returns a page or a resource as it is given to the browser.
func forBrowser(pg *page.Page) render.Page {
	last := pg.Last()
	return render.Page{URL: last.URL, Body: last.Body, Header: last.Header,
		ContentType: cmp.Or(pg.DocumentType(), pg.MIME())}
}

// termsOf returns the terms of a page or a resource that was requested.
func (s *session) termsOf(ctx context.Context, origin *acap.Policy, pg *page.Page) *terms.Terms {
	return terms.Of(ctx, origin, pg.URL(), pg, terms.Sources{Policies: s, Licences: s.site.policy},
		acap.Facts{Now: time.Now()})
}

// newRun returns a run of the scripts of a page with the terms t.
func (s *scripts) newRun(pg *page.Page, t *terms.Terms) *scriptRun {
	last := pg.Last()
	r := &scriptRun{scripts: s, page: last.URL, follow: t.Decide(acap.Follow), asking: t.PermissionLinks(),
		public: last.Address.IsValid() && address.Special(last.Address) == "", began: time.Now(),
		reported: map[string]bool{}, named: map[string]bool{}, byRel: map[string]bool{},
		part: t.BarredPart(acap.Follow)}
	hindered, all := pg.NoFollow()
	if !all {
		r.follow = r.follow.Refuse(acap.ByProhibition, "not all links with rel=nofollow were read")
	}
	for _, named := range hindered {
		r.byRel[normalOr(named)] = true
	}
	for _, named := range slices.Concat(hindered, pg.Requisites(page.Cut{}), pg.Links(page.Cut{})) {
		r.named[normalOr(named)] = false
	}
	links, _ := t.Links()
	for _, named := range slices.Concat(t.Requisites(), links) {
		r.named[normalOr(named)] = true
	}
	return r
}

// normalOr returns an address in normal form, or the address itself if it has no such form.
func normalOr(rawurl string) string {
	if normal, err := address.Normal(rawurl); err == nil {
		return normal
	}
	return rawurl
}

// rendered returns pg with the document that its scripts made.
func (r *scriptRun) rendered(pg *page.Page, got render.Result) *page.Page {
	hops := slices.Clone(pg.Hops())
	last := &hops[len(hops)-1]
	last.Rendered, last.Made, last.Ran = got.HTML, sorted(r.made), sorted(r.ran)
	rendered := page.New(hops)
	if got.Ended != "" {
		rendered.NoteCut("its scripts were ended: " + got.Ended)
	}
	return rendered
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// fetch answers a request of the scripts. It reports each address that is refused or does not answer, once.
func (r *scriptRun) fetch(ctx context.Context, rawurl string, kind render.Kind) (render.Part, error) {
	pg, err := r.obtain(ctx, rawurl, kind)
	if err != nil {
		r.mu.Lock()
		known := r.reported[rawurl]
		r.reported[rawurl] = true
		r.mu.Unlock()
		if ctx.Err() == nil && !known {
			r.report(blockedRequest(r.page, rawurl, err))
		}
		return render.Part{}, err
	}
	return render.Part{Status: pg.Last().Status, Page: forBrowser(pg)}, nil
}

// obtain requests a resource, if that is permitted, and stores it.
func (r *scriptRun) obtain(ctx context.Context, rawurl string, kind render.Kind) (*page.Page, error) {
	u, err := url.Parse(rawurl)
	if err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	var refused error
	t, err := r.resources.VisitPermitted(ctx, u.String(), func(u *url.URL) error {
		refused = r.permit(ctx, u)
		return refused
	})
	switch {
	case refused != nil:
		return nil, refused
	case err != nil:
		return nil, fetch.NoAnswer(err)
	}
	pg := fetch.PageOf(t)
	if pg.Last().Status == http.StatusPartialContent {
		return nil, errors.New("it answered with a part (206)")
	}
	for _, hop := range pg.Hops() {
		if r.public && hop.Address.IsValid() && address.Special(hop.Address) != "" {
			return nil, fmt.Errorf("%s is %s address, but the page is at a public one", hop.Address,
				address.Special(hop.Address))
		}
	}
	stored, err := r.store(ctx, pg)
	switch {
	case err != nil:
		return nil, err
	case stored.refused != nil:
		return nil, stored.refused
	}
	if ofText(kind) {
		if stored.barred != nil {
			return nil, stored.barred.Err(pg.URL().String())
		}
		if err := r.refusedRedirect(ctx, pg); err != nil {
			return nil, err
		}
	}
	r.count(pg, kind)
	return pg, nil
}

// ofText reports whether scripts can read the text of a resource of this kind. They can read the rules of a style
// sheet.
func ofText(kind render.Kind) bool { return kind == render.Data || kind == render.Sheet }

// refusedRedirect returns why the text of pg may not become text of the page, by what is said of an address that
// redirects to pg; nil if it may.
func (r *scriptRun) refusedRedirect(ctx context.Context, pg *page.Page) error {
	hops := pg.Hops()
	for i := 1; i < len(hops); i++ {
		from := page.New(hops[:i])
		origin, err := r.Policy(ctx, from.URL())
		if err != nil {
			return err
		}
		d, err := r.refusedText(ctx, r.termsOf(ctx, origin, from), origin, from.URL())
		switch {
		case err != nil:
			return err
		case d != nil:
			return d.Err(from.URL().String())
		}
	}
	return nil
}

// refusedText returns why the text of the resource at u may not become text of the page, by its terms t, or, as a sweep
// decides, by what an earlier response has said that is still in force; nil if it may.
func (r *scriptRun) refusedText(ctx context.Context, t *terms.Terms, origin *acap.Policy, u *url.URL) (*acap.Decision,
	error) {
	if d := t.RefusedText(); d != nil {
		return d, nil
	}
	known, _, err := r.site.archive.Resource(u.String())
	if err != nil {
		return nil, err
	}
	facts := known.Facts()
	facts.Now = time.Now()
	return terms.Held(ctx, origin, u, known.Own, nil, terms.Sources{Policies: r, Licences: r.site.policy},
		facts).RefusedText(), nil
}

// permit returns why u, the address of a request or of its redirect, must not be requested for the page; nil if it
// may be requested.
func (r *scriptRun) permit(ctx context.Context, u *url.URL) error {
	at, _, _ := strings.Cut(u.String(), "#")
	follows, named := r.named[normalOr(at)]
	switch {
	case r.exclude.Match(u):
		return fmt.Errorf("%w: %s matches exclude", errExcluded, at)
	case r.byRel[normalOr(at)] && !follows && r.follow.Allowed:
		return fmt.Errorf("%w: %s names %s only in elements with rel=nofollow", errNofollow, r.page, at)
	case named && !follows && r.part != nil:
		return r.part.Err(at)
	case named && !follows, !follows && !r.follow.Allowed:
		return r.follow.Refuse(acap.ByProhibition, "the page does not permit following it").Err(at)
	case r.asking[at]:
		return errors.New("a request for it would ask the publisher for permission")
	}
	// the response may have been requested before the policy changed
	origin, err := r.Policy(ctx, u)
	if err != nil {
		return err
	}
	if refused := gate.RefusedBy(origin, u); refused != nil {
		return refused
	}
	return nil
}

// count notes that the page got a resource.
func (r *scriptRun) count(pg *page.Page, kind render.Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, hop := range pg.Hops() {
		r.had = append(r.had, hop.URL)
		switch {
		case ofText(kind):
			r.made = append(r.made, hop.URL)
		case kind == render.Script:
			r.ran = append(r.ran, hop.URL)
		}
		if !hop.Start.Before(r.began) { // otherwise it was requested for another page
			r.requests++
			r.bytes += int64(len(hop.Wire))
		}
	}
}

// store stores a response, if it was not stored before in this run, and returns what it permits.
func (r *scriptRun) store(ctx context.Context, pg *page.Page) (*storedPart, error) {
	at, start := pg.URL().String(), pg.Last().Start
	r.scripts.mu.Lock()
	known := r.stored[at]
	r.scripts.mu.Unlock()
	if known != nil && known.start.Equal(start) {
		return known, nil
	}
	ctx = context.WithoutCancel(ctx)
	origin, err := r.Policy(ctx, pg.URL())
	if err != nil {
		return nil, err
	}
	t := r.termsOf(ctx, origin, pg)
	known = &storedPart{start: start}
	if d := t.Decide(acap.Crawl); !d.Allowed {
		known.refused = &gate.Refusal{URL: at, Decision: d}
	}
	if r.site.owns(pg.URL()) {
		if _, err := r.receive(ctx, pg); err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.failed = errors.Join(r.failed, err)
			return nil, err
		}
	}
	if known.barred, err = r.refusedText(ctx, t, origin, pg.URL()); err != nil { // by the record that receive updated
		return nil, err
	}
	r.scripts.mu.Lock()
	defer r.scripts.mu.Unlock()
	if len(r.stored) >= mostStored {
		clear(r.stored)
	}
	r.stored[at] = known
	return known, nil
}
