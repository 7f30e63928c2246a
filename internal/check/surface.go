package check

import (
	"cmp"
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Fetcher fetches pages with Page, and their required resources with Fetch. It requests each URL of
// a redirect chain only if the policy permits it; otherwise the error wraps an *acap.Refused.
type Fetcher interface {
	Page(ctx context.Context, rawurl string) (*page.Page, error)
	terms.Fetcher
}

// Site holds what is needed to read a Surface.
type Site struct {
	Who      acap.Crawler
	Sender   acap.Crawler      // the crawler that sends the requests and obeys the policy of the site
	Policies *policy.Authority // the policies of sites for Who
	Answers  *Answers          // records the responses with policy files that Policies reads
	Fetcher  Fetcher
}

// Answers wraps a fetcher of policy files, and records each response. It is safe for concurrent
// use.
type Answers struct {
	policy.Fetcher

	mu sync.Mutex
	of map[string]policy.Response // the last response, by URL
}

// Fetch calls the wrapped fetcher and stores its response.
func (a *Answers) Fetch(ctx context.Context, rawurl string, condition http.Header) (policy.Response, error) {
	r, err := a.Fetcher.Fetch(ctx, rawurl, condition)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]policy.Response{}
	}
	a.of[rawurl] = r
	return r, err
}

// Of returns the stored response for the file at rawurl. If final is not empty, it is the URL to
// which rawurl redirects. Without a response, Of returns the zero value.
func (a *Answers) Of(rawurl, final string) policy.Response {
	a.mu.Lock()
	defer a.mu.Unlock()
	if final != "" {
		rawurl = final
	}
	return a.of[rawurl]
}

// Surface is everything with which a site states how its pages may be used: robots.txt, the files
// to which it refers, the statements of pages, and the resources that they require. It is not safe
// for concurrent use.
type Surface struct {
	Origin *policy.Origin // the policy of the origin for Site.Who

	report     *Report
	site       Site
	o          Options
	references []acap.Reference // the references in robots.txt that apply to any crawler, with their files
	files      []acap.Reference // the files in which the site states preferences
	opposed    opposed          // statements of the site and its pages that contradict each other
	views      []view
	dead       map[string]string // links that were checked, with the reason why they do not work; "" if they work
}

// view is one crawler with its policies, for which pages are checked.
type view struct {
	crawler  acap.Crawler
	policies *policy.Authority
}

// mostViews is the maximum number of crawlers for which pages are checked.
const mostViews = 16

// Surface checks robots.txt at the origin of u, and the files to which it refers any crawler. The
// error is that of ctx, or says that the URL has no origin.
func (r *Report) Surface(ctx context.Context, u *url.URL, site Site, o Options) (*Surface, error) {
	defer r.arrange()
	s := &Surface{report: r, site: site, o: o, dead: map[string]string{}}
	var err error
	if s.Origin, err = site.Policies.Origin(ctx, u); err != nil {
		return nil, err
	}
	robots := s.Origin.Key + "/robots.txt"
	top := &acap.Field{Source: acap.Robots, URL: robots, Line: 1, Column: 1}
	if s.Origin.Status != policy.Read && !r.has(robots) {
		r.Add(Text{Name: robots, Kind: RobotsKind})
	}
	switch s.Origin.Status {
	case policy.Unreachable:
		s.tell(top, "", "unreachable-robots", acap.Error, "make it readable, or answer with status 404 where there "+
			"is none",
			"robots.txt cannot be read: %s: everything is prohibited until it can be", s.Origin.Why)
		return s, nil
	case policy.None:
		s.tell(top, "", "no-robots", acap.Notice, "", "there is no robots.txt, the response has status %d: nothing is "+
			"restricted by it", s.Origin.HTTP)
		s.views = []view{{site.Who, site.Policies}}
		return s, s.readPreferences(ctx)
	}
	everyone, err := site.Policies.For(Everyone(s.Origin.Robots, o)).Origin(ctx, u)
	if err != nil {
		return nil, err
	}
	s.references = everyone.References
	if !r.has(robots) {
		r.Robots(robots, site.Answers.Of(robots, s.Origin.Robots.Final).Body, o, everyone.References...)
	}
	s.sent(top, robots, s.Origin.Robots.Final)
	files := []*acap.File{s.Origin.Robots}
	for _, ref := range everyone.References {
		if ref.File != nil && !slices.ContainsFunc(files, func(f *acap.File) bool { return f.URL == ref.URL }) {
			s.sent(ref.Field, ref.URL, ref.Final)
			files = append(files, ref.File)
		}
	}
	s.look(files)
	return s, s.readPreferences(ctx)
}

// References returns the references in robots.txt that apply to any crawler, with their files.
func (s *Surface) References() []acap.Reference { return s.references }

// look finds the crawlers for which pages are checked: the crawler Site.Who, and the addressees of
// permissions with conditions.
func (s *Surface) look(files []*acap.File) {
	s.views = []view{{s.site.Who, s.site.Policies}}
	for _, f := range files {
		for _, st := range f.Statements() {
			if !st.Written || len(st.Qualifiers) == 0 {
				continue
			}
			for _, name := range st.Crawlers {
				s.addView(name, "")
				for _, p := range st.Purposes {
					s.addView(name, p)
				}
			}
		}
	}
}

func (s *Surface) addView(name, purpose string) {
	c := s.site.Who
	if name != "*" {
		c.Names = []string{name}
	}
	if purpose != "" {
		c.Purposes = []string{purpose}
	}
	same := func(v view) bool {
		return slices.EqualFunc(v.crawler.Names, c.Names, strings.EqualFold) &&
			slices.Equal(v.crawler.Purposes, c.Purposes)
	}
	switch {
	case slices.ContainsFunc(s.views, same):
	case len(s.views) == mostViews:
		s.report.note("%s: what permissions require was checked for the first %d of those to whom they are addressed",
			s.Origin.Key, mostViews)
	default:
		s.views = append(s.views, view{c, s.site.Policies.For(c)})
	}
}

// sent reports problems with the response that contained a file. f is a field in this file, or the
// field that names the file.
func (s *Surface) sent(f *acap.Field, named, final string) {
	s.moved(f, "", named, final)
	kind := s.site.Answers.Of(named, final).Header.Get("Content-Type")
	// RFC 9309 2.3: robots.txt has the media type text/plain
	if mediaType, _, err := mime.ParseMediaType(kind); err == nil && mediaType == "text/plain" {
		return
	}
	what := fmt.Sprintf("with the media type %q", kind)
	if kind == "" {
		what = "without a media type"
	}
	s.tell(f, "", "media-type", acap.Warning, "send it as text/plain; charset=utf-8",
		"%s is sent %s: not every crawler will read it", named, what)
}

// moved reports that the file that a field names is at another address.
func (s *Surface) moved(f *acap.Field, token, named, final string) {
	if final == "" || final == named {
		return
	}
	severity, why := acap.Notice, "a crawler that follows no redirects does not find it"
	a, err := url.Parse(named)
	b, err2 := url.Parse(final)
	if err == nil && err2 == nil && !strings.EqualFold(a.Host, b.Host) {
		severity, why = acap.Warning, "another host decides about its contents"
	}
	hint := "name the address where it is"
	if f.Text == "" { // a field without text represents robots.txt, because no field refers to robots.txt
		hint = "answer with it here"
	}
	s.tell(f, token, "redirected", severity, hint, "%s redirects to %s: %s", named, final, why)
}

// tell adds a finding about the field f, or about a token in it.
func (s *Surface) tell(f *acap.Field, token, code string, severity acap.Severity, hint, format string, args ...any) {
	in, line, column, length := s.report.place(f, token)
	s.report.also(acap.Finding{Code: code, Severity: severity, Source: f.Source, URL: in, Line: line, Column: column,
		Length:  length,
		Message: fmt.Sprintf(format, args...), Hint: hint})
}

// also adds a finding about a text that is already in the report, unless the report has the same
// finding.
func (r *Report) also(f acap.Finding) {
	if !slices.Contains(r.Findings, f) {
		r.Findings = append(r.Findings, f)
	}
}

// arrange sorts the findings by text and position.
func (r *Report) arrange() {
	at := map[string]int{}
	for i, t := range r.Texts {
		at[t.Name] = i
	}
	slices.SortStableFunc(r.Findings, func(a, b acap.Finding) int {
		return cmp.Or(at[a.URL]-at[b.URL], cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
