package convert

import (
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// maxNewerProved is how many paths are compared for all crawlers together after a translation to or
// from a newer vocabulary.
const maxNewerProved = 20_000

// newerProof compares source and target on more paths than those from which the target was made.
type newerProof struct {
	*proof
	plain, folded *acap.Paths
}

// proof returns a proof for the crawlers names, with examples of the patterns and of their
// intersections.
func (t *translation) proof(names, patterns []string) *newerProof {
	rooted := []string{"/"}
	for _, p := range patterns {
		all, _ := inCommonSpelt(p, "/")
		rooted = append(rooted, all...)
	}
	slices.Sort(rooted)
	rooted = slices.Compact(rooted)
	lower := make([]string, len(rooted))
	for i, p := range rooted {
		lower[i] = acap.Folded(p)
	}
	return &newerProof{newProof(rooted, names, maxNewerProved), acap.NewPaths(rooted), acap.NewPaths(lower)}
}

// spelt reports whether the same patterns match a place if letter case is ignored.
func (p *newerProof) spelt(at place) bool {
	count := func(paths *acap.Paths, r acap.Resource) (n int) {
		for _, group := range paths.ByLength(&r) {
			n += len(group)
		}
		return n
	}
	return count(p.plain, at.resource) == count(p.folded, at.lower)
}

// compare compares source and target. was returns the decisions of the source for a crawler. Each
// difference must be in the remarks of out; if it is not, compare returns a remark about an error.
func (p *newerProof) compare(t *translation, out *Conversion, was func(name string) decider) []Remark {
	text := out.Robots + out.TDMRep + out.License
	for i, name := range p.names {
		before, after := was(name), t.policy(text, name)
		open := after
		if t.alone { // what AIPREF says about paths that Disallow excludes
			open = t.policy(withoutRules(parsed(text)), name)
		}
		q := probe{remarks: out.Remarks, who: name}
		if i == len(p.names)-1 {
			q.who = "*"
		}
		for _, at := range p.paths {
			q.at, q.spelt = at, p.spelt(at)
			for _, u := range t.usages {
				q.usage, q.was = u, answerOf(before(u, at.resource))
				target := open
				if u == acap.Crawl {
					target = after
				}
				if now := answerOf(target.Decide(u, at.resource)); t.misleads(&q, now) {
					p.differs(name, u, at.path, now.allowed, "the result")
				}
			}
		}
	}
	return p.remark
}

// probe is a decision that is compared before and after a translation.
type probe struct {
	remarks []Remark
	who     string
	usage   acap.Usage
	at      place
	spelt   bool // the same patterns match the place if letter case is ignored
	was     answer
}

// misleads reports whether the answer of the target permits what the source prohibits, or differs
// and no remark says so.
func (t *translation) misleads(q *probe, now answer) bool {
	a := q.was
	switch {
	case q.usage == acap.Crawl && t.robots && !t.dialect.folds: // toConventional.prove compares it
		return false
	case q.usage == acap.Crawl && t.robots: // the conventional records stay
		return !a.allowed && now.allowed || q.spelt && a.allowed && !now.allowed && !known(q.remarks, q.who, q.at.path)
	case now.explicit && (!a.allowed || a.limited) && (q.spelt || !t.options.AnyCase):
		return true
	case !q.spelt || a.allowed == now.allowed || a.records:
		return false
	}
	return !listed(q.remarks, q.who, q.usage, q.at.path)
}

// listed reports whether a remark says that a usage of a path changes for a crawler.
func listed(remarks []Remark, who string, u acap.Usage, path string) bool {
	return slices.ContainsFunc(remarks, func(r Remark) bool {
		return slices.Contains(r.Usages, u) &&
			slices.ContainsFunc(r.Crawlers, func(n string) bool { return strings.EqualFold(n, who) }) &&
			slices.ContainsFunc(r.Paths, func(p string) bool { return covers(p, path) })
	})
}
