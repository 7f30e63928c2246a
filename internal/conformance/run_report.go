package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/check"
)

// Report is the result of a run.
type Report struct {
	Engine  string `json:"engine,omitempty"` // the command of the engine; "" for this program's own engine
	Cases   int    `json:"cases"`            // number of cases that were run
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Errors  int    `json:"errors"`
	Skipped int    `json:"skipped"`
	// number of skipped cases of newer preferences, because the engine does not know them
	Unknown int      `json:"unknown_preferences,omitempty"`
	Percent float64  `json:"percent"` // passed cases in percent of the cases that were run, rounded down
	Trouble Trouble  `json:"trouble"`
	Tree    []Node   `json:"tree"`
	Results []Result `json:"results"`
}

// NewReport returns the report with the counts of results.
func NewReport(engine string, docs []Document, results []Result, t Trouble) *Report {
	r := &Report{Engine: engine, Trouble: t, Tree: Tree(docs, results), Results: results}
	for _, result := range results {
		switch result.Outcome {
		case Passed:
			r.Passed++
		case Failed:
			r.Failed++
		case Errored:
			r.Errors++
		case Skipped:
			r.Skipped++
			if result.Why == noPreferences {
				r.Unknown++
			}
		}
	}
	if r.Cases = r.Passed + r.Failed + r.Errors; r.Cases > 0 {
		r.Percent = math.Floor(10000*float64(r.Passed)/float64(r.Cases)) / 100
	}
	return r
}

// Stopped reports whether cases were skipped because another case failed.
func (r *Report) Stopped() bool {
	return slices.ContainsFunc(r.Results, func(one Result) bool {
		return one.Outcome == Skipped &&
			one.Why == notAsked
	})
}

// Tests returns the results for JUnit, with a test suite for each file of cases.
func (r *Report) Tests() *check.Tests {
	t := &check.Tests{Name: "conformance"}
	at := map[string]int{}
	for _, result := range r.Results {
		i, known := at[result.File]
		if !known {
			i = len(t.Suites)
			at[result.File] = i
			t.Suites = append(t.Suites, check.Suite{Name: result.File})
		}
		t.Suites[i].Cases = append(t.Suites[i].Cases, result.test())
	}
	return t
}

func (r *Result) test() check.TestCase {
	c := check.TestCase{Name: r.Name, Class: r.File, Took: r.Took}
	switch r.Outcome {
	case Failed:
		c.Failure = fmt.Sprintf("%d expected values are different", len(r.Differences))
		c.Detail = r.Detail()
	case Errored:
		c.Failure, c.Detail = r.Why, r.Detail()
	case Skipped:
		c.Skipped = r.Why
	}
	return c
}

// Detail returns lines with the reason for the expected answer, the expected answer, and the actual
// answer.
func (r *Result) Detail() string {
	var b strings.Builder
	if r.Reason != "" {
		fmt.Fprintf(&b, "%s\n", r.Reason)
	}
	if r.Outcome == Errored {
		fmt.Fprintf(&b, "! %s\n", r.Why)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "- %s: %s\n+ %s: %s\n", d.At, value(d.Want), d.At, value(d.Got))
	}
	for line := range strings.Lines(r.Stderr) {
		fmt.Fprintf(&b, "| %s\n", strings.TrimRight(line, "\r\n"))
	}
	return b.String()
}

// value formats a part of an answer as text.
func value(v any) string {
	switch v {
	case nil:
		return "nothing"
	case absent:
		return "nothing at all"
	}
	text, err := marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clip(string(text))
}

// MarshalJSON leaves out the reason if the case passed, so that only the name of such a case is
// written.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	if r.Outcome == Passed {
		r.Reason = ""
	}
	return json.Marshal(plain(r))
}
