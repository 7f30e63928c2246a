package page

import (
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Sent returns the page as sent. For a page that was not rendered, that is p.
func (p *Page) Sent() *Page {
	if p.sent == nil {
		return p
	}
	return p.sent
}

// Rendered reports whether p is what the scripts of a page made of it.
func (p *Page) Rendered() bool { return p.sent != nil }

// Document returns what all methods of p read: the rendered document, in UTF-8, otherwise the body.
func (p *Page) Document() []byte {
	if p.sent != nil {
		return p.Last().Rendered
	}
	return p.Last().Body
}

// DocumentType returns the Content-Type of Document; "" if the response declares none.
func (p *Page) DocumentType() string {
	if p.sent != nil {
		return RenderedType
	}
	return contentType(p.Last())
}

// RenderedType is the Content-Type of rendered documents.
const RenderedType = "text/html; charset=utf-8"

// withScripted returns the statements of a rendered page: those of the page as sent, and, if its scripts
// changed them, those after its scripts ran, which only restrict. Statements on elements are about the
// elements of the rendered document:
//
//   - a prohibition of an element that the scripts removed is about the whole page, because what it is
//     about may still be there;
//   - a statement that the scripts repeat on further elements does not count among those of the page as
//     sent, because it could permit the further elements.
func withScripted(sent, scripted acap.Own) acap.Own {
	if sameStatements(&sent, &scripted) {
		return sent
	}
	more := map[string]int{} // how many more elements have a mark after the scripts ran
	for _, m := range scripted.Marks {
		more[m.Token]++
	}
	for _, m := range sent.Marks {
		more[m.Token]--
	}
	marks := make([]acap.Mark, 0, len(sent.Marks))
	for _, m := range slices.Backward(sent.Marks) {
		switch {
		case more[m.Token] > 0 && m.Place != acap.OnHead:
			continue
		case more[m.Token] < 0:
			more[m.Token]++
			m.Place = acap.OnHead
		}
		marks = append(marks, m)
	}
	slices.Reverse(marks)
	sent.Marks = marks
	sent.Scripted = &scripted
	return sent
}

// sameStatements reports whether two versions of a page make the same statements, wherever they are.
func sameStatements(a, b *acap.Own) bool {
	tag := func(s, t acap.Tag) bool { return s.Source == t.Source && s.Name == t.Name && s.Content == t.Content }
	return a.Unread == b.Unread && a.Tangled == nil && b.Tangled == nil &&
		slices.EqualFunc(a.Tags, b.Tags, tag) &&
		slices.EqualFunc(a.Marks, b.Marks, func(m, n acap.Mark) bool {
			return strings.EqualFold(m.Token, n.Token) && m.Place == n.Place && m.Element == n.Element
		}) &&
		slices.EqualFunc(a.Licences, b.Licences, func(m, n acap.Licence) bool {
			return tag(m.Tag, n.Tag) && m.URL == n.URL && m.Part == n.Part && string(m.Text) == string(n.Text)
		})
}
