package page

import (
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/acapcrawl/acapcrawl/acap"
)

func (p *Page) readOwn() acap.Own {
	t := p.tree()
	own := acap.Own{URL: p.url.String(), Tags: slices.Clip(t.tags), Marks: slices.Clip(t.listed), Tangled: t.tangled(),
		Plus: plus(p.Last().Body), Image: strings.HasPrefix(p.mime, "image/"), Unread: t.unread}
	own.Licences = p.readLicences(t)
	for _, name := range ownHeaders {
		for i, line := range p.Last().Header.Values(name) {
			own.Tags = append(own.Tags, acap.Tag{Source: acap.Header, Name: name, Content: line, Line: i + 1,
				Column: 1})
		}
	}
	if line, value := LicenceChallenge(p.Last().Status, p.Last().Header); line > 0 {
		own.Tags = append(own.Tags, acap.Tag{Source: acap.Header, Name: challenge, Content: value, Line: line,
			Column: 1})
	}
	if p.sent != nil {
		return withScripted(p.sent.Own(), own)
	}
	return own
}

// challenge is the header with which a server asks for credentials.
const challenge = "WWW-Authenticate"

// LicenceChallenge returns the number and the value of the header line with which an answer asks for a
// licence (RSL 3.4: 401 or 402 with WWW-Authenticate: License). The number is 0 if there is none.
func LicenceChallenge(status int, h http.Header) (line int, value string) {
	if status != http.StatusUnauthorized && status != http.StatusPaymentRequired {
		return 0, ""
	}
	for i, value := range h.Values(challenge) {
		asks := func(challenge string) bool {
			scheme, _, _ := strings.Cut(strings.TrimSpace(challenge), " ")
			return strings.EqualFold(scheme, "License")
		}
		if slices.ContainsFunc(strings.Split(value, ","), asks) {
			return i + 1, value
		}
	}
	return 0, ""
}

// ownHeaders are the headers that state permissions: robots headers, and those of newer
// vocabularies.
var ownHeaders = [...]string{"X-Robots-Tag", "Robots-Tag", "Content-Usage", "Content-Signal", "TDM-Reservation",
	"TDM-Policy"}

// Strays returns META tags that look like rules but are outside the head, where they have no effect
// (N11).
func (p *Page) Strays() []acap.Tag { return slices.Clip(p.tree().strays) }

// spot is a position in a source text: line and column, counted from 1 in characters. A loose spot
// is the position of the tag, because the source writes the value in a different form.
type spot struct {
	line, column int
	loose        bool
}

// locate sets the positions of META tags and marks. The position is that of the attribute value,
// otherwise that of the start tag. The parser keeps no positions, so locate tokenizes the source
// again, but only if there is something to find and only as far as needed. It matches tags with
// elements by their values, in order. Two elements that the parser made of one tag get the position
// of that tag.
func (t *tree) locate(src string, xhtml bool) {
	metas := slices.DeleteFunc(slices.Clone(t.metas), func(n *html.Node) bool {
		name, content, _ := metaText(n.Attr)
		return !mayRule(name, content)
	})
	inside := len(metas)
	metas = append(metas, t.outside...)
	wanted := map[string]int{}
	for _, n := range metas {
		wanted[metaKey(n.Attr)]++
	}
	marks := len(t.marked) > 0 || mentions(src)
	missing := len(metas)
	if missing == 0 && !marks {
		return
	}
	found := map[string][]spot{}
	classes := []string{} // class attributes of marked tags, in order
	at := cursor{src: src, spot: spot{line: 1, column: 1}}
	_, readable := scan(src, 0, xhtml, false, func(offset int, name string, attrs []html.Attribute) bool {
		if name == "meta" {
			if key := metaKey(attrs); wanted[key] > 0 {
				wanted[key]--
				missing--
				_, content, _ := metaText(attrs)
				found[key] = append(found[key], at.value(offset, unquote(content), "content", "value"))
			}
		}
		if class := attr(attrs, "class"); marks && mentions(class) {
			classes = append(classes, class)
			found[class] = append(found[class], at.value(offset, class, "class"))
			t.talkative = t.talkative || len(classes) > maxSaid
		}
		return !t.talkative && (marks || missing > 0)
	})
	if !readable {
		t.unread = tooManyAttributes
	}
	for i, n := range metas {
		s, _ := removeFirst(found, metaKey(n.Attr))
		name, content, _ := metaText(n.Attr)
		tag := acap.Tag{Source: acap.Meta, Name: name, Content: unquote(content), Line: s.line, Column: s.column,
			Loose: s.loose}
		if i < inside {
			t.tags = append(t.tags, tag)
		} else {
			t.strays = append(t.strays, tag)
		}
	}
	t.placeMarks(found, classes)
}

func (t *tree) placeMarks(found map[string][]spot, classes []string) {
	last := map[string]spot{}
	for _, n := range t.marked {
		class := attr(n.Attr, "class")
		s, fresh := removeFirst(found, class)
		if fresh {
			last[class] = s
		} else {
			s = last[class]
		}
		placeIn(class, s, t.marks[n])
		if fresh || s == (spot{}) {
			t.listed = append(t.listed, t.marks[n]...)
		}
	}
	for _, class := range classes { // the remaining tags have no element in the tree, but their marks apply to the page
		if s, ok := removeFirst(found, class); ok {
			marks := marksOf(nil, class)
			t.number(marks)
			placeIn(class, s, marks)
			t.lost = append(t.lost, marks...)
		}
	}
	t.listed = append(t.listed, t.lost...)
}

// placeIn sets the positions of the marks of a class attribute to those of their tokens. s is the
// position of the attribute value.
func placeIn(class string, s spot, marks []acap.Mark) {
	at := cursor{src: class, spot: s}
	for i := range marks {
		if next := strings.Index(class[at.offset:], marks[i].Token); next >= 0 && !s.loose && s.line > 0 {
			at.to(at.offset + next)
		}
		marks[i].Line, marks[i].Column = at.line, at.column
	}
}

// removeFirst removes and returns the first spot found for key.
func removeFirst(found map[string][]spot, key string) (spot, bool) {
	spots := found[key]
	if len(spots) == 0 {
		return spot{}, false
	}
	found[key] = spots[1:]
	return spots[0], true
}

// metaKey returns the same key for META tags with the same values. No class attribute equals such a
// key.
func metaKey(attrs []html.Attribute) string {
	name, content, _ := metaText(attrs)
	return "\x00" + name + "\x00" + content
}

// metaText returns name and content of a META tag; ok is false if it lacks one of them. A
// definition of the ACAP pilot may use the attribute value instead of content (PILOT 1.3.4).
func metaText(attrs []html.Attribute) (name, content string, ok bool) {
	name = unquote(attr(attrs, "name"))
	key := "content"
	if !has(attrs, key) && defines(name) {
		key = "value"
	}
	return name, attr(attrs, key), has(attrs, "name") && has(attrs, key)
}

// defines reports whether META tags with that name are definitions of the ACAP pilot.
func defines(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return name == "acap-qualified-usage" || name == "acap-composite-usage"
}

// scan calls visit for the start tags in src that have a class, name, content, value or id
// attribute. If visit returns false, scan stops, and more is false. base is the offset of src in
// the source of the page. scan also scans the content of NOSCRIPT as markup. readable is false if
// the scan ended before a tag with too many attributes.
func scan(src string, base int, xhtml, inner bool,
	visit func(offset int, name string, attrs []html.Attribute) bool) (more, readable bool) {
	z := newGuarded(src, xhtml)
	offset, noscript := 0, false
	var attrs []html.Attribute
	for {
		kind := z.next()
		start := offset
		offset += len(z.Raw())
		switch kind {
		case html.ErrorToken:
			return !z.full, !z.full
		case html.TextToken:
			if noscript {
				if more, readable = scan(src[start:offset], base+start, false, true, visit); !more {
					return more, readable
				}
			}
			noscript = false
		case html.StartTagToken, html.SelfClosingTagToken:
			tag, attributed := z.TagName()
			name := string(tag)
			empty := xhtml && kind == html.SelfClosingTagToken
			if empty || inner && name == "noscript" {
				z.NextIsNotRawText()
				z.text = false
			}
			noscript = name == "noscript" && !empty && !inner
			attrs = attrs[:0]
			for attributed {
				var key, value []byte
				key, value, attributed = z.TagAttr()
				switch string(key) {
				case "class", "name", "content", "value", "id":
					attrs = append(attrs, html.Attribute{Key: string(key), Val: string(value)})
				}
			}
			if len(attrs) > 0 && !visit(base+start, name, attrs) {
				return false, true
			}
		default:
			noscript = false
		}
	}
}

// cursor converts offsets to spots. Offsets must be ascending. A line ends with LF, CRLF or CR.
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

// value returns the position of an attribute value of the tag at offset. The attribute is the first
// in keys that the tag has. If the source writes the value differently from the text says, for
// example with character references, value returns the position of the tag.
func (c *cursor) value(offset int, says string, keys ...string) spot {
	s := c.to(offset)
	s.loose = true
	for _, key := range keys {
		raw, at := attribute(c.src, offset, key)
		inner := strings.Index(raw, says)
		if at < 0 {
			continue
		}
		if inner >= 0 && strings.Trim(raw, curly+"/") == strings.Trim(says, curly+"/") {
			ahead := *c
			s = ahead.to(at + inner)
		}
		break
	}
	return s
}

// attribute returns the value of an attribute as the source writes it, and its offset; the offset
// is -1 if the tag at offset has no such attribute.
func attribute(src string, offset int, key string) (raw string, at int) {
	at = -1
	eachAttribute(src, offset, func(name, value string, begins int) bool {
		if begins >= 0 && strings.EqualFold(name, key) {
			raw, at = value, begins
			return false
		}
		return true
	})
	return raw, at
}

// eachAttribute calls visit for the attributes of the tag at offset until visit returns false. It
// passes the name and the value as the source writes them, and the offset of the value, -1 if there
// is none. The package has its own parser because no HTML parser returns the offset of an
// attribute.
func eachAttribute(src string, offset int, visit func(name, raw string, at int) bool) {
	i := skipUntil(src, offset+1, blanks+"/>")
	for {
		i = skipAll(src, i, blanks+"/")
		if i == len(src) || src[i] == '>' {
			return
		}
		begin := i
		i = skipUntil(src, i+1, blanks+"/>=") // an attribute name may begin with =
		name := src[begin:i]
		i = skipAll(src, i, blanks)
		if i == len(src) || src[i] != '=' {
			if !visit(name, "", -1) {
				return
			}
			continue
		}
		begin = skipAll(src, i+1, blanks)
		if begin == len(src) {
			return
		}
		if quote := src[begin]; quote == '"' || quote == '\'' {
			begin++
			i = skipUntil(src, begin, string(quote))
			if i == len(src) {
				return
			}
		} else {
			i = skipUntil(src, begin, blanks+">")
		}
		if !visit(name, src[begin:i], begin) {
			return
		}
		if i < len(src) && src[i] != '>' {
			i++ // skip the quotation mark or blank
		}
	}
}

// skipUntil returns the offset of the first byte in src, from i on, that is in bytes; the length of
// src if there is none.
func skipUntil(src string, i int, bytes string) int {
	if n := strings.IndexAny(src[i:], bytes); n >= 0 {
		return i + n
	}
	return len(src)
}

// skipAll returns the offset of the first byte in src, from i on, that is not in bytes.
func skipAll(src string, i int, bytes string) int {
	for i < len(src) && strings.IndexByte(bytes, src[i]) >= 0 {
		i++
	}
	return i
}

// mayRule reports whether a META tag may contain rules for crawlers. Tags that only describe the
// page, such as its author, contain no rules and are not stored.
func mayRule(name, content string) bool {
	name = strings.ToLower(name)
	if strings.Contains(name, "robots") || defines(name) || strings.HasPrefix(strings.TrimSpace(name), "tdm-") ||
		name == "content-usage" || name == "content-signal" {
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
	words := strings.FieldsFunc(content, func(r rune) bool {
		return isBlank(r) || strings.ContainsRune(",;:="+curly, r)
	})
	return slices.ContainsFunc(words, func(w string) bool {
		switch w {
		case "acap", "all", "none", "index", "follow", "noindex", "nofollow", "nosnippet", "noarchive", "nocache",
			"noodp", "noydir", "noimageindex", "max-snippet", "max-image-preview", "max-video-preview",
			"unavailable_after", acap.NoAI, acap.NoImageAI:
			return true
		}
		return false
	})
}
