package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Kind is the type of a text.
type Kind string

// The kinds of texts that can be checked.
const (
	RobotsKind    Kind = "robots"
	ReferenceKind Kind = "reference" // a file that a permissions reference names (P1 2.3.2)
	PageKind      Kind = "page"
	HeaderKind    Kind = "header" // the headers of one or more responses, separated by empty lines
	TDMRepKind    Kind = "tdmrep" // a tdmrep.json
	RSLKind       Kind = "rsl"    // a licence document of RSL
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{RobotsKind, ReferenceKind, PageKind, HeaderKind, TDMRepKind, RSLKind}
}

// Text is a checked document.
type Text struct {
	Name  string   // the file name or address that identifies the text in findings
	Kind  Kind     // "" if unknown
	Lines []string // the decoded lines, to show the line of a finding

	Source []byte // the original bytes, for corrections; nil if there are no corrections
}

// Report holds the findings about some texts. It is not safe for concurrent use.
type Report struct {
	Texts    []Text
	Findings []acap.Finding // sorted by text, then by position
	Notes    []string       // sentences that say what was not checked or is suppressed, and why
}

// Add adds a text and the findings about it, without duplicates.
func (r *Report) Add(t Text, findings ...acap.Finding) {
	findings = slices.Clone(findings)
	slices.SortStableFunc(findings, func(a, b acap.Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), slices.Index(severities,
			a.Severity)-slices.Index(severities, b.Severity),
			strings.Compare(a.Code, b.Code), strings.Compare(a.Message, b.Message))
	})
	r.Texts = append(r.Texts, t)
	r.Findings = append(r.Findings, slices.Compact(findings)...)
}

// note adds a note, unless the report already has it.
func (r *Report) note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, note) {
		r.Notes = append(r.Notes, note)
	}
}

// Worst returns the highest severity of the findings, or "" if there are none.
func (r *Report) Worst() acap.Severity {
	for _, s := range severities {
		if slices.ContainsFunc(r.Findings, func(f acap.Finding) bool { return f.Severity == s }) {
			return s
		}
	}
	return ""
}

var severities = []acap.Severity{acap.Error, acap.Warning, acap.Notice}

// Line returns the line of text that the finding f is about, or "" if the line is unknown.
func (r *Report) Line(f acap.Finding) string {
	for _, t := range r.Texts {
		if t.Name == f.URL && f.Line >= 1 && f.Line <= len(t.Lines) {
			return t.Lines[f.Line-1]
		}
	}
	return ""
}

// About returns the findings about the text with the given name.
func (r *Report) About(name string) []acap.Finding {
	var out []acap.Finding
	for _, f := range r.Findings {
		if f.URL == name {
			out = append(out, f)
		}
	}
	return out
}

// withHint returns the message of the finding f, followed by the hint on a separate line.
func withHint(f acap.Finding) string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "\nHint: " + f.Hint
}

// Tests returns the findings as test cases, with a suite for each text. A notice is not a failure.
func (r *Report) Tests() *Tests {
	out := &Tests{Name: "acapcrawl check"}
	for _, t := range r.Texts {
		s := Suite{Name: t.Name}
		for _, f := range r.About(t.Name) {
			c := TestCase{Name: fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Code), Class: t.Name,
				Detail: f.Excerpt(r.Line(f)) + "\n" + withHint(f) + "\n" + Help(f.Code)}
			if f.Severity != acap.Notice {
				c.Failure = string(f.Severity) + ": " + f.Message
			}
			s.Cases = append(s.Cases, c)
		}
		if s.Cases == nil {
			s.Cases = append(s.Cases, TestCase{Name: "nothing found", Class: t.Name})
		}
		out.Suites = append(out.Suites, s)
	}
	return out
}
