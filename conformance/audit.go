package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/check"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// AuditSite is what an audit looks at a publisher's site through. Nothing is requested that policy does not permit.
type AuditSite struct {
	check.Site
	Sitemap func(ctx context.Context, address string) (pages, more []string, err error)
}

// ErrSpent is wrapped by the error for a page that is not requested since as many were as may be.
var ErrSpent = errors.New("no more pages are requested")

// AuditOptions say how a site is audited.
type AuditOptions struct {
	Pages int // to be requested at most, at least 1
	Check check.Options
	Tell  func(requested, found int, address string) // before each page; may be nil
}

// Bounds on what an audit looks at, and shows.
const (
	maxAudited    = 24   // crawlers that are named, for whom effects are told
	maxCandidates = 1000 // addresses of which pages are chosen
	maxListings   = 10   // sitemaps
	maxUnasked    = 20   // addresses that are judged without a request
)

// Audit is what was found of one site.
type Audit struct {
	Site     string    `json:"site"` // scheme and host
	Time     time.Time `json:"time"`
	Crawler  []string  `json:"crawler"` // as who it was looked at
	Complete bool      `json:"complete"`
	Status   string    `json:"status"` // of robots.txt: read, none, unreachable

	Files          []AuditFile     `json:"files"`
	Said           []Said          `json:"said"`
	Findings       []acap.Finding  `json:"findings"`
	Notes          []string        `json:"notes"`
	Contradictions []Contradiction `json:"contradictions"`
	Departures     []Contradiction `json:"departures"` // by which a page restricts what the site permits, as it may
	Effects        []Effects       `json:"effects"`
	Drifts         []Drift         `json:"drifts"`
	Silent         int             `json:"silent"` // addresses of which ACAP limits what a conventional crawler may take for free
	Actions        []AuditAction   `json:"actions"`
	Sitemaps       []AuditSitemap  `json:"sitemaps"`
	Pages          []AuditPage     `json:"pages"`

	report *check.Report
}

// AuditFile is a file of policy.
type AuditFile struct {
	URL          string `json:"url"`
	Final        string `json:"final,omitempty"` // where redirects led
	Status       int    `json:"status"`          // of the last answer; 0: there was none
	Type         string `json:"type,omitempty"`
	Bytes        int    `json:"bytes"`
	Version      string `json:"version,omitempty"`
	Ignores      bool   `json:"ignores_conventional,omitempty"`
	Why          string `json:"why,omitempty"` // it could not be read
	Statements   int    `json:"statements"`
	Conventional int    `json:"conventional_rules"`
}

// AuditLine is a field that decided something.
type AuditLine struct {
	Source acap.Source `json:"source"`
	URL    string      `json:"url"`
	Line   int         `json:"line"`
	Field  string      `json:"field"`
}

func lineOf(f *acap.Field) *AuditLine {
	if f == nil {
		return nil
	}
	return &AuditLine{f.Source, f.URL, f.Line, f.Text}
}

// AuditAction is a request of the publisher.
type AuditAction struct {
	Action  string     `json:"action"`
	URL     string     `json:"url"`
	Crawler string     `json:"crawler"` // to whom, "" any
	Execute bool       `json:"execute"`
	Why     string     `json:"why,omitempty"`
	By      *AuditLine `json:"by"`
}

// AuditSitemap is a sitemap that robots.txt, or another one, names.
type AuditSitemap struct {
	URL   string `json:"url"`
	Pages int    `json:"pages"`
	Why   string `json:"why,omitempty"` // it could not be read, or in part
}

// AuditPage is an address that the audit looked at.
type AuditPage struct {
	URL       string `json:"url"`
	Requested bool   `json:"requested"`
	Status    int    `json:"status,omitempty"`
	Title     string `json:"title,omitempty"`
	Final     string `json:"final,omitempty"`
	Why       string `json:"why,omitempty"` // there is no page
	refused   bool
}

// auditor makes an audit.
type auditor struct {
	*Audit
	site    AuditSite
	o       AuditOptions
	surface *check.Surface
	root    *url.URL
	files   []*acap.File // robots.txt, and what it refers to
	views   []*auditView
	sample  sample
	places  map[fieldPlace]*acap.Field
	at      map[clash]int
}

// auditView is how one crawler, or any other, sees the site.
type auditView struct {
	name     string // "" for any other
	policies *policy.Authority
	policy   *acap.Policy
	refs     []acap.Reference
	rows     []Row
}

// AuditSiteOf looks at the site of some pages, which are of one origin. When ctx ends it gives what was found until then. The error is
// that of an address without origin.
func AuditSiteOf(ctx context.Context, start []*url.URL, site AuditSite, o AuditOptions) (*Audit, error) {
	a := &auditor{site: site, o: o, root: &url.URL{Scheme: start[0].Scheme, Host: start[0].Host, Path: "/"}}
	a.Audit = &Audit{Site: a.root.Scheme + "://" + a.root.Host, Time: o.Check.Now.UTC(), Crawler: site.Who.Names, report: &check.Report{},
		Said: []Said{}, Contradictions: []Contradiction{}, Departures: []Contradiction{}, Effects: []Effects{}, Drifts: []Drift{},
		Actions: []AuditAction{}, Sitemaps: []AuditSitemap{}, Pages: []AuditPage{}} // empty lists in JSON, no null
	err := a.run(ctx, start)
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
	defer a.settle()
	a.sample = newSample(a)
	for _, u := range start {
		a.sample.add(u.String(), true)
	}
	if err := a.listings(ctx); err != nil {
		return err
	}
	for requested := 0; requested < a.o.Pages; requested++ {
		u := a.sample.next()
		if u == nil {
			break
		}
		if a.o.Tell != nil {
			a.o.Tell(requested, a.o.Pages, u.String())
		}
		if err := a.visit(ctx, u); errors.Is(err, ErrSpent) {
			break
		} else if err != nil {
			return err
		}
	}
	return nil
}

// describe tells of the files of policy.
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
			a.Files = append(a.Files, AuditFile{URL: ref.URL, Status: a.site.Answers.Of(ref.URL, ref.Final).Status, Why: ref.Err.Error()})
		}
	}
}

func (a *auditor) file(f *acap.File, named, final string) AuditFile {
	answer := a.site.Answers.Of(named, final)
	out := AuditFile{URL: named, Final: final, Status: answer.Status, Type: answer.Header.Get("Content-Type"), Bytes: len(answer.Body),
		Version: f.Version(), Ignores: f.IgnoreConventional(), Statements: len(f.Statements())}
	for _, g := range f.Groups() {
		out.Conventional += len(g.Rules)
	}
	return out
}

// look finds who is addressed, and reads what each is referred to.
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
		a.note("%d crawlers are named: effects are told for the first %d", n, maxAudited)
		names = names[:maxAudited+1]
	}
	for _, name := range names {
		c := acap.Crawler{}
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

// requests lists the action requests that reach a crawler, each once.
func (a *auditor) requests(v *auditView) {
	for _, act := range v.policy.Actions() {
		by := lineOf(act.Field)
		if !slices.ContainsFunc(a.Actions, func(have AuditAction) bool { return have.URL == act.URL && *have.By == *by }) {
			a.Actions = append(a.Actions, AuditAction{act.Action, act.URL, v.name, act.Execute, act.Why, by})
		}
	}
}

// listings adds what sitemaps list.
func (a *auditor) listings(ctx context.Context) error {
	var queue []string
	for _, named := range a.surface.Origin.Policy.Sitemaps() {
		if u, err := a.root.Parse(named); err == nil { // some are written relative to the site
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
		listed := spread(pages, maxCandidates/2)
		if len(listed) < len(pages) {
			a.note("%s lists %d pages: some are chosen of %d of them, spread over all", address, len(pages), len(listed))
		}
		for _, p := range listed {
			a.sample.add(p, false)
		}
		queue = append(queue, more[:min(len(more), maxListings)]...)
	}
	if len(queue) > 0 {
		a.note("further sitemaps are named: the first %d were read", maxListings)
	}
	return nil
}

// note adds a sentence on what was left out.
func (a *auditor) note(format string, args ...any) {
	a.report.Notes = append(a.report.Notes, fmt.Sprintf(format, args...))
}

// spread takes n of a list, evenly.
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

// visit requests a page, and tells what it says and what may be done with it.
func (a *auditor) visit(ctx context.Context, u *url.URL) error {
	one := AuditPage{URL: u.String()}
	pg, err := a.site.Fetcher.Page(ctx, u.String())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrSpent): // by redirects
		return err
	}
	refused, is := errors.AsType[*acap.Refused](err)
	one.refused = is || terms.TakeDown(a.surface.Origin.Policy, u) != nil
	one.Requested = !one.refused || is && refused.URL != u.String()
	if err == nil {
		one.Status = pg.Last().Status
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
	if err := a.effects(ctx, u, pg, one); err != nil {
		return err
	}
	a.Pages = append(a.Pages, one)
	return nil
}

// read checks what a page says, and notes where it leads, as far as it may be followed.
func (a *auditor) read(ctx context.Context, u *url.URL, pg *page.Page) error {
	if err := a.surface.Own(ctx, u, pg); err != nil {
		return err
	}
	t, err := terms.Reach(ctx, a.surface.Origin.Policy, u, pg, terms.Sources{Policies: a.site.Policies, Fetcher: a.site.Fetcher},
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

// settle ends the audit with what needs no request.
func (a *auditor) settle() {
	for _, u := range a.sample.unasked() {
		one := AuditPage{URL: u.String(), Why: "it was not requested: it shows what a statement covers"}
		if !a.crawlable(u) {
			one.Why, one.refused = "it may not be crawled by "+strings.Join(a.Crawler, ", "), true
		}
		if a.effects(context.Background(), u, nil, one) == nil { // makes no request
			a.Pages = append(a.Pages, one)
		}
	}
	a.gather()
	a.drift()
}

// crawlable reports whether u may be requested.
func (a *auditor) crawlable(u *url.URL) bool {
	p := a.surface.Origin.Policy
	return p.Decide(acap.Crawl, acap.NewResource(u)).Allowed && terms.TakeDown(p, u) == nil
}

// Weighs reports whether something was found that the publisher should mend.
func (a *Audit) Weighs() bool {
	w := a.report.Worst()
	return w == acap.Error || w == acap.Warning || len(a.Contradictions) > 0
}

// Refused reports whether no page was to be had since policy lets none be requested.
func (a *Audit) Refused() bool {
	return !a.Fetched() && slices.ContainsFunc(a.Pages, func(p AuditPage) bool { return p.refused })
}

// Fetched reports whether any page was had.
func (a *Audit) Fetched() bool {
	return slices.ContainsFunc(a.Pages, func(p AuditPage) bool { return p.Requested && p.Why == "" })
}

// Excerpt gives the line that a finding speaks of with the place marked, "" where it is not known.
func (a *Audit) Excerpt(f acap.Finding) string {
	line := a.report.Line(f)
	if line == "" {
		return ""
	}
	return f.Excerpt(line)
}
