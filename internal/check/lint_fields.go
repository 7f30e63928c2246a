package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// permit is a field that permits a usage, with one of its patterns.
type permit struct {
	field   *acap.Field
	opening string
}

// family returns the usage that stands for u when usages are compared. P1 2.5.5: present includes
// all types that are based on it.
func family(u acap.Usage) acap.Usage {
	if u.Presents() {
		return acap.Present
	}
	return u
}

// permitted collects all permissions, and finds out whether witnesses of patterns (see witness) can
// be used.
func (l *linter) permitted() {
	for i := range l.statements {
		s := &l.statements[i]
		if !l.looks(len(s.Patterns)) {
			return
		}
		for _, p := range s.Patterns {
			l.marked = l.marked || strings.Contains(p, mark)
			if strings.Contains(p, "*") {
				l.starred++
			}
			if !s.Allow {
				if slices.Contains(s.Usages, acap.Crawl) || slices.Contains(s.Usages, acap.Other) {
					l.refused[p] = true
					l.refusals.add(opening(p))
				}
				continue
			}
			for k, u := range s.Usages {
				if !slices.ContainsFunc(s.Usages[:k], func(v acap.Usage) bool { return family(v) == family(u) }) {
					l.permits[family(u)] = append(l.permits[family(u)], permit{s.Field, opening(p)})
				}
			}
		}
	}
	for _, g := range l.groups {
		for _, r := range g.Rules {
			l.marked = l.marked || strings.Contains(r.Pattern, mark)
			l.twins[r.Pattern] = true
			if !r.Allow {
				l.refusals.add(opening(r.Pattern))
			} else {
				l.permits[acap.Crawl] = append(l.permits[acap.Crawl], permit{r.Field, opening(r.Pattern)})
			}
		}
	}
}

// alone reports whether no other field than f permits a usage of u's family on any resource that
// the pattern covers. It returns false if it cannot decide this.
func (l *linter) alone(f *acap.Field, u acap.Usage, pattern string) bool {
	permits := l.permits[family(u)]
	if !l.looks(len(permits) / 16) {
		return false
	}
	open := opening(pattern)
	return !slices.ContainsFunc(permits, func(p permit) bool { return p.field != f && meet(p.opening, open) })
}

// only reports whether no other field than f prohibits present on any resource that the pattern
// covers. It returns false if it cannot decide this. P1 2.5.5 (F17): another prohibition might win
// against f and lose against a permission of a type against which f wins.
func (l *linter) only(f *acap.Field, pattern string) bool {
	if !l.looks(len(l.statements)) {
		return false
	}
	open := opening(pattern)
	return !slices.ContainsFunc(l.statements, func(s acap.Statement) bool {
		return s.Field != f && !s.Allow && slices.Contains(s.Usages, acap.Present) &&
			slices.ContainsFunc(s.Patterns, func(q string) bool { return meet(opening(q), open) })
	})
}

// polarity holds the first permission and the first prohibition of one subject (see subject).
type polarity struct{ yes, no *acap.Statement }

// subject is one usage and one pattern of a field, and the field's audience.
type subject struct {
	to      *audience
	usage   acap.Usage
	pattern string // the pattern in lower case
}

// utterance is a map key: the content of a field and the audience of the field.
type utterance struct {
	to   *audience
	says string
}

// fields reports ACAP fields that have no effect because of other fields for the same audience.
func (l *linter) fields() {
	said := make(map[utterance]*acap.Statement, len(l.statements))
	spoken := make(map[subject]*polarity, len(l.statements))
	// number of prohibitions of each family of usages, and number of patterns with each beginning
	rivals := map[subject]int{}
	told := map[*acap.Field]bool{} // permissions that contradict a prohibition and were already reported
	var left []int
	for i, a := range l.audiences {
		if a == nil {
			continue
		}
		s := &l.statements[i]
		if !l.looks(1 + len(s.Patterns)*len(s.Usages)) {
			return
		}
		key := utterance{a, saying(s)}
		if first := said[key]; first != nil {
			l.tell(s.Field, "", "duplicate-field", acap.Notice, "keep one",
				"line %v says the same to the same crawlers", first.Field)
			continue
		}
		said[key] = s
		if yes := l.contradicts(a, s, spoken); yes == nil {
			left = append(left, i)
		} else {
			told[yes] = true
		}
		for _, u := range s.Usages {
			if !s.Allow {
				rivals[subject{to: a, usage: family(u)}]++
			}
			for _, pattern := range s.Patterns {
				if start := beginning(pattern); len(start) < len(pattern) {
					rivals[subject{a, u, start}]++
				}
			}
		}
	}
	for _, i := range left {
		if s, a := &l.statements[i], l.audiences[i]; !told[s.Field] && rivalled(s, a, rivals) {
			l.shadowed(a, s)
		}
	}
	l.redundant()
}

// beginning returns a pattern without the wildcards at its end, in lower case.
func beginning(pattern string) string { return strings.ToLower(strings.TrimRight(pattern, "*$")) }

// rivalled reports whether the statement s might lose everywhere. A permission may lose against a
// prohibition. Any statement may lose against a statement whose pattern differs only at its end.
func rivalled(s *acap.Statement, a *audience, rivals map[subject]int) bool {
	for _, u := range s.Usages {
		if s.Allow && rivals[subject{to: a, usage: family(u)}] > 0 {
			return true
		}
		for _, pattern := range s.Patterns {
			if start := beginning(pattern); len(start) < len(pattern) || rivals[subject{a, u, start}] > 0 {
				return true
			}
		}
	}
	return false
}

// saying returns the content of a statement as a text, in the letter case of the statement. P1
// 2.10.2 (O04): letter case may decide whether a field cancels a conventional rule.
func saying(s *acap.Statement) string {
	var b strings.Builder
	if s.Allow {
		b.WriteByte('+')
	}
	for _, u := range s.Usages {
		b.WriteString(string(u))
		b.WriteByte(' ')
	}
	for _, list := range [][]string{s.Patterns, s.Qualifiers} {
		b.WriteByte('\x01')
		for _, w := range list {
			b.WriteString(w)
			b.WriteByte(' ')
		}
	}
	// the qualifiers of a local usage in parentheses are in the definition of the local usage
	if s.Allow && strings.Contains(s.Field.Text[:min(len(s.Field.Text), maxPlaced)], "-(") {
		name, _, _ := strings.Cut(s.Field.Text, ":")
		b.WriteString(strings.ToLower(name))
	}
	return b.String()
}

// contradicts reports a finding if an earlier statement for the same audience says the opposite
// about the same usage and pattern. P1 2.4.6 (F05): the prohibition wins. It returns the
// permission, or nil if s contradicts no earlier statement.
func (l *linter) contradicts(a *audience, s *acap.Statement, spoken map[subject]*polarity) (told *acap.Field) {
	for _, u := range s.Usages {
		for _, pattern := range s.Patterns {
			key := subject{a, u, strings.ToLower(pattern)}
			both := spoken[key]
			if both == nil {
				both = &polarity{}
				spoken[key] = both
			}
			switch {
			case s.Allow && both.yes == nil:
				both.yes = s
			case !s.Allow && both.no == nil:
				both.no = s
			default:
				continue
			}
			if told != nil || both.yes == nil || both.no == nil || both.yes == both.no {
				continue
			}
			yes, no := both.yes, both.no
			// another finding already reports permissions that cannot be interpreted
			if yes.Written != yes.Allow || no.Written != no.Allow {
				continue
			}
			told = yes.Field
			what, where := "the same", ""
			if len(yes.Patterns)*len(yes.Usages) > 1 {
				what, where = pattern, " there"
			}
			effect := ", and this has no effect" + where
			if l.lingers(yes, u, pattern) {
				effect = ""
			}
			l.tell(yes.Field, firstWord(yes.Field), "contradictory-field", acap.Error, "keep one of the two",
				"line %v prohibits %s of %s to the same crawlers: with the same pattern the prohibition wins%s (P1 "+
					"2.4.6)", no.Field, u, what, effect)
		}
	}
	return told
}

// lingers reports whether the limits of a permission of present may still have an effect although
// the permission loses: they may limit permissions of types that are based on present. P1 2.5.5
// (F18): the limits of present limit its types.
func (l *linter) lingers(s *acap.Statement, u acap.Usage, pattern string) bool {
	return s.Allow && u == acap.Present && (len(s.Qualifiers) > 0 || strings.Contains(s.Field.Text, "-(")) &&
		!l.alone(s.Field, u, pattern)
}

// maxClaims is the maximum number of pairs of a usage and a pattern in a field that is checked. A
// field with more pairs is not checked.
const maxClaims = 200

// shadowed reports the field of the statement s if, for every resource that its patterns cover, it
// loses against a field for the same audience.
func (l *linter) shadowed(a *audience, s *acap.Statement) {
	if l.marked || len(s.Usages)*len(s.Patterns) > maxClaims || s.Written != s.Allow {
		return
	}
	p := l.policy(a.crawler())
	if p == nil {
		return
	}
	var by *acap.Field
	for _, pattern := range s.Patterns {
		r := witness(pattern)
		for _, u := range s.Usages {
			if !l.looks(4 + l.effort(pattern)) {
				return
			}
			if d := p.Decide(u, r); d.Because == nil || d.Because == s.Field || d.Reason == acap.Unavailable {
				return
			}
			if by = l.beater(p, s, a, u, pattern, r); by == nil {
				return
			}
		}
	}
	if by == nil {
		return
	}
	verb := "permits"
	if !l.statements[l.index(by)].Allow {
		verb = "prohibits"
	}
	l.tell(s.Field, firstWord(s.Field), "shadowed-field", acap.Warning,
		"leave one of the two out, or make the pattern of this one narrower",
		"this has no effect anywhere: line %v %s everything that it is about, and wins against it", by, verb)
}

// effort returns how much additional work a pattern with many asterisks causes.
func (l *linter) effort(pattern string) int {
	if stars := strings.Count(pattern, "*"); stars > 4 {
		return stars * l.starred
	}
	return 0
}

// beater returns the field against which the statement s loses at r, the witness of pattern. It
// returns nil if s does not lose against this field at every resource that the pattern covers.
func (l *linter) beater(p *acap.Policy, s *acap.Statement, a *audience, u acap.Usage, pattern string,
	r acap.Resource) *acap.Field {
	if u == acap.Crawl && l.twins[pattern] || !l.looks(8*p.File().Size()) {
		return nil
	}
	for _, v := range p.Trace(u, r, acap.Facts{Now: l.options.Now}) {
		if v.Field != s.Field || v.Usage != u {
			continue
		}
		i := l.index(v.Over)
		if v.Outcome != acap.Loses || i < 0 || l.audiences[i] != a {
			return nil
		}
		if l.losesAlways(s, &l.statements[i], a, u, pattern) {
			return v.Over
		}
		return nil
	}
	return nil
}

// losesAlways reports whether the statement s loses at all resources that the pattern covers. At
// one of these resources it loses against the statement o.
func (l *linter) losesAlways(s, o *acap.Statement, a *audience, u acap.Usage, pattern string) bool {
	speaks := slices.Contains(o.Usages, u)
	switch {
	case !s.Allow && o.Allow && (u == acap.Other || len(a.purposes) > 0):
		// P1 2.5.6 (F19): the prohibition of the usage "other" still prohibits usages that no field
		// names. P1 2.3.3 (C15): for a crawler that declares no purpose, only the prohibition is
		// obeyed.
		return false
	case l.lingers(s, u, pattern):
		return false
	case speaks && slices.ContainsFunc(o.Patterns, func(q string) bool { return equalInEffect(q, pattern) }):
		return true // P1 2.4.6 (F06, F07): each pattern that is narrower than that of o is also narrower than that of s
	}
	// Each field that wins against the prohibition is a prohibition, too.
	return s.Allow && !o.Allow && l.alone(s.Field, u, pattern) && (speaks || l.only(o.Field, pattern))
}

// covered is a prohibition, to be compared with broader prohibitions that may cover the same
// resources.
type covered struct {
	field   *acap.Field
	usage   acap.Usage
	pattern string
	literal string // the part of the pattern before its first wildcard, in the form in which it is compared
}

// redundant reports prohibitions that a broader prohibition for the same audience includes, if no
// permission is between them.
func (l *linter) redundant() {
	lists := map[string][]covered{}
	for i, a := range l.audiences {
		s := &l.statements[i]
		if a == nil || s.Allow || s.Written || len(s.Patterns) != 1 || len(s.Usages) != 1 ||
			s.Usages[0] == acap.Crawl && l.twins[s.Patterns[0]] {
			continue
		}
		key := a.key + "\x01" + string(s.Usages[0])
		lists[key] = append(lists[key], covered{s.Field, s.Usages[0], s.Patterns[0],
			strings.ToLower(literal(s.Patterns[0]))})
	}
	for _, key := range slices.Sorted(maps.Keys(lists)) {
		l.underBroader(lists[key])
	}
}

// underBroader reports each prohibition of the list that has no effect because a broader
// prohibition of the list covers it. Only patterns without wildcards count as broader.
func (l *linter) underBroader(list []covered) {
	if !l.looks(4 * len(list)) {
		return
	}
	slices.SortFunc(list, func(a, b covered) int {
		return cmp.Or(strings.Compare(a.literal, b.literal), a.field.Line-b.field.Line)
	})
	var broad *covered
	for i := range list {
		c := &list[i]
		switch {
		case broad == nil || !strings.HasPrefix(c.literal, broad.literal):
			if broad = nil; plain(c.pattern) {
				broad = c
			}
		case c.literal == broad.literal: // other findings report duplicates
		case l.alone(c.field, c.usage, c.pattern):
			l.tell(c.field, firstWord(c.field), "redundant-field", acap.Notice, "leave it out",
				"line %v prohibits it already: %s", broad.field, firstWord(broad.field))
		}
	}
}

// literal returns the part of a pattern before its first wildcard.
func literal(pattern string) string {
	if i := strings.IndexAny(pattern, "*$"); i >= 0 {
		return pattern[:i]
	}
	return pattern
}
