package rewrite

import (
	"strings"

	"golang.org/x/net/html"
)

// tag is a start tag.
type tag struct {
	raw   string
	name  string // in lower case
	attrs []attribute
	slash bool // it ends with />
	known bool // the places of all attributes in raw are known
}

// attribute is an attribute of a tag. If several attributes have the same name, browsers use only
// the first one, and tag.attrs contains only this one.
type attribute struct {
	key     string // in lower case
	value   string // without character references
	changed bool
	name    int // where the name ends in the tag
	end     int // where the value ends in the tag
}

// readTag returns the start tag that z has read. raw is a copy of its text.
func readTag(z *html.Tokenizer, raw string, slash bool) *tag {
	name, more := z.TagName()
	t := &tag{raw: raw, name: string(name), slash: slash, attrs: attributes(raw), known: true}
	n := 0
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		if n == len(t.attrs) {
			t.attrs = append(t.attrs, attribute{})
			t.known = false
		}
		a := &t.attrs[n]
		t.known = t.known && a.key == string(key)
		a.key, a.value = string(key), string(value)
		n++
	}
	t.known = t.known && n == len(t.attrs)
	t.attrs = t.attrs[:n]
	return t
}

// attributes returns the names and places of the attributes of a tag (HTML 13.2.5.32 to 13.2.5.39).
func attributes(raw string) (list []attribute) {
	var seen map[string]bool
	i := 1
	for i < len(raw) && !ends(raw[i]) {
		i++
	}
	for {
		for i < len(raw) && (blank(raw[i]) || raw[i] == '/') {
			i++
		}
		if i >= len(raw) || raw[i] == '>' {
			return list
		}
		start := i
		for i++; i < len(raw) && !ends(raw[i]) && raw[i] != '='; i++ { // an equals sign may be the first character
		}
		a := attribute{key: lower(raw[start:i]), name: i}
		i = skipBlanks(raw, i)
		if i < len(raw) && raw[i] == '=' {
			i = valueEnd(raw, skipBlanks(raw, i+1))
		} else {
			i = a.name
		}
		a.end = i
		if !seen[a.key] {
			if seen == nil {
				seen = map[string]bool{}
			}
			seen[a.key] = true
			a.key = strings.ReplaceAll(a.key, "\x00", "\uFFFD")
			list = append(list, a)
		}
	}
}

// valueEnd returns the offset after the value that begins at i.
func valueEnd(raw string, i int) int {
	if i >= len(raw) || raw[i] == '>' {
		return i
	}
	if quote := raw[i]; quote == '"' || quote == '\'' {
		end := strings.IndexByte(raw[i+1:], quote)
		if end < 0 {
			return len(raw)
		}
		return i + 1 + end + 1
	}
	for i < len(raw) && !blank(raw[i]) && raw[i] != '>' {
		i++
	}
	return i
}

// get returns the value of an attribute, or "".
func (t *tag) get(key string) string {
	for i := range t.attrs {
		if t.attrs[i].key == key {
			return t.attrs[i].value
		}
	}
	return ""
}

// set changes the value of an attribute.
func (a *attribute) set(value string) { a.value, a.changed = value, true }

// String returns the tag with the values that were changed. All other bytes remain.
func (t *tag) String() string {
	if !t.known {
		return t.plain(t.slash)
	}
	var b strings.Builder
	copied := 0
	for _, a := range t.attrs {
		if a.changed {
			b.WriteString(t.raw[copied:a.name] + `="` + html.EscapeString(a.value) + `"`)
			copied = a.end
		}
	}
	if copied == 0 {
		return t.raw
	}
	b.WriteString(t.raw[copied:])
	return b.String()
}

// open returns the tag without a slash at its end.
func (t *tag) open() string { return t.plain(false) }

// plain writes the whole tag again.
func (t *tag) plain(slash bool) string {
	var b strings.Builder
	b.WriteString("<" + t.name)
	for _, a := range t.attrs {
		b.WriteString(" " + a.key + `="` + html.EscapeString(a.value) + `"`)
	}
	if slash {
		b.WriteString("/")
	}
	b.WriteString(">")
	return b.String()
}

// ends reports whether c ends the name of a tag or an attribute.
func ends(c byte) bool { return blank(c) || c == '/' || c == '>' }

// blank reports whether c is white space in HTML and CSS.
func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

func skipBlanks(s string, i int) int {
	for i < len(s) && blank(s[i]) {
		i++
	}
	return i
}

// lower returns s with ASCII letters in lower case.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
