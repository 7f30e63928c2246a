package course

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// helpPage is the address of the page that lists the stations.
const helpPage = "https://github.com/acapcrawl/acapcrawl/blob/main/docs/site.md#the-stations"

// Tests returns the report for JUnit: a suite for each visitor and protocol, and a test case for
// each requirement. A violation that counts is a failure. Test cases with any other outcome except
// Kept and Used are marked as skipped, with the reason.
func (r *Report) Tests() *check.Tests {
	t := &check.Tests{Name: "conformance site"}
	for _, v := range r.Visitors {
		if v.Unjudged != "" {
			none := check.TestCase{Name: "judgement", Class: "visitor", Skipped: "not judged: " + v.Unjudged}
			t.Suites = append(t.Suites, check.Suite{Name: v.Title(), Cases: []check.TestCase{none}})
			continue
		}
		for _, p := range Protocols() {
			suite := check.Suite{Name: p.Title() + ": " + v.Title()}
			for _, res := range v.Results {
				if res.Protocol == p {
					suite.Cases = append(suite.Cases, v.test(res))
				}
			}
			t.Suites = append(t.Suites, suite)
		}
	}
	return t
}

func (v *Visitor) test(r Result) check.TestCase {
	c := check.TestCase{Name: r.ID, Class: r.Protocol.Title() + "." + r.Category, Detail: r.detail()}
	switch {
	case v.fails(r):
		c.Failure = "violated: " + r.Says
	case r.Outcome == Violated:
		c.Skipped = "violated, which does not count: " + r.Says
	case r.Outcome == Unheeded:
		c.Skipped = "advice that was not heeded: " + r.Says
	case r.Outcome == NotJudged:
		c.Skipped = v.Verdict(r.Protocol)
	case r.Outcome == Untested:
		c.Skipped = "not exercised: " + r.Why
	}
	return c
}

// fails reports whether a result is a violation that counts as a failure.
func (v *Visitor) fails(r Result) bool {
	return r.Outcome == Violated && slices.Contains(v.Counted, r.Protocol)
}

// detail returns the evidence as text: for each visit one line, followed by the rule that it
// violates.
func (r Result) detail() string {
	if len(r.Evidence) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Basis())
	for _, e := range r.Evidence {
		fmt.Fprintf(&b, "%s\n  %s\n", e.Sentence(), display.Line(e.Because))
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", r.More)
	}
	return b.String()
}

// Problems returns the report for SARIF. A violation that counts is an error, any other violation
// is a warning, and ignored advice is a notice. Each problem points to its first visit: to the line
// of the log, or without a log to the requested address.
func (r *Report) Problems() *check.Problems {
	out := &check.Problems{}
	for _, s := range Stations() {
		rests := s.Protocol.basis(s.Rests)
		out.Rules = append(out.Rules, check.ProblemRule{ID: s.ID, Says: s.Says, Rests: rests, Help: helpPage})
	}
	for _, v := range r.Visitors {
		if v.Unjudged != "" {
			out.Notes = append(out.Notes, v.Title()+" is not judged: "+v.Unjudged)
			continue
		}
		for _, p := range Protocols() {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: %s: %s", v.Title(), p.Title(), v.Verdict(p)))
		}
		for _, res := range v.Results {
			if len(res.Evidence) == 0 || res.Outcome != Violated && res.Outcome != Unheeded {
				continue
			}
			out.List = append(out.List, v.problem(res))
		}
	}
	return out
}

func (v *Visitor) problem(r Result) check.Problem {
	severity := acap.Warning
	switch {
	case v.fails(r):
		severity = acap.Error
	case r.Outcome == Unheeded:
		severity = acap.Notice
	}
	first := r.Evidence[0]
	p := check.Problem{Rule: r.ID, Severity: severity, File: first.File, Line: max(first.Line, 1),
		Message: fmt.Sprintf("%s: %s: %s\n%s", v.Title(), r.Outcome, r.Says, r.detail())}
	if p.File == "" {
		p.File = symbolic(first.Origin) + first.Target
	}
	return p
}
