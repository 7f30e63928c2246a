package convert

import (
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
)

// translation is the state of a translation between ACAP and one of the newer vocabularies.
type translation struct {
	*dialect
	options  Options
	usages   []acap.Usage // the usages on which source and target are compared
	folds    bool         // the patterns of the source ignore letter case
	other    string       // the name of a crawler that the source does not name
	cells    int          // the number of cells for all crawlers so far
	spent    int          // the work of intersecting patterns for all crawlers so far
	remarks  []Remark
	robots   bool   // crawl is translated and compared like the conventional records
	speaks   bool   // the target has statements
	document string // the placeholder for the URL of a licence document that is translated
	excluded bool   // AIPREF says nothing about some paths, because Disallow excludes them
	// paths in another letter case that the source prohibits and the target does not, and the
	// reverse
	spelt [2]spellings
}

func newTranslation(d *dialect, o Options) *translation {
	t := &translation{dialect: d, options: o}
	for _, u := range append(acap.Usages(), acap.NewerUsages()...) {
		if u != acap.Other {
			t.usages = append(t.usages, u)
		}
	}
	return t
}

// who returns the name of a crawler as in remarks.
func (t *translation) who(name string) string {
	if name == t.other {
		return "*"
	}
	return name
}

// maxRounds is how often a target is corrected at most.
const maxRounds = 40

// result is what a translation writes for one crawler.
type result struct {
	name   string
	grid   *grid
	lines  []line
	policy *acap.Policy // of the lines, for the crawler
}

// settle finds lines of the target that never permit what the source prohibits. before are the
// lines of the target above them. settle reads what it writes with the engine of the target, and
// corrects it until it permits nothing that the source prohibits.
func (t *translation) settle(g *grid, name string, before []line) (*result, error) {
	closed := &closings{examples: map[*cell]string{}, labels: map[*cell][]int{}}
	for range maxRounds {
		cells := slices.Clone(g.cells)
		slices.SortStableFunc(cells, func(a, b *cell) int { return len(a.pattern) - len(b.pattern) })
		t.closeByCase(cells, closed)
		kept := t.arrange(cells)
		lines := slices.Concat(before, t.write(kept))
		r := &result{name: name, grid: g, lines: lines, policy: t.policy(textOf(lines), name)}
		if t.correct(r, kept) {
			continue
		}
		more, err := g.extend(r.policy)
		if err != nil {
			return nil, err
		}
		if !more {
			t.remarks = append(t.remarks, t.remarksOn(closed, r)...)
			t.speaks = t.speaks || slices.ContainsFunc(lines, func(l line) bool { return l.cell != nil })
			if t.cells += len(g.cells); t.cells > maxAllCells {
				return nil, ErrTooLarge
			}
			return r, nil
		}
	}
	return nil, ErrTooLarge
}

// correct makes the cells stricter where the target permits what the source prohibits, or says
// nothing about what the source prohibits although it could. It reports whether it changed a cell.
func (t *translation) correct(r *result, kept []*cell) (changed bool) {
	patterns := make([]string, len(kept))
	for i, c := range kept {
		patterns[i] = c.pattern
	}
	paths := acap.NewPaths(patterns)
	for _, c := range r.grid.cells {
		for i := range c.samples {
			s := &c.samples[i]
			for l := range t.labels {
				for _, u := range t.labels[l].usages {
					a := s.answers[slices.Index(t.usages, u)]
					if a.allowed && !a.limited {
						continue
					}
					now := answerOf(r.policy.Decide(u, s.resource))
					switch {
					case !now.allowed:
					case now.explicit:
						changed = t.retract(r, now, l, u, s, a.limited) || changed
					case !a.limited && !s.swapped && !t.pathless && !t.labels[l].whole:
						changed = t.refuse(c, kept, paths, s, l, a.because) || changed
					}
				}
			}
		}
	}
	return changed
}

// retract removes the permission that decides, wrongly, about the usage u of the sample s. limited
// means that the source permits the usage with limits.
func (t *translation) retract(r *result, now answer, label int, u acap.Usage, s *sample, limited bool) bool {
	if now.because == nil || now.because.Line > len(r.lines) {
		return false
	}
	l := r.lines[now.because.Line-1]
	if l.cell == nil {
		return false
	}
	if l.of >= 0 {
		label = l.of
	}
	if l.cell.says[label] != permit {
		return false
	}
	l.cell.says[label], l.cell.closed[label] = silent, true
	if t.alone && !s.swapped && !limited {
		l.cell.says[label] = prohibit
	}
	return true
}

// refuse prohibits the usages of a label where the target says nothing about the sample s of the
// cell c.
func (t *translation) refuse(c *cell, kept []*cell, paths *acap.Paths, s *sample, label int,
	because *acap.Field) bool {
	if t.alone {
		for _, i := range paths.Longest(&s.resource) {
			c = kept[i]
		}
	}
	if c.says[label] == prohibit {
		return false
	}
	c.says[label], c.because[label] = prohibit, withField(nil, because)
	return true
}
