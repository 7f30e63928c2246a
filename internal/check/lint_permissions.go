package check

import (
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// fetched lists the usages that need the content of a page. Without crawl they are impossible.
var fetched = []acap.Usage{acap.Follow, acap.Index, acap.Preserve, acap.PresentSnippet, acap.PresentThumbnail,
	acap.PresentCurrentCopy}

// permissions reports permissions that can have no effect.
func (l *linter) permissions() {
	if l.marked {
		return
	}
	for i, a := range l.audiences {
		s := &l.statements[i]
		if a == nil || !s.Allow || len(s.Usages)*len(s.Patterns) > maxClaims {
			continue
		}
		l.limited(a, s)
		if !slices.ContainsFunc(s.Usages, func(u acap.Usage) bool { return !slices.Contains(fetched, u) }) {
			l.unfetched(a, s)
		}
	}
}

// limited reports a permission whose limits permit nothing. P1 2.5.3.1 (H09): the date of the
// permission has passed, or its maximum length is zero.
func (l *linter) limited(a *audience, s *acap.Statement) {
	if !l.mayEnd(s) {
		return
	}
	p := l.policy(a.crawler())
	if p == nil {
		return
	}
	facts := acap.Facts{Now: l.options.Now}
	for _, u := range s.Usages {
		if !l.looks(8 + l.effort(s.Patterns[0])) {
			return
		}
		d := p.Decide(u, witness(s.Patterns[0]))
		if over := d.At(facts); !l.options.Now.IsZero() && over.Reason == acap.ByExpiry && over.Because == s.Field {
			l.tell(s.Field, qualifier(s, "time-limit"), "expired-permission", acap.Warning,
				"renew the date, or prohibit "+string(u)+" in plain words",
				"the time limit of this permission has passed (%s): what it permitted is prohibited now", over.Note)
			return
		}
		none := func(n *int) bool { return n != nil && *n == 0 }
		for _, b := range d.Bounds(facts) {
			if b.Field == s.Field && (none(b.Limits.MaxChars) || none(b.Limits.MaxWords)) {
				l.tell(s.Field, qualifier(s, "max-length"), "nothing-permitted", acap.Warning, "prohibit "+string(u)+
					", or permit some text",
					"the permitted length is zero: no %s can be shown", u)
				return
			}
		}
	}
}

// mayEnd reports whether limited must check a permission. Of the permissions of one local usage
// only the first is checked.
func (l *linter) mayEnd(s *acap.Statement) bool {
	for _, q := range s.Qualifiers {
		if q = strings.ToLower(q); strings.Contains(q, "until") || strings.HasPrefix(q, "max-length=0") {
			return true
		}
	}
	name, _, _ := strings.Cut(s.Field.Text, ":")
	if !strings.HasSuffix(strings.TrimSpace(name), ")") || l.ended[strings.ToLower(name)] {
		return false
	}
	l.ended[strings.ToLower(name)] = true
	return true
}

// qualifier returns the qualifier with the given name as it is written in the field of s. It
// returns "" if the qualifier is in the definition of a local usage.
func qualifier(s *acap.Statement, name string) string {
	for _, q := range s.Qualifiers {
		if len(q) > len(name) && strings.EqualFold(q[:len(name)], name) {
			return q
		}
	}
	return ""
}

// unfetched reports a permission for pages that no crawler of its audience may crawl.
func (l *linter) unfetched(a *audience, s *acap.Statement) {
	for _, pattern := range s.Patterns {
		if !l.refusals.cover(opening(pattern)) || !l.alone(nil, acap.Crawl, pattern) {
			return
		}
	}
	by, conventional := l.uncrawled(l.meant(a), s)
	if conventional && !a.any { // the group may also apply to a crawler with another name
		if again, _ := l.uncrawled(l.meant(&audience{any: true}), s); again == nil {
			return
		}
	}
	if by != nil {
		l.tell(s.Field, firstWord(s.Field), "unfetched-permission", acap.Warning,
			"permit crawling too, or leave the permission out",
			"this permission has no effect: line %v prohibits crawling all of it", by)
	}
}

// uncrawled returns the first field that prohibits the given crawlers from crawling everything that
// the statement s covers. It returns nil if a crawler may crawl a part. conventional reports
// whether one of the prohibitions is a conventional rule.
func (l *linter) uncrawled(crawlers []acap.Crawler, s *acap.Statement) (by *acap.Field, conventional bool) {
	for _, c := range crawlers {
		p := l.policy(c)
		if p == nil {
			return nil, false
		}
		for _, pattern := range s.Patterns {
			if !l.looks(4 + l.effort(pattern)) {
				return nil, false
			}
			d := p.Decide(acap.Crawl, witness(pattern))
			if d.Allowed || d.Because == nil || d.Reason == acap.Unavailable || d.Reason == acap.Conventional &&
				!inAnyCase(p, pattern) {
				return nil, false
			}
			conventional = conventional || d.Reason == acap.Conventional
			if by == nil {
				by = d.Because
			}
		}
	}
	return by, conventional
}

// inAnyCase reports whether one conventional rule prohibits everything that a pattern covers. P1
// 2.9 (F10): conventional rules distinguish letter case, but ACAP fields do not.
func inAnyCase(p *acap.Policy, pattern string) bool {
	small, great := p.Decide(acap.Crawl, witness(strings.ToLower(pattern))), p.Decide(acap.Crawl,
		witness(strings.ToUpper(pattern)))
	return !small.Allowed && !great.Allowed && small.Because == great.Because && !strings.Contains(pattern, "%")
}

// meant returns the crawlers of an audience. If the audience is any crawler, the result includes
// the crawlers that the file names. If there are too many crawlers, the result is empty.
func (l *linter) meant(a *audience) []acap.Crawler {
	c := a.crawler()
	c.Purposes = []string{} // P1 2.3.3 (X11): a crawler with two purposes may crawl if only one of them permits it
	names := a.names
	if a.any {
		names = l.file.Crawlers()
	}
	if len(names) > maxAskedOf {
		return nil
	}
	out := []acap.Crawler{c}
	for _, n := range names {
		c.Names = named(n).Names
		out = append(out, c)
	}
	return out
}
