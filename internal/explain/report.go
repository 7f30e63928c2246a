package explain

import (
	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/policy"
)

// Report is an explanation as JSON.
type Report struct {
	Decisions map[acap.Usage]ReportedDecision `json:"decisions"`
	Policy    policy.Status                   `json:"policy"` // of the origin
	URL       string                          `json:"url"`
}

// ReportedDecision is the decision on one usage: the fields of a decision that the oracle gives, and
// further fields.
type ReportedDecision struct {
	conformance.Decision
	Because   *ReportedSource `json:"because,omitempty"`
	LimitedBy []ReportedBound `json:"limited_by,omitempty"`
	For       acap.Usage      `json:"for,omitempty"` // see acap.Decision

	Preferences   *conformance.Preference `json:"preferences,omitempty"` // the verdict of each vocabulary
	Against       []ReportedRival         `json:"against"`
	Elsewhere     []ReportedRival         `json:"elsewhere,omitempty"`
	ElsewhereMore int                     `json:"elsewhere_more,omitempty"`
}

// ReportedSource is the field that decided, with its source line.
type ReportedSource struct {
	ReportedField
	SourceLine string `json:"source_line,omitempty"`
}

// ReportedField is a field and its place; lines and columns count from 1.
type ReportedField struct {
	Source acap.Source `json:"source"`
	URL    string      `json:"url"`
	Line   int         `json:"line"`
	Column int         `json:"column"`
	Field  string      `json:"field"`
	// the line is one of the document that the scripts of the page made
	Scripted bool `json:"after_scripts,omitempty"`
}

// ReportField returns a field as JSON.
func ReportField(f *acap.Field) ReportedField {
	return ReportedField{f.Source, f.URL, f.Line, f.Column, f.Text, f.Scripted}
}

// ReportedBound is a policy field, and the limits that this field sets.
type ReportedBound struct {
	ReportedField
	Limits acap.Limits `json:"limits"`
}

// ReportedRival is a field that did not decide.
type ReportedRival struct {
	ReportedField
	Usage   acap.Usage     `json:"usage"`
	Allow   bool           `json:"allow"` // true if the field counts as permission
	Outcome acap.Outcome   `json:"outcome"`
	Why     string         `json:"why"`
	Rule    string         `json:"rule,omitempty"`
	Over    *ReportedField `json:"over,omitempty"` // the field that it lost against
}

// Report returns the explanation in the form of explain --json.
func (e *Explanation) Report() Report {
	out := Report{Decisions: map[acap.Usage]ReportedDecision{}, Policy: e.Origin.Status, URL: e.URL.String()}
	for _, a := range e.Answers {
		d := ReportedDecision{Decision: conformance.NewDecision(a.Decision, e.Facts()), Against: rivals(a.Rivals),
			Elsewhere: rivals(a.Elsewhere), ElsewhereMore: a.More}
		d.Note, d.For = a.Decision.Note, a.Decision.For
		if f := a.Decision.Because; f != nil {
			d.Because = &ReportedSource{ReportField(f), e.Line(f)}
		}
		for _, bound := range a.Bounds {
			d.LimitedBy = append(d.LimitedBy, ReportedBound{ReportField(bound.Field), bound.Limits})
		}
		if len(a.Opinions) > 0 {
			joint := conformance.NewPreference(a.Opinions)
			d.Preferences = &joint
		}
		out.Decisions[a.Usage] = d
	}
	return out
}

func rivals(list []acap.Rival) []ReportedRival {
	out := []ReportedRival{}
	for _, v := range list {
		one := ReportedRival{ReportedField: ReportField(v.Field), Usage: v.Usage, Allow: v.Allow, Outcome: v.Outcome,
			Why: v.Why, Rule: v.Rule}
		if v.Over != nil {
			over := ReportField(v.Over)
			one.Over = &over
		}
		out = append(out, one)
	}
	return out
}
