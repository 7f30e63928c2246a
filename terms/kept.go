package terms

import (
	"encoding/json"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Kept is what is kept beside a copy, or in its place where the page may not be preserved, so that the page can be presented later as
// its publisher requires, without a request: an excerpt no longer than a snippet, and the parts that must be shown with it.
type Kept struct {
	Title string                     `json:"-"`                  // where no copy is held
	Text  string                     `json:"text,omitempty"`     // excerpt, where it cannot be cut from a copy
	Use   string                     `json:"use,omitempty"`      // the must-use-resource that Text was made from
	Index string                     `json:"index,omitempty"`    // Content.From of the index entry
	Parts map[string]snippet.Include `json:"included,omitempty"` // by the value of their must-include-resource
}

// longestPart bounds the text of a part that is kept, in bytes. A longer one is not kept: it must be shown whole or not at all.
const longestPart = 1 << 10

// Keep gives what is to be kept of a page fetched just now; copied says that a copy is held too. entry is the text indexed.
func (t *Terms) Keep(copied bool, entry Content) Kept {
	k := Kept{Index: entry.From}
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
			}
		}
	}
	d := t.Decide(acap.PresentSnippet)
	uses := d.MustUse()
	if d.Allowed && len(uses) > 0 {
		k.Use = uses[0].Value
	}
	if !copied || k.Use != "" && uses[0].URL != "" {
		if s, ok := t.Snippet(acap.PresentSnippet, ""); ok {
			k.Text = s.Text
		}
	}
	if !copied {
		k.Title, _ = t.Title()
	}
	return k
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
	if !d.Allowed {
		return t.kept.Index == Parts && t.Some(acap.Index)
	}
	for _, r := range d.MustUse() {
		if r.Value != t.kept.Index || r.URL != "" && t.standing(r.URL) != nil {
			return false
		}
	}
	return true
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
func (t *Terms) excerpt(u acap.Usage, query string) (s snippet.Snippet, ok bool) {
	if t.kept == nil || u != acap.PresentSnippet || !t.Some(u) {
		return s, false
	}
	d := t.Decide(u)
	limits := d.Limits(t.facts)
	s, ok = snippet.Build(t.kept.Text, snippet.Rules{MaxChars: limits.MaxChars, MaxWords: limits.MaxWords, Query: query, Extracts: t.extracts(d)})
	s.Include = t.included(d)
	return s, ok
}
