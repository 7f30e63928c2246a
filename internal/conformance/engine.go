package conformance

import (
	"context"
	"net/url"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Decide answers a case. If the case contains a time, the answer depends only on the case.
func Decide(ctx context.Context, c *Case) (*Answer, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	w := newWeb(c, c.Web)
	if c.Held != nil {
		earlier := newWeb(c, c.Held.Web)
		earlier.fetched = true
		if w.then, err = earlier.visit(ctx, u); err != nil {
			return nil, err
		}
	}
	v, err := w.visit(ctx, u)
	if err != nil {
		return nil, err
	}
	origin := v.origin
	t, err := w.terms(ctx, u, v, c.facts())
	if err != nil {
		return nil, err
	}
	a := &Answer{ID: c.ID, Findings: []Finding{}}
	for _, f := range t.Policy().Findings() {
		a.Findings = append(a.Findings, Finding(f))
	}
	usages := c.Usages
	if usages == nil {
		usages = acap.Usages()
	}
	if c.Wants("decision") {
		a.Decisions = decisions(t, usages)
	}
	if c.Wants("by_purpose") {
		a.ByPurpose = map[string]map[acap.Usage]Decision{}
		for name, p := range t.Policy().ByPurpose() {
			a.ByPurpose[name] = decisions(t.For(p), usages)
		}
		if c.Purposes != nil && len(*c.Purposes) == 1 {
			a.ByPurpose[(*c.Purposes)[0]] = decisions(t, usages)
		}
	}
	if c.Wants("preferences") {
		a.Preferences = preferences(t.Policy(), acap.NewResource(u))
	}
	a.content(c, t)
	if c.Wants("policy") {
		a.Policy = &Policy{Status: string(origin.Status)}
		if f := origin.Robots; f != nil {
			a.Policy.Version, a.Policy.IgnoreConventional = f.Version(), f.IgnoreConventional()
		}
	}
	if c.Wants("actions") {
		list := []Action{}
		for _, r := range origin.Policy.Actions() {
			list = append(list, Action{Action: r.Action, URL: r.URL, Line: r.Field.Line, Execute: r.Execute})
		}
		a.Actions = &list
	}
	return a, nil
}

// visit is what a crawler learns from one visit of a page: the policy of its origin, and the page.
type visit struct {
	web    *web
	origin *policy.Origin
	page   *page.Page // nil if the page may not be crawled or cannot be fetched
}

// visit reads the policy of the origin of u, and then the page, if crawling it is permitted and the
// case contains it.
func (w *web) visit(ctx context.Context, u *url.URL) (*visit, error) {
	origin, err := w.authority.Origin(ctx, u)
	if err != nil {
		return nil, err
	}
	v := &visit{web: w, origin: origin}
	key, err := normal(u.String())
	if err != nil {
		return nil, err
	}
	if _, listed := w.responses[key]; !listed {
		return v, nil
	}
	got, err := w.Fetch(ctx, u.String())
	if err != nil || got.Last().Status/100 != 2 && !asksForLicence(got.Last()) {
		return v, nil // there is no page, or it may not be crawled
	}
	v.page = got
	read, err := w.authority.Licences(ctx, got.Own().Licences)
	if err != nil {
		return nil, err
	}
	got.SetLicences(read)
	return v, nil
}

// asksForLicence reports whether an answer without a page asks for a licence. What the answer says is then
// about the page.
func asksForLicence(h page.Hop) bool {
	line, _ := page.LicenceChallenge(h.Status, h.Header)
	return line > 0
}

// policy returns the policy of u's origin at the time of the visit, with the statements of the page
// if u is its address.
func (v *visit) policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	p, err := v.web.authority.Policy(ctx, u)
	if err != nil || v.page == nil || acap.NewResource(v.page.URL()).URL != acap.NewResource(u).URL {
		return p, err
	}
	return p.Narrow(v.page.Own()), nil
}

// Policy returns the policy of u's origin today, with the preferences at the time of the fetch if
// the case is about a held copy.
func (w *web) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	today, err := w.authority.Policy(ctx, u)
	if err != nil || w.then == nil {
		return today, err
	}
	then, err := w.then.policy(ctx, u)
	return today.Since(then), err
}

// terms determines what applies to the page that v visited. If a held copy cannot be visited today,
// it uses the page as it was fetched. The statements of a held page apply although crawling it may be
// prohibited today.
func (w *web) terms(ctx context.Context, u *url.URL, v *visit, f acap.Facts) (*terms.Reached, error) {
	origin, err := w.Policy(ctx, u)
	if err != nil {
		return nil, err
	}
	pg := v.page
	if pg == nil && w.then != nil {
		pg = w.then.page
	}
	s := terms.Sources{Policies: w, Fetcher: w, Licences: w.authority}
	if w.then == nil || pg == nil || acap.NewResource(pg.URL()).URL != acap.NewResource(u).URL {
		return terms.Reach(ctx, origin, u, pg, s, f)
	}
	return &terms.Reached{Terms: terms.Held(ctx, origin, u, pg.Own(), pg, s, f)}, nil
}

// preferences returns what newer vocabularies say about each newer usage of a resource, and about
// its index, which stands for search.
func preferences(p *acap.Policy, r acap.Resource) map[string]Preference {
	out := map[string]Preference{"search": NewPreference(p.Opinions(acap.Index, r))}
	for _, u := range acap.NewerUsages() {
		out[string(u)] = NewPreference(p.Opinions(u, r))
	}
	return out
}

// NewPreference returns the joint verdict of vocabularies in the form of an answer.
func NewPreference(said []acap.Said) Preference {
	out, strictest := Preference{By: map[string]Opinion{}}, acap.Unknown
	for _, s := range said {
		o := Opinion{Verdict: s.Verdict.String(), Terms: s.Terms}
		if b := s.Because; b != nil {
			o.Because = newBecause(b)
		}
		out.By[s.Vocabulary], strictest = o, max(strictest, s.Verdict)
	}
	out.Verdict = strictest.String()
	return out
}

func newBecause(f *acap.Field) *Because {
	return &Because{Source: f.Source, URL: f.URL, Line: f.Line, Field: f.Text}
}

func (a *Answer) content(c *Case, t *terms.Reached) {
	if c.Wants("text") && t.Open(acap.Index) {
		if content, ok := t.Text(); ok {
			s := content.String()
			a.Text = &s
		}
	}
	if c.Wants("copy") && t.Open(acap.Preserve) {
		if text, ok := t.CopyText(); ok {
			a.CopyText = &text
		}
	}
	if c.Wants("links") && t.Open(acap.Follow) {
		if links, ok := t.Links(); ok {
			list := append([]string{}, links...)
			a.Links = &list
		}
	}
	if c.Wants("snippet") && t.Open(acap.PresentSnippet) {
		if s, ok := t.Snippet(acap.PresentSnippet, snippet.Wanted{Query: strings.TrimSpace(c.Query)}); ok {
			a.Snippet = &Snippet{Text: s.Text, Include: append([]snippet.Include{}, s.Include...)}
		}
	}
}

func decisions(t *terms.Reached, usages []acap.Usage) map[acap.Usage]Decision {
	out := make(map[acap.Usage]Decision, len(usages))
	for _, u := range usages {
		out[u] = NewDecision(t.Decide(u), t.Facts())
	}
	return out
}

// NewDecision returns a decision in the form of an answer.
func NewDecision(d acap.Decision, f acap.Facts) Decision {
	out := Decision{Allowed: d.Allowed, Reason: d.Reason, Terms: d.Terms}
	if b := d.Because; b != nil {
		out.Because = newBecause(b)
	}
	if l := d.Limits(f); d.Allowed || !l.Empty() {
		out.Limits = &l
	}
	return out
}
