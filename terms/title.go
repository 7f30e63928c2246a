package terms

import (
	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// longestTitle bounds a title and the text of a link, in characters.
const longestTitle = 150

// Title gives the title that may be shown, plain and bounded, and the usage that permits it:
// present-snippet or present. Where present-snippet alone does, its lengths bind the title as they
// do the snippet, each by itself: nothing else permits more. A title is of the page itself, so it
// is none where a substitute must be used.
func (t *Terms) Title() (title string, by acap.Usage) {
	whole, wide := t.titleBy(acap.Present)
	brief, narrow := t.titleBy(acap.PresentSnippet)
	if brief != "" && whole == "" {
		return titled(brief, narrow), acap.PresentSnippet
	}
	if brief != "" {
		by = acap.PresentSnippet
	} else if by = acap.Present; whole == "" {
		return "", ""
	}
	return titled(whole, wide), by
}

// titleBy gives the title as far as u permits it, and the limits on it.
func (t *Terms) titleBy(u acap.Usage) (title string, l acap.Limits) {
	d := t.Decide(u)
	if !d.Allowed || len(t.substitutes(d)) > 0 {
		return "", l
	}
	l = d.Limits(t.facts)
	switch {
	case t.page != nil:
		title = t.page.Title(t.seen(d, &l))
	case t.kept != nil:
		title = t.kept.Title
	}
	return title, l
}

// titled makes a title of a text: plain, and never cut within a character that a reader sees.
func titled(s string, l acap.Limits) string {
	chars := longestTitle
	if l.MaxChars != nil {
		chars = min(chars, *l.MaxChars)
	}
	out, _ := snippet.Build(snippet.Plain(s), snippet.Rules{MaxChars: &chars, MaxWords: l.MaxWords})
	return out.Text
}

// Link is how a page may be linked to where its link must be made of something else (P1 2.5.5.3).
type Link struct {
	Href string // of the resource that must be linked to in its place; "": the page's own
	Text string // of the link: it takes the place of the title; "": there is none
	Made bool   // it is made of something else: the page's own title is not the text of it
}

// Link gives how the page may be linked to; ok is false where it may not be. A link made of another
// resource leads to that, with its title; one made of a text, or of a part of the page, leads to
// the page with that as its text.
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
		l.Text, _ = t.page.Extract(r.Locator, t.seen(d, &acap.Limits{}))
	case t.kept != nil:
		l.Text = t.kept.Texts[acap.PresentLink].Text
	default:
		if pg, err := t.other(r.URL); err == nil {
			l.Text = pg.Title(page.Cut{})
		}
	}
	l.Text = titled(l.Text, acap.Limits{})
	return l, true
}
