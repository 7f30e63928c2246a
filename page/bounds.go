package page

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/net/html"
)

// Limits on the amount that is read of one page. A page that exceeds a limit is read up to the
// limit, and Cuts reports that.
const (
	maxSource  = 16 << 20 // bytes of markup
	maxTags    = 300_000  // number of tags, comments and similar tokens
	maxAttrs   = 300_000  // number of attributes of all tags together
	maxTagAttr = 10_000   // number of attributes of one tag; if there are more, the page is not used for anything
	maxText    = 8 << 20  // bytes of text
	maxTitle   = 64 << 10 // bytes of a title
	maxBlocks  = 200_000  // number of blocks of the text
	longTag    = 64 << 10 // size in bytes of a tag whose attributes are counted before the tokenizer stores them
)

// Limits on the statements of a page about itself. A page that exceeds a limit is not used for
// anything.
const (
	maxSaid      = 10_000  // number of META tags and class statements
	maxSaidBytes = 1 << 20 // bytes of the contents of these META tags and class statements
)

// Cuts lists what was not read because the page is too large, one clause for each limit; nil if
// everything needed was read.
func (p *Page) Cuts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// NoteCut adds a clause to Cuts: why something is missing from the page that its caller has made.
func (p *Page) NoteCut(why string) { p.cutBy("%s", why) }

// cutBy records that a limit was reached.
func (p *Page) cutBy(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.cuts {
		if known == why {
			return
		}
	}
	p.cuts = append(p.cuts[:len(p.cuts):len(p.cuts)], why)
}

// extent describes how much of a source is read as markup.
type extent struct {
	end    int    // offset of the end of the part that is read
	why    string // why the rest of the source is not read
	unread string // why tags of the page cannot be read; "" if all tags can be read
}

var tooManyAttributes = fmt.Sprintf("a tag of the page has more than %d attributes", maxTagAttr)

// extentOf returns how much of src is read. It first estimates the number of tags and attributes
// from the number of characters such as blanks, slashes and quotes. It runs the tokenizer only if
// the estimate exceeds a limit.
func extentOf(src string, xhtml bool) extent {
	e := extent{end: len(src)}
	if e.end > maxSource {
		e.end, e.why = maxSource, fmt.Sprintf("only its first %d MiB are read as markup", maxSource>>20)
	}
	if e.end <= min(maxTags, maxAttrs) {
		return e
	} else if tags, attrs := counts(src[:e.end]); tags <= maxTags && attrs <= maxAttrs {
		return e
	}
	tags, attrs := 0, 0
	g := newGuarded(src[:e.end], xhtml)
	for {
		start := g.start
		switch kind := g.next(); kind {
		case html.ErrorToken:
			if g.full {
				return extent{g.start, "", tooManyAttributes}
			}
			return e
		case html.TextToken:
			continue
		case html.StartTagToken, html.SelfClosingTagToken:
			_, more := g.TagName()
			for ; more; attrs++ {
				_, _, more = g.TagAttr()
			}
		}
		if tags++; tags > maxTags {
			return extent{start, fmt.Sprintf("only its first %d tags are read", maxTags), ""}
		} else if attrs > maxAttrs {
			return extent{start, fmt.Sprintf("only its first %d attributes are read", maxAttrs), ""}
		}
	}
}

// counts returns upper limits for the number of tags and attributes in src.
func counts(src string) (tags, attrs int) {
	for _, c := range []string{" ", "\t", "\n", "\r", "\f", "/"} {
		attrs += strings.Count(src, c)
	}
	return strings.Count(src, "<"), attrs + (strings.Count(src, `"`)+strings.Count(src, "'"))/2
}

// guarded is a tokenizer that stops before a tag with more than maxTagAttr attributes.
// html.Tokenizer alone would store the text of each attribute and 32 more bytes.
type guarded struct {
	*html.Tokenizer
	src   string
	fed   int  // bytes that the tokenizer has read
	start int  // offset of the next token
	text  bool // the next token is text, even if it looks like a tag
	full  bool // the tokenizer stopped before a tag with too many attributes
}

func newGuarded(src string, xhtml bool) *guarded {
	g := &guarded{src: src}
	g.Tokenizer = html.NewTokenizer(feed{g})
	g.AllowCDATA(xhtml)
	return g
}

// next returns the next token, like html.Tokenizer.Next, and keeps track of elements such as
// SCRIPT, whose content is text.
func (g *guarded) next() html.TokenType {
	kind := g.Next()
	if g.full {
		return html.ErrorToken
	}
	name := ""
	if kind == html.StartTagToken {
		name = tagName(g.src[g.start:])
	}
	g.text = holdsText(name)
	g.start += len(g.Raw())
	return kind
}

// tagName returns the name of the start tag that src begins with.
func tagName(src string) string {
	end := strings.IndexAny(src, " \t\n\r\f/>")
	if end < 1 {
		end = len(src)
	}
	return strings.ToLower(src[1:min(end, 16)])
}

// holdsText reports whether the tokenizer treats the content of an element as text, even if it
// looks like markup.
func holdsText(name string) bool {
	switch name {
	case "iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp":
		return true
	}
	return false
}

// feed is the io.Reader from which a guarded tokenizer reads.
type feed struct{ g *guarded }

func (f feed) Read(p []byte) (int, error) {
	g := f.g
	if !g.text && g.fed-g.start > longTag && opensTag(g.src[g.start:]) {
		n := 0
		eachAttribute(g.src[:g.fed], g.start, func(string, string, int) bool {
			n++
			return n <= maxTagAttr
		})
		if n > maxTagAttr {
			g.full = true
			return 0, io.EOF
		}
	}
	n := copy(p, g.src[g.fed:])
	if g.fed += n; n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// opensTag reports whether src begins with a start tag.
func opensTag(src string) bool {
	return len(src) > 1 && src[0] == '<' && 'a' <= src[1]|0x20 && src[1]|0x20 <= 'z'
}

// upTo returns the longest prefix of s with at most n bytes that ends with a whole character.
func upTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n = max(n, 0); n > 0 && !utf8.RuneStart(s[n]); n-- {
	}
	return s[:n]
}

// said returns why the statements of the page about itself exceed the limits; "" if they do not.
func (t *tree) said() string {
	n, bytes := 0, 0
	for _, tag := range t.tags {
		n, bytes = n+1, bytes+len(tag.Name)+len(tag.Content)
	}
	for _, m := range t.listed {
		n, bytes = n+1, bytes+len(m.Token)
	}
	switch {
	case n > maxSaid || t.talkative:
		return fmt.Sprintf("the page has more than %d META tags and class statements", maxSaid)
	case bytes > maxSaidBytes:
		return fmt.Sprintf("the META tags and class statements of the page have more than %d KiB", maxSaidBytes>>10)
	}
	return ""
}

// Weight estimates how many bytes of memory reading the page takes. If risky is true, the parser
// may make many more elements of the page than the page has tags: the caller must not parse two
// such pages at the same time.
func (p *Page) Weight() (bytes int64, risky bool) {
	for _, hop := range p.hops {
		bytes += int64(len(hop.Body))
		if unsafe.SliceData(hop.Wire) != unsafe.SliceData(hop.Body) {
			bytes += int64(len(hop.Wire))
		}
	}
	body := p.Document()
	if !p.textual() {
		return 3 * bytes, false // a file that is not text, such as a PDF, is compressed and is read in parts
	}
	src := view(body[:min(len(body), maxSource)])
	tags, attrs := counts(src)
	tags, attrs = min(tags, maxTags), min(attrs, maxAttrs)
	bytes += int64(3*len(src) + tags*perTag + attrs*perAttr)
	risky = p.HTML() && tags*maxOpen > riskyNodes && tags*min(maxOpen, countFormatting(src)) > riskyNodes
	if p.sent != nil { // both documents are read
		more, too := p.sent.Weight()
		bytes, risky = bytes+more, risky || too
	}
	return bytes, risky
}

// WeightOf estimates the maximum memory for reading a page, in bytes, from the size of its body and
// its media type.
func WeightOf(size int64, mime string) int64 {
	p := Page{mime: mime}
	if p.textual() {
		return size * mostPerByte
	}
	return size * 4
}

// mostPerByte is the number of bytes of memory that one byte of ordinary markup takes when it is
// parsed.
const mostPerByte = 30

// Parse parses the page now. Without this call, the page is parsed when a part of it is first
// needed.
func (p *Page) Parse() {
	p.tree()
	p.Sent().tree()
}

// view returns b as a string that shares its memory: the caller must not change b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Memory used by a parsed page, in bytes.
const (
	perTag  = 260 // for an element and the text after it
	perAttr = 64
)

// riskyNodes is the maximum number of elements that the parser may make of the formatting elements
// of a page if other pages are parsed at the same time.
const riskyNodes = 30_000
