package page

import "strings"

// maxHeader is the number of bytes that are read of the Link headers of one page.
const maxHeader = 64 << 10

// headerLink is one link of a Link header (RFC 8288 3).
type headerLink struct {
	ref    string
	rel    string
	anchor string // the source of the link; "": the page itself
	srcset string // the parameter imagesrcset
	mime   string // the parameter type
}

// headerLinks adds the addresses in Refresh and Link headers.
func (p *Page) headerLinks(g *gathering) {
	b := baseOf(p.url)
	for _, value := range p.Last().Header.Values("Refresh") {
		if ref, ok := refresh(value); ok {
			g.from(b, ref)
		}
	}
	for _, l := range p.linkHeaders(b) {
		if leads(l.rel) && !hasRel(l.rel, "nofollow") && !hasRel(l.rel, "stylesheet") {
			g.from(b, l.ref)
		}
	}
}

// linkHeaders returns the links in the Link headers of the page, without those whose source is
// another resource (RFC 8288 3.2).
func (p *Page) linkHeaders(b *base) []headerLink {
	var own []headerLink
	left := maxHeader
	for _, value := range p.Last().Header.Values("Link") {
		value = value[:min(len(value), left)]
		left -= len(value)
		for _, l := range parseLinkHeader(value) {
			if l.anchor != "" {
				self, _ := b.resolve("")
				if of, ok := b.resolve(l.anchor); !ok || of != self {
					continue
				}
			}
			own = append(own, l)
		}
	}
	return own
}

// parseLinkHeader reads a list of links as described in RFC 8288 B.2. It skips text that is not a
// link, up to the next comma. If a link has several rel parameters, only the first is used.
func parseLinkHeader(s string) (links []headerLink) {
	for {
		s = strings.TrimLeft(s, " \t,")
		if s == "" {
			return links
		}
		var l headerLink
		good := false
		if s[0] == '<' {
			if l.ref, s, good = strings.Cut(s[1:], ">"); !good {
				return links
			}
		}
		s = readParameters(s, &l)
		if good {
			links = append(links, l)
		}
	}
}

// readParameters reads the parameters of a link up to the next comma outside of quotes, and returns
// the rest of s.
func readParameters(s string, l *headerLink) string {
	related := false
	for s != "" && s[0] != ',' {
		end := strings.IndexAny(s, "=;,")
		if end < 0 {
			return ""
		}
		name := strings.ToLower(strings.Trim(s[:end], " \t"))
		if s[end] != '=' {
			if s = s[end:]; s[0] == ';' {
				s = s[1:]
			}
			continue
		}
		var value string
		value, s = readValue(strings.TrimLeft(s[end+1:], " \t"))
		switch name {
		case "rel":
			if !related {
				l.rel, related = value, true
			}
		case "anchor":
			l.anchor = value
		case "type":
			l.mime = value
		case "imagesrcset":
			l.srcset = value
		}
		if end = strings.IndexAny(s, ";,"); end < 0 {
			return ""
		}
		if s = s[end:]; s[0] == ';' {
			s = s[1:]
		}
	}
	return s
}

// readValue reads a token or a quoted string (RFC 9110 5.6.4) and returns the rest of s.
func readValue(s string) (value, rest string) {
	if s == "" || s[0] != '"' {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		return strings.TrimRight(s[:end], " \t"), s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

// refresh returns the address in a Refresh header or META refresh, as browsers read it (HTML,
// shared declarative refresh steps). ok is false if it contains no address.
func refresh(s string) (ref string, ok bool) {
	s = strings.TrimLeft(s, blanks)
	rest := strings.TrimLeft(s, "0123456789")
	if rest == s && !strings.HasPrefix(s, ".") {
		return "", false
	}
	rest = strings.TrimLeft(rest, "0123456789.")
	if rest == "" || !strings.Contains(blanks+";,", rest[:1]) {
		return "", false
	}
	rest = strings.TrimLeft(rest, blanks)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	if foldPrefix(rest, "u") {
		named := false
		if foldPrefix(rest, "url") {
			var value string
			if value, named = strings.CutPrefix(strings.TrimLeft(rest[3:], blanks), "="); named {
				rest = strings.TrimLeft(value, blanks)
			}
		}
		if !named {
			return rest, true
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		rest, _, _ = strings.Cut(rest[1:], rest[:1])
	}
	return rest, rest != ""
}

const blanks = " \t\n\r\f" // blanks is the white space of HTML.
