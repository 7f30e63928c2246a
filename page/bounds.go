package page

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/net/html"
)

// Limits on what is read of one page. A page that exceeds one is read up to the limit, and Cuts
// says so.
const (
	maxSource  = 16 << 20 // bytes of markup
	maxTags    = 300_000  // tags, comments and the like
	maxAttrs   = 300_000  // attributes of all tags
	maxTagAttr = 10_000   // attributes of one tag: further ones are unknown, so the page is not used for anything
	maxText    = 8 << 20  // bytes of text
	maxTitle   = 64 << 10 // bytes of a title
	maxBlocks  = 200_000  // of the text
	longTag    = 64 << 10 // bytes; the attributes of a longer tag are counted before the tokenizer keeps them
)

// Limits on the statements of a page about itself. A page with more is not used for anything.
const (
	maxSaid      = 10_000  // META tags and marks
	maxSaidBytes = 1 << 20 // of their contents
)

// Cuts lists what was not read because the page is too large, a clause each; nil if everything that
// was needed was read.
func (p *Page) Cuts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// cutBy notes that a bound was reached.
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

// extent is how much of a source is read as markup.
type extent struct {
	end    int    // offset at which the part that is read ends
	why    string // why that is not the end of the source
	unread string // why the tags behind end are unknown; "" if they can be read
}

var tooManyAttributes = fmt.Sprintf("a tag of the page has more than %d attributes", maxTagAttr)

// extentOf returns how much of src is read. A source that cannot have too many tags and attributes
// is not tokenized: it has at most as many attributes as blanks, slashes and quotes.
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

// counts returns how many tags and attributes src can have.
func counts(src string) (tags, attrs int) {
	for _, c := range []string{" ", "\t", "\n", "\r", "\f", "/"} {
		attrs += strings.Count(src, c)
	}
	return strings.Count(src, "<"), attrs + (strings.Count(src, `"`)+strings.Count(src, "'"))/2
}

// guarded is a tokenizer that stops before a tag with more than maxTagAttr attributes, since a
// tokenizer keeps 32 bytes of each, and their text.
type guarded struct {
	*html.Tokenizer
	src   string
	fed   int  // bytes that the tokenizer has taken
	start int  // where the next token begins
	text  bool // the next token is text whatever it begins with
	full  bool // it has ended before such a tag
}

func newGuarded(src string, xhtml bool) *guarded {
	g := &guarded{src: src}
	g.Tokenizer = html.NewTokenizer(feed{g})
	g.AllowCDATA(xhtml)
	return g
}

// next is like Next, and keeps track of elements such as SCRIPT, whose content is text.
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

// holdsText reports whether the content of an element is text for the tokenizer, whatever it looks
// like.
func holdsText(name string) bool {
	switch name {
	case "iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp":
		return true
	}
	return false
}

// feed is what a guarded tokenizer reads from.
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

// upTo returns the beginning of s, of n bytes at most, that ends with a whole character.
func upTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n = max(n, 0); n > 0 && !utf8.RuneStart(s[n]); n-- {
	}
	return s[:n]
}

// said returns why the page makes too many statements about itself, "" if it does not.
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

// Weight estimates how many bytes of memory the page takes while it is read. If risky is true its
// markup may make many more elements than it has tags: do not parse another such page at the same
// time.
func (p *Page) Weight() (bytes int64, risky bool) {
	for _, hop := range p.hops {
		bytes += int64(len(hop.Body))
		if unsafe.SliceData(hop.Wire) != unsafe.SliceData(hop.Body) {
			bytes += int64(len(hop.Wire))
		}
	}
	body := p.Last().Body
	if !p.textual() {
		return 3 * bytes, false // it is packed, and written in parts
	}
	src := view(body[:min(len(body), maxSource)])
	tags, attrs := counts(src)
	tags, attrs = min(tags, maxTags), min(attrs, maxAttrs)
	bytes += int64(3*len(src) + tags*perTag + attrs*perAttr)
	return bytes, p.HTML() && tags*maxOpen > riskyNodes && tags*min(maxOpen, countFormatting(src)) > riskyNodes
}

// WeightOf estimates the most memory that it takes to read a page, in bytes, by the size of its
// body and its media type.
func WeightOf(size int64, mime string) int64 {
	p := Page{mime: mime}
	if p.textual() {
		return size * mostPerByte
	}
	return size * 4
}

// mostPerByte is how many bytes of memory a byte of ordinary markup takes once it is parsed.
const mostPerByte = 30

// Parse parses the page now. Otherwise it is parsed when some part of it is first needed.
func (p *Page) Parse() { p.tree() }

// view returns b as a string that shares its memory: b must not be changed.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// What is held of a page once it is parsed, in bytes.
const (
	perTag  = 260 // an element and a text
	perAttr = 64
)

// riskyNodes is how many elements the parser may make of the formatting elements of a page that is
// not parsed alone.
const riskyNodes = 30_000
