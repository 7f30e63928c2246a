package terms

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/kept"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Kept is what is stored for a page so that it can be presented later without a request.
type Kept = kept.Page

// Keys of Kept.Of, as in package kept.
const (
	Scripts = kept.Scripts
	Data    = kept.Data
)

// Keep returns what to store for a page that was just fetched. copied reports whether a copy is
// stored too; entry is the indexed text. The result contains everything that may be shown to at
// least one reader. Conditions on the reader are checked when the data is shown.
func (t *Terms) Keep(copied bool, entry Content) Kept {
	if t.page == nil {
		return Kept{}
	}
	t = t.forAnyReader()
	var k Kept
	t.Entry(&k, entry)
	for _, u := range acap.Usages() {
		d := t.Decide(u) // also reads the policies of link targets: showing the page later needs them without a request
		if !u.Presents() || !d.Allowed {
			continue
		}
		for _, r := range d.MustInclude() {
			if in, err := t.include(r, d); err == nil && !r.IsText && (r.Locator != "" || !r.Link()) {
				t.keepPart(&k, r, in)
			}
		}
	}
	t.keepText(&k, acap.PresentSnippet, copied)
	t.keepText(&k, acap.PresentOldSnippet, copied)
	t.keepText(&k, acap.PresentLink, copied)
	if entry.Other {
		t.keepSource(&k, t.substitutes(t.decide(acap.Index))[0])
	}
	if !copied {
		k.Title, _ = t.Title()
		// a title that contains marked elements is not stored, because without the page nobody can
		// decide which part of the title may be shown
		if t.page.Title(unmarked) != t.page.Title(page.Cut{}) {
			k.Title = ""
		}
	}
	last := t.page.Last()
	if k.AddMade(last.Made, last.Ran); t.kept != nil {
		k.AddMade(t.kept.Of[kept.Data], t.kept.Of[kept.Scripts])
	}
	return k
}

// unmarked keeps only the text outside all elements that carry marks.
var unmarked = page.Cut{Keep: func(chain []acap.Mark) bool { return len(chain) == 0 }, Snippet: true}

func (t *Terms) keepPart(k *Kept, r *acap.Required, in snippet.Include) {
	if _, twice := k.Parts[r.Value]; twice {
		return
	}
	k.SetPart(r.Value, in)
	if t.keepSource(k, r); r.Locator == "" {
		return
	}
	whole, _ := t.page.Extract(r.Locator, page.Cut{})
	if clear, _ := t.page.Extract(r.Locator, unmarked); clear == whole {
		k.Clear = append(k.Clear, r.Value)
	}
}

// keepText stores for u the text that cannot be obtained later without a request: text of a page
// without a stored copy, or text of another resource.
func (t *Terms) keepText(k *Kept, u acap.Usage, copied bool) {
	d := t.Decide(u)
	text := kept.Text{From: t.sourceOf(d)}
	uses := t.substitutes(d)
	switch {
	case len(uses) > 0 && uses[0].IsText: // the policy itself contains the text
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
	k.SetText(u, text)
	if len(uses) > 0 {
		t.keepSource(k, uses[0])
	}
}

// keepSource records the addresses of the other resource that r names.
func (t *Terms) keepSource(k *Kept, r *acap.Required) {
	if r.IsText || r.Locator != "" {
		return
	}
	if got := t.fetched[r.URL]; got.Page != nil {
		k.SetSource(r.Value, hopsTo(r.URL, got.Page))
	} else if t.kept != nil && len(t.kept.Of[r.Value]) > 0 {
		k.SetSource(r.Value, t.kept.Of[r.Value])
	}
}

// hopsTo returns address and then the URLs of the redirects that lead from address to pg.
func hopsTo(address string, pg *page.Page) []string {
	list := []string{address}
	for _, hop := range pg.Hops() {
		if !slices.Contains(list, hop.URL) {
			list = append(list, hop.URL)
		}
	}
	return list
}

// Keeping makes t answer from k, which was stored earlier, without requests. It changes and returns
// t.
func (t *Terms) Keeping(k Kept) *Terms {
	t.kept = &k
	return t
}

// Same returns a digest of the title and text of the stored index entry. Equal digests mean equal
// title and text. Same returns "" if no entry is stored.
func (t *Terms) Same() string {
	if t.kept == nil {
		return ""
	}
	return t.kept.Same
}

// Entry records in k that the index entry of the page is made from content.
func (t *Terms) Entry(k *Kept, content Content) {
	k.Index, k.Aside, k.Same = content.From, t.Aside(acap.Index), ""
	if content.Text != "" || content.String() != "" {
		text := make([]byte, 0, len(content.Title)+len("\n")+len(content.Text))
		text = append(append(append(text, content.Title...), '\n'), content.Text...)
		sum := sha256.Sum256(text)
		k.Same = base64.RawURLEncoding.EncodeToString(sum[:12])
	}
}

// Findable reports whether the stored index entry may be used under today's policy: the page may be
// indexed, and every resource that the entry was made from may still be used.
func (t *Terms) Findable() bool {
	return t.kept != nil && t.stillPermits(acap.Index, kept.Text{From: t.kept.Index, Aside: t.kept.Aside})
}

// EntryCurrent reports whether the stored index entry equals the entry that would be made from the
// page now: both have the same source and contain the same parts of the page.
func (t *Terms) EntryCurrent() bool {
	return t.Findable() && t.kept.Index == t.sourceOf(t.decide(acap.Index)) && slices.Equal(t.kept.Aside,
		t.Aside(acap.Index))
}

// sourceOf returns the value of Content.From for a text that d permits to make from the page.
func (t *Terms) sourceOf(d acap.Decision) string {
	if !d.Allowed {
		return Parts
	}
	if uses := t.substitutes(d); len(uses) > 0 {
		return uses[0].Value
	}
	return ""
}

// stillPermits reports whether u still permits the text in made, a text that was made for u
// earlier. The text must come from the required source, and must not contain a part of the page
// that must be left out now.
func (t *Terms) stillPermits(u acap.Usage, made kept.Text) bool {
	d := t.decide(u)
	uses := t.substitutes(d)
	for _, r := range uses {
		if r.Value != made.From || r.URL != "" && t.checkUsable(r.URL) != nil {
			return false
		}
	}
	switch {
	case !d.Allowed && (made.From != Parts || !t.Some(u)):
		return false
	case !ofPage(made.From): // marks apply only to text of the page
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

// ofPage reports whether a text with this Content.From was made from the page itself.
func ofPage(from string) bool {
	return from == "" || from == Parts || strings.HasPrefix(from, "the-acap:extract:")
}

// stillThere reports whether the resource that value names may still be used. An index entry made
// from that resource may then stay, although the policy no longer requires the resource.
func (t *Terms) stillThere(value string) bool {
	addresses := t.kept.Of[value]
	return len(addresses) == 0 || t.checkUsable(addresses[0]) == nil
}
