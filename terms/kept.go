package terms

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Kept is what is kept beside a copy, or in its place where the page may not be preserved, so that the page can be presented later as
// its publisher requires, without a request: an excerpt no longer than a snippet, and the parts that must be shown with it.
type Kept struct {
	Title   string                     `json:"-"`                  // where no copy is held
	Text    string                     `json:"text,omitempty"`     // excerpt, where it cannot be cut from a copy
	Use     string                     `json:"use,omitempty"`      // the must-use-resource that Text was made from
	Index   string                     `json:"index,omitempty"`    // Content.From of the index entry
	Picture string                     `json:"picture,omitempty"`  // the must-use-resource that the thumbnail held was made of, where that is another resource
	Aside   []string                   `json:"aside,omitempty"`    // marks whose parts of the page are in it or not (Terms.Aside)
	Parts   map[string]snippet.Include `json:"included,omitempty"` // by the value of their must-include-resource

	// Addresses of other resources, hops to them included, that Text, Parts and the index entry were made of, by the value that names them.
	Of map[string][]string `json:"of,omitempty"`
}

// longestPart bounds the text of a part that is kept, in bytes. A longer one is not kept: it must be shown whole or not at all.
const longestPart = 1 << 10

// Keep gives what is to be kept of a page fetched just now; copied says that a copy is held too. entry is the text indexed.
func (t *Terms) Keep(copied bool, entry Content) Kept {
	k := Kept{Index: entry.From, Aside: t.Aside(acap.Index)}
	for _, u := range acap.Usages() {
		d := t.Decide(u) // reads the policies of link targets too, which are asked for later without a request
		if !u.Presents() || !d.Allowed {
			continue
		}
		for _, r := range d.MustInclude() {
			if r.IsText || r.Locator == "" && r.Link() {
				continue
			}
			if in, err := t.include(r, d); err == nil && len(in.Text) <= longestPart {
				if k.Parts == nil {
					k.Parts = map[string]snippet.Include{}
				}
				k.Parts[r.Value] = in
				k.of(r, t)
			}
		}
	}
	d := t.Decide(acap.PresentSnippet)
	uses := d.MustUse()
	if d.Allowed && len(uses) > 0 {
		k.Use = uses[0].Value
	}
	if !copied || k.Use != "" && uses[0].URL != "" {
		if s, ok := t.Snippet(acap.PresentSnippet, snippet.Wanted{}); ok {
			k.Text = s.Text
			if k.Use != "" {
				k.of(uses[0], t)
			}
		}
	}
	if entry.Other {
		k.of(t.decide(acap.Index).MustUse()[0], t)
	}
	if !copied {
		k.Title, _ = t.Title()
	}
	return k
}

// of notes the addresses of another resource that something was made of.
func (k *Kept) of(r *acap.Required, t *Terms) {
	got := t.fetched[r.URL]
	if r.IsText || r.Locator != "" || got.page == nil {
		return
	}
	k.source(r.Value, hopsTo(r.URL, got.page))
}

func (k *Kept) source(value string, addresses []string) {
	if k.Of == nil {
		k.Of = map[string][]string{}
	}
	k.Of[value] = addresses
}

// hopsTo lists address, under which pg was obtained, and the hops to it.
func hopsTo(address string, pg *page.Page) []string {
	list := []string{address}
	for _, hop := range pg.Hops() {
		if !slices.Contains(list, hop.URL) {
			list = append(list, hop.URL)
		}
	}
	return list
}

// Sources are the addresses of other resources that something of k was made of, sorted.
func (k Kept) Sources() (list []string) {
	for _, addresses := range k.Of {
		list = append(list, addresses...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Without gives k less what was made of the resource at address, whether that makes a difference, and whether the index entry was.
func (k Kept) Without(address string) (less Kept, changed, entry bool) {
	less = k
	less.Parts, less.Of = maps.Clone(k.Parts), maps.Clone(k.Of)
	for value, addresses := range k.Of {
		if !slices.Contains(addresses, address) {
			continue
		}
		changed = true
		delete(less.Of, value)
		delete(less.Parts, value)
		if value == k.Use {
			less.Text, less.Use = "", ""
		}
		if value == picture {
			less.Picture = ""
		}
		if value == k.Index {
			less.Index, less.Aside, entry = "", nil, true
		}
	}
	return less, changed, entry
}

// String is the form in which Kept is stored; empty where there is nothing to say.
func (k Kept) String() string {
	data, err := json.Marshal(k)
	if err != nil || string(data) == "{}" {
		return ""
	}
	return string(data)
}

// Recall reads what String gave, with the title kept. What cannot be read is as nothing kept.
func Recall(title, stored string) Kept {
	var k Kept
	if stored != "" && json.Unmarshal([]byte(stored), &k) != nil {
		k = Kept{Index: "unreadable"}
	}
	k.Title = title
	return k
}

// Keeping lets t answer from what was kept, without a request.
func (t *Terms) Keeping(k Kept) *Terms {
	t.kept = &k
	return t
}

// Findable says whether the index entry held may be used under the terms of now: the page may be indexed, and the entry was made
// from nothing that may no longer be used.
func (t *Terms) Findable() bool {
	d := t.decide(acap.Index)
	if t.kept == nil {
		return false
	}
	var uses []*acap.Required
	if d.Allowed {
		uses = d.MustUse()
	} else if t.kept.Index != Parts || !t.Some(acap.Index) {
		return false
	}
	for _, r := range uses {
		if r.Value != t.kept.Index || r.URL != "" && t.standing(r.URL) != nil {
			return false
		}
	}
	if len(uses) > 0 && uses[0].Locator == "" { // no part of the page is in it
		return true
	}
	aside := t.Aside(acap.Index)
	for _, token := range aside {
		if strings.HasPrefix(token, out) && !slices.Contains(t.kept.Aside, token) {
			return false
		}
	}
	for _, token := range t.kept.Aside {
		if !d.Allowed && !strings.HasPrefix(token, out) && !slices.Contains(aside, token) {
			return false
		}
	}
	return true
}

// Stands says whether the index entry held is what would be made of the page now: from the same source and the same parts.
func (t *Terms) Stands() bool {
	d, from := t.decide(acap.Index), ""
	if !d.Allowed {
		from = Parts
	} else if uses := d.MustUse(); len(uses) > 0 {
		from = uses[0].Value
	}
	return t.Findable() && t.kept.Index == from && slices.Equal(t.kept.Aside, t.Aside(acap.Index))
}

// out marks the marks whose elements are left out.
const out = "-"

// Aside lists, sorted, the marks whose elements u treats otherwise than the page: with a "-" in front those that are left out, and
// without it those that may be used although the page may not.
func (t *Terms) Aside(u acap.Usage) []string {
	if !t.policy.Marked() {
		return nil
	}
	d := t.decide(u)
	keep := t.cut(d, &acap.Limits{}).Keep
	var in, rest []acap.Mark
	seen := map[string]bool{}
	for _, m := range t.marks {
		switch {
		case seen[m.Token]:
			continue
		case keep([]acap.Mark{m}):
			in = append(in, m)
		default:
			rest = append(rest, m)
		}
		seen[m.Token] = true
	}
	var list []string
	switch {
	case d.Allowed:
		for _, m := range rest {
			list = append(list, out+m.Token)
		}
	case len(in) > 0:
		for _, m := range in {
			list = append(list, m.Token)
		}
		for _, m := range rest { // whether m prohibits shows within what may be used
			if m.Element = in[0].Element + 1; !keep([]acap.Mark{in[0], m}) {
				list = append(list, out+m.Token)
			}
		}
	}
	slices.Sort(list)
	return list
}

// Barred gives the first decision by which a part of the page has to be left out of what u, which is permitted of the page, may be
// made of; false where there is none. Whether a copy still holds that part, the copy alone can tell.
func (t *Terms) Barred(u acap.Usage) (d acap.Decision, barred bool) {
	aside := t.Aside(u)
	for i := range t.marks {
		if slices.Contains(aside, out+t.marks[i].Token) {
			return t.policy.Part(u, t.resource, t.marks[i:i+1]).At(t.facts), true
		}
	}
	return d, false
}

// Earlier is what is said of an earlier version of a page: now is what the page said at the last lawful fetch (H11), and old what that
// version says of itself. Of old only what it prohibits of its own elements counts: nothing else speaks of a part that is no longer in
// the page.
func Earlier(now, old acap.Own) acap.Own {
	now.Marks = slices.Clone(now.Marks)
	for _, m := range old.Marks {
		if m.Place != acap.OnHead && prohibits(m) && !strings.HasSuffix(strings.ToLower(m.Token), "disallow-crawl") {
			now.Marks = append(now.Marks, m)
		}
	}
	return now
}

func prohibits(m acap.Mark) bool { return strings.Contains(strings.ToLower(m.Token), "disallow-") }

// WithLost is what a page says of itself, and what said prohibits beside that: said is what was noted of the page before parts were cut
// out of it, and their marks with them. Nothing that said permits or leaves out takes anything away from what the page says.
func WithLost(own, said acap.Own) acap.Own {
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

// May reports whether u may be permitted once the copy is at hand; where it is not, no copy changes that.
func (t *Terms) May(u acap.Usage) bool { return t.decide(u).Allowed || t.Some(u) }

// Some reports whether u is permitted of the page or of some part of it (N05).
func (t *Terms) Some(u acap.Usage) bool {
	d := t.Decide(u)
	if d.Allowed || d.Reason == acap.Unfulfillable {
		return d.Allowed
	}
	for _, m := range t.marks {
		if t.policy.Part(u, t.resource, []acap.Mark{m}).At(t.facts).Allowed {
			return true
		}
	}
	return false
}

// excerpt is a snippet cut from what was kept.
func (t *Terms) excerpt(u acap.Usage, w snippet.Wanted) (s snippet.Snippet, ok bool) {
	if t.kept == nil || u != acap.PresentSnippet || !t.Some(u) {
		return s, false
	}
	d := t.Decide(u)
	limits := d.Limits(t.facts)
	s, ok = snippet.Build(t.kept.Text, snippet.Rules{MaxChars: limits.MaxChars, MaxWords: limits.MaxWords, Extracts: t.extracts(d), Wanted: w})
	s.Include = t.included(d)
	return s, ok
}
