package terms

import (
	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// longestTitle is the greatest length of a title and of a link text, in characters.
const longestTitle = 150

// Title returns the title that may be shown, as plain text of bounded length, and the usage that
// permits it: present-snippet or present. If only present-snippet permits it, the length limits of
// the snippet also apply to the title. A page that must be replaced by a substitute has no title.
func (t *Terms) Title() (title string, by acap.Usage) {
	whole, wide := t.titleBy(acap.Present)
	brief, narrow := t.titleBy(acap.PresentSnippet)
	if brief != "" && whole == "" {
		return makeTitle(brief, narrow), acap.PresentSnippet
	}
	if brief != "" {
		by = acap.PresentSnippet
	} else if by = acap.Present; whole == "" {
		return "", ""
	}
	return makeTitle(whole, wide), by
}

// titleBy returns the title that may be shown under u, and the length limits of that title.
func (t *Terms) titleBy(u acap.Usage) (title string, l acap.Limits) {
	d := t.Decide(u)
	if !d.Allowed || len(t.substitutes(d)) > 0 {
		return "", l
	}
	l = d.Limits(t.facts)
	switch {
	case t.page != nil:
		title = t.page.Title(t.usableParts(d, &l))
	case t.kept != nil:
		title = t.kept.Title
	}
	return title, l
}

// makeTitle makes a plain title from s that obeys the limits l. It never splits a character as a
// reader sees it, such as a letter with its accents.
func makeTitle(s string, l acap.Limits) string {
	chars := longestTitle
	if l.MaxChars != nil {
		chars = min(chars, *l.MaxChars)
	}
	out, _ := snippet.Build(snippet.Plain(s), snippet.Rules{MaxChars: &chars, MaxWords: l.MaxWords})
	return out.Text
}

// Link describes a link to a page. The policy may require to make the link from another resource
// (P1 2.5.5.3).
type Link struct {
	Href string // address of the resource that must be linked instead; "" means the page's own address
	Text string // link text, shown instead of the title; "" means that there is none
	Made bool   // the link is made from something other than the page, so that its text is not the page's title
}

// Link returns how to link to the page; ok is false if no link is permitted. A link made from
// another resource points to that resource and uses its title. A link made from a text or a part of
// the page points to the page and uses that text.
func (t *Terms) Link() (l Link, ok bool) {
	d := t.Decide(acap.PresentLink)
	uses := t.substitutes(d)
	if len(uses) == 0 || t.page == nil && t.kept == nil {
		return l, d.Allowed
	}
	r := uses[0]
	l = Link{Href: r.URL, Made: true}
	switch {
	case r.IsText:
		l.Text = r.Text
	case r.Locator != "" && t.page != nil:
		l.Text, _ = t.page.Extract(r.Locator, t.usableParts(d, &acap.Limits{}))
	case t.kept != nil:
		l.Text = t.kept.Texts[acap.PresentLink].Text
	default:
		if pg, err := t.fetchOther(r.URL); err == nil {
			l.Text = pg.Title(page.Cut{})
		}
	}
	l.Text = makeTitle(l.Text, acap.Limits{})
	return l, true
}
