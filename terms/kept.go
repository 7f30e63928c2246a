package terms

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Kept is what is kept beside a copy, or in its place where the page may not be preserved, so that the page can be presented later as
// its publisher requires, without a request: an excerpt no longer than a snippet, and the parts that must be shown with it. Of all of
// it is noted what it was made of: it is shown only where it may be made of that by the policy of then (H11).
type Kept struct {
	Title   string                     `json:"-"`                  // where no copy is held
	Texts   map[acap.Usage]Text        `json:"texts,omitempty"`    // what cannot be cut from a copy, by the usage that it is for
	Index   string                     `json:"index,omitempty"`    // Content.From of the index entry
	Aside   []string                   `json:"aside,omitempty"`    // marks whose parts of the page are in it or not (Terms.Aside)
	Picture string                     `json:"picture,omitempty"`  // the must-use-resource that the thumbnail held was made of, where that is another resource
	Drawing *Drawing                   `json:"drawing,omitempty"`  // where the thumbnail held was drawn of the page itself
	Same    string                     `json:"same,omitempty"`     // alike for entries of the same title and text
	Parts   map[string]snippet.Include `json:"included,omitempty"` // by the value of their must-include-resource
	Clear   []string                   `json:"clear,omitempty"`    // those of Parts of which nothing stands under a mark of the page

	// Addresses of other resources, hops to them included, that Texts, Parts and the index entry were made of, by the value that names them.
	Of map[string][]string `json:"of,omitempty"`
}

// Text is an excerpt of a page, or of what must be used in its place.
type Text struct {
	Text  string   `json:"text,omitempty"`
	From  string   `json:"from,omitempty"`  // as Content.From
	Aside []string `json:"aside,omitempty"` // as Terms.Aside
}

// unsaid is the From of what was kept before that was noted, or cannot be read.
const unsaid = "not said"

// Keep gives what is to be kept of a page fetched just now; copied says that a copy is held too. entry is the text indexed. It is kept
// for every reader whom the policy lets see it: who asks is judged when it is shown.
func (t *Terms) Keep(copied bool, entry Content) Kept {
	if t.page == nil {
		return Kept{}
	}
	t = t.anyone()
	var k Kept
	t.Entry(&k, entry)
	for _, u := range acap.Usages() {
		d := t.Decide(u) // reads the policies of link targets too, which are asked for later without a request
		if !u.Presents() || !d.Allowed {
			continue
		}
		for _, r := range d.MustInclude() {
			if in, err := t.include(r, d); err == nil && !r.IsText && (r.Locator != "" || !r.Link()) {
				k.keepPart(t, r, in)
			}
		}
	}
	k.keepText(t, acap.PresentSnippet, copied)
	k.keepText(t, acap.PresentOldSnippet, copied)
	k.keepText(t, acap.PresentLink, copied)
	if entry.Other {
		k.of(t.substitutes(t.decide(acap.Index))[0], t)
	}
	if !copied {
		k.Title, _ = t.Title()
		if t.page.Title(unmarked) != t.page.Title(page.Cut{}) { // what its marks will say of it cannot be told later
			k.Title = ""
		}
	}
	return k
}

// unmarked leaves of a page what stands under no mark of any kind.
var unmarked = page.Cut{Keep: func(chain []acap.Mark) bool { return len(chain) == 0 }, Snippet: true}

func (k *Kept) keepPart(t *Terms, r *acap.Required, in snippet.Include) {
	if k.Parts == nil {
		k.Parts = map[string]snippet.Include{}
	}
	if _, twice := k.Parts[r.Value]; twice {
		return
	}
	k.Parts[r.Value] = in
	if k.of(r, t); r.Locator == "" {
		return
	}
	whole, _ := t.page.Extract(r.Locator, page.Cut{})
	if clear, _ := t.page.Extract(r.Locator, unmarked); clear == whole {
		k.Clear = append(k.Clear, r.Value)
	}
}

// keepText keeps for u what will not be at hand: of a page of which no copy is held, or of another resource.
func (k *Kept) keepText(t *Terms, u acap.Usage, copied bool) {
	d := t.Decide(u)
	text := Text{From: t.from(d)}
	uses := t.substitutes(d)
	switch {
	case len(uses) > 0 && uses[0].IsText: // the policy holds it
		return
	case len(uses) > 0 && uses[0].URL != "":
	case copied, u == acap.PresentOldSnippet, len(uses) == 0 && u == acap.PresentLink:
		return
	default:
		text.Aside = t.Aside(u)
	}
	ok := false
	if u == acap.PresentLink {
		var l Link
		l, ok = t.Link()
		text.Text = l.Text
	} else {
		var s snippet.Snippet
		s, ok = t.Snippet(u, snippet.Wanted{})
		text.Text = s.Text
	}
	if !ok {
		return
	}
	if k.Texts == nil {
		k.Texts = map[acap.Usage]Text{}
	}
	k.Texts[u] = text
	if len(uses) > 0 {
		k.of(uses[0], t)
	}
}

// of notes the addresses of another resource that something was made of.
func (k *Kept) of(r *acap.Required, t *Terms) {
	if r.IsText || r.Locator != "" {
		return
	}
	if got := t.fetched[r.URL]; got.Page != nil {
		k.source(r.Value, hopsTo(r.URL, got.Page))
	} else if t.kept != nil && len(t.kept.Of[r.Value]) > 0 {
		k.source(r.Value, t.kept.Of[r.Value])
	}
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

// Requires lists the resources that k was made of because they must be used or included: of each the address that names it, and the hops.
func (k Kept) Requires() (list [][]string) {
	for value, addresses := range k.Of {
		if value != drawnImages && value != drawnSheets && len(addresses) > 0 {
			list = append(list, addresses)
		}
	}
	return list
}

// Without gives k less what was made of the resource at address, whether that makes a difference, and whether the index entry was.
func (k Kept) Without(address string) (less Kept, changed, entry bool) {
	less = k.Clone()
	for value, addresses := range k.Of {
		if !slices.Contains(addresses, address) {
			continue
		}
		changed = true
		delete(less.Of, value)
		delete(less.Parts, value)
		switch value {
		case picture:
			less.Picture = ""
		case drawnImages, drawnSheets:
			less = less.Unpictured()
		}
		maps.DeleteFunc(less.Texts, func(_ acap.Usage, text Text) bool { return text.From == value })
		if value == k.Index {
			less.Index, less.Aside, less.Same, entry = "", nil, "", true
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

// Recall reads what String gave, with the title kept. What cannot be read is as nothing kept. Of the snippet that was kept before its
// source was noted no more is known than the resource that had to be used.
func Recall(title, stored string) Kept {
	var k struct {
		Kept
		Text string `json:"text"`
		Use  string `json:"use"`
	}
	if stored != "" && json.Unmarshal([]byte(stored), &k) != nil {
		return Kept{Title: title, Index: unsaid}
	}
	if k.Title = title; k.Text != "" {
		k.Texts = map[acap.Usage]Text{acap.PresentSnippet: {Text: k.Text, From: cmp.Or(k.Use, unsaid)}}
	}
	return k.Kept
}

// Keeping lets t answer from what was kept, without a request.
func (t *Terms) Keeping(k Kept) *Terms {
	t.kept = &k
	return t
}

// Same is alike for pages whose index entries hold the same text; "" where there is none.
func (t *Terms) Same() string {
	if t.kept == nil {
		return ""
	}
	return t.kept.Same
}

// Entry notes in k what the index entry of the page is made of: of content.
func (t *Terms) Entry(k *Kept, content Content) {
	k.Index, k.Aside, k.Same = content.From, t.Aside(acap.Index), ""
	if content.String() != "" {
		sum := sha256.Sum256([]byte(content.Title + "\n" + content.Text))
		k.Same = base64.RawURLEncoding.EncodeToString(sum[:12])
	}
}

// Findable says whether the index entry held may be used under the terms of now: the page may be indexed, and the entry was made
// from nothing that may no longer be used.
func (t *Terms) Findable() bool {
	return t.kept != nil && t.covers(acap.Index, Text{From: t.kept.Index, Aside: t.kept.Aside})
}

// Stands says whether the index entry held is what would be made of the page now: from the same source and the same parts.
func (t *Terms) Stands() bool {
	return t.Findable() && t.kept.Index == t.from(t.decide(acap.Index)) && slices.Equal(t.kept.Aside, t.Aside(acap.Index))
}

// from is the Content.From of what d lets be made of the page.
func (t *Terms) from(d acap.Decision) string {
	if !d.Allowed {
		return Parts
	}
	if uses := t.substitutes(d); len(uses) > 0 {
		return uses[0].Value
	}
	return ""
}

// covers reports whether u permits now what was made for it then: from the source it must have, and with no part of the page in it that
// must be left out.
func (t *Terms) covers(u acap.Usage, made Text) bool {
	d := t.decide(u)
	uses := t.substitutes(d)
	for _, r := range uses {
		if r.Value != made.From || r.URL != "" && t.standing(r.URL) != nil {
			return false
		}
	}
	switch {
	case !d.Allowed && (made.From != Parts || !t.Some(u)):
		return false
	case made.From == unsaid:
		return !t.policy.Marked()
	case !ofPage(made.From): // which no mark concerns
		return len(uses) > 0 || u == acap.Index && t.stillThere(made.From)
	}
	aside := t.Aside(u)
	then, now := setOf(made.Aside), setOf(aside)
	for _, token := range aside {
		if strings.HasPrefix(token, out) && !then[token] {
			return false
		}
	}
	for _, token := range made.Aside {
		if !d.Allowed && !strings.HasPrefix(token, out) && !now[token] {
			return false
		}
	}
	return true
}

// ofPage reports whether what has this Content.From was made of the page itself. Parts was written otherwise once.
func ofPage(from string) bool {
	return from == "" || from == Parts || from == "parts" || strings.HasPrefix(from, "the-acap:extract:")
}

// stillThere reports whether the resource that value names may be used as far as is known: its words stay where a page is found by them
// although it need not be any more.
func (t *Terms) stillThere(value string) bool {
	addresses := t.kept.Of[value]
	return len(addresses) == 0 || t.standing(addresses[0]) == nil
}
