package warc

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Line is one line of CDXJ. It consists of a sort key, a time, and fields that say where the record
// is.
type Line struct {
	Key, Timestamp string
	fields         cdx
}

// cdx holds the fields of a line in the order in which warcio's cdx-index prints them.
type cdx struct {
	URL      string `json:"url"`
	MIME     string `json:"mime,omitempty"`
	Status   string `json:"status,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Length   string `json:"length"`
	Offset   string `json:"offset"`
	Filename string `json:"filename"`
}

// Index returns the line for a record that was written to file at p. Index returns false for a
// record that is not indexed. Only responses, resources and revisits are indexed. A conversion is not,
// because a replay tool would show it instead of the response with the same address and time.
func (e *Entry) Index(p Place, file string) (Line, bool) {
	f := cdx{URL: e.Target, Length: strconv.FormatInt(p.Length, 10), Offset: strconv.FormatInt(p.Offset, 10),
		Filename: file}
	switch e.Type {
	case Response, Revisit:
		m, err := ParseMessage(e.Head)
		if n := m.Status(); err == nil && n != 0 {
			f.Status = strconv.Itoa(n)
		}
		f.MIME = mimeOf(m.Header)
		if e.Type == Revisit {
			f.MIME = "warc/revisit"
		}
	case Resource:
		f.MIME = e.ContentType
	default:
		return Line{}, false
	}
	_, f.Digest, _ = strings.Cut(e.payloadDigest(), ":")
	digits := strings.NewReplacer("-", "", ":", "", "T", "").Replace(Date(e.Date))
	return Line{Key: URLKey(e.Target), Timestamp: digits[:14], fields: f}, true
}

// Page reports whether the record is the answer 200 with an HTML page, and returns its address.
func (l Line) Page() (address string, is bool) {
	html := l.fields.MIME == "text/html" || l.fields.MIME == "application/xhtml+xml"
	return l.fields.URL, html && l.fields.Status == "200"
}

// URLKey returns the key of an address in an index: its SURT on one line, with %20 for white space,
// because white space ends the key.
func URLKey(address string) string {
	return strings.Join(strings.Fields(oneLine(SURT(address))), "%20")
}

// String returns the line without a line feed.
func (l Line) String() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(l.fields) != nil { // strings can always be encoded
		return ""
	}
	return l.Key + " " + l.Timestamp + " " + strings.TrimSuffix(b.String(), "\n")
}

// ParseLine reads a line that String has made. It returns false for other lines.
func ParseLine(text string) (l Line, ok bool) {
	var fields string
	var found bool
	if l.Key, text, found = strings.Cut(text, " "); found {
		l.Timestamp, fields, found = strings.Cut(text, " ")
	}
	return l, found && json.Unmarshal([]byte(fields), &l.fields) == nil
}

// At returns the line for the same record at another place.
func (l Line) At(p Place, file string) Line {
	l.fields.Length, l.fields.Offset = strconv.FormatInt(p.Length, 10), strconv.FormatInt(p.Offset, 10)
	l.fields.Filename = file
	return l
}

// mimeOf returns the declared media type without parameters. If the type contains characters beyond
// Latin-1, the octets of the type are decoded as Latin-1, as the Fetch standard reads headers.
func mimeOf(h http.Header) string {
	declared, _, _ := strings.Cut(strings.Join(h.Values("Content-Type"), ", "), ";")
	declared = strings.ToValidUTF8(strings.TrimSpace(declared), string(utf8.RuneError))
	if strings.IndexFunc(declared, func(r rune) bool { return r > 0xff }) < 0 {
		return declared
	}
	latin := make([]rune, 0, len(declared))
	for _, octet := range []byte(declared) {
		latin = append(latin, rune(octet))
	}
	return string(latin)
}
