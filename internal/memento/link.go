package memento

import (
	"strings"
	"time"
)

// LinkFormat is the media type of a TimeMap (RFC 7089 5; RFC 6690 7.3).
const LinkFormat = "application/link-format"

// Link is one link of a Link header or of a TimeMap.
type Link struct {
	Target   string    // address
	Rels     []string  // relation types
	Type     string    // media type of the target; "" for none
	Datetime time.Time // time of the version at the target; zero for none
	From     time.Time // time of the first version in the TimeMap at the target; zero for none
	Until    time.Time // time of the last version in the TimeMap at the target; zero for none
}

// String returns the link as a link-value (RFC 8288 3; RFC 6690 2). All values of parameters are
// quoted: RFC 8288 3.3 demands quotes around several relation types.
func (l Link) String() string {
	var b strings.Builder
	b.WriteString("<" + reference(l.Target) + ">; rel=" + quoted(strings.Join(l.Rels, " ")))
	if l.Type != "" {
		b.WriteString("; type=" + quoted(l.Type))
	}
	for _, p := range []struct {
		name string
		time time.Time
	}{{"datetime", l.Datetime}, {"from", l.From}, {"until", l.Until}} {
		if !p.time.IsZero() {
			b.WriteString("; " + p.name + "=" + quoted(Date(p.time)))
		}
	}
	return b.String()
}

// HeaderValue returns links as the value of one Link header (RFC 8288 3).
func HeaderValue(links []Link) string {
	list := make([]string, len(links))
	for i, l := range links {
		list[i] = l.String()
	}
	return strings.Join(list, ", ")
}

// reference returns an address in a form that is valid between angle brackets. RFC 3986 2: an
// address contains only ASCII, and no control characters, blanks, quotation marks or angle
// brackets. reference percent-encodes all others, so that no address can end the link or the
// header.
func reference(address string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(address) {
		if c > ' ' && c < 0x7f && c != '"' && c != '<' && c != '>' && c != '\\' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// quoted returns s as a quoted-string (RFC 9110 5.6.4), in which control characters become blanks.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c < ' ' || c == 0x7f:
			c = ' '
		case c == '"' || c == '\\':
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	b.WriteByte('"')
	return b.String()
}
