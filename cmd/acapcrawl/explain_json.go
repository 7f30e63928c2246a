package main

import (
	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/conformance"
)

// explainedJSON is one usage in the output of --json: the fields of a decision that the verb decide
// prints, and further fields.
type explainedJSON struct {
	conformance.Decision
	Because   *becauseJSON `json:"because,omitempty"`
	LimitedBy []boundJSON  `json:"limited_by,omitempty"`
	For       acap.Usage   `json:"for,omitempty"` // see acap.Decision

	Preferences   *conformance.Preference `json:"preferences,omitempty"` // the verdict of each vocabulary
	Against       []rivalJSON             `json:"against"`
	Elsewhere     []rivalJSON             `json:"elsewhere,omitempty"`
	ElsewhereMore int                     `json:"elsewhere_more,omitempty"`
}

type becauseJSON struct {
	placeJSON
	SourceLine string `json:"source_line,omitempty"`
}

// placeJSON is a field and its place; lines and columns count from 1.
type placeJSON struct {
	Source acap.Source `json:"source"`
	URL    string      `json:"url"`
	Line   int         `json:"line"`
	Column int         `json:"column"`
	Field  string      `json:"field"`
}

// boundJSON is a policy field, and the limits that this field sets.
type boundJSON struct {
	placeJSON
	Limits acap.Limits `json:"limits"`
}

type rivalJSON struct {
	placeJSON
	Usage   acap.Usage   `json:"usage"`
	Allow   bool         `json:"allow"` // true if the field counts as permission
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
		j := rivalJSON{placeJSON: placeOf(v.Field), Usage: v.Usage, Allow: v.Allow, Outcome: v.Outcome, Why: v.Why,
			Rule: v.Rule}
		if v.Over != nil {
			p := placeOf(v.Over)
			j.Over = &p
		}
		out = append(out, j)
	}
	return out
}

func (e *explanation) json() any {
	decisions := map[acap.Usage]explainedJSON{}
	for _, a := range e.Answers {
		j := explainedJSON{Decision: conformance.NewDecision(a.Decision, e.Facts()), Against: rivalsJSON(a.Rivals),
			Elsewhere: rivalsJSON(a.Elsewhere), ElsewhereMore: a.More}
		j.Note, j.For = a.Decision.Note, a.Decision.For
		if f := a.Decision.Because; f != nil {
			j.Because = &becauseJSON{placeOf(f), e.Line(f)}
		}
		for _, bound := range a.Bounds {
			j.LimitedBy = append(j.LimitedBy, boundJSON{placeOf(bound.Field), bound.Limits})
		}
		if len(a.Opinions) > 0 {
			joint := conformance.NewPreference(a.Opinions)
			j.Preferences = &joint
		}
		decisions[a.Usage] = j
	}
	return map[string]any{"url": e.request.URL.String(), "policy": e.Origin.Status, "decisions": decisions}
}
