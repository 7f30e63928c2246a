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
	facts := c.facts()
	w := newWeb(c)
	w.authority = policy.New(policyFiles{w}, c.crawler(), policy.NewMemory(), policy.Options{})
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	origin, err := w.authority.Origin(ctx, u)
	if err != nil {
		return nil, err
	}
	t, err := w.terms(ctx, c, u, origin, facts)
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

// terms determines what applies to a page in the same two steps as a crawler: it reads the policy
// of the origin before it fetches the page, and the page's own statements after that. It ignores a
// page that cannot be fetched.
func (w *web) terms(ctx context.Context, c *Case, u *url.URL, origin *policy.Origin, f acap.Facts) (*terms.Reached,
	error) {
	sources := terms.Sources{Policies: w.authority, Fetcher: w}
	key, err := normal(c.URL)
	if err != nil {
		return nil, err
	}
	var pg *page.Page
	if _, listed := w.responses[key]; listed && origin.Policy.Decide(acap.Crawl, acap.NewResource(u)).Allowed {
		got, err := w.Fetch(ctx, u.String())
		if err == nil && got.Last().Status >= 200 && got.Last().Status <= 299 {
			pg = got
		}
	}
	return terms.Reach(ctx, origin.Policy, u, pg, sources, f)
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
	out := Decision{Allowed: d.Allowed, Reason: d.Reason}
	if b := d.Because; b != nil {
		out.Because = &Because{Source: b.Source, URL: b.URL, Line: b.Line, Field: b.Text}
	}
	if l := d.Limits(f); d.Allowed || !l.Empty() {
		out.Limits = &l
	}
	return out
}
