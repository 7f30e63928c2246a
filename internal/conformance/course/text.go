package course

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/display"
)

// WriteText writes the report as text.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	if len(r.Visitors) == 0 {
		b.WriteString("No crawler visited the site.\n")
	}
	for i, v := range r.Visitors {
		if i > 0 {
			b.WriteByte('\n')
		}
		v.text(&b)
	}
	if r.Left > 0 {
		fmt.Fprintf(&b, "\n%d visits are left out: there were more visits than are kept, or more than %d visitors.\n",
			r.Left, maxVisitors)
	}
	b.WriteString("\nRules that requests cannot show, and that no visitor is judged by:\n")
	for _, u := range r.Unobservable {
		fmt.Fprintf(&b, "  %s: %s\n", u[0], u[1])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Title returns the visitor's User-Agent and address for reports.
func (v *Visitor) Title() string {
	if v.Agents > 1 {
		return fmt.Sprintf("%s, and under %s", title(v.Agent, v.Address), several(v.Agents-1, "other User-Agent"))
	}
	return title(v.Agent, v.Address)
}

func title(agent, address string) string {
	if strings.TrimSpace(agent) == "" {
		agent = "(no User-Agent)"
	}
	return display.Line(agent) + " at " + display.Line(address)
}

// Verdict returns a summary of the results of one protocol, and says whether violations of this
// protocol count as failures.
func (v *Visitor) Verdict(p Protocol) string {
	reads := v.reads(p)
	if reads != nil && !reads.Judged {
		return fmt.Sprintf("not judged: the crawler shows no sign of reading %s, which prohibits %s of it", p.Title(),
			several(reads.Prohibited, "request"))
	}
	says := "no violation"
	if n := v.Violations(p); n > 0 {
		says = fmt.Sprintf("%d violated", n)
		if !slices.Contains(v.Counted, p) {
			says += ", which does not count for the exit status"
		}
	}
	if reads != nil && reads.Sign != "" {
		says += "; the crawler reads " + p.Title() + ": " + reads.Sign
	}
	return says
}

func (v *Visitor) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n  %s from %s to %s", v.Title(), several(v.Requests, "request"),
		v.First.UTC().Format("2006-01-02T15:04:05Z"), v.Last.UTC().Format("2006-01-02T15:04:05Z"))
	if len(v.Names) > 0 {
		fmt.Fprintf(b, "; robots.txt calls it %s", display.Line(strings.Join(v.Names, ", ")))
	}
	if len(v.Purposes) > 0 {
		fmt.Fprintf(b, "; it collects for %s", display.Line(strings.Join(v.Purposes, ", ")))
	}
	b.WriteByte('\n')
	if v.Unjudged != "" {
		fmt.Fprintf(b, "  not judged: %s\n", v.Unjudged)
		return
	}
	for _, p := range Protocols() {
		v.writeProtocol(b, p)
	}
}

// writeProtocol writes the results of one protocol: the counts by category, the violations with
// their evidence, and the requirements that were not tested.
func (v *Visitor) writeProtocol(b *strings.Builder, p Protocol) {
	fmt.Fprintf(b, "\n  %s: %s\n", p.Title(), v.Verdict(p))
	if !v.Judged(p) {
		return
	}
	fmt.Fprintf(b, "    %-24s %9s %9s %11s %14s\n", "", Kept, Violated, Unheeded, Untested)
	for _, c := range p.Categories() {
		fmt.Fprintf(b, "    %-24s %9d %9d %11d %14d\n", c, v.Tally(c, Kept, Used), v.Tally(c, Violated),
			v.Tally(c, Unheeded), v.Tally(c, Untested))
	}
	for _, r := range v.Results {
		if r.Protocol != p || r.Outcome != Violated && r.Outcome != Unheeded {
			continue
		}
		fmt.Fprintf(b, "\n    %s: %s (%s)\n      %s\n", r.Outcome, r.ID, r.Basis(), r.Says)
		for _, e := range r.Evidence {
			fmt.Fprintf(b, "        %s\n          %s\n", e.Sentence(), display.Line(e.Because))
		}
		if r.More > 0 {
			fmt.Fprintf(b, "        and %d more\n", r.More)
		}
	}
	untested := false
	for _, r := range v.Results {
		if r.Protocol != p || r.Outcome != Untested || r.Level == May {
			continue
		}
		if !untested {
			b.WriteString("\n    not exercised:\n")
		}
		untested = true
		fmt.Fprintf(b, "      %s: %s\n", r.ID, r.Why)
	}
}

// several returns a number with its noun, in the plural unless n is 1.
func several(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Basis returns the source of the requirement.
func (r Result) Basis() string { return r.Protocol.basis(r.Rests) }

// Sentence returns the visit on one line: file and line of the log, time, origin, method, target
// and status.
func (e Evidence) Sentence() string {
	place := ""
	if e.File != "" {
		place = fmt.Sprintf("%s:%d: ", display.Line(e.File), e.Line)
	}
	return fmt.Sprintf("%s%s %s %s %s %d", place, e.Time.UTC().Format("2006-01-02T15:04:05.000Z"), e.Origin,
		display.Line(e.Method), display.Line(e.Target), e.Status)
}
