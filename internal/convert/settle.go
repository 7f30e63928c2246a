package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// term is a permission or prohibition of the original file that is to be translated.
type term struct {
	allow   bool
	pattern string // "" covers everything
	line    int
	// the line without its pattern, for a test file from which package acap decides which of two
	// terms wins
	field string
	head  string // the lines above the field in that test file
	layer int
	cased bool // the term distinguishes letter case
}

func (t term) place() string {
	what := "the prohibition"
	if t.allow {
		what = "the permission"
	}
	pattern := t.pattern
	if pattern == "" {
		pattern = "everything"
	}
	return fmt.Sprintf("%s of %s in line %d", what, pattern, t.line)
}

// item is a permission or prohibition of the converted file.
type item struct {
	allow   bool
	pattern string // starts with "/"
	folded  string // pattern in lower case; the same as pattern if cased
	from    int    // index of the term that the item expresses
	against int    // index of a second term, if the item is for the paths that both terms cover; otherwise -1
	cased   bool   // the term distinguishes letter case
}

func (s *settling) newItem(allow bool, pattern string, from, against int) item {
	it := item{allow, pattern, acap.Folded(pattern), from, against, s.terms[from].cased}
	if it.cased {
		it.folded = pattern
	}
	return it
}

// apartFrom reports whether the patterns of two items differ before any wildcard, so that they have
// no path in common.
func (it item) apartFrom(other item) bool {
	if it.cased == other.cased {
		return apart(it.folded, other.folded)
	}
	return apart(acap.Folded(it.folded), acap.Folded(other.folded))
}

// inCommon returns patterns for the paths that two items both cover, in the spelling of the item
// that distinguishes letter case.
func (it item) inCommon(other item) ([]string, bool) {
	switch {
	case it.cased && other.cased:
		return inCommonSpelt(it.pattern, other.pattern)
	case other.cased:
		return inCommon(other.pattern, it.pattern)
	}
	return inCommon(it.pattern, other.pattern)
}

// loss describes paths whose permission could not be translated.
type loss struct {
	allow, deny int // indexes of the terms
	dropped     bool
	paths       []string
}

// remark returns the remark about a loss for the crawlers names. language is the language that
// cannot express the permission, and why is the reason why the paths are prohibited.
func (l loss) remark(s *settling, names []string, language, why string) Remark {
	allow, deny := s.terms[l.allow].place(), s.terms[l.deny].place()
	r := Remark{Code: "prohibits-more", Severity: acap.Warning, Line: s.terms[l.allow].line, Crawlers: names,
		Paths:   l.paths,
		Message: fmt.Sprintf("where %s and %s both match, as at %s, %s", allow, deny, examplePath(l.paths[0]), why)}
	if l.dropped {
		r.Message = fmt.Sprintf("%s is left out: %s cannot say that %s wins against it", allow, language, deny)
	}
	if d := s.terms[l.deny].line; d != r.Line {
		r.Also = []int{d}
	}
	return r
}

// question is a function that reports whether a permission wins against a prohibition at a path
// that both cover.
type question func(allow, deny term, path string) bool

// settling finds items of the converted file that give the same decisions as the terms of the
// original file. In each language, package acap decides which of two terms wins on a path that both
// cover; other terms do not change that. If the languages differ, settling adds an item for the
// paths that both terms cover. The item permits or prohibits like the term that wins in the
// original language.
type settling struct {
	terms []term
	wins  question // which term wins in the original language
	reads question // which term wins in the target language
	spelt bool     // the target language distinguishes letter case

	items  []item
	lost   []loss
	allows []int        // indexes of the permissions in items
	denies []int        // indexes of the prohibitions in items
	dead   map[int]bool // indexes of dropped items
	asked  map[[3]string]bool
	both   map[common]met
	toil   int
	full   bool // a limit was reached, so not everything was compared
}

// common is a map key for two items. It contains everything on which the intersection of the two
// patterns depends.
type common struct {
	a, b           string
	casedA, casedB bool
}

type met struct {
	patterns []string
	ok       bool
}

// Limits: pairs of items, steps to intersect patterns, and added items.
const (
	maxPairs = 4_000_000
	maxToil  = 1_500_000
	maxAdded = 2_000
)

func (s *settling) settle() error {
	s.dead, s.asked, s.both = map[int]bool{}, map[[3]string]bool{}, map[common]met{}
	for i, t := range s.terms {
		patterns := []string{"/"}
		if t.pattern != "" {
			all, ok := inCommon(t.pattern, "/")
			if !ok {
				return ErrTooLarge
			}
			patterns = all
		}
		for _, p := range patterns {
			if slices.ContainsFunc(s.items, func(it item) bool {
				return it.allow == t.allow && it.pattern == p &&
					s.sameRank(it.from, i)
			}) {
				continue
			}
			s.add(s.newItem(t.allow, p, i, -1))
		}
	}
	if len(s.allows)*len(s.denies) > maxPairs {
		return ErrTooLarge
	}
	s.match()
	s.repeat()
	s.drop()
	s.miss()
	if s.full {
		return ErrTooLarge
	}
	kept := s.items[:0:0]
	for i, it := range s.items {
		if !s.dead[i] && !slices.ContainsFunc(kept, func(k item) bool {
			return k.allow == it.allow &&
				k.pattern == it.pattern
		}) {
			kept = append(kept, it)
		}
	}
	slices.SortStableFunc(kept, func(a, b item) int { return a.from - b.from })
	s.items = kept
	return nil
}

// sameRank reports whether two terms differ only in their line numbers.
func (s *settling) sameRank(i, j int) bool {
	a, b := s.terms[i], s.terms[j]
	return a.field == b.field && a.head == b.head && a.layer == b.layer && a.pattern == b.pattern
}

// common returns patterns for the paths that two items both cover.
func (s *settling) common(a, b item) ([]string, bool) {
	k := common{a.pattern, b.pattern, a.cased, b.cased}
	m, known := s.both[k]
	if !known {
		if s.toil += toil(a.pattern, b.pattern); s.toil > maxToil {
			s.full = true
			return nil, true
		}
		m.patterns, m.ok = a.inCommon(b)
		m.patterns = slices.DeleteFunc(m.patterns, func(p string) bool { return len(examplesOf(p)) == 0 })
		s.both[k] = m
	}
	return m.patterns, m.ok
}

// ask reports whether the permission a wins against the prohibition d according to the function q.
// pattern covers only paths that both a and d cover.
func (s *settling) ask(q question, key string, a, d term, pattern string) bool {
	k := [3]string{key, fmt.Sprint(a.layer, a.head, a.field, a.pattern), fmt.Sprint(d.layer, d.head, d.field,
		d.pattern)}
	won, known := s.asked[k]
	if !known {
		won = q(a, d, examplesOf(pattern)[0])
		s.asked[k] = won
	}
	return won
}

func (s *settling) shouldWin(a, d item, pattern string) bool {
	return s.ask(s.wins, "wins", s.terms[a.from], s.terms[d.from], pattern)
}

func (s *settling) doesWin(a, d item, pattern string) bool {
	return s.ask(s.reads, "reads", term{allow: true, pattern: a.pattern}, term{pattern: d.pattern}, pattern)
}

func (s *settling) add(it item) {
	if it.allow {
		s.allows = append(s.allows, len(s.items))
	} else {
		s.denies = append(s.denies, len(s.items))
	}
	s.items = append(s.items, it)
}

// pairs calls visit for each permission and each prohibition that have paths in common and are not
// dropped. It includes items that visit adds.
func (s *settling) pairs(visit func(a, d int, both []string, ok bool)) {
	for j := 0; j < len(s.items); j++ {
		others := s.allows
		if s.items[j].allow {
			others = s.denies
		}
		for _, i := range others {
			if i > j || s.dead[j] || s.full {
				break
			}
			if s.dead[i] || s.items[i].apartFrom(s.items[j]) {
				continue
			}
			a, d := j, i
			if !s.items[j].allow {
				a, d = i, j
			}
			if both, ok := s.common(s.items[a], s.items[d]); !ok || len(both) > 0 {
				visit(a, d, both, ok)
			}
		}
	}
}

// match finds each permission and prohibition with the same pattern, and drops the one that loses
// everywhere.
func (s *settling) match() {
	s.pairs(func(a, d int, both []string, ok bool) {
		if !ok || s.dead[a] || s.dead[d] || s.items[a].folded != s.items[d].folded ||
			s.items[a].cased != s.items[d].cased {
			return
		}
		if s.shouldWin(s.items[a], s.items[d], both[0]) {
			s.dead[d] = true
		} else {
			s.dead[a] = true
		}
	})
}

// repeat adds an item for the paths that two items both cover, if the wrong one of them wins in the
// target language.
func (s *settling) repeat() {
	limit := len(s.items) + maxAdded
	s.pairs(func(a, d int, both []string, ok bool) {
		if !ok || len(s.items) >= limit {
			return
		}
		won := s.shouldWin(s.items[a], s.items[d], both[0])
		if won == s.doesWin(s.items[a], s.items[d], both[0]) {
			return
		}
		winner, loser := s.items[a], s.items[d]
		if !won {
			winner, loser = loser, winner
		}
		for _, p := range both {
			if added := s.newItem(won, p, winner.from, loser.from); s.decides(added, loser, p) &&
				!s.answered(won, p, loser) {
				s.add(added)
			}
		}
	})
}

// decides reports whether the first of two items wins against the second item, other, in the target
// language. One of the items is a permission, the other is a prohibition.
func (s *settling) decides(it, other item, pattern string) bool {
	if it.allow {
		return s.doesWin(it, other, pattern)
	}
	return !s.doesWin(other, it, pattern)
}

// answered reports whether an item covers pattern and wins against the item other, which also
// covers pattern. It looks only at permissions if allow is true, otherwise only at prohibitions.
func (s *settling) answered(allow bool, pattern string, other item) bool {
	same := s.denies
	if allow {
		same = s.allows
	}
	return slices.ContainsFunc(same, func(i int) bool {
		it := s.items[i]
		return !s.dead[i] && s.within(pattern, it.pattern) && s.decides(it, other, pattern)
	})
}

func (s *settling) within(x, y string) bool {
	if s.spelt {
		return withinSpelt(x, y)
	}
	return within(x, y)
}

// drop removes permissions that win against a prohibition in the target language but not in the
// original. Removing a permission never makes another permission win wrongly.
func (s *settling) drop() {
	s.pairs(func(a, d int, both []string, ok bool) {
		allow, deny := s.items[a], s.items[d]
		if s.dead[a] || ok && (s.shouldWin(allow, deny, both[0]) || !s.doesWin(allow, deny, both[0])) {
			return
		}
		if ok && !slices.ContainsFunc(both, func(p string) bool { return !s.answered(false, p, allow) }) {
			return
		}
		s.dead[a] = true
		if s.matters(allow) {
			s.lose(loss{allow.from, deny.from, true, []string{allow.pattern}})
		}
	})
}

// matters reports whether a permission wins against some prohibition. Otherwise it can be left out,
// because paths without a rule are permitted.
func (s *settling) matters(a item) bool {
	return slices.ContainsFunc(s.denies, func(i int) bool {
		d := s.items[i]
		if s.dead[i] || a.apartFrom(d) {
			return false
		}
		both, ok := s.common(a, d)
		return !ok || len(both) > 0 && s.shouldWin(a, d, both[0])
	})
}

// miss finds paths that should be permitted, but that no permission covers in the target language.
func (s *settling) miss() {
	s.pairs(func(a, d int, both []string, ok bool) {
		allow, deny := s.items[a], s.items[d]
		if !ok || !s.shouldWin(allow, deny, both[0]) || s.doesWin(allow, deny, both[0]) {
			return
		}
		open := slices.DeleteFunc(slices.Clone(both), func(p string) bool { return s.answered(true, p, deny) })
		if len(open) > 0 {
			s.lose(loss{allow.from, deny.from, false, open})
		}
	})
}

// lose stores a loss. Several losses of the same two terms are stored once.
func (s *settling) lose(l loss) {
	for i := range s.lost {
		if m := &s.lost[i]; m.allow == l.allow && m.deny == l.deny && m.dropped == l.dropped {
			m.paths = append(m.paths, l.paths...)
			return
		}
	}
	s.lost = append(s.lost, l)
}

// conventionalPair reports whether the permission a wins against the prohibition d if both are
// conventional rules, ignoring letter case.
func conventionalPair(a, d term, path string) bool {
	return asked(fmt.Sprintf("User-agent: *\nAllow: %s\nDisallow: %s\n", acap.Folded(a.pattern),
		acap.Folded(d.pattern)), path)
}

// acapPair reports whether the permission a wins against the prohibition d if both are ACAP fields
// in one record.
func acapPair(a, d term, path string) bool {
	return asked(fmt.Sprintf("ACAP-crawler: *\nACAP-allow-crawl: %s\nACAP-disallow-crawl: %s\n", a.pattern, d.pattern),
		path)
}

func asked(text, path string) bool {
	r, _, _ := resourceAt(acap.Folded(path))
	return rulingOf(parsed(text), "", crawlerAsked)(acap.Crawl, r)
}

// crawlerAsked is the crawler name in test files that compare two terms.
const crawlerAsked = "asked"

// unnamed returns a crawler name that is not in names.
func unnamed(names []string) string {
	name := "unnamed"
	for slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(strings.ToLower(n), name) }) {
		name += "-crawler"
	}
	return name
}
