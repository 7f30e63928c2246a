package index

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// ErrQuery is wrapped by the errors of queries that cannot be understood.
var ErrQuery = errors.New("the query cannot be understood")

// maxQuery is the maximum length of a query in characters. It limits the work for one query.
const maxQuery = 1000

type kind int

const (
	word   kind = iota // matches every form that the analyser gives the same term
	phrase             // words next to each other, as they are written
	site               // the page's host is this host or a subdomain of this host
	lang               // primary subtag of the page's language
	before             // the page was fetched before that day
	after              // the page was fetched on that day or later
	mime               // media type, or one of the names in kinds
)

var prefixes = map[string]kind{"site": site, "lang": lang, "before": before, "after": after, "type": mime}

// clause is one condition of a query. A document must meet all conditions.
type clause struct {
	kind kind
	not  bool
	text string
}

// Check returns nil if a query is valid, otherwise an error that wraps ErrQuery and says what is
// wrong.
func Check(query string) error {
	_, err := parse(query)
	return err
}

// Words returns the words and phrases that a query searches for, each as a query. The list is empty if the
// query is invalid.
func Words(query string) (list []string) {
	clauses, err := parse(query)
	if err != nil {
		return nil
	}
	for _, c := range clauses {
		switch {
		case c.not:
		case c.kind == word:
			list = append(list, c.text)
		case c.kind == phrase && !strings.ContainsRune(c.text, '"'):
			list = append(list, `"`+c.text+`"`)
		}
	}
	return list
}

// parse reads a query. It consists of words and "phrases", all of which must be found. A minus
// before a clause excludes matching documents. site:host, lang:xx, type:pdf, before:2026-01-31 and
// after:2026-01 restrict the results.
func parse(query string) ([]clause, error) {
	if n := utf8.RuneCountInString(query); n > maxQuery {
		return nil, fmt.Errorf("%w: it has %d characters, at most %d are read", ErrQuery, n, maxQuery)
	}
	var out []clause
	only := true
	for rest := strings.TrimSpace(query); rest != ""; rest = strings.TrimSpace(rest) {
		at := utf8.RuneCountInString(query) - utf8.RuneCountInString(rest) + 1
		var c clause
		if len(rest) > 1 && rest[0] == '-' {
			c.not, rest = true, rest[1:]
		}
		if opening, n := utf8.DecodeRuneInString(rest); closing(opening) != "" {
			end := strings.IndexAny(rest[n:], closing(opening))
			if end < 0 {
				return nil, fmt.Errorf("%w: the quotation mark at character %d is not closed", ErrQuery, at)
			}
			c.kind, c.text = phrase, rest[n:n+end]
			_, last := utf8.DecodeRuneInString(rest[n+end:])
			rest = rest[n+end+last:]
		} else {
			end := strings.IndexFunc(rest, unicode.IsSpace)
			if end < 0 {
				end = len(rest)
			}
			c.text, rest = rest[:end], rest[end:]
			if err := c.narrow(); err != nil {
				return nil, err
			}
		}
		if !searchable(c.text) {
			continue // the clause has only punctuation
		}
		only = only && c.not
		out = append(out, c)
	}
	switch {
	case len(out) == 0:
		return nil, fmt.Errorf("%w: it holds no word to look for", ErrQuery)
	case only:
		return nil, fmt.Errorf("%w: it only excludes; add a word, site:HOST or lang:XX", ErrQuery)
	}
	return out, nil
}

// narrow converts a word such as site:example.com to a clause of its kind.
func (c *clause) narrow() error {
	name, value, _ := strings.Cut(c.text, ":")
	k, ok := prefixes[strings.ToLower(name)]
	if !ok || len(name) == len(c.text) {
		return nil
	}
	c.kind = k
	switch k {
	case site:
		value = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(value, "http://"), "https://"), "/")
		c.text = canonicalHost(value)
		if c.text == "" || strings.ContainsAny(c.text, "/ ") {
			return fmt.Errorf("%w: site: takes a host, as in site:example.com, not %q", ErrQuery, value)
		}
	case lang:
		c.text = primary(value)
		if len(c.text) < 2 || len(c.text) > 3 || strings.Trim(c.text, "abcdefghijklmnopqrstuvwxyz") != "" {
			return fmt.Errorf("%w: lang: takes a language code, as in lang:de, not %q", ErrQuery, value)
		}
	case before, after:
		if !isDay(value) {
			return fmt.Errorf("%w: %s: takes a day, as in %s:2026-01-31, not %q", ErrQuery, name, name, value)
		}
		c.text = value
	case mime:
		c.text = mediaType(value)
		major, minor, full := strings.Cut(c.text, "/")
		if !slices.Contains(kinds, c.text) && (!full || major == "" || minor == "") {
			return fmt.Errorf("%w: type: takes %s or a media type, as in type:application/pdf, not %q", ErrQuery,
				strings.Join(kinds, ", "), value)
		}
	}
	return nil
}

// kinds are the short names of media types in type: clauses.
var kinds = []string{"html", "text", "markdown", "feed", "pdf", "image"}

// mediaType converts a media type to the form in the index: lower case, without parameters.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(s))
}

// types returns the values of a type: clause that find a page with this media type; feed means that
// the page is a feed.
func types(media string, feed bool) []string {
	media = mediaType(media)
	switch media {
	case "":
		return nil
	case "text/xml", "application/xml":
		if feed {
			return []string{media, "feed"}
		}
	case "text/html", "application/xhtml+xml":
		return []string{media, "html"}
	case "text/plain":
		return []string{media, "text"}
	case "text/markdown", "text/x-markdown":
		return []string{media, "markdown"}
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json":
		return []string{media, "feed"}
	case "application/pdf", "application/x-pdf":
		return []string{media, "pdf"}
	}
	if strings.HasPrefix(media, "image/") {
		return []string{media, "image"}
	}
	return []string{media}
}

// isDay reports whether s is a day, a month or a year. Dates are compared as texts.
func isDay(s string) bool {
	for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

// closing returns the quotation marks that can end a phrase beginning with r; "" if r does not
// begin a phrase.
func closing(r rune) string {
	for _, marks := range []string{"\"“”„", "«»", "‹›", "「」", "『』"} {
		if strings.ContainsRune(marks, r) {
			return marks
		}
	}
	return ""
}

func searchable(s string) bool { return strings.IndexFunc(s, inWord) >= 0 }

// canonicalHost converts host[:port] to the form in the index: lower case, ASCII.
func canonicalHost(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		name, port = host[:i], host[i:]
	}
	if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		name = ascii
	}
	return name + port
}

// hostsAbove returns the values of a site: clause that find a page of host: the host and its parent
// domains, with and without port. For an IP address it returns only the address.
func hostsAbove(host string) []string {
	host = canonicalHost(host)
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		name, port = host[:i], host[i:]
	}
	if name == "" {
		return nil
	}
	var out []string
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	for above := name; above != ""; _, above, _ = strings.Cut(above, ".") {
		out = append(out, above)
		if port != "" {
			out = append(out, above+port)
		}
		if err == nil {
			break
		}
	}
	return out
}
