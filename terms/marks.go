package terms

import (
	"cmp"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// out marks the marks whose elements are left out.
const out = "-"

// Aside lists, sorted, the marks whose elements u treats otherwise than the page: with a "-" in
// front those that are left out, and without it those that may be used although the page may not.
func (t *Terms) Aside(u acap.Usage) []string {
	if !t.policy.Marked() {
		return nil
	}
	d := t.decide(u)
	keep := t.cut(d, &acap.Limits{}).Keep
	var in, rest [][]acap.Mark
	seen := map[string]bool{}
	for _, element := range t.elements() {
		switch token := tokens(element); {
		case seen[token]:
			continue
		case keep(element):
			in = append(in, element)
		default:
			rest = append(rest, element)
		}
		seen[tokens(element)] = true
	}
	var list []string
	switch {
	case d.Allowed:
		for _, element := range rest {
			list = append(list, out+tokens(element))
		}
	case len(in) > 0:
		for _, element := range in {
			list = append(list, tokens(element))
		}
		for _, element := range rest { // whether it prohibits shows within what may be used
			within := slices.Clone(in[0])
			for _, m := range element {
				m.Element = in[0][0].Element + 1
				within = append(within, m)
			}
			if !keep(within) {
				list = append(list, out+tokens(element))
			}
		}
	}
	slices.Sort(list)
	return list
}

// elements are the marks of the page, element by element: what one says beside another on the same
// element counts (X13).
func (t *Terms) elements() (list [][]acap.Mark) {
	for i := 0; i < len(t.marks); {
		j := i + 1
		for j < len(t.marks) && t.marks[j].Element == t.marks[i].Element {
			j++
		}
		list = append(list, t.marks[i:j])
		i = j
	}
	return list
}

// tokens names the marks of an element; there is no blank in any.
func tokens(element []acap.Mark) string {
	list := make([]string, len(element))
	for i, m := range element {
		list[i] = m.Token
	}
	return strings.Join(list, " ")
}

// Barred gives the first decision by which a part of the page has to be left out of what u, which
// is permitted of the page, may be made of; false where there is none. Whether a copy still holds
// that part, the copy alone can tell.
func (t *Terms) Barred(u acap.Usage) (d acap.Decision, barred bool) {
	aside := setOf(t.Aside(u))
	for _, element := range t.elements() {
		if aside[out+tokens(element)] {
			return t.at(t.policy.Part(u, t.resource, element)), true
		}
	}
	return d, false
}

// Earlier is what is said of an earlier version of a page: now is what the page said at the last
// lawful fetch (H11), and old what that version says of itself. Of old only what it prohibits of
// its own elements counts: nothing else speaks of a part that is no longer in the page.
func Earlier(now, old acap.Own) acap.Own {
	now.Marks, now.Unread = slices.Clone(now.Marks), cmp.Or(now.Unread, old.Unread)
	for _, m := range old.Marks {
		if m.Place != acap.OnHead && prohibits(m) && !strings.HasSuffix(strings.ToLower(m.Token), "disallow-crawl") {
			now.Marks = append(now.Marks, m)
		}
	}
	return now
}

func prohibits(m acap.Mark) bool { return strings.Contains(strings.ToLower(m.Token), "disallow-") }

// WithLost is what a page says of itself, and what said prohibits beside that: said is what was
// noted of the page before parts were cut out of it, and their marks with them. Nothing that said
// permits or leaves out takes anything away from what the page says.
func WithLost(own, said acap.Own) acap.Own {
	own.Unread = cmp.Or(own.Unread, said.Unread)
	there, elements := map[acap.Mark]int{}, 0
	for _, m := range own.Marks {
		there[acap.Mark{Token: m.Token, Place: m.Place}]++
		elements = max(elements, m.Element+1)
	}
	own.Marks = slices.Clone(own.Marks)
	for _, m := range said.Marks {
		if same := (acap.Mark{Token: m.Token, Place: m.Place}); there[same] > 0 {
			there[same]--
		} else if prohibits(m) {
			m.Element += elements
			own.Marks = append(own.Marks, m)
		}
	}
	return own
}

// May reports whether u may be permitted once the copy is at hand; where it is not, no copy changes
// that.
func (t *Terms) May(u acap.Usage) bool { return t.decide(u).Allowed || t.Some(u) }

// Some reports whether u is permitted of the page or of some part of it (N05).
func (t *Terms) Some(u acap.Usage) bool {
	d := t.Decide(u)
	if d.Allowed || d.Reason == acap.Unfulfillable {
		return d.Allowed
	}
	judged := map[string]bool{}
	for _, element := range t.elements() {
		saying := t.policy.Saying(element)
		if judged[saying] {
			continue
		}
		judged[saying] = true
		if t.at(t.policy.Part(u, t.resource, element)).Allowed {
			return true
		}
	}
	return false
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}
