package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/explain"
)

// printDiff writes the differences. The exit status reports whether there are any.
func (c *Command) printDiff(d *differ) error {
	err := c.writeReport(d.request.Out, func(w io.Writer) error {
		if !d.request.Out.JSON() {
			_, err := io.WriteString(w, strings.Map(visible, d.text()))
			return err
		}
		list := []any{}
		for _, f := range d.found {
			list = append(list, d.json(f))
		}
		for _, ch := range d.changes {
			list = append(list, d.changeJSON(ch))
		}
		for _, one := range d.contrasts {
			list = append(list, d.contrastJSON(one))
		}
		return display.Encoder(w).Encode(list)
	})
	if err == nil && d.differences() > 0 {
		return nothing("")
	}
	return err
}

// differences returns the number of differences.
func (d *differ) differences() int { return len(d.found) + len(d.changes) + len(d.contrasts) }

// text returns the differences grouped by crawlers. Crawlers with the same differences share a
// group.
func (d *differ) text() string {
	if len(d.docs) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(d.heading() + "\n")
	var texts []string
	who := map[string][]string{}
	for _, c := range d.ask.Crawlers {
		text := d.of(c)
		if text == "" {
			continue
		}
		if who[text] == nil {
			texts = append(texts, text)
		}
		who[text] = append(who[text], crawlerName(c))
	}
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s", wrapped(who[text]), text)
	}
	if len(texts) == 0 {
		fmt.Fprintf(&b, "no difference for %s at %s", several(len(d.ask.Crawlers), "crawler"),
			addressCount(len(d.ask.Addresses)))
		if d.partial {
			b.WriteString(", of those compared")
		}
		b.WriteByte('\n')
		return b.String()
	}
	differ := 0
	for _, names := range who {
		differ += len(names)
	}
	fmt.Fprintf(&b, "\n%s for %d of %s, of %s compared\n", several(d.differences(), "difference"),
		differ,
		several(len(d.ask.Crawlers), "crawler"), addressCount(len(d.ask.Addresses)))
	return b.String()
}

func addressCount(n int) string {
	if n == 1 {
		return "1 address"
	}
	return number(n) + " addresses"
}

// crawlerName returns the name of a crawler, or "*" for any crawler that is not named.
func crawlerName(c acap.Crawler) string {
	if len(c.Names) == 0 {
		return "*"
	}
	return c.Names[0]
}

// of returns as text the differences that concern crawler c.
func (d *differ) of(c acap.Crawler) string {
	var b strings.Builder
	var list usageTexts
	for _, f := range d.found {
		if crawlerName(f.Crawler) == crawlerName(c) {
			list.add(d.difference(f), f.Usage)
		}
	}
	list.write(&b)
	for _, ch := range d.changes {
		if crawlerName(ch.Crawler) != crawlerName(c) {
			continue
		}
		fmt.Fprintf(&b, "  %s", ch.What)
		if ch.URL != "" {
			fmt.Fprintf(&b, " of %s", d.shown(ch.URL))
		}
		b.WriteByte('\n')
		d.side(&b, 0, orNone(ch.Before), d.line(0, ch.Was))
		d.side(&b, 1, orNone(ch.After), d.line(1, ch.Is))
	}
	return b.String() + d.contrastsOf(c)
}

// usageTexts joins usages with the same text.
type usageTexts struct {
	texts  []string
	usages map[string][]string
}

func (l *usageTexts) add(text string, u acap.Usage) {
	if l.usages == nil {
		l.usages = map[string][]string{}
	}
	if l.usages[text] == nil {
		l.texts = append(l.texts, text)
	}
	l.usages[text] = append(l.usages[text], string(u))
}

func (l *usageTexts) write(b *strings.Builder) {
	for _, text := range l.texts {
		fmt.Fprintf(b, "  %s of %s", strings.ReplaceAll(wrapped(l.usages[text]), "\n", "\n  "), text)
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// difference returns one difference as text: the addresses, and what each of the two compared
// documents or readings decides.
func (d *differ) difference(f check.Difference) string {
	var b strings.Builder
	b.WriteString(d.addresses(f.Addresses) + "\n")
	for i, a := range []check.Answer{f.A, f.B} {
		word := "prohibited"
		if a.Allowed {
			word = "permitted"
		}
		d.side(&b, i, word, d.why(i, a))
		if limits := explain.LimitWords(a.Limits, rfc3339); len(limits) > 0 {
			fmt.Fprintf(&b, "    %-13s %s\n", "", strings.Join(limits, "; "))
		}
	}
	if d.blind != nil && f.B.Note != "" {
		fmt.Fprintf(&b, "    %-13s %s\n", "", f.B.Note)
	}
	return b.String()
}

// addresses returns an address as an example, and the number of the others or, with --all, the
// others.
func (d *differ) addresses(list []check.Address) string {
	text := d.shown(list[0].URL.String())
	switch n := len(list) - 1; {
	case d.request.All:
		for _, a := range list[1:] {
			text += "\n    " + d.shown(a.URL.String())
		}
	case n > 0:
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func (d *differ) side(b *strings.Builder, i int, verdict, why string) {
	b.WriteString(strings.TrimRight(fmt.Sprintf("    %-13s %-10s %s", d.docs[i].reader, verdict, why), " ") + "\n")
}

// why returns the policy line that decided in document d.docs[side], or the rule in words if no
// line decided.
func (d *differ) why(side int, a check.Answer) string {
	decision := acap.Decision{Allowed: a.Allowed, Reason: a.Reason, Note: a.Note}
	if d.blind != nil && side == 1 {
		decision.Note = ""
	}
	switch {
	case a.Because == nil:
		return explain.Reason(decision)
	case a.Reason == acap.ByPermission || a.Reason == acap.ByProhibition && a.Note == "" ||
		a.Reason == acap.Conventional:
		return d.line(side, a.Because)
	}
	return d.line(side, a.Because) + " (" + explain.Reason(decision) + ")"
}

// line returns the policy field f of d.docs[side] in the form FILE:LINE: TEXT.
func (d *differ) line(side int, f *acap.Field) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d: %s", d.file(side, f), f.Line, f.Text)
}

// file returns the name of the file in d.docs[side] that contains the field f.
func (d *differ) file(side int, f *acap.Field) string {
	for _, one := range append([]compared{d.docs[side]}, d.parts...) {
		if name, ok := one.fileName(f.URL); ok {
			return name
		}
	}
	return f.URL
}

// fileName returns the name of the file at a URL, if it is the compared file.
func (c *compared) fileName(url string) (name string, ok bool) {
	if c.kind == check.RobotsKind {
		return c.name, url == c.File.URL
	}
	return c.name, len(c.Files) > 0 && url == c.Files[0].URL
}

// shown returns an address in the form in which it is printed. If the site is not known, only the
// path is printed.
func (d *differ) shown(address string) string {
	if path, ok := strings.CutPrefix(address, nowhere); ok && strings.HasPrefix(d.docs[0].File.URL, nowhere+"/") {
		return path
	}
	return address
}

// differenceJSON is one difference in the form of --json, with the verdicts that were compared.
type differenceJSON struct {
	URL          string     `json:"url"`
	Crawler      string     `json:"crawler"` // name of the crawler; "*": any crawler that is not named
	Usage        acap.Usage `json:"usage,omitempty"`
	ACAP         *bool      `json:"acap,omitempty"`
	Conventional *bool      `json:"conventional,omitempty"`
	Temoto       *bool      `json:"temoto,omitempty"`
	Before       *bool      `json:"before,omitempty"`
	After        *bool      `json:"after,omitempty"`
	// the newer vocabulary in which two versions differ
	Vocabulary string `json:"vocabulary,omitempty"`
	Lines      []int  `json:"lines"`
	// the reason of each of the two verdicts; the keys are the JSON names of the verdicts above,
	// for example "before"; for a difference between vocabularies their names
	By     map[string]sideJSON `json:"by"`
	Others int                 `json:"others,omitempty"` // number of further URLs with the same difference
	URLs   []string            `json:"urls,omitempty"`   // all URLs with this difference; only with --all
	// what changed, if the difference is not a decision about a usage
	Change string `json:"change,omitempty"`
}

// sideJSON is what one of the two compared documents or readings decides, and why.
type sideJSON struct {
	File    string                 `json:"file"`
	Reason  acap.Reason            `json:"reason,omitempty"`
	Says    string                 `json:"says,omitempty"` // for a change: the value of the changed line
	Because *explain.ReportedField `json:"because,omitempty"`
	Note    string                 `json:"note,omitempty"`
	Limits  *acap.Limits           `json:"limits,omitempty"`
	// what a newer vocabulary says: prohibit, agreement, permit or unknown
	Verdict string `json:"verdict,omitempty"`
	Terms   string `json:"terms,omitempty"` // where the terms of an agreement are
}

func (d *differ) json(f check.Difference) differenceJSON {
	j := differenceJSON{URL: d.shown(f.Addresses[0].URL.String()), Crawler: crawlerName(f.Crawler), Usage: f.Usage,
		Lines: []int{},
		By:    map[string]sideJSON{}, Others: len(f.Addresses) - 1}
	if d.request.All {
		for _, a := range f.Addresses {
			j.URLs = append(j.URLs, d.shown(a.URL.String()))
		}
	}
	put := func(side int, name string, to **bool, a check.Answer) {
		*to = &a.Allowed
		s := sideJSON{File: d.docs[side].name, Reason: a.Reason, Note: a.Note}
		if !a.Limits.Empty() {
			s.Limits = &a.Limits
		}
		d.because(&j, &s, side, a.Because)
		j.By[name] = s
	}
	switch {
	case d.docs[0].reader == "before":
		put(0, "before", &j.Before, f.A)
		put(1, "after", &j.After, f.B)
	case d.blind != nil:
		put(0, "acap", &j.ACAP, f.A)
		put(1, "temoto", &j.Temoto, f.B)
		allowed := d.blind(f.Crawler)(f.Usage, f.Addresses[0]).Allowed
		j.Conventional = &allowed
	default:
		put(0, "acap", &j.ACAP, f.A)
		put(1, "conventional", &j.Conventional, f.B)
	}
	return j
}

func (d *differ) because(j *differenceJSON, s *sideJSON, side int, f *acap.Field) {
	if f == nil {
		return
	}
	p := explain.ReportField(f)
	p.URL = d.file(side, f)
	s.Because = &p
	if !slices.Contains(j.Lines, f.Line) {
		j.Lines = append(j.Lines, f.Line)
	}
}

func (d *differ) changeJSON(ch check.Change) differenceJSON {
	j := differenceJSON{Crawler: crawlerName(ch.Crawler), Change: ch.What, Lines: []int{}, By: map[string]sideJSON{}}
	if ch.URL != "" {
		j.URL = d.shown(ch.URL)
	}
	for side, at := range []struct {
		name, says string
		field      *acap.Field
	}{{"before", ch.Before, ch.Was}, {"after", ch.After, ch.Is}} {
		s := sideJSON{File: d.docs[side].name, Says: at.says}
		d.because(&j, &s, side, at.field)
		j.By[at.name] = s
	}
	return j
}
