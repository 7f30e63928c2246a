package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// AuditSite gives an audit access to a publisher's site. It requests nothing that policy prohibits.
type AuditSite struct {
	check.Site
	Sitemap func(ctx context.Context, address string) (pages, more []string, err error)
}

// ErrSpent is wrapped by the error for a page beyond the limit of requests.
var ErrSpent = errors.New("no more pages are requested")

// AuditOptions holds the options of an audit.
type AuditOptions struct {
	Pages int // maximum number of requested pages, at least 1
	Check check.Options
	// called before each page with the number of requested pages and the limit; may be nil
	Tell func(requested, most int, address string)
}

// Limits of the work and the output of an audit.
const (
	maxAudited = 24 // number of named crawlers for which effects are reported
	// maximum number of addresses from which the audited pages are chosen; also the maximum number
	// of addresses that are added to show the effect of a statement
	maxCandidates = 1000
	minCandidates = 50   // the maximum that replaces maxCandidates if the policy files are large
	maxCompared   = 20e6 // approximate limit of addresses times statements times crawlers
	maxListings   = 10   // maximum number of sitemaps that are read
	maxUnasked    = 20   // maximum number of addresses for which decisions are reported although they are not requested
)

// auditor performs an audit.
type auditor struct {
	*Audit
	site    AuditSite
	o       AuditOptions
	surface *check.Surface
	root    *url.URL
	files   []*acap.File // robots.txt and the files to which it refers
	views   []*auditView
	sample  sample
	busy    bool // the site has asked the crawler to send fewer requests
	places  map[fieldPlace]*acap.Field
	at      map[clash]int
}

// auditView is the policy of the site for one crawler, or for every crawler that is not named.
type auditView struct {
	name     string // name of the crawler; "": any crawler that is not named
	policies *policy.Authority
	policy   *acap.Policy
	refs     []acap.Reference
	rows     []Row
}

// AuditSiteOf audits the site of some pages of one origin. When ctx ends, it returns what it has
// found so far. It returns an error if an address has no origin.
func AuditSiteOf(ctx context.Context, start []*url.URL, site AuditSite, o AuditOptions) (*Audit, error) {
	key, err := policy.Key(start[0])
	if err != nil {
		return nil, err
	}
	root, err := url.Parse(key + "/")
	if err != nil {
		return nil, err
	}
	a := &auditor{site: site, o: o, root: root}
	a.Audit = &Audit{Site: key, Time: o.Check.Now.UTC(), Crawler: site.Who.Names, Purposes: site.Who.Purposes,
		report: &check.Report{},
		Files:  []AuditFile{}, Said: []Said{}, Contradictions: []Contradiction{}, Departures: []Contradiction{},
		Effects: []Effects{}, Drifts: []Drift{},
		// empty lists instead of null in JSON
		Actions: []AuditAction{}, Sitemaps: []AuditSitemap{}, Pages: []AuditPage{}}
	err = a.run(ctx, start)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	a.Complete = err == nil && ctx.Err() == nil
	a.Findings, a.Notes = append([]acap.Finding{}, a.report.Findings...), append([]string{}, a.report.Notes...)
	return a.Audit, nil
}

func (a *auditor) run(ctx context.Context, start []*url.URL) (err error) {
	if a.surface, err = a.report.Surface(ctx, a.root, a.site.Site, a.o.Check); err != nil {
		return err
	}
	a.Status = string(a.surface.Origin.Status)
	a.describe()
	if a.surface.Origin.Status == policy.Unreachable {
		return nil
	}
	if err := a.look(ctx); err != nil {
		return err
	}
	a.said()
	defer a.settle(ctx)
	a.sample = newSample(a)
	for _, u := range start {
		a.sample.add(u.String(), true)
	}
	if err := a.listings(ctx); err != nil {
		return err
	}
	for requested := 0; requested < a.o.Pages && !a.busy; {
		u := a.sample.next()
		if u == nil {
			return nil
		}
		if a.o.Tell != nil {
			a.o.Tell(requested, a.o.Pages, u.String())
		}
		if err := a.visit(ctx, u); errors.Is(err, ErrSpent) {
			break
		} else if err != nil {
			return err
		}
		if a.Pages[len(a.Pages)-1].Requested {
			requested++
		}
	}
	if n := a.sample.passed(); n > 0 {
		a.note("%s that were named were not checked: no more pages are requested", count(n, "address"))
	}
	return nil
}

// describe reports the policy files.
func (a *auditor) describe() {
	o := a.surface.Origin
	f := AuditFile{URL: o.Key + "/robots.txt", Status: o.HTTP, Why: o.Why}
	if o.Status == policy.Read {
		a.files = append(a.files, o.Robots)
		f = a.file(o.Robots, f.URL, o.Robots.Final)
	}
	a.Files = append(a.Files, f)
	for _, ref := range a.surface.References() {
		if slices.ContainsFunc(a.Files, func(f AuditFile) bool { return f.URL == ref.URL }) {
			continue
		}
		if ref.File != nil {
			a.files = append(a.files, ref.File)
			a.Files = append(a.Files, a.file(ref.File, ref.URL, ref.Final))
		} else {
			a.Files = append(a.Files, AuditFile{URL: ref.URL, Status: a.site.Answers.Of(ref.URL, ref.Final).Status,
				Why: ref.Err.Error()})
		}
	}
	a.vocabularyFiles()
}

func (a *auditor) file(f *acap.File, named, final string) AuditFile {
	answer := a.site.Answers.Of(named, final)
	out := AuditFile{URL: named, Final: final, Status: answer.Status, Type: answer.Header.Get("Content-Type"),
		Bytes:   len(answer.Body),
		Version: f.Version(), Ignores: f.IgnoreConventional(), Statements: len(f.Statements())}
	for _, g := range f.Groups() {
		out.Conventional += len(g.Rules)
	}
	return out
}

// look finds the crawlers that the site names, and reads the references for each.
func (a *auditor) look(ctx context.Context) error {
	names := []string{""}
	for _, f := range a.files {
		for _, name := range f.Crawlers() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if n := len(names) - 1; n > maxAudited {
		a.note("%d crawlers are named: effects are reported for the first %d", n, maxAudited)
		names = names[:maxAudited+1]
	}
	for _, name := range names {
		c := a.site.Who // each crawler has the reading and the purposes of the audit
		c.Names = nil
		if name != "" {
			c.Names = []string{name}
		}
		v := &auditView{name: name, policies: a.site.Policies.For(c)}
		origin, err := v.policies.Origin(ctx, a.root)
		if err != nil {
			return err
		}
		v.policy, v.refs = origin.Policy, origin.References
		a.views = append(a.views, v)
		a.requests(v)
	}
	return nil
}

// requests adds the action requests that address the crawler of v, each once. Requests that address
// any crawler are already listed.
func (a *auditor) requests(v *auditView) {
	for _, act := range v.policy.Actions() {
		by := lineOf(act.Field)
		i := slices.IndexFunc(a.Actions, func(have AuditAction) bool { return have.URL == act.URL && *have.By == *by })
		switch {
		case i < 0:
			a.Actions = append(a.Actions, AuditAction{act.Action, act.URL, []string{v.name}, act.Execute, act.Why, by})
		case a.Actions[i].Crawlers[0] != "":
			a.Actions[i].Crawlers = append(a.Actions[i].Crawlers, v.name)
		}
	}
}

// listings adds the addresses in sitemaps.
func (a *auditor) listings(ctx context.Context) error {
	var queue []string
	for _, named := range a.surface.Origin.Policy.Sitemaps() {
		if u, err := a.root.Parse(named); err == nil { // the address of a sitemap may be relative to the site
			queue = append(queue, u.String())
		}
	}
	for len(queue) > 0 && len(a.Sitemaps) < maxListings {
		address := queue[0]
		queue = queue[1:]
		if slices.ContainsFunc(a.Sitemaps, func(s AuditSitemap) bool { return s.URL == address }) {
			continue
		}
		pages, more, err := a.site.Sitemap(ctx, address)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s := AuditSitemap{URL: address, Pages: len(pages)}
		if err != nil {
			s.Why = err.Error()
		}
		a.Sitemaps = append(a.Sitemaps, s)
		listed := spread(pages, a.sample.most/2)
		if len(listed) < len(pages) {
			a.note("%s lists %d pages: some are chosen of %d of them, spread over all", address, len(pages),
				len(listed))
		}
		for _, p := range listed {
			a.sample.add(p, false)
		}
		queue = append(queue, more[:min(len(more), maxListings)]...)
	}
	if slices.ContainsFunc(queue, func(address string) bool {
		return !slices.ContainsFunc(a.Sitemaps, func(s AuditSitemap) bool { return s.URL == address })
	}) {
		a.note("further sitemaps are named: the first %d were read", maxListings)
	}
	return nil
}

// note adds a sentence to the report about what the audit left out.
func (a *auditor) note(format string, args ...any) {
	a.report.Notes = append(a.report.Notes, fmt.Sprintf(format, args...))
}

// spread returns n elements of a list, at equal distances.
func spread(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	out := make([]string, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}
	return out
}

// visit requests a page, and reports its statements and the decisions about it.
func (a *auditor) visit(ctx context.Context, u *url.URL) error {
	one := AuditPage{URL: u.String()}
	pg, err := a.site.Fetcher.Page(ctx, u.String())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrSpent): // the redirects of the page exceeded the limit
		one.Why = "it was not requested: no more pages are"
		return errors.Join(err, a.add(ctx, u, nil, one))
	}
	refused, is := errors.AsType[*acap.Refused](err)
	one.refused = is || terms.TakeDown(a.surface.Origin.Policy, u) != nil
	one.Requested = !one.refused || is && refused.URL != u.String()
	if err == nil {
		one.Status = pg.Last().Status
		if a.busy = wantsRest(pg.Last()); a.busy {
			a.note("%s asks crawlers to wait: no more pages were requested", a.Site)
		}
		if one.Status < 200 || one.Status > 299 {
			err = fmt.Errorf("it answers with status %d", one.Status)
		}
	}
	if err != nil {
		one.Why, pg = err.Error(), nil
	} else {
		one.Title = pg.Title(page.Cut{})
		if acap.NewResource(pg.URL()).URL != acap.NewResource(u).URL {
			one.Final = pg.URL().String()
		}
		if err := a.read(ctx, u, pg); err != nil {
			return err
		}
	}
	return a.add(ctx, u, pg, one)
}

// add adds an address to the report, with the decisions about it.
func (a *auditor) add(ctx context.Context, u *url.URL, pg *page.Page, one AuditPage) error {
	if err := a.effects(ctx, u, pg, one); err != nil {
		return err
	}
	a.Pages = append(a.Pages, one)
	return nil
}

// read checks the statements of a page, and records its links if they may be followed.
func (a *auditor) read(ctx context.Context, u *url.URL, pg *page.Page) error {
	if err := a.surface.Own(ctx, u, pg); err != nil {
		return err
	}
	t, err := terms.Reach(ctx, a.surface.Origin.Policy, u, pg, terms.Sources{Policies: a.site.Policies,
		Fetcher: a.site.Fetcher, Licences: a.site.Policies},
		acap.Facts{Now: a.o.Check.Now})
	if err != nil {
		return err
	}
	if !t.Open(acap.Follow) {
		return nil
	}
	links, _ := t.Links()
	for _, link := range links {
		a.sample.add(link, false)
	}
	return nil
}

// wantsRest reports whether the server asks the crawler to send fewer requests.
func wantsRest(h page.Hop) bool {
	return h.Status == http.StatusTooManyRequests || h.Status == http.StatusServiceUnavailable &&
		h.Header.Get("Retry-After") != ""
}

// settle completes the audit with everything that needs no request. When ctx ends, it skips the
// slow parts.
func (a *auditor) settle(ctx context.Context) {
	for _, u := range a.sample.unasked(ctx) {
		one := AuditPage{URL: u.String(), Why: "it was not requested: it shows what a statement covers"}
		switch {
		case terms.TakeDown(a.surface.Origin.Policy, u) != nil:
			one.Why, one.refused = "it was not requested: its publisher asks that it be taken down", true
		case !a.crawlable(u):
			one.Why, one.refused = "it may not be crawled by "+strings.Join(a.Crawler, ", "), true
		}
		_ = a.add(context.WithoutCancel(ctx), u, nil, one) // cannot fail, because it makes no request
	}
	a.gather()
	a.drift(ctx)
}

// crawlable reports whether u may be requested.
func (a *auditor) crawlable(u *url.URL) bool {
	p := a.surface.Origin.Policy
	return p.Decide(acap.Crawl, acap.NewResource(u)).Allowed && terms.TakeDown(p, u) == nil
}
