package view

import (
	"maps"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// findingRow is a finding about a line as pages show it.
type findingRow struct {
	Severity acap.Severity
	Class    string // of the style sheet
	Message  string
	Hint     string
}

// newFindingRow returns a finding as a visitor may see it.
func newFindingRow(f acap.Finding, who Visitor) findingRow {
	class := map[acap.Severity]string{acap.Error: "no", acap.Warning: "maybe"}[f.Severity]
	out := findingRow{f.Severity, class, shorten(f.Message), shorten(f.Hint)}
	if f.Code == "unavailable-reference" && who.Role != Operator { // its message contains an error of the network
		out.Message, _, _ = strings.Cut(out.Message, ":")
	}
	return out
}

// severities returns the severities, the gravest first.
func severities() []acap.Severity { return []acap.Severity{acap.Error, acap.Warning, acap.Notice} }

// gravity is lower for graver findings.
func gravity(s acap.Severity) int { return slices.Index(severities(), s) }

// findingSum counts the findings of one severity about a text, with links to their lines.
type findingSum struct {
	Words string // "2 errors"
	Class string
	Lines []lineLink
	More  int // number of lines that are left out
}

// lineLink is a line of a text, with the address at which the page shows it; "" if it does not.
type lineLink struct {
	Number int
	Href   string
}

// maxLinks is the number of lines that are listed for one severity.
const maxLinks = 20

// sumFindings counts the findings by severity. Both maps are keyed by line.
func sumFindings(found map[int][]acap.Finding, hrefs map[int]string) (list []findingSum) {
	for _, severity := range severities() {
		sum, n := findingSum{Class: newFindingRow(acap.Finding{Severity: severity}, Visitor{}).Class}, 0
		for _, line := range slices.Sorted(maps.Keys(found)) {
			before := n
			for _, f := range found[line] {
				if f.Severity == severity {
					n++
				}
			}
			switch {
			case n == before:
			case len(sum.Lines) == maxLinks:
				sum.More++
			default:
				sum.Lines = append(sum.Lines, lineLink{line, hrefs[line]})
			}
		}
		if sum.Words = count(n, string(severity)); n > 0 {
			list = append(list, sum)
		}
	}
	return list
}
