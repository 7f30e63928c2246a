package check

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// Style is the form of a report for human readers.
type Style struct {
	Colour bool // use the colours of a terminal
	All    bool // print every finding in full
}

// A report with more than maxInFull findings prints only the first maxAlike findings of each code
// and text in full, and only the line numbers of the others.
const (
	maxInFull = 50
	maxAlike  = 3
)

// WriteText writes the report for human readers. Each finding is a line "name:line:column:
// severity: message [code]", followed by the source line, a mark and a hint. The first finding of
// each code also has its paragraphs and readings. Notes and counts follow.
func (r *Report) WriteText(w io.Writer, s Style) error {
	b := bufio.NewWriter(w)
	type kin struct{ name, code string }
	shown, first := map[kin]int{}, map[string]bool{}
	more := map[kin][]acap.Finding{}
	var order []kin
	for _, f := range r.Findings {
		k := kin{f.URL, f.Code}
		if shown[k]++; shown[k] > maxAlike && len(r.Findings) > maxInFull && !s.All {
			if more[k] == nil {
				order = append(order, k)
			}
			more[k] = append(more[k], f)
			continue
		}
		s.finding(b, f, r.Line(f), !first[f.Code])
		first[f.Code] = true
	}
	for _, k := range order {
		fmt.Fprintf(b, "%s: [%s] %d times more, in lines %s (--all shows them)\n", display.Line(k.name), k.code,
			len(more[k]), lines(more[k]))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(b, "%s\n", display.Line(note))
	}
	for _, t := range r.Texts {
		s.total(b, t.Name+kindOf(t), r.About(t.Name))
	}
	if len(r.Texts) > 1 {
		s.total(b, "in all", r.Findings)
	}
	return b.Flush()
}

func kindOf(t Text) string {
	if t.Kind == "" {
		return ""
	}
	return ", read as " + string(t.Kind)
}

func (s Style) finding(b *bufio.Writer, f acap.Finding, line string, first bool) {
	fmt.Fprintf(b, "%s %s %s [%s]\n", s.bold(fmt.Sprintf("%s:%d:%d:", display.Line(f.URL), f.Line, f.Column)),
		s.severity(f.Severity, string(f.Severity)+":"),
		s.bold(display.Line(f.Message)), f.Code)
	if line != "" {
		source, mark, _ := strings.Cut(f.Excerpt(display.Line(line)), "\n")
		fmt.Fprintf(b, "  %s\n  %s\n", source, s.severity(f.Severity, mark))
	}
	if f.Hint != "" {
		fmt.Fprintf(b, "  hint: %s\n", display.Line(f.Hint))
	}
	if behind := Behind(f.Code); first && behind != nil {
		fmt.Fprintf(b, "  see %s: %s\n", strings.Join(behind, ", "), Help(f.Code))
	}
}

func (s Style) total(b *bufio.Writer, what string, found []acap.Finding) {
	var parts []string
	for _, sev := range severities {
		n := 0
		for _, f := range found {
			if f.Severity == sev {
				n++
			}
		}
		if n > 0 {
			word := fmt.Sprintf("%d %s", n, sev)
			if n > 1 {
				word += "s"
			}
			parts = append(parts, s.severity(sev, word))
		}
	}
	if parts == nil {
		parts = append(parts, "nothing found")
	}
	fmt.Fprintf(b, "%s: %s\n", display.Line(what), strings.Join(parts, ", "))
}

// Escape sequences of terminals (ECMA-48, 8.3.117).
const (
	boldOn   = "\x1b[1m"
	styleOff = "\x1b[0m"
)

var colours = map[acap.Severity]string{acap.Error: "\x1b[1;31m", acap.Warning: "\x1b[1;33m", acap.Notice: "\x1b[1;36m"}

func (s Style) bold(text string) string {
	if !s.Colour {
		return text
	}
	return boldOn + text + styleOff
}

func (s Style) severity(sev acap.Severity, text string) string {
	if !s.Colour {
		return text
	}
	return colours[sev] + text + styleOff
}

// lines returns the line numbers of findings, with neighbouring lines as a range.
func lines(found []acap.Finding) string {
	var parts []string
	for i := 0; i < len(found); {
		from, to := found[i].Line, found[i].Line
		for i++; i < len(found) && found[i].Line <= to+1; i++ {
			to = found[i].Line
		}
		if from == to {
			parts = append(parts, fmt.Sprint(from))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", from, to))
		}
	}
	return strings.Join(parts, ", ")
}
