package terms

import (
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Content is the text of a page, or of the resource that must be used instead of the page. A usage
// may be made from this text.
type Content struct {
	Title string // "" if the title may not be used
	Text  string // text without the title
	From  string // source of the text: "" for the page, Parts, or the value of the must-use-resource
	Other bool   // made from another resource, so that a copy of the page is not enough to make the text again

	Language string       // language of the other resource; "" if made from the page
	Blocks   []page.Block // blocks of Text; nil if they are not known

	within bool // Text contains the title too, so the title is not joined to Text again
}

// Headings returns the texts of the headings in Text, one per line.
func (c Content) Headings() string {
	var list []string
	for _, b := range c.Blocks {
		if b.Kind == page.Heading {
			list = append(list, strings.TrimSpace(c.Text[b.Start:b.End]))
		}
	}
	return strings.Join(list, "\n")
}

// Parts is the From of a Content made from single elements of a page if the whole page may not be
// used (N05: an element may have its own permission). A must-use-resource cannot have this value,
// because its values contain no space.
const Parts = "some parts"

// Empty reports whether the content has neither title nor text.
func (c Content) Empty() bool { return c.Title == "" && c.Text == "" }

// String returns title and text as one string.
func (c Content) String() string {
	text, _ := c.joined()
	return text
}

// joined returns title and text as one string, and the blocks of that string. The offsets of the
// blocks grow by the length of the title before the text.
func (c Content) joined() (text string, blocks []page.Block) {
	title := strings.TrimSpace(c.Title)
	switch {
	case c.within || title == "":
		return c.Text, c.Blocks
	case c.Text == "":
		return title, nil
	}
	shift := len(title) + len(" ")
	for _, b := range c.Blocks {
		blocks = append(blocks, page.Block{Kind: b.Kind, Start: b.Start + shift, End: b.End + shift})
	}
	return title + " " + c.Text, blocks
}

// Text returns the text that may be indexed; ok is false if nothing may be indexed. An element of
// the page with its own permission may be indexed even if the rest of the page may not be indexed
// (N05).
func (t *Terms) Text() (c Content, ok bool) {
	c, _, ok = t.content(acap.Index)
	return c, ok
}

// content returns the text that u may be made from: the page without its prohibited parts, or the
// substitute that must be used. l contains the strictest length limits that apply to this text.
func (t *Terms) content(u acap.Usage) (c Content, l acap.Limits, ok bool) {
	if t.page == nil {
		return c, l, false
	}
	d := t.Decide(u)
	l = d.Limits(t.facts)
	if uses := t.substitutes(d); len(uses) > 0 {
		c = t.substitute(uses[0], d, &l)
		return c, l, true
	}
	if !d.Allowed {
		if d.Reason == acap.Unfulfillable || !t.policy.Marked() {
			return c, l, false
		}
		c.From = Parts
	}
	cut := t.usableParts(d, &l)
	c.Title = t.page.Title(cut)
	text, blocks := t.page.Blocks(cut)
	start := len(text) // start is the offset in text of the first byte after the title
	if len(blocks) > 0 {
		start = blocks[0].Start
	}
	c.Text, c.Blocks, c.within = text[start:], shiftBlocks(blocks, start), start == 0
	return c, l, d.Allowed || c.Title != "" || c.Text != ""
}

// shiftBlocks subtracts start from the offsets of blocks, so that the offsets match the text from
// start on.
func shiftBlocks(blocks []page.Block, start int) []page.Block {
	for i := range blocks {
		blocks[i].Start -= start
		blocks[i].End -= start
	}
	return blocks
}

// substitute returns the text of the resource that must be used instead of the page (P1 2.5.3.2:
// must-use-resource). Prohibited elements are left out. If the text is taken from elements of the
// page, substitute adds the length limits of these elements to l.
func (t *Terms) substitute(r *acap.Required, d acap.Decision, l *acap.Limits) Content {
	c := Content{From: r.Value}
	switch {
	case r.IsText:
		c.Text = strings.Join(strings.Fields(r.Text), " ")
	case r.Locator != "":
		c.Text, _ = t.page.Extract(r.Locator, t.usableParts(d, l))
	case t.kept != nil:
		if c.Other = true; r.Value == t.kept.Texts[d.Usage].From {
			c.Text = t.kept.Texts[d.Usage].Text
		}
	default:
		if pg, err := t.fetchOther(r.URL); err == nil {
			c.Text, c.Other, c.Language = pg.Text(page.Cut{}), true, pg.Language()
		}
	}
	return c
}

// usableParts returns which elements of the page d permits to use. Text under data-nosnippet is
// left out of snippets and of link texts.
func (t *Terms) usableParts(d acap.Decision, l *acap.Limits) page.Cut {
	return t.readable(t.cut(d, l), d.Usage)
}

// readable returns cut without text under data-nosnippet, if u is a snippet or a link.
func (t *Terms) readable(cut page.Cut, u acap.Usage) page.Cut {
	cut.Snippet = isSnippet(u) || u == acap.PresentLink
	return cut
}

func isSnippet(u acap.Usage) bool { return u == acap.PresentSnippet || u == acap.PresentOldSnippet }

// Links returns the absolute URLs of those links of the page that may be followed; ok is false if
// no link may be followed.
func (t *Terms) Links() (links []string, ok bool) { return t.followable((*page.Page).Links) }

// Requisites returns the absolute URLs of images, style sheets and other resources that a browser
// loads to show the page. URLs that may not be followed are left out.
func (t *Terms) Requisites() []string {
	links, _ := t.followable((*page.Page).Requisites)
	return links
}

// followable calls the function of, which lists addresses in the page, and returns those addresses
// that may be followed. It checks the policy for the page and for each element. ok is false if
// nothing may be followed.
func (t *Terms) followable(of func(*page.Page, page.Cut) []string) (links []string, ok bool) {
	if t.page == nil {
		return nil, false
	}
	d := t.Decide(acap.Follow)
	if !d.Allowed && !t.policy.Marked() {
		return nil, false
	}
	asking := t.PermissionLinks()
	for _, link := range of(t.page, t.cut(d, &acap.Limits{})) {
		if !asking[link] {
			links = append(links, link)
		}
	}
	return links, d.Allowed || len(links) > 0
}

// PermissionLinks returns the addresses of permission links. A request for such an address counts
// as asking the publisher for permission, so the crawler must not queue it (L02).
func (t *Terms) PermissionLinks() map[string]bool {
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
		link, _, _ = strings.Cut(link, "#")
		out[link] = true
	}
	return out
}

// CopyText returns the text of the copy that may be preserved; ok is false if no copy may be
// preserved (N28: a prohibited part must be cut out).
func (t *Terms) CopyText() (text string, ok bool) {
	if _, _, ok = t.Copy(acap.Preserve); !ok {
		return "", false
	}
	return t.page.Text(t.cut(t.Decide(acap.Preserve), &acap.Limits{})), true
}

// Copy returns the bytes that u may store or show: of a rendered page those of the rendered document, otherwise
// those of the body. cut reports that parts were cut out of them. ok is false if u is prohibited, or if a
// prohibited part cannot be cut out (N28).
func (t *Terms) Copy(u acap.Usage) (body []byte, cut, ok bool) { return t.copyFor(u, t.page) }

// SentCopy is Copy for the page as sent, before its scripts ran.
func (t *Terms) SentCopy(u acap.Usage) (body []byte, cut, ok bool) {
	if t.page == nil {
		return nil, false, false
	}
	if t.page.Rendered() && t.page.SentReveals(t.marked(t.decide(u), &acap.Limits{})) {
		return nil, false, false
	}
	return t.copyFor(u, t.page.Sent())
}

// copyFor does the work of Copy for a document of the page: the rendered document or the page as sent.
func (t *Terms) copyFor(u acap.Usage, document *page.Page) (body []byte, cut, ok bool) {
	if document == nil {
		return nil, false, false
	}
	d := t.Decide(u)
	if !d.Allowed {
		return nil, false, false
	}
	return t.copyOf(document, d)
}

// copyOf is copyFor under the decision d, which permits the usage.
func (t *Terms) copyOf(document *page.Page, d acap.Decision) (body []byte, cut, ok bool) {
	if !t.policy.Marked() {
		return document.Document(), false, true
	}
	body, cut = document.Copy(t.cut(d, &acap.Limits{}))
	return body, cut, !cut || body != nil
}

// Readable returns the markup of the page without the parts that u may not read. ok is false
// if u may read nothing of the page, or must use something else instead (P1 2.5.3.2: must-use-resource).
func (t *Terms) Readable(u acap.Usage) (body []byte, ok bool) {
	if t.page == nil {
		return nil, false
	}
	d := t.Decide(u)
	if len(t.substitutes(d)) > 0 || !d.Allowed && (d.Reason == acap.Unfulfillable || !t.policy.Marked()) {
		return nil, false
	}
	body, cut := t.page.Copy(t.usableParts(d, &acap.Limits{}))
	return body, !cut || body != nil
}

// Snippet builds the snippet that u (present-snippet or present-oldsnippet) may show, preferring
// the passages that match w. ok is false if nothing may be shown: u is prohibited, a required
// extract is longer than the length limit (J04), or a required part is missing (J12). If no copy is
// stored, the snippet is made from the stored excerpt.
func (t *Terms) Snippet(u acap.Usage, w snippet.Wanted) (s snippet.Snippet, ok bool) {
	if t.page == nil {
		return t.excerpt(u, w)
	}
	c, limits, ok := t.content(u)
	if !ok {
		return s, false
	}
	d := t.Decide(u)
	extracts := t.extracts(d, &limits)
	rules := snippet.Rules{MaxChars: limits.MaxChars, MaxWords: limits.MaxWords, Extracts: extracts,
		Blocks: c.Blocks, Title: snippet.Plain(c.Title), Wanted: w}
	text := c.Text
	if text == "" {
		text = c.Title
	}
	s, ok = snippet.Build(text, rules)
	// If the text has no match of the query, try again with the title joined to it.
	if ok && w.Query != "" && len(s.Marks) == 0 && !c.within && c.Title != "" && c.Text != "" {
		text, rules.Blocks = c.joined()
		rules.Title = ""
		if whole, found := snippet.Build(text, rules); found && len(whole.Marks) > 0 {
			s = whole
		}
	}
	if !ok {
		return s, false
	}
	s.Include = t.included(d)
	return s, true
}

// included returns the parts that must be shown with a presentation (P1 2.5.5.6,
// must-include-resource). d is the decision about the presentation; the result is empty if d
// refuses the presentation.
func (t *Terms) included(d acap.Decision) []snippet.Include {
	var out []snippet.Include
	if !d.Allowed {
		return nil
	}
	for _, r := range d.MustInclude() {
		if in, err := t.include(r, d); err == nil {
			out = append(out, in)
		}
	}
	return out
}

// Included returns the parts that must be shown with u, for presentations other than snippets.
func (t *Terms) Included(u acap.Usage) []snippet.Include {
	if t.page == nil && t.kept == nil {
		return nil
	}
	return t.included(t.Decide(u))
}
