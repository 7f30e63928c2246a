package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// ExplainOptions select what Explain explains, for which policy and page.
type ExplainOptions struct {
	Usages []acap.Usage // the usages to explain; none: all usages
	// text to use instead of the site's robots.txt, so that nothing is requested; nil: robots.txt
	// is requested
	Robots *RobotsText
	Page   *page.Page  // page to use instead of the stored page; nil: the stored page
	Fetch  bool        // request the page from its site
	AsOf   time.Time   // the time used to check time limits; zero: now
	Reader acap.Target // the reader for whom the presentation usages are decided
	All    bool        // also list the most similar fields about other crawlers and resources
}

// RobotsText is the text of a robots.txt.
type RobotsText struct{ Body []byte }

// Explanation says what one crawler may do with one URL, and why.
type Explanation struct {
	*terms.Reached
	Crawler acap.Crawler
	URL     *url.URL
	Origin  *policy.Origin // the origin of URL
	Past    Past
	Page    *page.Page // the page that was fetched, passed in ExplainOptions, or stored; nil: none
	Fetched bool
	Answers []Explained // decisions in the order of ExplainOptions.Usages

	led     *refusedRedirect
	origins []*policy.Origin // all origins whose policies were read; source lines are looked up in them
	source  []string         // lines of the page; nil until first used
}

// Explained is the decision on one usage, with all policy fields that contribute to the decision.
type Explained struct {
	Usage     acap.Usage
	Decision  acap.Decision
	Bounds    []acap.Bound // limits in force, each with the field that sets the limit
	Rivals    []acap.Rival // other fields about the same usage
	Opinions  []acap.Said  // what ACAP and the newer vocabularies say; empty if no newer vocabulary says anything
	Elsewhere []acap.Rival // the most similar fields about other crawlers or resources
	More      int          // number of fields left out of Elsewhere
}

// nearest is the maximum number of fields listed in Explained.Elsewhere.
const nearest = 8

// Explain reads the policy of u's origin and explains what the crawler of cfg may do with u. It
// uses the page in o, or otherwise the page in past. Without either, it decides by the address u
// alone. If o.Fetch is set and the policy prohibits fetching the page, the error is a
// *RefusedError.
func Explain(ctx context.Context, cfg *config.Config, u *url.URL, past Past, o ExplainOptions) (*Explanation, error) {
	who, err := RecordedCrawler(cfg)
	if err != nil {
		return nil, err
	}
	own, err := RecordedCrawler(cfg.Sender())
	if err != nil {
		return nil, err
	}
	g, err := NewGate(cfg, own)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	nameHosts(g, past.Seeds)
	g.Name(u)
	var files policy.Fetcher = policyFiles{g}
	if o.Robots != nil {
		if files, err = newRobotsFile(u, o.Robots.Body); err != nil {
			return nil, err
		}
	}
	policies := policy.New(files, who, policy.NewMemory(), policy.Options{Pace: g.Pace})
	defer policies.Close()
	g.Use(policies.For(own))
	x := &explainer{Explanation: &Explanation{Crawler: who, URL: u, Past: past, Page: o.Page}, o: o, gate: g,
		policies: policies}
	if err := x.explainAll(ctx); err != nil {
		return nil, err
	}
	return x.Explanation, nil
}

// robotsFile is a policy.Fetcher that returns a given text as robots.txt of one origin. It makes no
// request. Other files do not exist for it.
type robotsFile struct {
	url  string
	body []byte
}

func newRobotsFile(u *url.URL, body []byte) (policy.Fetcher, error) {
	key, err := policy.Key(u)
	return robotsFile{key + "/robots.txt", body}, err
}

// Fetch returns the text if rawurl is the address of robots.txt.
func (f robotsFile) Fetch(_ context.Context, rawurl string, _ http.Header) (policy.Response, error) {
	if rawurl != f.url {
		return policy.Response{}, errors.New("nothing is requested with --robots")
	}
	return policy.Response{URL: rawurl, Status: http.StatusOK, Body: f.body}, nil
}

// refusedRedirect is a redirect whose target must not be crawled by policy.
type refusedRedirect struct {
	url      *url.URL
	origin   *policy.Origin
	decision acap.Decision
}

// explainer holds the state of one call of Explain.
type explainer struct {
	*Explanation
	o        ExplainOptions
	gate     *gate.Gate
	policies *policy.Authority
}

func (x *explainer) explainAll(ctx context.Context) (err error) {
	if x.Origin, err = x.originOf(ctx, x.URL); err != nil {
		return err
	}
	if err := x.findTerms(ctx); err != nil {
		return err
	}
	usages := x.o.Usages
	if len(usages) == 0 {
		usages = append(acap.Usages(), acap.NewerUsages()...)
	}
	for _, u := range usages {
		a, err := x.explain(ctx, u)
		if err != nil {
			return err
		}
		x.Answers = append(x.Answers, a)
	}
	return nil
}

func (x *explainer) originOf(ctx context.Context, u *url.URL) (*policy.Origin, error) {
	o, err := x.policies.Origin(ctx, u)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(x.origins, o) {
		x.origins = append(x.origins, o)
	}
	return o, nil
}

// findTerms finds the terms used for the decisions: those of the page that is fetched or passed in
// ExplainOptions, otherwise those of the stored page, otherwise those of the address.
func (x *explainer) findTerms(ctx context.Context) (err error) {
	past := x.Past
	facts := acap.Facts{Now: x.o.AsOf, FirstCrawled: past.FirstCrawled, FirstIndexed: past.FirstIndexed,
		FirstPreserved: past.FirstPreserved, FirstPresented: past.FirstPresented, Target: x.o.Reader}
	if facts.Now.IsZero() {
		facts.Now = time.Now().UTC()
	}
	sources := terms.Sources{Policies: x.policies, Fetcher: newResources(x.gate), Licences: x.policies}
	if x.o.Robots != nil {
		sources.Fetcher, sources.Licences = nil, nil
	}
	switch {
	case x.o.Fetch:
		if err := x.fetch(ctx); err != nil {
			return err
		}
	case x.Page != nil:
	case past.URL != "":
		sources.Policies, facts.Fetched = heldPolicies{x.policies, past}, past.LastCrawled
		x.Reached, err = terms.ReachHeld(ctx, past.Way, past.Own, past.Page, past.Kept, sources, facts)
		return err
	case past.Led != "":
		if err := x.checkRedirect(ctx, past.Led); err != nil {
			return err
		}
	}
	x.Reached, err = terms.Reach(ctx, x.Origin.Policy, x.URL, x.Page, sources, facts)
	return err
}

// heldPolicies are the policies for a held page: those read now, with what was said at its fetch.
type heldPolicies struct {
	terms.Policies
	past Past
}

// At implements terms.Past.
func (p heldPolicies) At(u *url.URL, _ time.Time) *acap.Policy {
	if acap.NewResource(u).URL != p.past.URL {
		return nil
	}
	return p.past.Then
}

// checkRedirect records that the redirect target address is refused, if its policy now prohibits
// crawling it.
func (x *explainer) checkRedirect(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	o, err := x.originOf(ctx, u)
	if err != nil {
		return err
	}
	if d := o.Policy.Decide(acap.Crawl, acap.NewResource(u)); !d.Allowed {
		d.Note = "it redirects to " + address
		x.led = &refusedRedirect{u, o, d}
	}
	return nil
}

// fetch requests the page. If the policy refuses the fetch to the explained crawler, this is not an
// error, because the decisions will say so.
func (x *explainer) fetch(ctx context.Context) error {
	t, err := x.gate.Get(ctx, gate.PageRequest, x.URL.String())
	var refused *gate.Refusal
	switch {
	case errors.As(err, &refused) && refused.Rule == "":
		if err := x.checkRedirect(ctx, refused.URL); err != nil || x.led != nil {
			return err
		}
		// the policy refuses the fetch to the crawler that sends the requests, which is not the
		// explained crawler
		return &RefusedError{err}
	case errors.As(err, &refused) && refused.Rule == gate.RuleTakeDown:
		return &RefusedError{err}
	case err != nil:
		return fmt.Errorf("%s could not be fetched: %w", x.URL, err)
	}
	pg := PageOf(t)
	if s := pg.Last().Status; s < 200 || s > 299 {
		return fmt.Errorf("%s answers with status %d: there is no page to read statements from", x.URL, s)
	}
	x.Page, x.Fetched = pg, true
	return nil
}

// explain returns the decision on one usage, with the fields that contribute to it.
func (x *explainer) explain(ctx context.Context, u acap.Usage) (Explained, error) {
	d := x.Decide(u)
	a := Explained{Usage: u, Decision: d, Bounds: d.Bounds(x.Facts())}
	s, err := x.subjectOf(ctx, u, d)
	if err != nil {
		return a, err
	}
	for _, v := range markUnfulfillable(s.policy.Trace(u, s.resource, x.Facts(), s.origin.References...), d) {
		if v.Outcome != acap.Decides {
			a.Rivals = append(a.Rivals, v)
		}
	}
	if said := s.policy.Opinions(u, s.resource); len(said) > 1 || len(said) == 1 && said[0].Vocabulary != "acap" {
		a.Opinions = said
	}
	if x.o.All {
		a.Elsewhere, a.More = s.policy.Elsewhere(u, s.resource, nearest, s.origin.References...)
	}
	return a, nil
}

// Decide returns the decision on a usage. It also refuses crawl if the page redirects to an address
// that must not be crawled.
func (e *Explanation) Decide(u acap.Usage) acap.Decision {
	if d := e.Reached.Decide(u); u != acap.Crawl || !d.Allowed || e.led == nil {
		return d
	}
	return e.led.decision
}

// subject is a policy and a resource that a decision is about.
type subject struct {
	origin   *policy.Origin
	policy   *acap.Policy
	resource acap.Resource
}

// subjectOf returns what the decision d is about. This may be the page that the URL redirects to,
// an address of the redirect chain, or a redirect target that must not be followed. If the page and
// an address of the chain have the same decision, subjectOf returns the page.
func (x *explainer) subjectOf(ctx context.Context, u acap.Usage, d acap.Decision) (subject, error) {
	t, by := x.By(u)
	if u == acap.Crawl && x.led != nil && by.Allowed {
		return subject{x.led.origin, x.led.origin.Policy, acap.NewResource(x.led.url)}, nil
	}
	if final := x.Reached.Terms.Decide(u); final.Allowed == d.Allowed && final.Because == d.Because {
		t = x.Reached.Terms
	}
	at, err := url.Parse(t.Resource().URL)
	if err != nil {
		return subject{}, err
	}
	o, err := x.originOf(ctx, at)
	return subject{o, t.Policy(), t.Resource()}, err
}

// markUnfulfillable marks permissions in list as unfulfillable if all policy fields permit d, but
// the terms of the page refuse d. The terms refuse d if a permission requires something that is not
// available (X05).
func markUnfulfillable(list []acap.Rival, d acap.Decision) []acap.Rival {
	if d.Because == nil || d.Reason != acap.Unfulfillable {
		return list
	}
	for i := range list {
		v := &list[i]
		switch {
		case v.Outcome != acap.Decides && v.Outcome != acap.Binds:
		case v.Field.URL == d.Because.URL && v.Field.Line == d.Because.Line:
			v.Outcome = acap.Decides
		default:
			v.Outcome, v.Why, v.Rule, v.Over = acap.Loses, "it permits, but what the other requires is not available",
				"X05", d.Because
		}
	}
	return list
}

// Line returns the source line of the field f. It returns "" for an HTTP header, and if the line is
// not known, or is another one today.
func (e *Explanation) Line(f *acap.Field) string {
	switch f.Source {
	case acap.Robots, acap.Referred:
		if line := e.policyLine(f); strings.Contains(line, f.Text) {
			return line
		}
	case acap.Meta, acap.Class:
		return e.pageLine(f)
	}
	return ""
}

// policyLine returns the line of a policy file at the position of f.
func (e *Explanation) policyLine(f *acap.Field) string {
	for _, o := range e.origins {
		if o.Robots != nil && o.Robots.URL == f.URL {
			return o.Robots.Line(f.Line)
		}
		for _, ref := range o.References {
			if ref.File != nil && ref.URL == f.URL {
				return ref.File.Line(f.Line)
			}
		}
	}
	return ""
}

func (e *Explanation) pageLine(f *acap.Field) string {
	if e.Page == nil || e.Page.Own().URL != f.URL {
		return ""
	}
	if e.source == nil {
		e.source = strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(e.Page.Source()), "\n")
	}
	if f.Line < 1 || f.Line > len(e.source) {
		return ""
	}
	return e.source[f.Line-1]
}
