package page

import (
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/acapcrawl/acapcrawl/acap"
)

// xml reports whether the page is XML that may hold a feed.
func (p *Page) xml() bool {
	switch p.mime {
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "text/xml", "application/xml":
		return true
	}
	return false
}

// xmlText reads the text of a document in XML: titles and texts of a feed, the text of the elements
// of another document. It accepts what XML accepts, and more, and expands no entities that the
// document defines.
type xmlText struct {
	w    *writer
	z    *html.Tokenizer
	open []string // names of the elements that are open, the outermost first
	root string   // prefix of the outermost
	skip int      // elements open at the begin of what is skipped; 0: nothing is

	title       string   // of the feed
	field       xmlField // being read
	itemTitle   xmlField // of the entry being read
	itemContent xmlField // likewise, the longest of its texts
}

// xmlField is an element of a feed that holds one of its texts.
type xmlField struct {
	full  bool   // nothing more is taken
	depth int    // how many elements are open with it; 0: none is being read
	kind  string // text, html or xhtml, as the type of Atom has it
	text  []byte
}

// longestField bounds the text of one element of a feed, in bytes; of a longer one the beginning is
// read.
const longestField = 256 << 10

// readXML returns no text for lists of addresses for crawlers, or for an HTML page with another
// media type: what that page declares about itself was not read.
func readXML(src string) reading {
	x := &xmlText{w: newWriter(len(src) / 2), z: html.NewTokenizer(strings.NewReader(src))}
	x.w.parts = true
	x.z.AllowCDATA(true)
	x.z.SetMaxBuf(maxXMLToken)
	for feed := false; ; feed = feed || x.feed() {
		kind := x.z.Next()
		raw := string(x.z.Raw())
		switch kind {
		case html.ErrorToken:
			x.close(0)
			return reading{title: x.title, text: x.w.String(), blocks: x.w.blocks, feed: feed, cut: x.w.missing()}
		case html.TextToken:
			x.text(raw)
		case html.StartTagToken, html.SelfClosingTagToken:
			if x.start(raw) && kind == html.SelfClosingTagToken {
				x.close(len(x.open) - 1)
			}
		case html.EndTagToken:
			x.end(raw)
		}
		if len(x.open) > 0 && slices.Contains([]string{"html", "urlset", "sitemapindex"}, x.open[0]) {
			return reading{}
		}
	}
}

func (x *xmlText) feed() bool {
	return len(x.open) > 0 && slices.Contains([]string{"rss", "rdf", "feed"}, x.open[0])
}

// start opens an element. An element that is nested too deep is not opened: its text counts as text
// of the one around it.
func (x *xmlText) start(raw string) bool {
	x.z.NextIsNotRawText()
	name, more := x.z.TagName()
	prefix, bare := string(name[:len(name)-len(local(name))]), string(local(name))
	kind, class, more := x.attributes(more)
	if x.field.depth > 0 {
		x.field.tag(raw)
	}
	if x.w.gap(); len(x.open) == maxXMLDepth {
		if !x.feed() && x.skip == 0 { // what marks say so deep is not read
			x.skip = len(x.open)
		}
		return false
	}
	if len(x.open) == 0 {
		x.root = prefix
	}
	x.open = append(x.open, bare)
	hides := more || mentions(class) || bare == "script" || bare == "style" // more: attributes that were not read
	switch {
	case x.field.depth > 0:
	case !x.feed():
		if x.skip == 0 && hides {
			x.skip = len(x.open)
		}
	case prefix == "" || prefix == x.root || prefix == "content:":
		if kind, ok := x.kindOf(kind); ok && x.part() != "" {
			x.field = xmlField{depth: len(x.open), kind: kind}
		}
	}
	return true
}

// attributes reads the attributes type and class of a tag that has attributes if has is true. more
// is true if there are too many to read all.
func (x *xmlText) attributes(has bool) (kind, class string, more bool) {
	for n := 0; has && n < maxXMLAttrs; n++ {
		var key, value []byte
		switch key, value, has = x.z.TagAttr(); string(key) {
		case "type":
			kind = strings.ToLower(strings.TrimSpace(string(value)))
		case "class":
			class = string(value)
		}
	}
	return kind, class, has
}

// kindOf is the kind of a text of that type; ok is false for what is none.
func (x *xmlText) kindOf(kind string) (_ string, ok bool) {
	if x.open[0] != "feed" {
		return "html", true
	}
	switch kind {
	case "", "text", "text/plain":
		return "text", true
	case "html", "text/html":
		return "html", true
	}
	return kind, kind == "xhtml"
}

// part names what the innermost element is to the feed, "" where it holds none of its texts.
func (x *xmlText) part() string {
	if len(x.open) < 2 {
		return ""
	}
	part := ""
	switch x.open[len(x.open)-1] {
	case "title":
		part = "title"
	case "description", "summary", "content", "encoded", "subtitle":
		part = "content"
	default:
		return ""
	}
	switch x.open[len(x.open)-2] {
	case "item", "entry":
		return "item " + part
	case "channel", "feed":
		return part
	}
	return ""
}

func (x *xmlText) text(raw string) {
	switch {
	case x.field.depth > 0 && x.field.kind == "xhtml":
		x.field.add([]byte(raw))
	case x.field.depth > 0:
		x.field.add(appendText(nil, []byte(raw)))
	case len(x.open) == 0 || x.skip > 0 || x.feed():
	default:
		// A line end next to a tag shows that the element is not part of a sentence.
		text := string(appendText(nil, []byte(raw)))
		start := strings.TrimLeft(text, blanks)
		if strings.Contains(text[:len(text)-len(start)], "\n") {
			x.w.end()
		}
		x.w.text(text)
		if strings.Contains(text[len(strings.TrimRight(text, blanks)):], "\n") {
			x.w.end()
		}
	}
}

// end closes the innermost element of that name and what is open within it.
func (x *xmlText) end(raw string) {
	name, _ := x.z.TagName()
	name = local(name)
	for i := len(x.open) - 1; i >= 0; i-- {
		if x.open[i] == string(name) {
			if x.field.depth > 0 && i >= x.field.depth {
				x.field.tag(raw)
			}
			x.close(i)
			return
		}
	}
}

// close leaves n elements open.
func (x *xmlText) close(n int) {
	for len(x.open) > n {
		if x.field.depth == len(x.open) {
			x.take(x.part(), x.field)
			x.field = xmlField{}
		}
		if x.skip == len(x.open) {
			x.skip = 0
		}
		if last := x.open[len(x.open)-1]; x.feed() && (last == "item" || last == "entry") {
			x.entry()
		}
		x.open = x.open[:len(x.open)-1]
		x.w.gap()
	}
	if n == 0 {
		x.w.end()
	}
}

// take has what was read of a field.
func (x *xmlText) take(part string, f xmlField) {
	switch part {
	case "title":
		if x.title != "" {
			return
		}
		w := newWriter(0)
		if f.write(w); w.Len() == 0 {
			return
		}
		if x.title = w.String(); x.w.Len() == 0 {
			x.w.parts = false
			x.w.text(x.title)
			x.w.parts = true
		}
	case "content":
		x.write(f)
	case "item title":
		if len(x.itemTitle.text) == 0 {
			x.itemTitle = f
		}
	case "item content":
		if len(f.text) > len(x.itemContent.text) {
			x.itemContent = f
		}
	}
}

// entry writes the entry that was read.
func (x *xmlText) entry() {
	x.w.titles = true
	x.write(x.itemTitle)
	x.w.titles = false
	x.write(x.itemContent)
	x.itemTitle, x.itemContent = xmlField{}, xmlField{}
}

// write adds a field as blocks of its own.
func (x *xmlText) write(f xmlField) {
	x.w.gap()
	x.w.end()
	f.write(x.w)
	x.w.gap()
	x.w.end()
}

func (f *xmlField) add(text []byte) {
	if f.full {
		return
	}
	f.text = append(f.text, text[:min(len(text), longestField-len(f.text))]...)
	f.full = len(f.text) == longestField
}

// tag adds a tag within the field.
func (f *xmlField) tag(raw string) {
	if f.kind == "text" {
		raw = " "
	}
	// what follows a tag that is left out is not read either: it may have marks
	if f.full = f.full || len(f.text)+len(raw) > longestField; !f.full {
		f.text = append(f.text, raw...)
	}
}

func (f *xmlField) write(w *writer) {
	text := strings.ToValidUTF8(string(f.text), "")
	if f.kind == "text" {
		w.text(text)
		return
	}
	w.markup(text, f.kind == "xhtml")
}

// markup adds the text of HTML that is embedded in a document of another type, without elements
// with marks: they were not read.
func (w *writer) markup(src string, xhtml bool) {
	if !strings.ContainsAny(src, "<&") {
		w.text(src)
		return
	}
	t := parse(src, xhtml)
	unmarked := Cut{Keep: func(chain []acap.Mark) bool { return len(chain) == 0 }, Snippet: true}
	t.write(w, t.scope(unmarked), t.body, nil)
}
