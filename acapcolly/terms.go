package acapcolly

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/PuerkitoBio/goquery"
	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Terms returns what may be done with a page that a collector has received: decisions with the lines that decided,
// the text that may be indexed, the snippet that may be shown. They count all addresses of a redirect chain. The
// result is for the callbacks of one response; it is not safe for concurrent use. The error says why there is none:
// the response did not pass the gate, or it is one to a HEAD request or a redirect that was not followed.
func (p *Permissions) Terms(r *colly.Response) (*terms.Reached, error) {
	v := p.visitOf(r.Request)
	if v == nil || v.terms == nil {
		return nil, errNotReceived
	}
	return v.terms, nil
}

// OnHTML is like Collector.OnHTML, but f sees only those parts of a page that the usage u may read: elements with a
// prohibition of their own, for example, are absent. If u may read nothing of a page, or must use another resource
// instead, f is not called for it; Terms says why. Length limits for what is shown are not applied: for a snippet,
// use the method Snippet of Terms.
func (p *Permissions) OnHTML(c *colly.Collector, u acap.Usage, selector string, f colly.HTMLCallback) {
	// not "html", so that OnHTMLDetach("html") of the program does not remove this callback
	c.OnHTML("html:root", func(e *colly.HTMLElement) {
		v := p.visitOf(e.Request)
		if v == nil || v.terms == nil || e.Index > 0 {
			return
		}
		doc := v.document(u)
		if doc == nil {
			return
		}
		i := 0
		doc.Find(selector).Each(func(_ int, s *goquery.Selection) {
			for _, n := range s.Nodes {
				f(colly.NewHTMLElementFromSelectionNode(e.Response, s, n, i))
				i++
			}
		})
	})
}

// documents has the parts of a page that usages may read, parsed. It is safe for concurrent use.
type documents struct {
	mu   sync.Mutex
	read map[acap.Usage]*goquery.Document // nil: nothing may be read
}

// document returns the parts of the page that u may read; nil if there is none.
func (v *visit) document(u acap.Usage) *goquery.Document {
	v.documents.mu.Lock()
	defer v.documents.mu.Unlock()
	doc, known := v.documents.read[u]
	if known {
		return doc
	}
	if v.documents.read == nil {
		v.documents.read = map[acap.Usage]*goquery.Document{}
	}
	if v.terms.Open(u) {
		if body, ok := v.terms.Readable(u); ok {
			doc, _ = goquery.NewDocumentFromReader(bytes.NewReader(v.decode(body))) // reading from memory cannot fail
		}
	}
	v.documents.read[u] = doc
	return doc
}

// decode converts a body in the encoding of the page to UTF-8.
func (v *visit) decode(body []byte) []byte {
	last := v.page.Last()
	last.Body, last.Header = body, last.Header.Clone()
	last.Header.Set("Content-Type", fmt.Sprintf("%s; charset=%s", v.page.MIME(), v.page.Charset()))
	return []byte(page.New([]page.Hop{last}).Source())
}
