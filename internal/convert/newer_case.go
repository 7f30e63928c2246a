package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// closings are permissions that are left out because one of the two languages ignores letter case.
type closings struct {
	examples map[*cell]string // a path that the permission would permit wrongly
	labels   map[*cell][]int
	cells    []*cell
}

// closeByCase removes permissions that would permit, in another letter case, what the source
// prohibits: a permission in a language that ignores letter case, and a permission around a
// prohibition in such a language.
func (t *translation) closeByCase(cells []*cell, closed *closings) {
	if t.options.AnyCase {
		return
	}
	for _, c := range cells {
		for i := range t.labels {
			if c.closed[i] || c.bars[i] || t.labels[i].mute || c.says[i] == prohibit {
				continue
			}
			for _, o := range cells {
				if o == c || !o.bars[i] || apart(c.folded, o.folded) {
					continue
				}
				inner, outer := o.pattern, c.pattern
				if t.dialect.folds {
					inner, outer = outer, inner
				}
				if widensCase(inner, outer) {
					closed.add(c, i, examplePath(swapCase(inner)), c.says[i] == permit || o.contains(c))
					c.closed[i], c.says[i] = true, silent
					break
				}
			}
		}
	}
}

// add adds a permission. If it would not have been written, matters is false.
func (c *closings) add(at *cell, label int, example string, matters bool) {
	if !matters {
		return
	}
	if c.labels[at] == nil {
		c.cells = append(c.cells, at)
		c.examples[at] = example
	}
	c.labels[at] = append(c.labels[at], label)
}

// remarksOn returns remarks about permissions that are left out for a crawler.
func (t *translation) remarksOn(c *closings, r *result) (list []Remark) {
	for _, at := range c.cells {
		var words []string
		var usages []acap.Usage
		for _, i := range c.labels[at] {
			words = append(words, t.word(&t.labels[i], permit))
			usages = append(usages, t.labels[i].usages...)
		}
		remark := Remark{Code: "letter-case", Severity: acap.Warning, Crawlers: []string{t.who(r.name)},
			Paths: []string{at.pattern}, Usages: usages, Message: fmt.Sprintf("left out for %s: %s would permit %s, "+
				"which is prohibited, because ACAP knows no letter case (P1 2.9)", at.pattern,
				strings.Join(words, ", "), c.examples[at])}
		if fields := at.because[c.labels[at][0]]; len(fields) > 0 {
			remark.Line, remark.Also = fields[0].Line, linesOf(fields[1:])
		}
		list = append(list, remark)
	}
	return list
}

// spellings collects paths in another letter case that one of the two languages covers, and the
// other does not.
type spellings struct {
	fields   []*acap.Field
	patterns []string
	crawlers []string
	usages   []acap.Usage
	example  string
}

// noteCase collects what changes for paths in another letter case.
func (t *translation) noteCase(r *result) {
	for _, c := range r.grid.cells {
		for i := range c.samples {
			s := &c.samples[i]
			for j, u := range t.usages {
				a := s.answers[j]
				if !s.swapped || u == acap.Crawl && t.robots || a.allowed == r.policy.Decide(u, s.resource).Allowed {
					continue
				}
				own := c.samples[s.of]
				if own.answers[j].allowed != r.policy.Decide(u, own.resource).Allowed { // not because of letter case
					continue
				}
				n := &t.spelt[map[bool]int{false: 0, true: 1}[a.allowed]]
				if n.example == "" {
					n.example = s.path
				}
				n.add(t.who(r.name), u, c.pattern, a.because)
			}
		}
	}
}

func (n *spellings) add(who string, u acap.Usage, pattern string, f *acap.Field) {
	n.fields = withField(n.fields, f)
	if !slices.Contains(n.patterns, pattern) {
		n.patterns = append(n.patterns, pattern)
	}
	if !slices.Contains(n.crawlers, who) {
		n.crawlers = append(n.crawlers, who)
	}
	if !slices.Contains(n.usages, u) {
		n.usages = append(n.usages, u)
	}
}

// remarkOnCase adds the remarks that one of the two languages distinguishes letter case.
func (t *translation) remarkOnCase() {
	for i, n := range t.spelt {
		if n.example == "" {
			continue
		}
		message := fmt.Sprintf("%s distinguishes letter case in paths, ACAP does not: %s is no longer prohibited, if "+
			"the site has it", t.name, n.example)
		if i == 1 {
			message = fmt.Sprintf("ACAP knows no letter case (P1 2.9): prohibitions cover %s too, in any letter case",
				n.example)
		}
		lines := slices.Compact(slices.Sorted(slices.Values(linesOf(n.fields))))
		r := Remark{Code: "letter-case", Severity: acap.Notice, Crawlers: n.crawlers, Paths: n.patterns,
			Usages: n.usages, Message: message}
		if len(lines) > 0 {
			r.Line, r.Also = lines[0], lines[1:]
		}
		t.remarks = append(t.remarks, r)
	}
}
