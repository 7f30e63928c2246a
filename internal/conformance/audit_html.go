package conformance

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/acapcrawl/acapcrawl/acap"
)

//go:embed audit.html
var auditHTML string

// WriteAuditHTML writes an HTML page for the publisher's staff: one printable file without scripts
// or references to other files. It escapes all text of publishers.
func WriteAuditHTML(w io.Writer, audits []*Audit) error {
	t, err := template.New("audit").Funcs(template.FuncMap{
		"shown": shownText, "list": usageList, "short": shortAddress, "count": count,
		"join": strings.Join,
		"line": lineName, "words": stateWords, "mark": func(s State) string { return htmlMarks[s] },
		"who": addressees, "verdict": func(v string) State { return verdictStates[v] },
	}).Parse(auditHTML)
	if err != nil {
		return err
	}
	views := make([]auditPageView, len(audits))
	for i, a := range audits {
		views[i] = auditPageView{a, fmt.Sprintf("s%d", i+1), a.Lines()}
	}
	return t.Execute(w, views)
}

// auditPageView is an audit in the form that the HTML template needs.
type auditPageView struct {
	*Audit
	ID     string // prefix of the HTML ids of this audit's lines
	Behind []*AuditLine
}

// Number returns the number of a line in the list of lines that the effects cite.
func (v auditPageView) Number(l *AuditLine) int { return numberOf(v.Behind, l) }

// Many returns the number of findings of a severity.
func (v auditPageView) Many(severity string) int { return v.Counts()[acap.Severity(severity)] }

// By returns the findings, errors first. Findings with the same code and place are joined into one.
func (v auditPageView) By() []folded {
	order := []acap.Severity{acap.Error, acap.Warning, acap.Notice}
	list := fold(v.Findings)
	slices.SortStableFunc(list, func(a, b folded) int {
		return slices.Index(order, a.Severity) - slices.Index(order,
			b.Severity)
	})
	return list
}

// Verdict returns the sentence at the top of the page.
func (v auditPageView) Verdict() string {
	n := v.Counts()
	switch {
	case v.Status == "unreachable":
		return "robots.txt could not be read: no crawler that obeys the rules fetches anything from this site."
	case n[acap.Error] > 0:
		return "Some statements do not have the effect that they state."
	case len(v.Contradictions) > 0:
		return "Some pages contradict their site."
	case n[acap.Warning] > 0:
		return "Some statements may be read differently from what was meant."
	case !v.Fetched():
		return "No page was checked."
	}
	return "Everything that was checked has the effect that it states."
}

// verdictStates holds the state of a usage about which only one vocabulary has a verdict.
var verdictStates = map[string]State{"permit": Permitted, "agreement": Ask, "prohibit": Refused}

var htmlMarks = map[State]string{Unsaid: "○", Permitted: "✓", Limited: "◐", Ask: "?", Refused: "✕"}

func stateWords(s State) string {
	return map[State]string{Unsaid: "nothing is said", Permitted: "permitted", Limited: "limited",
		Ask: "permission needed", Refused: "refused"}[s]
}

// shownText returns text of publishers without control characters and without characters that
// change the direction of text.
func shownText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// lineName returns the file name and line number of a line.
func lineName(l *AuditLine) string {
	if l == nil {
		return "nothing is said"
	}
	name := l.URL
	if l.Source == acap.Robots {
		name = path.Base(l.URL)
	}
	if l.Source == acap.Header {
		return "header of " + name
	}
	return fmt.Sprintf("%s, line %d", name, l.Line)
}

func addressees(list []string) string {
	out := slices.Clone(list)
	for i := range out {
		if out[i] == "*" || out[i] == "" {
			out[i] = "any crawler"
		}
	}
	if len(out) == 0 {
		return "nobody: outside all records"
	}
	return strings.Join(out, ", ")
}
