package acap

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits on findings about one text, so that a hostile text does not cost more than other texts.
// maxFindings limits errors and warnings together; maxQuote is the number of bytes of a quoted
// word.
const (
	maxFindings = 1000
	maxHints    = 50
	maxNames    = 100
	maxQuote    = 200
	maxHint     = 280
)

// reporter collects findings. It reports each finding only once.
type reporter struct {
	findings []Finding
	notices  int // how many of findings are notices
	seen     map[remark]bool
	hints    int
	muted    bool            // findings are not needed, so none are collected
	tags     map[*Field]*Tag // the tags from which a page's fields were made, to find the positions of tokens
}

// Collector collects findings about one text, each once. It reports at most a thousand errors and
// warnings, and as many notices; one further finding says that there are more.
type Collector struct{ reporter reporter }

// Report adds a finding about the field f.
func (c *Collector) Report(f *Field, code string, severity Severity, hint, message string) {
	c.reporter.report(f, code, severity, hint, "%s", message)
}

// Findings returns the findings in the order of the reports.
func (c *Collector) Findings() []Finding { return c.reporter.findings }

// remark is a finding without its position. It identifies findings that were already reported,
// before their position, which takes time, is computed.
type remark struct {
	Finding
	token string
}

// full reports whether the limit for errors and warnings is reached. Notices have a limit of their
// own.
func (r *reporter) full() bool { return len(r.findings)-r.notices >= maxFindings }

// report adds a finding about a field, or about one token of it (see Field.at). It does nothing if
// there are too many findings.
func (r *reporter) report(f *Field, code string, sev Severity, hint, format string, args ...any) {
	switch {
	case r.muted, sev == Notice && r.notices > maxFindings, sev != Notice && len(r.findings)-r.notices > maxFindings:
	case sev == Notice && r.notices == maxFindings:
		r.addFinding(f, "too-many-findings", Notice, "correct the findings before it",
			"there are more notices from here on than are listed")
	case sev != Notice && r.full():
		r.addFinding(f, "too-many-findings", Error, "correct the findings before it",
			"there are more errors and warnings from here on than are listed")
	default:
		r.addFinding(f, code, sev, hint, format, args...)
	}
}

// addFinding adds a finding even if there are many. It is for findings about a file as a whole;
// report is for the others.
func (r *reporter) addFinding(f *Field, code string, sev Severity, hint, format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = clip(s)
		}
	}
	fi := Finding{Code: code, Severity: sev, Source: f.Source, URL: f.URL, Line: f.Line, Column: f.Column,
		Message: fmt.Sprintf(format, args...), Hint: clipTo(hint, maxHint)}
	told := remark{Finding: fi}
	if f.in != nil {
		told.token = f.Text
	}
	if r.seen[told] {
		return
	}
	if r.seen == nil {
		r.seen = map[remark]bool{}
	}
	r.seen[told] = true
	fi.Line, fi.Column, fi.Length = r.place(f)
	r.findings = append(r.findings, fi)
	if sev == Notice {
		r.notices++
	}
}

// place returns the position of a field, or of a token in it. If the field does not contain the
// token in the form in which it was read, place returns the position of the field.
func (r *reporter) place(f *Field) (line, column, length int) {
	token := ""
	if f.in != nil {
		f, token = f.in, f.Text
	}
	if f.Source == Meta || f.Source == Header {
		return r.tags[f].place(f, token)
	}
	from, to, ok := find(f.Text, token)
	if !ok {
		from, to = 0, min(len(f.Text), maxLocated)
	}
	return f.Line, f.Column + utf8.RuneCountInString(f.Text[:from]), max(1, utf8.RuneCountInString(f.Text[from:to]))
}

// place returns the position of a token of the field f in the tag t, or of the whole content of t.
// If the page writes the content with character references, it returns the position of the tag.
func (t *Tag) place(f *Field, token string) (line, column, length int) {
	if t == nil || t.Loose {
		return f.Line, f.Column, 1
	}
	s, line, column := t.Content, f.Line, f.Column
	if t.Source == Header {
		s = t.Name + ": " + s
	}
	from, to, ok := find(s, token)
	if !ok {
		s = strings.TrimRightFunc(s, Blank)
		from, to = len(s)-len(strings.TrimLeftFunc(s, Blank)), min(len(s), maxLocated)
	}
	before := s[:from]
	if i := strings.LastIndexByte(before, '\n'); i >= 0 { // a META tag may span several lines, but a mark may not
		line, column, before = line+strings.Count(before, "\n"), 1, before[i+1:]
	}
	marked, _, _ := strings.Cut(s[from:max(from, to)], "\n")
	return line, column + utf8.RuneCountInString(before), max(1, utf8.RuneCountInString(marked))
}

// clip shortens a long word without splitting a character.
func clip(s string) string { return clipTo(s, maxQuote) }

func clipTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// near returns a hint that contains the known word most similar to s. If no word is similar, the
// hint lists the known words, unless there are many.
func (r *reporter) near(s string, known func() []string) string {
	if r.muted || r.hints >= maxHints {
		return ""
	}
	r.hints++
	words := known()
	if best := Nearest(s, words); best != "" {
		return "did you mean " + best + "?"
	}
	return writeOneOf(words)
}

// nearDefined is like near, for names that the text itself defines.
func (r *reporter) nearDefined(s string, known func() []string) string {
	if r.muted || r.hints >= maxHints {
		return ""
	}
	r.hints++
	if best := Nearest(s, known()); best != "" {
		return "did you mean " + best + "?"
	}
	return "define it, before all records"
}

// writeOneOf returns a hint that lists the allowed words. It returns "" if there are too many.
func writeOneOf(words []string) string {
	list := strings.Join(words, ", ")
	if len(words) == 0 || len(list) > maxHint-len("write one of ") {
		return ""
	}
	return "write one of " + list
}

// Nearest returns the known word most similar to s, which must be in lower case. It returns "" if
// no word is similar.
func Nearest(s string, known []string) string {
	best, distance := "", 1+len(s)/3
	for _, k := range known {
		if d := editDistance(s, strings.ToLower(k), distance); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// editDistance returns how many insertions, deletions and replacements of characters turn a into b,
// at most limit.
func editDistance(a, b string, limit int) int {
	if len(a) > 64 || len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	var rows [128]int
	row := rows[:len(b)+1]
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, change)
			least = min(least, row[j])
		}
		if least >= limit {
			return limit
		}
	}
	return row[len(b)]
}
