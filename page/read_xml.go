package page

import (
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/acapcrawl/acapcrawl/acap"
)

// xml reports whether the page is XML that may contain a feed.
func (p *Page) xml() bool {
	switch p.mime {
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "text/xml", "application/xml":
		return true
	}
	return false
}

// xmlText reads the text of an XML document. Of a feed it reads the titles and texts of the
// entries, of any other document the text of all elements. It also accepts malformed XML, and
// expands no entities that the document defines.
type xmlText struct {
	w    *writer
	z    *html.Tokenizer
	open []string // names of the open elements, outermost first
	root string   // namespace prefix of the outermost element
	skip int      // number of open elements at the beginning of the skipped part; 0: nothing is skipped

	title       string   // title of the feed
	field       xmlField // the field being read
	itemTitle   xmlField // title of the entry being read
	itemContent xmlField // the longest text of the entry being read
}

// xmlField is an element of a feed that contains a title or a text.
type xmlField struct {
	full  bool   // the size limit was reached; the rest is ignored
	depth int    // number of open elements, including this one; 0: no field is being read
	kind  string // text, html or xhtml, as in the type attribute of Atom
	text  []byte
}

// longestField is the maximum size in bytes of the text of one element of a feed; of a longer text
// the beginning is read.
const longestField = 256 << 10

// readXML returns the text of an XML document. It returns no text for sitemaps, or for an HTML page
// with an XML media type, because the statements of such a page about itself were not read.
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

// start opens an element. It does not open an element that is nested too deeply: its text counts as
// text of the element around it.
func (x *xmlText) start(raw string) bool {
	x.z.NextIsNotRawText()
	name, more := x.z.TagName()
	prefix, bare := string(name[:len(name)-len(local(name))]), string(local(name))
	kind, class, more := x.attributes(more)
	if x.field.depth > 0 {
		x.field.tag(raw)
	}
	if x.w.gap(); len(x.open) == maxXMLDepth {
		// class attributes at this depth are not read, so text there may be prohibited and is
		// skipped
		if !x.feed() && x.skip == 0 {
			x.skip = len(x.open)
		}
		return false
	}
	if len(x.open) == 0 {
		x.root = prefix
	}
	x.open = append(x.open, bare)
	// more means that some attributes were not read
	hides := more || mentions(class) || bare == "script" || bare == "style"
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

// attributes reads the attributes type and class of a tag; has says whether the tag has any
// attributes. more is true if there are too many to read all.
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

// kindOf returns text, html or xhtml for the type attribute of an element. ok is false if the type
// is not a kind of text.
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

// part returns the role of the innermost element in the feed, such as title or entry; "" if it
// contains no title or text.
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

// end closes the innermost element with that name, and all elements open inside it.
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

// close closes elements until n are open.
func (x *xmlText) close(n int) {
	for len(x.open) > n {
		if x.field.depth == len(x.open) {
			x.store(x.part(), x.field)
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

// store stores a field that was read, according to its role (see the method part).
func (x *xmlText) store(part string, f xmlField) {
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

// entry writes the entry that was just read.
func (x *xmlText) entry() {
	x.w.titles = true
	x.write(x.itemTitle)
	x.w.titles = false
	x.write(x.itemContent)
	x.itemTitle, x.itemContent = xmlField{}, xmlField{}
}

// write adds a field as separate blocks.
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

// tag adds a tag that is inside the field.
func (f *xmlField) tag(raw string) {
	if f.kind == "text" {
		raw = " "
	}
	// after a tag that is left out nothing more is read, because the tag may have marks
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

// markup adds the text of HTML that is embedded in another document, without elements that have
// marks (class statements), because policy was not asked about these marks.
func (w *writer) markup(src string, xhtml bool) {
	if !strings.ContainsAny(src, "<&") {
		w.text(src)
		return
	}
	t := parse(src, xhtml)
	unmarked := Cut{Keep: func(chain []acap.Mark) bool { return len(chain) == 0 }, Snippet: true}
	t.write(w, t.scope(unmarked), t.body, nil)
}
