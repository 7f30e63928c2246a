package terms

import (
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Content is what of a page a usage may be made from.
type Content struct {
	Title string // "" where it may not be used
	Text  string // without the title
}

// String is title and text as one.
func (c Content) String() string { return strings.TrimSpace(c.Title + " " + c.Text) }

// Text gives the text that may be indexed; ok is false when nothing may be. A part with a permission of its own may be indexed on
// a page that may not (N05).
func (t *Terms) Text() (c Content, ok bool) {
	return t.content(acap.Index, false)
}

// content gives what u may be made from: the page less its prohibited parts, or the substitute it must use.
func (t *Terms) content(u acap.Usage, forSnippet bool) (c Content, ok bool) {
	if t.page == nil {
		return Content{}, false
	}
	d := t.Decide(u)
	if d.Allowed {
		if uses := d.MustUse(); len(uses) > 0 {
			return t.substitute(uses[0], u, forSnippet), true
		}
	} else if d.Reason == acap.Unfulfillable || !t.policy.Marked() {
		return Content{}, false
	}
	cut := t.cut(u, d.Allowed)
	cut.Snippet = forSnippet
	c.Title = t.page.Title(cut)
	c.Text = strings.TrimSpace(strings.TrimPrefix(t.page.Text(cut), c.Title))
	return c, d.Allowed || c.Title != "" || c.Text != ""
}

// substitute gives the text of what must be used instead of the page (P1 2.5.3.2). Prohibited elements stay out of an extract.
func (t *Terms) substitute(r *acap.Required, u acap.Usage, forSnippet bool) Content {
	switch {
	case r.IsText:
		return Content{Text: strings.Join(strings.Fields(r.Text), " ")}
	case r.Locator != "":
		cut := t.cut(u, true)
		cut.Snippet = forSnippet
		text, _ := t.page.Extract(r.Locator, cut)
		return Content{Text: text}
	}
	pg, err := t.other(r.URL)
	if err != nil {
		return Content{}
	}
	if pg == t.page {
		cut := t.cut(u, true)
		cut.Snippet = forSnippet
		return Content{Text: pg.Text(cut)}
	}
	return Content{Text: pg.Text(page.Cut{})}
}

// Links gives the absolute URLs that may be followed from the page; ok is false when none may be.
func (t *Terms) Links() (links []string, ok bool) {
	if t.page == nil {
		return nil, false
	}
	d := t.Decide(acap.Follow)
	if !d.Allowed && !t.policy.Marked() {
		return nil, false
	}
	asking := t.asking()
	for _, link := range t.page.Links(t.cut(acap.Follow, d.Allowed)) {
		if !asking[link] {
			links = append(links, link)
		}
	}
	return links, d.Allowed || len(links) > 0
}

// asking are the addresses a request for which asks for permission; they stay off the link queue (L02).
func (t *Terms) asking() map[string]bool {
	var out map[string]bool
	for _, r := range t.policy.Decide(acap.Other, t.resource).UsageRefs() {
		if r.Role != "permission-link" {
			continue
		}
		link := r.URL
		if r.Locator != "" {
			link, _, _ = t.page.Link(r.Locator)
		} else if r.IsText {
			link = r.Text
		}
		if out == nil {
			out = map[string]bool{}
		}
		out[link] = true
	}
	return out
}

// CopyText gives the text of the copy that may be preserved; ok is false when none may be (N28).
func (t *Terms) CopyText() (text string, ok bool) {
	if t.page == nil || !t.Decide(acap.Preserve).Allowed {
		return "", false
	}
	return t.page.Text(t.cut(acap.Preserve, true)), true
}

// Copy gives the bytes that u may keep or show; cut says that they are not the original body (N28). ok is false when none may be.
func (t *Terms) Copy(u acap.Usage) (body []byte, cut, ok bool) {
	if t.page == nil || !t.Decide(u).Allowed {
		return nil, false, false
	}
	if !t.policy.Marked() {
		return t.page.Last().Body, false, true
	}
	body, cut = t.page.Copy(t.cut(u, true))
	return body, cut, true
}

// Snippet builds what u (present-snippet or present-oldsnippet) may show, with words of query preferred; ok is false when nothing
// may be shown (J04, J12).
func (t *Terms) Snippet(u acap.Usage, query string) (s snippet.Snippet, ok bool) {
	d := t.Decide(u)
	if !d.Allowed {
		if !t.policy.Marked() {
			return s, false
		}
	}
	c, ok := t.content(u, true)
	if !ok {
		return s, false
	}
	limits := d.Limits(t.facts)
	rules := snippet.Rules{MaxChars: limits.MaxChars, MaxWords: limits.MaxWords, Query: query, Extracts: t.extracts(d)}
	text := c.Text
	if text == "" {
		text = c.Title
	}
	s, ok = snippet.Build(text, rules)
	if ok && query != "" && len(s.Marks) == 0 && c.Title != "" {
		if whole, found := snippet.Build(c.String(), rules); found && len(whole.Marks) > 0 {
			s = whole
		}
	}
	if !ok {
		return s, false
	}
	s.Include = t.included(d)
	return s, true
}

// included gives the parts that must be shown with a permitted presentation.
func (t *Terms) included(d acap.Decision) []snippet.Include {
	var out []snippet.Include
	for _, r := range d.MustInclude() {
		if in, err := t.include(r); err == nil {
			out = append(out, in)
		}
	}
	return out
}

// Included gives the parts that must be shown with u, for presentations other than snippets.
func (t *Terms) Included(u acap.Usage) []snippet.Include {
	if t.page == nil {
		return nil
	}
	return t.included(t.Decide(u))
}
