package conformance

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/acapcrawl/acapcrawl/acap"
)

// WriteText writes a summary for a terminal. It does not remove control characters from the text of
// publishers.
func (a *Audit) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, as %s on %s\n", a.Site, a.LookedAs(), a.Time.Format("2006-01-02 15:04 MST"))
	if !a.Complete {
		b.WriteString("The audit was stopped: it reports what it found until then.\n")
	}
	for _, s := range a.Summary() {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	for _, p := range a.Pages {
		if p.failed() {
			fmt.Fprintf(&b, "    %s: %s\n", p.URL, p.Why)
		}
	}
	a.writeFindings(&b)
	a.writeContradictions(&b)
	a.writeEffects(&b)
	if len(a.Drifts) > 0 {
		b.WriteString("\nA crawler that reads robots.txt without ACAP decides differently:\n")
	}
	for _, d := range a.Drifts {
		fmt.Fprintf(&b, "  %s\n", d)
	}
	if len(a.Actions) > 0 {
		b.WriteString("\nRequests:\n")
	}
	for _, r := range a.Actions {
		fmt.Fprintf(&b, "  %s\n", r)
	}
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// LookedAs returns a text that names the crawler and the purposes of the audit.
func (a *Audit) LookedAs() string {
	who := strings.Join(a.Crawler, ", ")
	if len(a.Purposes) > 0 {
		who += " for " + strings.Join(a.Purposes, ", ")
	}
	return who
}

// Summary returns the result in a few sentences.
func (a *Audit) Summary() []string {
	n := a.Counts()
	return append(a.Looked(), fmt.Sprintf("%s, %s and %s.", count(n[acap.Error], "error"),
		count(n[acap.Warning], "warning"), count(n[acap.Notice], "notice")),
		fmt.Sprintf("%s between a page and its site.", count(len(a.Contradictions), "contradiction")))
}

// Looked returns a few sentences that say what the audit examined.
func (a *Audit) Looked() (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, f := range a.Files {
		switch {
		case f.Vocabulary != "":
			out = append(out, f.lookedAtFile())
		case f.Why != "":
			add("%s could not be read: %s.", f.URL, f.Why)
		case a.Status == "none" && f.URL == a.Site+"/robots.txt":
			add("There is no robots.txt: nothing is restricted by it.")
		default:
			add("%s holds %s of ACAP and %s.", f.URL, count(f.Statements, "statement"),
				count(f.Conventional, "conventional rule"))
		}
	}
	read, refused, failed, left := 0, 0, 0, 0
	for _, p := range a.Pages {
		switch {
		case p.Requested && p.Why == "":
			read++
		case p.refused:
			refused++
		case p.failed():
			failed++
		default:
			left++
		}
	}
	add("%s read; %s checked without a request, because they may not be crawled; %s not be read.", isAre(read, "page"),
		isAre(refused, "address"), could(failed))
	if left > 0 {
		add("%s checked without a request, to show what statements cover or because no more requests are made.",
			isAre(left, "more address"))
	}
	if a.Silent > 0 {
		add("Of %s ACAP limits or refuses uses that a crawler without ACAP considers free.",
			count(a.Silent, "address"))
	}
	return out
}

// Counts returns the number of findings of each severity.
func (a *Audit) Counts() map[acap.Severity]int {
	n := map[acap.Severity]int{}
	for _, f := range a.Findings {
		n[f.Severity]++
	}
	return n
}

func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func isAre(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return count(n, noun) + " were"
}

func could(n int) string {
	if n == 1 {
		return "1 could"
	}
	return fmt.Sprintf("%d could", n)
}

func (a *Audit) writeFindings(b *strings.Builder) {
	if len(a.Findings) == 0 {
		return
	}
	b.WriteString("\nFindings:\n")
	for _, f := range fold(a.Findings) {
		fmt.Fprintf(b, "  %s: %s\n", f.Severity, f)
		if f.More > 0 {
			fmt.Fprintf(b, "    and %s more of this at the same place\n", count(f.More, "finding"))
		}
	}
}

// folded is a finding together with the number of pages that have a finding with the same code and
// place.
type folded struct {
	acap.Finding
	More int
}

// fold keeps the first of all findings with the same code and place.
func fold(list []acap.Finding) (out []folded) {
	type spot struct {
		code, url    string
		line, column int
	}
	at := map[spot]int{}
	for _, f := range list {
		s := spot{f.Code, f.URL, f.Line, f.Column}
		if i, known := at[s]; known {
			out[i].More++
			continue
		}
		at[s] = len(out)
		out = append(out, folded{Finding: f})
	}
	return out
}

func (a *Audit) writeContradictions(b *strings.Builder) {
	if len(a.Contradictions) > 0 {
		b.WriteString("\nContradictions:\n")
	}
	for _, c := range a.Contradictions {
		fmt.Fprintf(b, "  %s (%s):\n    wins:  %s\n    loses: %s\n    for %s\n    on %s\n", c.Sentence(),
			usageList(c.Usages), c.Wins, c.Loses,
			who(c.Crawlers), pages(c.Pages))
	}
	if len(a.Departures) > 0 {
		b.WriteString("\nPages that restrict what their site permits, as they may:\n")
	}
	for _, c := range a.Departures {
		fmt.Fprintf(b, "  %s (%s), against %s, on %s\n", c.Wins, usageList(c.Usages), c.Loses, pages(c.Pages))
	}
}

// Sentence returns a sentence that describes the contradiction.
func (c Contradiction) Sentence() string {
	switch c.Kind {
	case Overruled:
		return "A page permits what its site prohibits, and that has no effect"
	case Restricted:
		return "A conventional tag or header prohibits what ACAP permits on the same page"
	case Lifted:
		return "A page permits what its site prohibits, and that holds"
	case Narrowed:
		return "A page prohibits what its site permits"
	}
	return "A page says both"
}

func pages(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return fmt.Sprintf("%s and %s more", list[0], count(len(list)-1, "page"))
}

func usageList(list []acap.Usage) string {
	out := make([]string, len(list))
	for i, u := range list {
		out[i] = string(u)
	}
	return strings.Join(out, ", ")
}

// String returns the file, the line number and the text of the line.
func (l *AuditLine) String() string {
	if l == nil {
		return "nothing is said"
	}
	return fmt.Sprintf("%s:%d: %s", l.URL, l.Line, l.Field)
}

// String returns a sentence with both decisions.
func (d Drift) String() string {
	permits := map[bool]string{true: "may be crawled", false: "may not be crawled"}
	who := "any crawler that is not named"
	if d.Crawler != "" {
		who = d.Crawler
	}
	more := ""
	if d.More > 0 {
		more = fmt.Sprintf(" (and %d like it)", d.More)
	}
	return fmt.Sprintf("%s%s: with ACAP it %s by %s (%s); without it %s (%s)", d.URL, more, permits[d.ACAP], who, d.By,
		permits[d.Conventional], d.Without)
}

// String returns a sentence about the request and the crawlers that it addresses.
func (r AuditAction) String() string {
	done := "asked of " + r.Who()
	if !r.Execute {
		done = "refused: " + r.Why
	}
	return fmt.Sprintf("%s of %s, %s (%s)", r.Action, r.URL, done, r.By)
}

// Who returns the names of the addressed crawlers.
func (r AuditAction) Who() string {
	if r.Crawlers[0] == "" {
		return "any crawler"
	}
	return who(r.Crawlers)
}

// Who returns the names of the crawlers of the table.
func (e Effects) Who() string { return who(e.Crawlers) }

// Who returns the names of the crawlers that the contradiction concerns.
func (c Contradiction) Who() string { return who(c.Crawlers) }

func who(crawlers []string) string {
	list := slices.Clone(crawlers)
	if i := slices.Index(list, ""); i >= 0 {
		list[i] = "any crawler that is not named"
	}
	return strings.Join(list, ", ")
}

// Lines returns the policy lines that the cells of the tables refer to, each once, in the order in
// which they first appear. The position in this list is the number of the line in the tables.
func (a *Audit) Lines() (lines []*AuditLine) {
	for _, e := range a.Effects {
		for _, row := range e.Rows {
			for _, c := range row.Cells {
				for _, l := range c.Because {
					if numberOf(lines, l) == 0 {
						lines = append(lines, l)
					}
				}
				for _, v := range c.By {
					if numberOf(lines, v.By) == 0 {
						lines = append(lines, v.By)
					}
				}
			}
		}
	}
	return lines
}

// numberOf returns the position of l in lines, counted from 1, or 0 if l is not in the list.
func numberOf(lines []*AuditLine, l *AuditLine) int {
	return slices.IndexFunc(lines, func(have *AuditLine) bool { return *have == *l }) + 1
}

var stateMarks = map[State]string{Unsaid: ".", Permitted: "+", Limited: "~", Ask: "?", Refused: "-"}

// brief holds short names of usages, for column headings. The others have their own name.
var brief = map[acap.Usage]string{acap.Preserve: "keep", acap.PresentOriginal: "orig", acap.PresentCurrentCopy: "copy",
	acap.PresentOldCopy: "oldcopy", acap.PresentSnippet: "snip", acap.PresentThumbnail: "thumb",
	acap.PresentOldSnippet: "oldsnip", acap.PresentOldThumbnail: "oldthumb", acap.PresentLink: "link"}

func (a *Audit) writeEffects(b *strings.Builder) {
	lines := a.Lines()
	var heads []string
	for _, u := range a.Usages() {
		heads = append(heads, cmp.Or(brief[u], string(u)))
	}
	for _, e := range a.Effects {
		fmt.Fprintf(b, "\nEffects for %s (+ permitted, . nothing said, ~ limited, ? permission needed, - refused; by "+
			"line):\n", e.Who())
		t := tabwriter.NewWriter(b, 0, 8, 1, ' ', 0)
		fmt.Fprintf(t, "  %s\t\n", strings.Join(heads, "\t"))
		for _, row := range e.Rows {
			t.Write([]byte("  "))
			for _, c := range row.Cells {
				mark := stateMarks[c.State]
				if len(c.Because) > 0 {
					mark += fmt.Sprint(numberOf(lines, c.Because[0]))
				}
				fmt.Fprintf(t, "%s\t", mark)
			}
			fmt.Fprintf(t, "%s\n", strings.NewReplacer("\t", " ", "\n", " ").Replace(shortAddress(row.URL, a.Site)))
		}
		t.Flush() // cannot fail: it writes to a strings.Builder
		e.writeDisagreements(b, lines)
	}
	if len(lines) > 0 {
		b.WriteString("\nThe lines behind them:\n")
	}
	for i, l := range lines {
		fmt.Fprintf(b, "  %3d  %s\n", i+1, l)
	}
}

// shortAddress returns an address without scheme and host if it is on the site.
func shortAddress(address, site string) string {
	u, err := url.Parse(address)
	if err == nil && u.Scheme+"://"+u.Host == site {
		return strings.TrimPrefix(address, site)
	}
	return address
}
