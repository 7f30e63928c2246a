package warc

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Line is one line of CDXJ: a key by which lines are sorted, a time, and where the record stands.
type Line struct {
	Key, Timestamp string
	fields         cdx
}

// cdx are the fields in the order in which warcio's cdx-index prints them.
type cdx struct {
	URL      string `json:"url"`
	MIME     string `json:"mime,omitempty"`
	Status   string `json:"status,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Length   string `json:"length"`
	Offset   string `json:"offset"`
	Filename string `json:"filename"`
}

// Index gives the line for a record that was written to file at p; false for one that is not indexed: of what an Entry can be, that
// is all but responses, resources and revisits.
func (e *Entry) Index(p Place, file string) (Line, bool) {
	f := cdx{URL: e.Target, Length: strconv.FormatInt(p.Length, 10), Offset: strconv.FormatInt(p.Offset, 10), Filename: file}
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
	return Line{Key: strings.Join(strings.Fields(oneLine(SURT(e.Target))), "%20"), Timestamp: digits[:14], fields: f}, true
}

// String is the line without its end.
func (l Line) String() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(l.fields) != nil { // strings always can be
		return ""
	}
	return l.Key + " " + l.Timestamp + " " + strings.TrimSuffix(b.String(), "\n")
}

// mimeOf is the media type as it is declared, without parameters. Octets beyond Latin-1 are read one by one, as Fetch reads headers.
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

// SURT is the key of an address in normal form, which sorts what belongs together side by side: the labels of the host turned round,
// in lower case, without www, scheme and default port, the parameters of the query sorted.
func SURT(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if !found || scheme != "http" && scheme != "https" {
		return address
	}
	if label, after, dotted := strings.Cut(rest, "."); dotted {
		if digits, www := strings.CutPrefix(label, "www"); www && strings.Trim(digits, "0123456789") == "" {
			rest = after
		}
	}
	rest, _, _ = strings.Cut(strings.ToLower(rest), "#")
	rest, query, _ := strings.Cut(rest, "?")
	host, path, _ := strings.Cut(rest, "/")
	key := turned(host, map[string]string{"http": ":80", "https": ":443"}[scheme]) + ")/" + path
	if query == "" {
		return key
	}
	args := strings.Split(strings.ReplaceAll(query, "'", "%27"), "&") // as WHATWG URL writes the query of http
	slices.Sort(args)
	return key + "?" + strings.Join(args, "&")
}

// turned gives a host with its labels in the other order, and its port unless that is the one named.
func turned(host, port string) string {
	host = strings.TrimSuffix(host, port)
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host, port = host[:i], host[i:]
	} else {
		port = ""
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ",") + port
}
