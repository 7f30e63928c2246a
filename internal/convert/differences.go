package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// The kinds of differences between source and target.
type kind uint8

const (
	lost     kind = iota // the source prohibits, the target does not
	wordless             // like lost, because the target has no word for the usage
	more                 // the target prohibits, the source does not
	needs                // the target asks for an agreement, the source permits
	weaker               // the source prohibits, the target asks for an agreement
	agreed               // the source asks for an agreement, the target prohibits
	unsaid               // the source permits, the target says nothing
)

// difference is a kind of difference for one crawler, with one reason.
type difference struct {
	kind   kind
	fields []*acap.Field // of the source; may be empty
	word   string        // of the target; "" if the target says nothing
	terms  string
	why    string // why the target cannot say it; may be empty

	usages []acap.Usage
	cells  []*cell
}

// differences returns what the target decides otherwise for one crawler, on the samples of all
// cells. It joins differences with one reason that concern the same usages.
func (t *translation) differences(r *result) (list []*difference) {
	joined := map[string]*difference{}
	for _, c := range slices.Concat(r.grid.cells, r.grid.spare) {
		for _, d := range t.differencesOf(r, c) {
			key := d.key() + fmt.Sprint(d.usages)
			if joined[key] == nil {
				joined[key] = d
				list = append(list, d)
				continue
			}
			joined[key].cells = append(joined[key].cells, c)
		}
	}
	return joinWords(list)
}

// joinWords joins differences that only have different words of the target.
func joinWords(list []*difference) (out []*difference) {
	for _, d := range list {
		i := slices.IndexFunc(out, func(o *difference) bool {
			return o.kind == d.kind && o.word != "" && o.why == d.why && slices.Equal(o.fields, d.fields) &&
				slices.Equal(o.cells, d.cells)
		})
		if i < 0 {
			out = append(out, d)
			continue
		}
		out[i].word += ", " + d.word
		for _, u := range d.usages {
			if !slices.Contains(out[i].usages, u) {
				out[i].usages = append(out[i].usages, u)
			}
		}
	}
	return out
}

// differencesOf returns the differences on the samples of one cell, by reason.
func (t *translation) differencesOf(r *result, c *cell) (list []*difference) {
	known := map[string]*difference{}
	for i := range c.samples {
		s := &c.samples[i]
		for j, u := range t.usages {
			d, differs := t.compare(r, s, s.answers[j], u)
			if !differs {
				continue
			}
			key := d.key()
			if known[key] == nil {
				d.cells = []*cell{c}
				known[key] = &d
				list = append(list, &d)
			}
			if !slices.Contains(known[key].usages, u) {
				known[key].usages = append(known[key].usages, u)
			}
		}
	}
	for _, d := range list { // the samples of a cell may have different usages in common
		slices.SortFunc(d.usages, func(a, b acap.Usage) int {
			return slices.Index(t.usages, a) - slices.Index(t.usages, b)
		})
	}
	return list
}

// key returns a text that is equal for differences with the same reason.
func (d *difference) key() string {
	return fmt.Sprint(d.kind, linesOf(d.fields), d.word, d.terms, d.why)
}

func linesOf(fields []*acap.Field) (lines []int) {
	for _, f := range fields {
		lines = append(lines, f.Line)
	}
	return lines
}

// compare returns the difference between source and target about a usage of a sample. a is the
// answer of the source.
func (t *translation) compare(r *result, s *sample, a answer, u acap.Usage) (d difference, differs bool) {
	if s.swapped || u == acap.Crawl && t.robots {
		return d, false
	}
	now := answerOf(r.policy.Decide(u, s.resource))
	d.fields = withField(nil, a.because)
	switch {
	case !a.allowed && now.allowed && a.records: // robots.txt stays
		return d, false
	case !a.allowed && now.allowed:
		d.kind, d.why = t.reason(r, u)
	case a.allowed && !now.allowed:
		d.kind = more
		if now.needs {
			d.kind = needs
		}
		d.word, d.fields = t.source(r, now, u)
	case !a.allowed && a.needs && !now.needs:
		d.kind, d.terms = agreed, t.published(a.terms)
	case !a.allowed && now.needs && !a.needs:
		d.kind = weaker
	case a.explicit && !now.explicit && !a.records:
		d.kind = unsaid
	default:
		return d, false
	}
	return d, true
}

// reason returns why the target does not prohibit the usage u, which the source prohibits.
func (t *translation) reason(r *result, u acap.Usage) (kind, string) {
	known, alone := false, false // the target has a word for the usage, and one for it without others
	for _, l := range t.labels {
		if slices.Contains(l.usages, u) {
			known, alone = true, alone || !l.whole
		}
	}
	switch {
	case known && !alone:
		return wordless, " alone"
	case !known:
		return wordless, ""
	case t.pathless:
		return lost, "has no paths"
	case !t.agents && r.name != t.other:
		return lost, "addresses no crawlers by name"
	}
	return lost, "cannot say it"
}

// source returns the statement of the target that decides about a usage, and the fields of the
// source from which it was made.
func (t *translation) source(r *result, now answer, u acap.Usage) (word string, fields []*acap.Field) {
	if now.because == nil || now.because.Line > len(r.lines) {
		return "", nil
	}
	l := r.lines[now.because.Line-1]
	if l.cell == nil {
		return now.because.Text, nil // the field is in the record for any crawler
	}
	label := l.of
	for i := range t.labels {
		said := l.cell.says[i] == prohibit && slices.Contains(t.labels[i].usages, u) ||
			l.cell.says[i] == permit && now.needs
		if label < 0 && said {
			label = i
		}
	}
	if label < 0 {
		return now.because.Text, nil
	}
	return t.word(&t.labels[label], l.cell.says[label]), l.cell.because[label]
}

// remark returns the remark about a difference for the crawler who.
func (t *translation) remark(d *difference, who string) Remark {
	r := Remark{Code: "lost", Severity: acap.Warning, Crawlers: []string{who}, Usages: d.usages,
		Paths: outermost(d.cells)}
	what := "the file"
	if len(d.fields) > 0 {
		r.Line, what = d.fields[0].Line, d.fields[0].Text
		r.Also = linesOf(d.fields[1:])
	}
	usages := wordsOf(d.usages)
	switch d.kind {
	case lost:
		r.Message = fmt.Sprintf("of %s, the prohibition of %s is lost: %s %s", what, usages, t.name, d.why)
	case wordless:
		r.Message = fmt.Sprintf("of %s, %s has no words for %s%s", what, t.name, usages, d.why)
	case more:
		r.Code = "prohibits-more"
		r.Message = fmt.Sprintf("%s becomes %s, which prohibits %s too", what, d.word, usages) + at(r.Paths)
	case needs:
		r.Code = "prohibits-more"
		r.Message = fmt.Sprintf("%s becomes %s, which asks for an agreement for %s", what, d.word, usages) + at(r.Paths)
	case agreed:
		r.Message = fmt.Sprintf("%s asks for an agreement, which %s cannot say: it prohibits %s", what, t.name, usages)
		if d.terms != "" {
			r.Message += "; the terms are at " + d.terms
		}
	case weaker:
		r.Message = fmt.Sprintf("of %s, %s has no words for %s alone, and asks for an agreement instead", what, t.name,
			usages)
	case unsaid:
		r.Code, r.Severity = "says-less", acap.Notice
		r.Message = fmt.Sprintf("%s does not say that %s permits %s: it stays allowed", t.name, what, usages)
		if n := len(d.fields) - 1; n > 0 {
			r.Message = fmt.Sprintf("%s does not say what this line and %d more permit: it stays allowed", t.name, n)
		}
	}
	return r
}

// published returns a URL of the source as remarks name it: a placeholder for the site, or for the
// licence document itself, is left out.
func (t *translation) published(terms string) string {
	if terms == t.document {
		return ""
	}
	return strings.TrimPrefix(terms, convertedSite)
}

// at returns a clause that names patterns, unless one of them is for the whole site.
func at(patterns []string) string {
	switch n := len(patterns); {
	case slices.Contains(patterns, "/"):
		return ""
	case n > 3:
		return fmt.Sprintf(", at %s and %d more patterns", strings.Join(patterns[:3], " "), n-3)
	}
	return ", at " + strings.Join(patterns, " ")
}

// joined returns one difference for several of the same kind.
func joined(list []*difference) *difference {
	d := &difference{kind: list[0].kind}
	for _, one := range list {
		for _, f := range one.fields {
			d.fields = withField(d.fields, f)
		}
		for _, u := range one.usages {
			if !slices.Contains(d.usages, u) {
				d.usages = append(d.usages, u)
			}
		}
		for _, c := range one.cells {
			if !slices.Contains(d.cells, c) {
				d.cells = append(d.cells, c)
			}
		}
	}
	slices.SortFunc(d.fields, func(a, b *acap.Field) int { return a.Line - b.Line })
	return d
}

// wordsOf returns usages as a list in words. It joins present and all types based on it.
func wordsOf(usages []acap.Usage) string {
	all := !slices.ContainsFunc(presentations(), func(u acap.Usage) bool { return !slices.Contains(usages, u) })
	var words []string
	for _, u := range usages {
		switch {
		case !all || !u.Presents():
			words = append(words, string(u))
		case u == acap.Present:
			words = append(words, "all types of present")
		}
	}
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return strings.Join(words, "")
}

// outermost returns the patterns of cells that are not within another one.
func outermost(cells []*cell) (patterns []string) {
	for _, c := range cells {
		if !slices.ContainsFunc(cells, func(o *cell) bool { return o != c && o.contains(c) }) {
			patterns = append(patterns, c.pattern)
		}
	}
	return patterns
}
