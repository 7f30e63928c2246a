package page

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/hop"
)

// Hop is one request and its response in the redirect chain to a page.
type Hop = hop.Hop

// Page is the response that the last hop of a redirect chain received. It is decoded and parsed once, on first use.
// If its scripts ran (Hop.Rendered), text, links and statements on elements are those of the document that they made,
// and Own holds the statements before and after. A Page is safe for concurrent use; the caller must not change its
// hops or their bytes.
type Page struct {
	hops     []Hop
	sent     *Page // the page as sent; nil if the page was not rendered
	url      *url.URL
	mime     string
	source   func() decoded
	tree     func() *tree
	own      func() acap.Own
	language func() spoken
	reading  func() reading

	mu       sync.Mutex
	cuts     []string
	licences []acap.Licence // set by SetLicences
}

// New returns the page that the last hop received. Without hops it returns an empty page without
// address.
func New(hops []Hop) *Page {
	p := &Page{hops: hops}
	last := p.Last()
	p.url, _ = url.Parse(last.URL)
	if p.url == nil {
		p.url = &url.URL{}
	}
	p.mime = mediaType(last)
	if last.Rendered != nil && p.mime == "text/html" {
		asSent := slices.Clone(hops)
		asSent[len(asSent)-1].Rendered = nil
		p.sent = New(asSent)
	}
	p.source = sync.OnceValue(p.decode)
	p.tree = sync.OnceValue(p.parse)
	p.own = sync.OnceValue(p.readOwn)
	p.language = sync.OnceValue(p.readLanguage)
	p.reading = sync.OnceValue(p.read)
	return p
}

// URL returns the address of the page after redirects (M05). The caller must not change it.
func (p *Page) URL() *url.URL { return p.url }

// Hops returns all hops; the last one is that of the page itself.
func (p *Page) Hops() []Hop { return p.hops }

// Last returns the last hop, which received the page itself.
func (p *Page) Last() Hop {
	if len(p.hops) == 0 {
		return Hop{}
	}
	return p.hops[len(p.hops)-1]
}

// MIME returns the media type in lower case without parameters: the declared one, otherwise one
// detected from the body.
func (p *Page) MIME() string { return p.mime }

// Feed reports whether the page is XML with the root element of a feed, whatever its media type is.
func (p *Page) Feed() bool { return p.xml() && p.reading().feed }

// HTML reports whether the page is HTML or XHTML.
func (p *Page) HTML() bool { return p.mime == "text/html" || p.xhtml() }

func (p *Page) xhtml() bool { return p.mime == "application/xhtml+xml" }

// textual reports whether the body is any kind of text.
func (p *Page) textual() bool { return strings.HasPrefix(p.mime, "text/") || p.xhtml() || p.xml() }

// Source returns the decoded text of Document without byte order mark; "" if it is not text.
func (p *Page) Source() string { return p.source().text }

// Own returns what the page declares about itself: META of the head, class tokens, X-Robots-Tag and
// Robots-Tag (P2 2.2, RTAG). The caller must not change it.
func (p *Page) Own() acap.Own {
	own := p.own()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.licences == nil {
		return own
	}
	n := min(len(own.Licences), len(p.licences))
	own.Licences = p.licences[:n]
	if own.Scripted != nil {
		scripted := *own.Scripted
		scripted.Licences = p.licences[n:]
		own.Scripted = &scripted
	}
	return own
}

func (p *Page) decode() decoded {
	if !p.textual() {
		return decoded{}
	}
	last := p.Last()
	if p.sent != nil {
		return decode(last.Rendered, "utf-8", true)
	}
	return decode(last.Body, charsetOf(contentType(last)), p.HTML() || p.xml())
}

func (p *Page) parse() *tree {
	if !p.HTML() {
		return &tree{}
	}
	t := parse(p.Source(), p.xhtml())
	if t.why != "" {
		p.cutBy("%s", t.why)
	}
	return t
}

func contentType(h Hop) string { return h.Header.Get("Content-Type") }

func mediaType(h Hop) string {
	t, _, _ := strings.Cut(contentType(h), ";")
	t = strings.ToLower(strings.TrimSpace(t))
	if t == "" && len(h.Body) > 0 {
		t, _, _ = strings.Cut(http.DetectContentType(h.Body), ";")
	}
	return t
}
