package terms

import (
	"cmp"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// out is a prefix of marks in the result of Aside. It says that elements with these marks are left
// out.
const out = "-"

// Aside lists, sorted, the marks of those elements that u treats differently from the page. The
// prefix "-" before a mark means that elements with this mark are left out. Without the prefix,
// elements with this mark may be used although the page may not be used.
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
		// check whether the mark prohibits an element inside another element that may be used
		for _, element := range rest {
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

// elements returns the marks of the page, grouped by element. Marks on the same element are decided
// together (X13).
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

// tokens joins the marks of an element with spaces; no mark contains a space.
func tokens(element []acap.Mark) string {
	list := make([]string, len(element))
	for i, m := range element {
		list[i] = m.Token
	}
	return strings.Join(list, " ")
}

// FirstBarred returns the first decision that excludes a part of the page from u, although the page
// itself may be used. barred is false if there is none. Only the stored copy can show whether the
// copy still contains that part.
func (t *Terms) FirstBarred(u acap.Usage) (d acap.Decision, barred bool) {
	aside := setOf(t.Aside(u))
	for _, element := range t.elements() {
		if aside[out+tokens(element)] {
			return t.underFacts(t.policy.Part(u, t.resource, element)), true
		}
	}
	return d, false
}

// Earlier returns the statements that apply to an earlier version of a page. now are the statements of the last
// lawful fetch (H11); old are the statements of the earlier version. Of old, only prohibitions on elements apply,
// before and after scripts ran, because now cannot mention elements that the page no longer has. For the newer
// vocabularies all statements of old apply, too: Held reads them from Then.
func Earlier(now, old acap.Own) acap.Own {
	now.Then = &old
	now.Unread = cmp.Or(now.Unread, old.Unread)
	said := old.Marks
	if old.Scripted != nil {
		now.Unread = cmp.Or(now.Unread, old.Scripted.Unread)
		said = slices.Concat(said, old.Scripted.Marks)
	}
	said = slices.DeleteFunc(slices.Clone(said), func(m acap.Mark) bool {
		return m.Place == acap.OnHead || !prohibits(m) || strings.HasSuffix(strings.ToLower(m.Token), "disallow-crawl")
	})
	now.Marks = slices.Concat(now.Marks, said)
	if now.Scripted != nil {
		after := *now.Scripted
		after.Marks = slices.Concat(after.Marks, said)
		now.Scripted = &after
	}
	return now
}

func prohibits(m acap.Mark) bool { return strings.Contains(strings.ToLower(m.Token), "disallow-") }

// WithLost adds to own, the statements of a stored copy, the prohibitions that were lost when parts
// were cut out of it. said are the statements of the page before the cut. Permissions in said, and
// statements missing from said, change nothing.
func WithLost(own, said acap.Own) acap.Own {
	if said.Scripted != nil {
		after := own
		if own.Scripted != nil {
			after = *own.Scripted
		}
		after.Scripted = nil
		after = WithLost(after, *said.Scripted)
		own.Scripted, said.Scripted = &after, nil
	}
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

// May reports whether u could be permitted if the stored copy were read. If May returns false, u is
// prohibited whatever the copy contains.
func (t *Terms) May(u acap.Usage) bool { return t.decide(u).Allowed || t.Some(u) }

// Some reports whether u is permitted for the page or for one of its parts (N05).
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
		if t.underFacts(t.policy.Part(u, t.resource, element)).Allowed {
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
