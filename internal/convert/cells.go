package convert

import (
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Limits on the number of cells, for hostile files.
const (
	maxCells    = 2_000  // for one crawler
	maxAllCells = 20_000 // for all crawlers
)

// wish is what the target should say about the usages of a label.
type wish uint8

const (
	silent wish = iota
	permit
	prohibit
)

// cell is a pattern, with what the target says about the paths that match it and no narrower cell.
// A source decides by which of its patterns match a path. So it decides alike on all paths that
// match the same cells.
type cell struct {
	pattern string
	glob    acap.Glob
	folded  string // the pattern in lower case
	samples []sample
	wants   []wish          // by label: what the target should say
	allowed string          // which of the usages of labels the source permits
	kinds   uint64          // the kinds of the statements with this pattern
	says    []wish          // by label
	bars    []bool          // by label: the source prohibits or limits one of the usages
	closed  []bool          // by label: the target must not permit here
	because [][]*acap.Field // by label: the fields of the source because of which the target says this
}

// sample is an example of a path that matches a cell and as few others as possible.
type sample struct {
	place
	swapped bool // the path differs from the patterns in letter case
	of      int  // for a swapped path: the index of the sample with the letter case of the patterns
	answers []answer
}

// answer is the decision of the source on one usage of a sample.
type answer struct {
	allowed  bool
	explicit bool // a statement permits the usage, without limits
	limited  bool
	because  *acap.Field
	needs    bool   // the usage needs an agreement
	terms    string // where the terms of the agreement are; may be empty
	records  bool   // a conventional record decides
}

func answerOf(d acap.Decision) answer {
	a := answer{allowed: d.Allowed, because: d.Because, needs: d.Reason == acap.ByAgreement, terms: d.Terms,
		records: d.Reason == acap.Conventional}
	a.limited = d.Allowed && !d.Limits(acap.Facts{}).Empty()
	a.explicit = d.Allowed && !a.limited && d.Reason != acap.ByDefault
	return a
}

// contains reports whether the cell c covers everything that the cell d covers. It also returns
// false if it cannot decide this.
func (c *cell) contains(d *cell) bool {
	text, ends := strings.CutSuffix(d.pattern, "$")
	if !ends && strings.HasSuffix(c.pattern, "$") {
		return false
	}
	return c.glob.Matches(text) // an asterisk in text matches any text, so only an asterisk in c covers it
}

// grid holds the cells for one crawler.
type grid struct {
	t      *translation
	source decider
	cells  []*cell
	spare  []*cell     // intersections of cells that have not become cells
	bases  *acap.Paths // the patterns of the source
	known  map[string]*cell
	paired int // how many of the cells were intersected with each other
}

// decider decides for one crawler, like a Policy.
type decider func(u acap.Usage, r acap.Resource) acap.Decision

// said is a pattern of a source, with the kinds of the statements about it. Two statements of one kind
// never decide otherwise together than alone. kinds is 0 if all statements are of one kind.
type said struct {
	pattern string
	kinds   uint64
}

// newGrid returns cells for the patterns of a source.
func (t *translation) newGrid(patterns []said, source decider) (*grid, error) {
	g := &grid{t: t, source: source, known: map[string]*cell{}}
	g.add(&g.cells, "/", 0)
	for _, p := range patterns {
		rooted, ok := inCommonSpelt(p.pattern, "/")
		if !ok {
			return nil, ErrTooLarge
		}
		for _, r := range rooted {
			g.add(&g.cells, r, p.kinds)
		}
	}
	if len(g.cells) > maxCells {
		return nil, ErrTooLarge
	}
	var list []string
	for _, c := range g.cells {
		if list = append(list, c.pattern); t.folds {
			list[len(list)-1] = c.folded
		}
	}
	g.bases = acap.NewPaths(list)
	for _, c := range g.cells {
		g.sample(c)
	}
	return g, nil
}

// add adds a cell with a pattern, or kinds of statements to the cell that has this pattern already.
func (g *grid) add(to *[]*cell, pattern string, kinds uint64) {
	if c := g.known[pattern]; c != nil {
		c.kinds |= kinds
		return
	}
	if len(examplesOf(pattern)) == 0 {
		return
	}
	c := &cell{pattern: pattern, glob: acap.NewGlob(pattern), folded: acap.Folded(pattern), kinds: kinds}
	g.known[pattern] = c
	*to = append(*to, c)
}

// extend adds cells for the paths that two cells have in common, if the target decides otherwise
// about them than the source. It reports whether it added a cell.
func (g *grid) extend(target *acap.Policy) (added bool, err error) {
	from := len(g.spare)
	for i := g.paired; i < len(g.cells); i++ {
		for _, other := range g.cells[:i] {
			if err := g.intersect(g.cells[i], other); err != nil {
				return false, err
			}
		}
	}
	g.paired = len(g.cells)
	for _, c := range g.spare[from:] {
		g.sample(c)
	}
	g.spare = slices.DeleteFunc(g.spare, func(c *cell) bool {
		wrong := g.t.wrong(c, target)
		if wrong {
			added, g.cells = true, append(g.cells, c)
		}
		return wrong
	})
	if len(g.cells) > maxCells {
		return false, ErrTooLarge
	}
	return added, nil
}

// intersect adds spare cells for the paths that two cells have in common, in the spelling of each
// of them, if the source decides differently on the two.
func (g *grid) intersect(a, b *cell) error {
	alike := a.allowed == b.allowed && (a.kinds|b.kinds == a.kinds || a.kinds|b.kinds == b.kinds)
	if alike || apart(a.folded, b.folded) || a.contains(b) || b.contains(a) {
		return nil
	}
	for _, pair := range [][2]string{{a.pattern, b.pattern}, {b.pattern, a.pattern}} {
		g.t.spent += toil(a.pattern, b.pattern)
		both, ok := inCommon(pair[0], pair[1])
		if !ok || g.t.spent > maxToil || len(g.spare) > maxCells {
			return ErrTooLarge
		}
		for _, p := range both {
			g.add(&g.spare, p, a.kinds|b.kinds)
		}
	}
	return nil
}

// wrong reports whether the target says something else with a label than it should about a cell.
func (t *translation) wrong(c *cell, target *acap.Policy) bool {
	for _, s := range c.samples {
		for i, l := range t.labels {
			if s.swapped || t.pathless {
				continue
			}
			refused := 0
			for _, u := range l.usages {
				now := answerOf(target.Decide(u, s.resource))
				if now.explicit && c.bars[i] {
					return true
				}
				if !now.allowed {
					refused++
				}
			}
			if c.wants[i] == prohibit && refused < len(l.usages) || c.wants[i] != prohibit && refused > 0 && !l.whole {
				return true
			}
		}
	}
	return false
}

// sample chooses the samples of a cell, and computes what the target should say there.
func (g *grid) sample(c *cell) {
	c.samples = g.samplesOf(c)
	n := len(g.t.labels)
	c.says, c.bars, c.closed, c.because = make([]wish, n), make([]bool, n), make([]bool, n), make([][]*acap.Field, n)
	for i := range g.t.labels {
		c.says[i], c.because[i] = g.t.wish(&g.t.labels[i], c.samples)
		c.bars[i] = g.t.bars(&g.t.labels[i], c.samples)
	}
	c.wants, c.allowed = slices.Clone(c.says), g.t.allowed(c.samples)
}

// allowed returns a text that differs for samples on which the source decides differently about the
// usages of labels.
func (t *translation) allowed(samples []sample) string {
	var b []byte
	for _, l := range t.labels {
		for _, u := range l.usages {
			at, all := slices.Index(t.usages, u), byte(0)
			for _, s := range samples {
				if a := s.answers[at]; !s.swapped && !a.allowed {
					all |= 1
				} else if !s.swapped && a.explicit {
					all |= 2
				}
			}
			b = append(b, all)
		}
	}
	return string(b)
}

// samplesOf returns the examples of a cell that match the fewest patterns of the source, and the
// same paths in the other letter case.
func (g *grid) samplesOf(c *cell) (out []sample) {
	fewest := 0
	var chosen []place
	for _, path := range append(examplesOf(c.pattern), rareExamples(c.pattern)...) {
		r, _, ok := resourceAt(path)
		lower, _, also := resourceAt(acap.Folded(path))
		if !ok || !also {
			continue
		}
		at, n := r, 0
		if g.t.folds {
			at = lower
		}
		for _, group := range g.bases.ByLength(&at) {
			n += len(group)
		}
		if len(chosen) == 0 || n < fewest {
			chosen, fewest = chosen[:0], n
		}
		if n == fewest {
			chosen = append(chosen, place{path, r, lower})
		}
	}
	for _, p := range chosen {
		out = append(out, g.answered(p, false))
	}
	if g.t.options.AnyCase {
		return out
	}
	for i, p := range chosen[:min(len(chosen), 2)] {
		other := swapCase(p.path)
		if r, _, ok := resourceAt(other); ok && other != p.path {
			s := g.answered(place{other, r, p.lower}, true)
			s.of = i
			out = append(out, s)
		}
	}
	return out
}

// rareExamples returns examples of a pattern with a text that other patterns hardly contain.
func rareExamples(pattern string) (out []string) {
	const rare = "zq8"
	text, anchored := strings.CutSuffix(pattern, "$")
	text = strings.ReplaceAll(text, "*", rare)
	if !anchored {
		text += rare
	}
	if _, normal, ok := resourceAt(text); ok && covers(pattern, normal) {
		out = append(out, text)
	}
	return out
}

// answered returns the sample at a place, with the decision of the source on each usage.
func (g *grid) answered(p place, swapped bool) sample {
	s := sample{place: p, swapped: swapped, answers: make([]answer, len(g.t.usages))}
	for i, u := range g.t.usages {
		s.answers[i] = answerOf(g.source(u, p.resource))
	}
	return s
}

// wish returns what the target should say with a label about the paths of some samples, and the
// fields of the source because of which it says so.
func (t *translation) wish(l *label, samples []sample) (wish, []*acap.Field) {
	prohibits, permits := 0, 0
	var no, yes []*acap.Field
	for _, u := range l.usages {
		at := slices.Index(t.usages, u)
		refused, explicit := false, true
		for _, s := range samples {
			a := s.answers[at]
			switch {
			case s.swapped:
				continue
			case !a.allowed:
				refused, no = true, withField(no, a.because)
			case a.explicit:
				yes = withField(yes, a.because)
			}
			explicit = explicit && a.explicit
		}
		if refused {
			prohibits++
		} else if explicit {
			permits++
		}
	}
	switch {
	case prohibits > 0 && (!l.whole || prohibits == len(l.usages)):
		return prohibit, no
	case permits == len(l.usages) && !l.mute:
		return permit, yes
	}
	return silent, nil
}

// bars reports whether the source prohibits or limits one of the usages of a label on one of the
// samples.
func (t *translation) bars(l *label, samples []sample) bool {
	return slices.ContainsFunc(samples, func(s sample) bool {
		return !s.swapped && slices.ContainsFunc(l.usages, func(u acap.Usage) bool {
			a := s.answers[slices.Index(t.usages, u)]
			return !a.allowed && !a.records || a.limited // conventional records stay
		})
	})
}

func withField(list []*acap.Field, f *acap.Field) []*acap.Field {
	if f == nil || slices.Contains(list, f) {
		return list
	}
	return append(list, f)
}
