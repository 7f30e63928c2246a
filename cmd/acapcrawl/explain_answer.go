package main

import (
	"context"
	"net/url"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/conformance"
	"github.com/acapcrawl/acapcrawl/policy"
)

// explained is one usage with all that is to be said of it.
type explained struct {
	Usage     acap.Usage
	Decision  acap.Decision
	Bounds    []acap.Bound // what still binds, by the field that holds it
	Rivals    []acap.Rival // what speaks of it too, without the field that decided
	Elsewhere []acap.Rival // the nearest of what speaks to others or of other resources
	More      int          // how many of those there are besides
}

// nearest is how many fields that speak to others or of other resources are listed.
const nearest = 8

// explain answers for one usage.
func (e *explainer) explain(ctx context.Context, u acap.Usage) (explained, error) {
	d := e.Decide(u)
	a := explained{Usage: u, Decision: d, Bounds: d.Bounds(e.Facts())}
	s, err := e.speaks(ctx, u, d)
	if err != nil {
		return a, err
	}
	for _, v := range settled(s.policy.Trace(u, s.resource, e.Facts(), s.origin.References...), d) {
		if v.Outcome != acap.Decides {
			a.Rivals = append(a.Rivals, v)
		}
	}
	if e.request.All {
		a.Elsewhere, a.More = s.policy.Elsewhere(u, s.resource, nearest, s.origin.References...)
	}
	return a, nil
}

// Decide refuses crawl also where a redirect leads to what may not be crawled.
func (e *explainer) Decide(u acap.Usage) acap.Decision {
	if d := e.Reached.Decide(u); u != acap.Crawl || !d.Allowed || e.led == nil {
		return d
	}
	return e.led.decision
}

// subject is the policy and the resource that a decision speaks of.
type subject struct {
	origin   *policy.Origin
	policy   *acap.Policy
	resource acap.Resource
}

// speaks finds what d speaks of: the page that the URL asked for leads to, an address on the way to it, or where its redirect may not be
// followed. What says the same of the page as of an address on the way is said of the page.
func (e *explainer) speaks(ctx context.Context, u acap.Usage, d acap.Decision) (subject, error) {
	t, said := e.By(u)
	if u == acap.Crawl && e.led != nil && said.Allowed {
		return subject{e.led.origin, e.led.origin.Policy, acap.NewResource(e.led.url)}, nil
	}
	if final := e.Reached.Terms.Decide(u); final.Allowed == d.Allowed && final.Because == d.Because {
		t = e.Reached.Terms
	}
	at, err := url.Parse(t.Resource().URL)
	if err != nil {
		return subject{}, err
	}
	o, err := e.originOf(ctx, at)
	return subject{o, t.Policy(), t.Resource()}, err
}

// settled gives the rivals of a decision which the terms of the page refused although all fields permitted: what a permission
// requires cannot be had (X05).
func settled(list []acap.Rival, d acap.Decision) []acap.Rival {
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
			v.Outcome, v.Why, v.Rule, v.Over = acap.Loses, "it permits, but what the other requires cannot be had", "X05", d.Because
		}
	}
	return list
}

// line gives the source line of a field; "" where it is not at hand, and for a header.
func (e *explainer) line(f *acap.Field) string {
	switch f.Source {
	case acap.Robots, acap.Referred:
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
	case acap.Meta, acap.Class:
		if e.page == nil || e.page.Own().URL != f.URL {
			return ""
		}
		if e.source == nil {
			e.source = strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(e.page.Source()), "\n")
		}
		if 1 <= f.Line && f.Line <= len(e.source) {
			return e.source[f.Line-1]
		}
	}
	return ""
}

// explainedJSON is one usage as --json prints it: a decision of the oracle's, and more.
type explainedJSON struct {
	conformance.Decision
	Because       *becauseJSON `json:"because,omitempty"`
	LimitedBy     []boundJSON  `json:"limited_by,omitempty"`
	Against       []rivalJSON  `json:"against"`
	Elsewhere     []rivalJSON  `json:"elsewhere,omitempty"`
	ElsewhereMore int          `json:"elsewhere_more,omitempty"`
}

type becauseJSON struct {
	placeJSON
	SourceLine string `json:"source_line,omitempty"`
}

// placeJSON is a field and where it stands; lines and columns count from 1.
type placeJSON struct {
	Source acap.Source `json:"source"`
	URL    string      `json:"url"`
	Line   int         `json:"line"`
	Column int         `json:"column"`
	Field  string      `json:"field"`
}

// boundJSON is a field and the limits that it holds.
type boundJSON struct {
	placeJSON
	Limits acap.Limits `json:"limits"`
}

type rivalJSON struct {
	placeJSON
	Usage   acap.Usage   `json:"usage"`
	Allow   bool         `json:"allow"` // as it counts
	Outcome acap.Outcome `json:"outcome"`
	Why     string       `json:"why"`
	Rule    string       `json:"rule,omitempty"`
	Over    *placeJSON   `json:"over,omitempty"`
}

func placeOf(f *acap.Field) placeJSON {
	return placeJSON{f.Source, f.URL, f.Line, f.Column, f.Text}
}

func rivalsJSON(list []acap.Rival) []rivalJSON {
	out := []rivalJSON{}
	for _, v := range list {
		j := rivalJSON{placeJSON: placeOf(v.Field), Usage: v.Usage, Allow: v.Allow, Outcome: v.Outcome, Why: v.Why, Rule: v.Rule}
		if v.Over != nil {
			p := placeOf(v.Over)
			j.Over = &p
		}
		out = append(out, j)
	}
	return out
}

func (e *explainer) json(answers []explained) any {
	decisions := map[acap.Usage]explainedJSON{}
	for _, a := range answers {
		j := explainedJSON{Decision: conformance.NewDecision(a.Decision, e.Facts()), Against: rivalsJSON(a.Rivals),
			Elsewhere: rivalsJSON(a.Elsewhere), ElsewhereMore: a.More}
		j.Note = a.Decision.Note
		if f := a.Decision.Because; f != nil {
			j.Because = &becauseJSON{placeOf(f), e.line(f)}
		}
		for _, bound := range a.Bounds {
			j.LimitedBy = append(j.LimitedBy, boundJSON{placeOf(bound.Field), bound.Limits})
		}
		decisions[a.Usage] = j
	}
	return map[string]any{"url": e.request.URL.String(), "policy": e.origin.Status, "decisions": decisions}
}
