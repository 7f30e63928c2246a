package page

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Sent returns the page as sent. For a page that was not rendered, that is p.
func (p *Page) Sent() *Page {
	if p.sent == nil {
		return p
	}
	return p.sent
}

// Rendered reports whether the scripts of the page ran, so that p is the rendered document.
func (p *Page) Rendered() bool { return p.sent != nil }

// Document returns the bytes from which p is parsed: the rendered document, in UTF-8, or else the body as decoded.
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

// withScripted returns the statements of a rendered page: those of the page as sent and, if its scripts changed
// them, in Scripted those after its scripts ran, which only restrict. Reveals finds text that scripts moved out
// of an element with a statement.
func withScripted(sent, scripted acap.Own) acap.Own {
	if !sameStatements(&sent, &scripted) {
		sent.Scripted = &scripted
	}
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

// Reveals reports whether the part of the rendered document that c keeps has text that c cuts out of the page
// as sent: scripts can move what an element contains, remove a mark, or give it to another element. If c does
// not keep the page itself but only some elements, it also reports whether they have text that the kept
// elements of the page as sent do not have: a mark that scripts add permits nothing.
func (p *Page) Reveals(c Cut) bool {
	if p.sent == nil || !p.tree().divides(c) && !p.sent.tree().divides(c) {
		return false
	}
	was, is := p.sent.tree().divide(c), p.tree().divide(c)
	return meets(was.cut, was.kept, is.kept) || !c.keeps(nil) && !holds(was.kept, is.runs)
}

// SentReveals reports whether the part of the page as sent that c keeps has text that c cuts out of the
// rendered document but not out of the page as sent: scripts can give marks to elements.
func (p *Page) SentReveals(c Cut) bool {
	if p.sent == nil || !p.tree().divides(c) {
		return false
	}
	was, is := p.sent.tree().divide(c), p.tree().divide(c)
	cut := slices.DeleteFunc(is.cut, func(run string) bool { return slices.Contains(was.cut, run) })
	return meets(cut, is.kept, was.kept+"\n"+was.code)
}

// divides reports whether c may keep some parts of t and cut out others.
func (t *tree) divides(c Cut) bool { return len(t.marks)+len(t.lost) > 0 || c.Snippet && t.nosnippet }

// divided is the text of a tree, divided by what a Cut keeps. White space is normalized. A run is the text of
// one node or the value of one attribute.
type divided struct {
	kept string   // text that is kept, with the values of attributes
	runs []string // kept runs
	cut  []string // runs that are cut out
	code string   // content of kept script and style elements
}

// divide returns the text of t as c divides it.
func (t *tree) divide(c Cut) (d divided) {
	s := t.scope(c)
	var text, values, code strings.Builder
	kept, gone := s.page, 0
	add := func(data string, to *strings.Builder) {
		runs := &d.cut
		if kept && gone == 0 {
			runs = &d.runs
			to.WriteString(data)
		}
		if run := strings.Join(strings.Fields(data), " "); run != "" {
			*runs = append(*runs, run)
		}
	}
	walk(t.root, func(n *html.Node) bool {
		if t.marks[n] != nil {
			kept = s.at(n)
		}
		if n.Type == html.ElementNode && (gone > 0 || s.hides(n)) {
			gone++
		}
		switch {
		case n.Type == html.TextNode && isCode(n.Parent):
			if kept && gone == 0 {
				code.WriteString(n.Data)
			}
		case n.Type == html.TextNode:
			add(n.Data, &text)
		case n.Type == html.ElementNode:
			for _, a := range n.Attr {
				if a.Key != "class" && a.Key != "id" && a.Key != "style" {
					add("\n"+a.Val, &values)
				}
			}
		}
		return true
	}, func(n *html.Node) {
		if gone > 0 && n.Type == html.ElementNode {
			gone--
		}
		if t.marks[n] != nil {
			kept = s.at(n.Parent)
		}
	})
	d.kept = strings.Join(strings.Fields(text.String()), " ") + "\n" +
		strings.Join(strings.Fields(values.String()), " ")
	d.code = code.String()
	return d
}

func isCode(n *html.Node) bool {
	return n != nil && (n.DataAtom == atom.Script || n.DataAtom == atom.Style)
}

// Limits of the search for runs. Beyond them, meets and holds return what refuses the usage.
const (
	mostRuns     = 5000
	mostSearched = 1 << 30 // bytes
)

// meets reports whether found contains one of runs that known does not contain.
func meets(runs []string, known, found string) bool {
	slices.Sort(runs)
	runs = slices.Compact(runs)
	if len(runs) > mostRuns || len(runs)*(len(known)+len(found)) > mostSearched {
		return true
	}
	return slices.ContainsFunc(runs, func(run string) bool {
		return strings.Contains(found, run) && !strings.Contains(known, run)
	})
}

// holds reports whether text contains all runs.
func holds(text string, runs []string) bool {
	slices.Sort(runs)
	runs = slices.Compact(runs)
	if len(runs) > mostRuns || len(runs)*len(text) > mostSearched {
		return false
	}
	return !slices.ContainsFunc(runs, func(run string) bool { return !strings.Contains(text, run) })
}
