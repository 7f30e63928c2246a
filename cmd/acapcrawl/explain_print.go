package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/policy"
)

// printExplained writes the crawler and what was read, then a block for each group of usages with
// the same result, and then the findings about the policy.
func printExplained(w io.Writer, e *explanation) error {
	var b strings.Builder
	e.heading(&b)
	for _, g := range grouped(e) {
		fmt.Fprintf(&b, "\n%s: %s", wrapped(g.usages), g.text)
	}
	findings := slices.Clone(e.Policy().Findings())
	slices.SortStableFunc(findings, func(a, b acap.Finding) int { return gravity(a) - gravity(b) })
	var told []string
	for _, f := range findings {
		told = append(told, fmt.Sprintf("  %s: %s\n", f.Severity, f))
	}
	if len(told) > 0 {
		b.WriteString("\nWhat the publisher should know:\n")
	}
	const most = 10
	for _, line := range told[:min(most, len(told))] {
		b.WriteString(line)
	}
	if len(told) > most {
		fmt.Fprintf(&b, "  and %d more\n", len(told)-most)
	}
	_, err := io.WriteString(w, strings.Map(visible, b.String()))
	return err
}

// gravity returns a number by which findings are sorted: errors first, then warnings, then notices.
func gravity(f acap.Finding) int {
	return slices.Index([]acap.Severity{acap.Error, acap.Warning, acap.Notice}, f.Severity)
}

// visible replaces control characters, with which publishers could control a terminal.
func visible(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return unicode.ReplacementChar
	}
	return r
}

// heading writes crawler, purposes, time, reader, and the sources that were read.
func (e *explanation) heading(b *strings.Builder) {
	r, target := e.request, e.Facts().Target
	fmt.Fprintf(b, "%s\nfor %s", r.URL, strings.Join(e.Crawler.Names, ", "))
	switch {
	case len(e.Crawler.Purposes) > 0:
		fmt.Fprintf(b, ", collecting for %s", strings.Join(e.Crawler.Purposes, ", "))
	case e.Crawler.Purposes != nil:
		b.WriteString(", collecting for no purpose")
	}
	if len(e.Crawler.Cannot) > 0 {
		fmt.Fprintf(b, ", which treats %s as unsupported", strings.Join(e.Crawler.Cannot, ", "))
	}
	if e.Crawler.Strict {
		b.WriteString(", by the strict readings")
	}
	if e.Crawler.Pilot {
		b.WriteString(", with the forms of the pilot")
	}
	fmt.Fprintf(b, ", as of %s", e.Facts().Now.Format(time.RFC3339))
	if target.IP.IsValid() {
		fmt.Fprintf(b, ", shown to %s", target.IP)
	}
	if len(target.Domains) > 0 {
		fmt.Fprintf(b, ", shown at %s", strings.Join(target.Domains, " and "))
	}
	if target.Country != "" {
		fmt.Fprintf(b, ", shown in %s", target.Country)
	}
	fmt.Fprintf(b, "\n%s\n%s\n", e.policyRead(), e.pageRead())
}

func (e *explanation) policyRead() string {
	o := e.Origin
	where := o.Key + "/robots.txt"
	switch {
	case o.Status == policy.None:
		return fmt.Sprintf("%s: status %d, there are no restrictions", where, o.HTTP)
	case o.Status == policy.Unreachable:
		return fmt.Sprintf("%s could not be read: %s", where, o.Why)
	case e.request.Robots != "":
		where = named(e.request.Robots) + " in place of " + where
	}
	return where + ": " + e.Declares()
}

func named(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

func (e *explanation) pageRead() string {
	switch {
	// P1 2.5.1 (X02): statements of a page that may not be crawled are not read
	case e.Page != nil && !e.Origin.Policy.Decide(acap.Crawl, acap.NewResource(e.request.URL)).Allowed:
		return "the page may not be crawled, so its own statements are not read"
	case e.request.PageFile != "":
		return "the page: " + named(e.request.PageFile)
	case e.Page != nil:
		return "the page: fetched now from " + e.Page.URL().String()
	case e.Past.URL != "" && !e.request.Page:
		return "the page: as last crawled, " + e.Past.LastCrawled.UTC().Format(time.RFC3339)
	}
	return "the page itself was not read"
}

// group is the text of a result, with all usages that have this result.
type group struct {
	usages []string
	text   string
}

func grouped(e *explanation) []group {
	var out []group
	at := map[string]int{}
	for _, a := range e.Answers {
		text := e.block(a)
		i, known := at[text]
		if !known {
			i = len(out)
			at[text] = i
			out = append(out, group{text: text})
		}
		out[i].usages = append(out[i].usages, string(a.Usage))
	}
	return out
}

// wrapped returns the words, broken into lines that fit a terminal.
func wrapped(words []string) string {
	const width = 90
	var b strings.Builder
	n := 0
	for i, w := range words {
		if i > 0 {
			b.WriteByte(',')
			if n += 2; n+len(w) > width {
				b.WriteByte('\n')
				n = 0
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(w)
		n += len(w)
	}
	return b.String()
}

// block returns the text of the result a, without the names of usages.
func (e *explanation) block(a explain.Explained) string {
	var b strings.Builder
	d := a.Decision
	fmt.Fprintf(&b, "%s\n", explain.Answer(d))
	if d.Because == nil {
		fmt.Fprintf(&b, "  %s\n", explain.Reason(d))
	} else {
		f, length := e.Deciding(d)
		section(&b, explain.Place(f, "")+": "+explain.Reason(d), []string{e.quoted(f, length)})
	}
	section(&b, "limits", e.limits(a))
	section(&b, "verdicts, of which the strictest decides", verdicts(a.Opinions))
	var beside, against, within, elsewhere []string
	for _, v := range a.Rivals {
		switch {
		case explain.Aside(a, v) && !e.request.All: // not listed
		case v.Outcome == acap.Loses:
			against = append(against, e.rival(v))
		case v.Outcome == acap.Within:
			within = append(within, e.rival(v))
		default:
			beside = append(beside, e.rival(v))
		}
	}
	for _, v := range a.Elsewhere {
		elsewhere = append(elsewhere, e.rival(v))
	}
	if a.More > 0 {
		elsewhere = append(elsewhere, fmt.Sprintf("and %d more", a.More))
	}
	section(&b, "other lines that also apply", beside)
	section(&b, "lines that were overruled", against)
	section(&b, "lines about parts of the page", within)
	section(&b, "elsewhere", elsewhere)
	return b.String()
}

// verdicts returns a line for each vocabulary with its verdict and the field that decides it.
func verdicts(said []acap.Said) (lines []string) {
	for _, s := range said {
		lines = append(lines, fmt.Sprintf("%s: %s, %s", s.Vocabulary, s.Verdict, s.Because))
	}
	return lines
}

// limits returns a line for each limit. If a limit is not set by the deciding field, the line names
// the fields that set it. Further lines say what the limits prevent.
func (e *explanation) limits(a explain.Explained) (lines []string) {
	for _, limit := range explain.LimitsOf(a, rfc3339) {
		var by []string
		for _, f := range limit.By {
			by = append(by, explain.Place(f, e.request.URL.String()))
		}
		line := limit.Words
		if len(by) > 0 {
			line += ", by " + strings.Join(by, " and ")
		}
		lines = append(lines, line)
	}
	return lines
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "  %s\n", title)
	for _, l := range lines {
		fmt.Fprintf(b, "    %s\n", strings.ReplaceAll(l, "\n", "\n    "))
	}
}

// rival returns what one competing field says, and why it did not decide.
func (e *explanation) rival(v acap.Rival) string {
	return explain.Place(v.Field, e.request.URL.String()) + "  " + explain.Written(v.Field) + "\n  " + explain.Effect(v)
}

// quoted returns the source line of a field, and below it carets that mark length characters of the
// field. If the source line is not available, quoted returns the parsed field.
func (e *explanation) quoted(f *acap.Field, length int) string {
	line := e.Line(f)
	if line == "" {
		return explain.Written(f)
	}
	return acap.Excerpt(line, f.Column, length)
}

// rfc3339 returns a time as this command prints it.
func rfc3339(t time.Time) string { return t.Format(time.RFC3339) }
