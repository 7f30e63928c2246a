package view

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/explain"
)

// Limits on what is shown of sources, for hostile files.
const (
	maxTexts    = 12  // texts
	maxWhole    = 300 // lines of a text that is shown completely
	maxLines    = 600 // lines of a text
	maxAround   = 2   // lines before and after a line of interest
	maxFindings = 100 // findings about a text
	maxPerLine  = 5   // findings about a line
	maxShown    = 400 // characters of a line
	shownBefore = 80  // characters before the mark in a longer line
)

// sourceText is a text with the lines that decide.
type sourceText struct {
	ID    string
	Title string
	Lines []shownLine
	Found []findingSum // the findings next to the lines
	Left  int          // lines left out
	Notes []string     // what was not checked or is not shown
}

// shownLine is a line, or a gap.
type shownLine struct {
	Number  int
	Gap     int // number of lines left out here; 0: it is a line
	ID      string
	Before  string // of the marked part
	Marked  string
	After   string
	Decides string // the usages that it decides
	Notes   []findingRow
	More    int // findings left out
}

// mark is a part of a line that decides usages.
type mark struct {
	column, length int
	usages         []string
}

// source is a text before it is shown.
type source struct {
	title    string
	name     string // the address of its fields
	header   bool   // it consists of headers, which are found by their text
	lines    []string
	marks    map[int]*mark // by line
	near     map[int]bool  // lines of interest that decide nothing
	findings map[int][]acap.Finding
	hrefs    map[int]string // of the lines that are shown
	notes    []string
}

// sources are the texts of an explanation.
type sources struct {
	list  []*source
	texts []sourceText
	who   Visitor
}

// row returns a field as it is shown. at is the address of the question.
func (s *sources) row(f *acap.Field, at string) fieldRow {
	out := fieldRow{Place: shorten(explain.PlaceWords(f, at)), Text: shorten(explain.Written(f))}
	for _, one := range s.list {
		if n := one.at(f); n > 0 && out.Href == "" {
			out.Href = one.hrefs[n]
		}
	}
	return out
}

// sources returns the texts that the answers of an explanation come from. A stored page is not shown:
// only the presenter may show its text.
func (h *Handler) sources(e *explain.Explanation, form *explainForm, who Visitor) *sources {
	list := policyTexts(e, form)
	o := check.Options{Now: e.Facts().Now, Vocabularies: e.Crawler.Vocabularies, Pilot: e.Crawler.Pilot}
	if form.Page != "" || form.Headers != "" {
		list = append(list, pastedTexts(e, form)...)
	}
	for _, a := range e.Answers {
		if d := a.Decision; d.Because != nil {
			f, length := e.Deciding(d)
			markField(list, f, length, string(a.Usage))
		}
		for _, v := range a.Rivals[:min(len(a.Rivals), maxRivals)] {
			markNear(list, v.Field)
		}
	}
	addFindings(list, e, form, o)
	out := &sources{list: list[:min(len(list), maxTexts)], who: who}
	id := "s"
	if form.second {
		id = "t"
	}
	for i, one := range out.list {
		out.add(id+strconv.Itoa(i+1), one)
	}
	return out
}

// policyTexts returns robots.txt of each origin, and the files to which they refer.
func policyTexts(e *explain.Explanation, form *explainForm) (list []*source) {
	for i, o := range e.Origins() {
		if o.Robots == nil || i == 0 && form.empty {
			continue
		}
		title := o.Robots.URL
		switch {
		case i == 0 && form.second:
			title = "The second robots.txt"
		case i == 0 && form.Robots != "":
			title = "The pasted robots.txt"
		}
		list = append(list, newSource(title, o.Robots.URL, o.Robots.Lines()))
		for _, ref := range o.References {
			switch {
			case slices.ContainsFunc(list, func(s *source) bool { return s.name == ref.URL }):
			case ref.File != nil:
				list = append(list, newSource(ref.URL, ref.URL, ref.File.Lines()))
			case ref.Text != nil:
				list = append(list, newSource(ref.URL, ref.URL, splitText(string(ref.Text))))
			}
		}
	}
	return list
}

// pastedTexts returns the pasted page and headers.
func pastedTexts(e *explain.Explanation, form *explainForm) (list []*source) {
	if form.Page != "" {
		list = append(list, newSource("The pasted page", e.Page.Own().URL, splitText(e.Page.Source())))
	}
	if form.Headers != "" {
		s := newSource("The pasted headers", e.Page.Own().URL, splitText(form.Headers))
		s.header = true
		list = append(list, s)
	}
	return list
}

func newSource(title, name string, lines []string) *source {
	return &source{title: title, name: name, lines: lines, marks: map[int]*mark{}, near: map[int]bool{},
		findings: map[int][]acap.Finding{}, hrefs: map[int]string{}}
}

func splitText(text string) []string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// at returns the line of a field in s, or 0. A header is found by its text.
func (s *source) at(f *acap.Field) int {
	if s.name != f.URL || s.header != (f.Source == acap.Header) {
		return 0
	}
	if !s.header {
		if f.Line > len(s.lines) {
			return 0
		}
		return f.Line
	}
	plain := func(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
	return 1 + slices.IndexFunc(s.lines, func(line string) bool {
		return f.Text != "" && strings.Contains(plain(line), plain(f.Text))
	})
}

// markField marks the part of a text that decides a usage.
func markField(list []*source, f *acap.Field, length int, usage string) {
	for _, s := range list {
		n := s.at(f)
		if n < 1 {
			continue
		}
		m := s.marks[n]
		if m == nil {
			m = &mark{column: f.Column, length: length}
			if s.marks[n] = m; s.header {
				m.column, m.length = 1, len(s.lines[n-1])
			}
		}
		m.usages = append(m.usages, usage)
		return
	}
}

// markNear makes sure that the line of a field is shown.
func markNear(list []*source, f *acap.Field) {
	for _, s := range list {
		if n := s.at(f); n > 0 {
			s.near[n] = true
			return
		}
	}
}

// addFindings adds what package check finds in the texts.
func addFindings(list []*source, e *explain.Explanation, form *explainForm, o check.Options) {
	for _, origin := range e.Origins() {
		if origin.Robots == nil {
			continue
		}
		var r check.Report
		text := strings.Join(origin.Robots.Lines(), "\n") + "\n"
		file := r.Robots(origin.Robots.URL, []byte(text), o, origin.References...)
		if origin == e.Origin && form.Page != "" {
			r.PageAlone(e.Page.Own().URL, e.Page, o, file, origin.References...)
		}
		for _, s := range list {
			if !s.header {
				s.note(r.About(s.name))
			}
		}
	}
	for _, s := range list {
		if s.header {
			var r check.Report
			r.Header(s.name, []byte(form.Headers), o, e.Origin.Robots, e.Origin.References...)
			s.note(r.Findings)
			s.notes = append(s.notes, r.Notes...)
		}
	}
}

// note adds findings about a text, errors first.
func (s *source) note(found []acap.Finding) {
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b acap.Finding) int { return gravity(a.Severity) - gravity(b.Severity) })
	if n := len(found) - maxFindings; n > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%d further findings are left out.", n))
		found = found[:maxFindings]
	}
	for _, f := range found {
		if n := min(max(f.Line, 1), max(len(s.lines), 1)); !slices.Contains(s.findings[n], f) {
			s.findings[n] = append(s.findings[n], f)
		}
	}
}

// add shows a text under an id.
func (out *sources) add(id string, s *source) {
	text := sourceText{ID: id, Title: shorten(s.title), Notes: s.notes}
	last := 0
	show := func(n int) {
		line := s.line(n, out.who)
		line.ID = id + "-" + strconv.Itoa(n)
		text.Lines = append(text.Lines, line)
		s.hrefs[n] = "#" + line.ID
		last = n
	}
	skipTo := func(n int) {
		switch gap := n - last - 1; {
		case gap == 1: // the line needs no more room than the words that it is left out
			show(n - 1)
		case gap > 1:
			text.Lines = append(text.Lines, shownLine{Gap: gap})
			text.Left += gap
		}
	}
	for _, n := range s.chosen() {
		skipTo(n)
		show(n)
	}
	skipTo(len(s.lines) + 1)
	text.Found = sumFindings(s.findings, s.hrefs)
	out.texts = append(out.texts, text)
}

// chosen returns the numbers of the lines to show, in order: all of a short text, otherwise the first
// lines, and those of interest with their neighbours. Lines that decide are always shown.
func (s *source) chosen() (list []int) {
	chosen := map[int]bool{}
	add := func(n, around, most int) {
		for i := max(1, n-around); i <= min(n+around, len(s.lines)); i++ {
			if len(chosen) < most {
				chosen[i] = true
			}
		}
	}
	for n := range s.marks {
		add(n, 0, len(s.lines))
	}
	if len(s.lines) <= maxWhole {
		add(1, len(s.lines), maxWhole)
	}
	for n := range s.marks {
		add(n, maxAround, maxLines)
	}
	for _, n := range slices.Sorted(maps.Keys(s.near)) {
		add(n, maxAround, maxLines)
	}
	for _, n := range slices.Sorted(maps.Keys(s.findings)) {
		add(n, maxAround, maxLines)
	}
	add(1, 20, maxLines)
	return slices.Sorted(maps.Keys(chosen))
}

// line returns a line with its mark and findings. A long line is cut around the mark.
func (s *source) line(n int, who Visitor) shownLine {
	out := shownLine{Number: n}
	text := []rune(strings.ToValidUTF8(s.lines[n-1], "\ufffd"))
	start, end := 0, 0
	if m := s.marks[n]; m != nil {
		start = min(max(m.column-1, 0), len(text))
		end = min(start+max(m.length, 1), len(text))
		out.Decides = strings.Join(m.usages, ", ")
	}
	from, to := 0, len(text)
	if len(text) > maxShown {
		from = max(0, start-shownBefore)
		to = min(from+maxShown, len(text))
	}
	end = min(end, to)
	out.Before, out.Marked, out.After = safe(text[from:start]), safe(text[start:end]), safe(text[end:to])
	if from > 0 {
		out.Before = "…" + out.Before
	}
	if to < len(text) {
		out.After += "…"
	}
	for i, f := range s.findings[n] {
		if i == maxPerLine {
			out.More = len(s.findings[n]) - i
			break
		}
		out.Notes = append(out.Notes, newFindingRow(f, who))
	}
	return out
}

func safe(text []rune) string { return display.Line(string(text)) }
