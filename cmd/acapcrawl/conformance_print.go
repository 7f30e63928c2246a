package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// printConformance writes the results in the requested form.
func printConformance(w io.Writer, report *conformance.Report, r conformanceRunRequest) error {
	switch r.Out.Form {
	case jsonForm:
		return display.Encoder(w).Encode(report)
	case junitForm:
		return report.Tests().WriteJUnit(w)
	}
	text, err := conformanceInWords(report, r)
	if err == nil {
		_, err = io.WriteString(w, strings.Map(visible, text))
	}
	return err
}

// conformanceInWords returns as text the tree of requirements, with one line for each part that
// passed, and then the failed cases.
func conformanceInWords(report *conformance.Report, r conformanceRunRequest) (string, error) {
	var tree, b strings.Builder
	w := tabwriter.NewWriter(&tree, 0, 8, 2, ' ', 0)
	whole := len(r.Corpora)+len(r.Only) == 0
	shown := func(n *conformance.Node) bool { return !n.Whole() || r.All && (n.Cases > 0 || whole) }
	for _, n := range report.Tree {
		printNode(w, n, "", shown)
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	for line := range strings.Lines(tree.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n") // a line without a title would end with blanks
	}
	told := 0
	for i := range report.Results {
		result := &report.Results[i]
		if result.Outcome != conformance.Failed && result.Outcome != conformance.Errored {
			continue
		}
		if told++; told <= r.Failures {
			fmt.Fprintf(&b, "\n%s/%s\n  %s\n", result.File, result.Name,
				strings.ReplaceAll(strings.TrimSpace(result.Detail()), "\n", "\n  "))
		}
	}
	if told > r.Failures {
		fmt.Fprintf(&b, "\nand %s more that did not pass; --failures %d or --json shows all\n", number(told-r.Failures),
			told)
	}
	fmt.Fprintf(&b, "\n%s: %s passed", several(report.Cases, "case"), number(report.Passed))
	for _, n := range []struct {
		count int
		what  string
	}{{report.Failed, "failed"}, {report.Errors, "without an answer"}, {report.Skipped, "skipped"}} {
		if n.count > 0 {
			fmt.Fprintf(&b, ", %s %s", number(n.count), n.what)
		}
	}
	fmt.Fprintf(&b, " (%v %%)\n", report.Percent)
	if n := report.Unknown; n > 0 {
		fmt.Fprintf(&b, "%s of newer preferences skipped: in no case did the engine restrict a use because of one.\n",
			several(n, "case"))
	}
	if hidden, tests := unseen(report.Tree); !r.All && whole {
		fmt.Fprintf(&b,
			"No case can show %s, and %d more are shown only by tests of this program; --all lists them.\n", several(
				hidden, "requirement"), tests)
	}
	if n := report.Trouble.Ended; n > 0 {
		fmt.Fprintf(&b, "The engine ended, or was ended, before it had answered all: %s.\n", times(n))
	}
	if t := report.Trouble; t.Stray > 0 {
		fmt.Fprintf(&b, "%s answered no case:\n", several(t.Stray, "line"))
		for _, line := range t.Lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String(), nil
}

// Limits of one line of the printed tree: maximum number of characters of the title, and of cases
// named in the line.
const (
	maxTitle = 72
	maxNamed = 4
)

// printNode writes a node and those of its children for which shown returns true.
func printNode(w *tabwriter.Writer, n conformance.Node, indent string, shown func(*conformance.Node) bool) {
	title := []rune(n.Title)
	if len(title) > maxTitle {
		title = append(title[:maxTitle-1], '…')
	}
	note := strings.Join(n.NotPassed[:min(maxNamed, len(n.NotPassed))], " ")
	switch {
	case len(n.NotPassed) > maxNamed:
		note += fmt.Sprintf(" and %d more", len(n.NotPassed)-maxNamed)
	case n.Unobservable != "":
		note = "not observable: " + n.Unobservable
	case n.Cases == 0 && n.Test != "":
		note = "shown by the test " + n.Test
	}
	if len(title) > 0 && note != "" {
		note = "  " + note
	}
	fmt.Fprintf(w, "%s%s\t%d of %d\t%s%s\n", indent, n.Name, n.Passed, n.Cases, string(title), note)
	for _, part := range n.Parts {
		if shown(&part) {
			printNode(w, part, indent+"  ", shown)
		}
	}
}

// times returns a number of times in words.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return number(n) + " times"
}

// unseen counts the requirements that no case can test (hidden), and the requirements that only a
// Go test checks (tests).
func unseen(nodes []conformance.Node) (hidden, tests int) {
	for _, n := range nodes {
		switch {
		case n.Unobservable != "":
			hidden++
		case n.Test != "" && n.Cases == 0:
			tests++
		}
		h, t := unseen(n.Parts)
		hidden, tests = hidden+h, tests+t
	}
	return hidden, tests
}
