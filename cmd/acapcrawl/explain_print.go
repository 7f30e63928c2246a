package main

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/present"
	"github.com/acapcrawl/acapcrawl/site"
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
		fmt.Fprintf(b, ", unable to interpret %s", strings.Join(e.Crawler.Cannot, ", "))
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
	version := "ACAP " + o.Robots.Version()
	if o.Robots.Version() == "" {
		version = "it declares no version of ACAP"
	}
	if o.Robots.IgnoreConventional() {
		version += "; conventional records are ignored"
	}
	return where + ": " + version
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
func (e *explanation) block(a site.Explained) string {
	var b strings.Builder
	d := a.Decision
	word := "prohibited"
	switch {
	case d.Allowed:
		word = "permitted"
	case d.Reason == acap.ByAgreement:
		word = "needs an agreement"
	}
	fmt.Fprintf(&b, "%s\n", word)
	if d.Because == nil {
		fmt.Fprintf(&b, "  %s\n", reason(d))
	} else {
		f, length := e.deciding(d)
		section(&b, place(f, nil)+": "+reason(d), []string{e.quoted(f, length)})
	}
	section(&b, "limits", e.limits(a))
	section(&b, "verdicts, of which the strictest decides", verdicts(a.Opinions))
	var beside, against, within, elsewhere []string
	for _, v := range a.Rivals {
		switch {
		case v.Usage == acap.Other && a.Usage != acap.Other && !d.Allowed && v.Outcome == acap.Loses && !e.request.All:
			// not listed: a field about other usages does not change a usage that is refused anyway
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
	section(&b, "in addition", beside)
	section(&b, "lost against it", against)
	section(&b, "within the page", within)
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
func (e *explanation) limits(a site.Explained) []string {
	var lines []string
	holders := map[string][]string{} // limit in words → the fields that set the limit; nil: the deciding field sets it
	for _, bound := range a.Bounds {
		for _, line := range limitsInWords(bound.Limits) {
			if _, told := holders[line]; !told {
				lines = append(lines, line)
				holders[line] = []string{}
			}
			if because := a.Decision.Because; because != nil && *bound.Field == *because {
				holders[line] = nil
			} else if holders[line] != nil {
				holders[line] = append(holders[line], place(bound.Field, &acap.Field{URL: e.request.URL.String()}))
			}
		}
	}
	for i, line := range lines {
		if by := holders[line]; len(by) > 0 {
			lines[i] = line + ", by " + strings.Join(by, " and ")
		}
	}
	return append(lines, present.Forgone(a.Decision)...)
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

// reason returns in words the kind of rule that decided.
func reason(d acap.Decision) string {
	words := map[acap.Reason]string{
		acap.ByPermission:  "this permission decides",
		acap.ByProhibition: "this prohibition decides",
		acap.ByDefault:     "nothing is said about it",
		acap.ByOther:       "this prohibition covers usages of which nothing else is said",
		acap.ByConflict:    "permissions and this prohibition both match, and no pattern is narrower than all others",
		acap.ByFallback:    "this field cannot be interpreted fully, and counts as a prohibition",
		acap.ByExpiry:      "the time limit of this permission has passed",
		acap.ByLocation:    "the page is not where this permission says",
		acap.ByHeader:      "this header restricts it",
		acap.ByMeta:        "this tag restricts it",
		acap.ByPreference:  "this preference decides",
		acap.ByAgreement:   "this requires an agreement first",
		acap.Unavailable:   "its policy could not be read",
		acap.Unfulfillable: "this permission requires something that is not available",
	}[d.Reason]
	switch {
	case d.Reason == acap.ByTarget:
		return d.Note
	case d.Reason == acap.Conventional && d.Allowed:
		words = "this conventional rule permits it"
	case d.Reason == acap.Conventional:
		words = "this conventional rule prohibits it"
	case d.Reason == acap.ByProhibition && d.Note != "":
		words = "this permission cannot be complied with"
	}
	if d.For != "" {
		words = fmt.Sprintf("pages are collected for %s, which is not allowed: %s", d.For, words)
	}
	if d.Note != "" {
		words += " (" + d.Note + ")"
	}
	if d.Terms != "" {
		words += "; the terms: " + d.Terms
	}
	return words
}

// place returns where the field f is: URL, line and column. Instead of the URL it returns only the
// path if the field other is not nil and has the same origin.
func place(f, other *acap.Field) string {
	where := f.URL
	if other != nil {
		a, err := url.Parse(f.URL)
		b, err2 := url.Parse(other.URL)
		if err == nil && err2 == nil && a.Scheme == b.Scheme && a.Host == b.Host {
			where = a.RequestURI()
		}
	}
	switch {
	case f.Source == acap.Header:
		return where + ": header"
	case f.Line == 0: // a tag whose line is not known
		return where
	}
	return fmt.Sprintf("%s:%d:%d", where, f.Line, f.Column)
}

// rival returns what one competing field says, and why it did not decide.
func (e *explanation) rival(v acap.Rival) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n  ", place(v.Field, &acap.Field{URL: e.request.URL.String()}), written(v.Field))
	switch {
	case v.Outcome == acap.Loses && v.Over != nil:
		fmt.Fprintf(&b, "loses to %s: ", shortly(v.Over, v.Field))
	case v.Outcome == acap.Loses:
		b.WriteString("loses: ")
	case v.Outcome == acap.Binds:
		b.WriteString("applies too: ")
	}
	b.WriteString(v.Why)
	if v.Rule != "" {
		fmt.Fprintf(&b, " (%s)", v.Rule)
	}
	return b.String()
}

// written returns a field as the publisher wrote it.
func written(f *acap.Field) string {
	switch f.Source {
	case acap.Meta:
		return "META " + f.Text
	case acap.Class:
		return "class " + f.Text
	}
	return f.Text
}

// shortly returns a short name for the field f in a text about the field at: for example only the
// line if both fields are in the same file.
func shortly(f, at *acap.Field) string {
	switch {
	case f.Source == acap.Header:
		return "the header " + f.Text
	case f.Source == acap.Class:
		return fmt.Sprintf("the class on line %d of the page", f.Line)
	case f.URL == at.URL:
		return fmt.Sprintf("line %d", f.Line)
	}
	return place(f, at)
}

// quoted returns the source line of a field, and below it carets that mark length characters of the
// field. If the source line is not available, quoted returns the parsed field.
func (e *explanation) quoted(f *acap.Field, length int) string {
	line := e.Line(f)
	if line == "" {
		return written(f)
	}
	return acap.Excerpt(line, f.Column, length)
}

// deciding returns the field that decided, and how many characters of it to mark: the whole field
// or tag, or the part that could not be interpreted.
func (e *explanation) deciding(d acap.Decision) (at *acap.Field, length int) {
	f := d.Because
	if d.Reason == acap.ByFallback {
		for _, fi := range e.Policy().Findings() {
			if fi.URL == f.URL && fi.Line == f.Line && fi.Column > f.Column && fi.Severity == acap.Error {
				at := *f
				at.Column = fi.Column
				return &at, fi.Length
			}
		}
	}
	line := []rune(e.Line(f))
	rest := string(line[min(max(f.Column-1, 0), len(line)):])
	token, _, _ := strings.Cut(rest, " ")
	switch end := strings.IndexByte(rest, '>'); {
	case strings.HasPrefix(rest, f.Text):
		token = f.Text
	case (f.Source == acap.Meta || f.Source == acap.Class) && end >= 0:
		token = rest[:end+1]
	}
	return f, utf8.RuneCountInString(token)
}

// limitsInWords returns each limit as one line.
func limitsInWords(l acap.Limits) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if !l.Until.IsZero() {
		add("until %s", l.Until.Format(time.RFC3339))
	}
	if l.UntilRecrawled {
		add("until it is crawled again")
	}
	if l.MaxChars != nil {
		add("at most %d characters", *l.MaxChars)
	}
	if l.MaxWords != nil {
		add("at most %d words", *l.MaxWords)
	}
	for _, list := range []struct {
		words  string
		values []string
	}{{"made only from", l.MustUse}, {"shown only with", l.MustInclude}, {"without modification of",
		l.ProhibitedModification},
		{"never", l.ProhibitedContext}, {"only", l.RequiredContext}, {"only for readers who meet", l.Target},
		{"only at", l.Location}, {"ask at", l.UsageRef}} {
		if len(list.values) > 0 {
			add("%s %s", list.words, strings.Join(list.values, ", "))
		}
	}
	return out
}
