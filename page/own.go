package page

import (
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/acapcrawl/acapcrawl/acap"
)

func (p *Page) readOwn() acap.Own {
	t := p.tree()
	own := acap.Own{URL: p.url.String(), Tags: slices.Clip(t.tags), Marks: slices.Clip(t.listed), Plus: plus(p.Last().Body)}
	for _, name := range []string{"X-Robots-Tag", "Robots-Tag"} {
		for i, line := range p.Last().Header.Values(name) {
			own.Tags = append(own.Tags, acap.Tag{Source: acap.Header, Name: name, Content: line, Line: i + 1, Column: 1})
		}
	}
	return own
}

// spot is a place in a source text: line and column from 1, in characters.
type spot struct{ line, column int }

// locate gives META tags and marks the place of their start tag. The parser keeps no positions, so the source is
// tokenized again, but only where there is something to find and only as far as needed. Tags and elements are matched by
// what they say, in order; an element that the parser made twice has the place of its tag.
func (t *tree) locate(src string, xhtml bool) {
	var metas []*html.Node
	wanted := map[string]int{}
	for _, n := range t.metas {
		if name, content, _ := metaText(n.Attr); speaks(name, content) {
			metas = append(metas, n)
			wanted[metaKey(n.Attr)]++
		}
	}
	marks := len(t.marked) > 0 || mentions(src)
	missing := len(metas)
	if missing == 0 && !marks {
		return
	}
	found := map[string][]spot{}
	classes := []string{} // of marked tags, in order
	at := cursor{src: src, spot: spot{1, 1}}
	scan(src, 0, xhtml, false, func(offset int, name string, attrs []html.Attribute) bool {
		if name == "meta" {
			if key := metaKey(attrs); wanted[key] > 0 {
				wanted[key]--
				missing--
				found[key] = append(found[key], at.to(offset))
			}
		}
		if class := attr(attrs, "class"); marks && mentions(class) {
			classes = append(classes, class)
			found[class] = append(found[class], at.to(offset))
		}
		return marks || missing > 0
	})
	for _, n := range metas {
		s, _ := take(found, metaKey(n.Attr))
		name, content, _ := metaText(n.Attr)
		t.tags = append(t.tags, acap.Tag{Source: acap.Meta, Name: name, Content: unquote(content), Line: s.line, Column: s.column})
	}
	t.placeMarks(found, classes)
}

func (t *tree) placeMarks(found map[string][]spot, classes []string) {
	last := map[string]spot{}
	for _, n := range t.marked {
		class := attr(n.Attr, "class")
		s, fresh := take(found, class)
		if fresh {
			last[class] = s
		} else {
			s = last[class]
		}
		for i := range t.marks[n] {
			t.marks[n][i].Line, t.marks[n][i].Column = s.line, s.column
		}
		if fresh || s == (spot{}) {
			t.listed = append(t.listed, t.marks[n]...)
		}
	}
	for _, class := range classes { // what is left has no element: it counts, wherever it stood
		if s, ok := take(found, class); ok {
			marks := marksOf(nil, class)
			t.number(marks)
			for j := range marks {
				marks[j].Line, marks[j].Column = s.line, s.column
			}
			t.lost = append(t.lost, marks...)
		}
	}
	t.listed = append(t.listed, t.lost...)
}

// take removes the first spot found for key.
func take(found map[string][]spot, key string) (spot, bool) {
	spots := found[key]
	if len(spots) == 0 {
		return spot{}, false
	}
	found[key] = spots[1:]
	return spots[0], true
}

// metaKey tells META tags apart; no class value looks like it.
func metaKey(attrs []html.Attribute) string {
	name, content, _ := metaText(attrs)
	return "\x00" + name + "\x00" + content
}

// metaText gives what a META tag says; ok is false where it says nothing. A definition of the pilot may stand in its value
// (PILOT 1.3.4).
func metaText(attrs []html.Attribute) (name, content string, ok bool) {
	name = unquote(attr(attrs, "name"))
	key := "content"
	if !has(attrs, key) && defines(name) {
		key = "value"
	}
	return name, attr(attrs, key), has(attrs, "name") && has(attrs, key)
}

// defines reports whether META tags of that name are definitions of the pilot.
func defines(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return name == "acap-qualified-usage" || name == "acap-composite-usage"
}

// scan calls visit for every start tag with attributes that src holds from base on, until it says no. The content of
// noscript is scanned as markup.
func scan(src string, base int, xhtml, inner bool, visit func(offset int, name string, attrs []html.Attribute) bool) bool {
	z := html.NewTokenizer(strings.NewReader(src))
	z.AllowCDATA(xhtml)
	offset, noscript := 0, false
	var attrs []html.Attribute
	for {
		kind := z.Next()
		start := offset
		offset += len(z.Raw())
		switch kind {
		case html.ErrorToken:
			return true
		case html.TextToken:
			if noscript && !scan(src[start:offset], base+start, false, true, visit) {
				return false
			}
			noscript = false
		case html.StartTagToken, html.SelfClosingTagToken:
			tag, more := z.TagName()
			name := string(tag)
			empty := xhtml && kind == html.SelfClosingTagToken
			if empty || inner && name == "noscript" {
				z.NextIsNotRawText()
			}
			noscript = name == "noscript" && !empty && !inner
			attrs = attrs[:0]
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				switch string(key) {
				case "class", "name", "content", "value", "id":
					attrs = append(attrs, html.Attribute{Key: string(key), Val: string(value)})
				}
			}
			if len(attrs) > 0 && !visit(base+start, name, attrs) {
				return false
			}
		default:
			noscript = false
		}
	}
}

// cursor turns offsets, asked for in ascending order, into spots. A line ends with LF, CRLF or CR.
type cursor struct {
	src    string
	offset int
	spot
}

func (c *cursor) to(offset int) spot {
	for ; c.offset < offset; c.offset++ {
		switch b := c.src[c.offset]; {
		case b == '\n', b == '\r' && !strings.HasPrefix(c.src[c.offset+1:], "\n"):
			c.line, c.column = c.line+1, 1
		case b&0xC0 != 0x80 && b != '\r':
			c.column++
		}
	}
	return c.spot
}

// speaks reports whether a META tag may carry rules for crawlers. What describes the page is none of them, and is not
// kept with what is remembered of it.
func speaks(name, content string) bool {
	name = strings.ToLower(name)
	if strings.Contains(name, "robots") || defines(name) {
		return true
	}
	switch name {
	case "description", "keywords", "author", "generator", "viewport", "title", "abstract":
		return false
	}
	content = strings.ToLower(strings.TrimLeft(content, curly+" \t\r\n\f"))
	if strings.HasPrefix(content, "acap") {
		return true
	}
	words := strings.FieldsFunc(content, func(r rune) bool { return isBlank(r) || strings.ContainsRune(",;:="+curly, r) })
	return slices.ContainsFunc(words, func(w string) bool {
		switch w {
		case "acap", "all", "none", "index", "follow", "noindex", "nofollow", "nosnippet", "noarchive", "nocache", "noodp",
			"noydir", "noimageindex", "max-snippet", "max-image-preview", "max-video-preview", "unavailable_after":
			return true
		}
		return false
	})
}
