package convert

import (
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// fields is the state of a translation to ACAP records.
type fields struct {
	published func(terms string) string // see translation.published
	labels    []label
	star      []bool // by label: the record for any crawler prohibits it somewhere
	permits   []bool // by label: the record for any crawler permits it somewhere
	rules     bool   // the fields about crawl are made from conventional rules, so the cells do not speak of crawl
}

// The indexes of the labels of ACAP. Those between present and other are the types based on
// present.
const (
	fieldCrawl   = iota
	fieldPresent = 4
)

// acapLabels returns the labels of ACAP: one for each usage, of which "other" means the four newer
// usages.
func acapLabels() (list []label) {
	for _, u := range acap.Usages() {
		l := label{name: string(u), usages: []acap.Usage{u}}
		switch u {
		case acap.Present:
			l.usages, l.whole = presentations(), true
		case acap.Other:
			l.usages, l.mute = acap.NewerUsages(), true
		}
		list = append(list, l)
	}
	return list
}

func acapDialect() (*dialect, *fields) {
	f := &fields{labels: acapLabels()}
	f.star, f.permits = make([]bool, len(f.labels)), make([]bool, len(f.labels))
	d := &dialect{name: "ACAP", agents: true, folds: true, labels: f.labels, arrange: f.arrange, write: f.write,
		word: func(l *label, w wish) string {
			if w == permit {
				return "ACAP-allow-" + l.name
			}
			return "ACAP-disallow-" + l.name
		},
		policy: func(text, name string) *acap.Policy {
			return parsed(text).Policy(acap.Crawler{Names: []string{name}})
		}}
	return d, f
}

// arrange completes what the cells say.
//
// P1 2.5.6 (F19): disallow-other prohibits every usage that no field names, so all basic usages
// must be named next to it. A path within a prohibited one must be permitted. A named crawler obeys
// the record for any crawler, too (P1 2.2.1, C01), so its own record permits what that one
// prohibits.
func (f *fields) arrange(cells []*cell) []*cell {
	other := len(f.labels) - 1
	beyond := f.beyond(cells)
	for at, c := range cells {
		if f.rules {
			c.says[fieldCrawl], c.closed[fieldCrawl] = silent, true
		}
		for i, w := range c.says[:other] {
			switch {
			case i > fieldPresent && c.says[fieldPresent] == prohibit:
				c.says[i] = f.within(cells[:at], c, i)
			case w != silent || c.closed[i]:
			case at == 0 && (f.star[i] || i <= fieldPresent && beyond), says(cells[:at], c, i, prohibit):
				c.says[i] = permit
			}
		}
	}
	return cells
}

// within returns what a cell that prohibits present says about a type based on it: nothing, unless
// the type is permitted around the cell, or for any crawler. Such a permission may win against the
// prohibition of present (P1 2.5.5, F17).
func (f *fields) within(around []*cell, c *cell, label int) wish {
	if f.permits[label] || says(around, c, label, permit) {
		return prohibit
	}
	return silent
}

// beyond reports whether other usages are prohibited somewhere for the crawler.
func (f *fields) beyond(cells []*cell) bool {
	other := len(f.labels) - 1
	return f.star[other] || slices.ContainsFunc(cells, func(c *cell) bool { return c.says[other] == prohibit })
}

// says reports whether one of the cells around c says w about the usages of a label.
func says(around []*cell, c *cell, label int, w wish) bool {
	return slices.ContainsFunc(around, func(o *cell) bool { return o.says[label] == w && o.contains(c) })
}

// write returns the fields of a record, without its names.
func (f *fields) write(cells []*cell) (lines []line) {
	var kept []*cell
	for i, l := range f.labels {
		kept = kept[:0]
		for _, c := range cells {
			if c.says[i] == silent || f.implied(cells, c, i) || f.repeats(narrowest(kept, c), c, i) {
				continue
			}
			word := "disallow-"
			if c.says[i] == permit {
				word = "allow-"
			}
			kept = append(kept, c)
			lines = append(lines, line{"ACAP-" + word + l.name + ": " + c.pattern + f.comment(c, i), c, i})
		}
	}
	return lines
}

// repeats reports whether the field of a cell would say the same as that of the cell around it,
// which may be nil.
func (f *fields) repeats(around, c *cell, label int) bool {
	return around != nil && around.says[label] == c.says[label] && f.comment(around, label) == f.comment(c, label)
}

// implied reports whether a permission of a type based on present need not be written: present is
// permitted at the same paths, and nothing prohibits the type.
func (f *fields) implied(cells []*cell, c *cell, label int) bool {
	derived := label > fieldPresent && label < len(f.labels)-1
	return derived && c.says[fieldPresent] == permit && c.says[label] == permit &&
		!f.star[label] && !slices.ContainsFunc(cells, func(o *cell) bool { return o.says[label] == prohibit })
}

// comment returns a comment for a prohibition of other usages that says where the terms are, if the
// source asks for an agreement.
func (f *fields) comment(c *cell, label int) string {
	if label < len(f.labels)-1 {
		return ""
	}
	for _, s := range c.samples {
		for _, a := range s.answers[len(s.answers)-len(acap.NewerUsages()):] { // the newer usages are the last ones
			terms := f.published(a.terms)
			if _, err := url.Parse(terms); err == nil && terms != "" && !strings.ContainsFunc(terms, acap.Blank) {
				return " # terms: " + terms
			}
		}
	}
	return ""
}
