package holdings

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/coding"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/warc"
)

// These are the field names of the metadata records that this program writes, in addition to those
// of WARC 1.1, section 6.6. No standard names exist for the policy that was followed.
const (
	metaPolicy     = "acap-policy"          // origin whose policy decided
	metaPreference = "preference-"          // and a newer usage: verdict, vocabulary and line; repeated
	metaSince      = "acap-policy-since"    // when that version of the policy was first read
	metaDecided    = "acap-decided"         // a usage, and the policy line that decided about this usage
	metaStatements = "acap-page-statements" // the statements of the page, as acap.Own in JSON
	metaCut        = "acap-cut"             // the body lacks parts that may not be preserved (N28)
	metaTruncated  = "acap-truncated"       // the original body was longer
	// An address of data from which scripts made the rendered document; repeated.
	metaMadeOf = "acap-made-of"
	metaMadeBy = "acap-made-by" // an address of one of these scripts; repeated
)

// write passes a record on to be written.
func (e *exporter) write(r warc.Entry) error { return e.w.write(r) }

// written counts a record that was written, and writes its line of the CDXJ index.
func (e *exporter) written(r warc.Entry, p warc.Place) error {
	e.records++
	e.bytes = p.Offset + p.Length
	if e.o.Record != nil {
		if err := e.o.Record(r, p); err != nil {
			return err
		}
	}
	if e.o.Line == nil {
		return nil
	}
	if line, indexed := r.Index(p, e.o.Name); indexed {
		return e.o.Line(line.String())
	}
	return nil
}

func (e *exporter) id(capture uint64, kind string) string { return warc.IDOf(e.space, capture, kind) }

// info writes the warcinfo record.
func (e *exporter) info() error {
	fields := append(warc.Fields{}, e.o.Info...)
	fields = append(fields, warc.Field{Name: "format", Value: "WARC File Format 1.1"},
		warc.Field{Name: "conformsTo",
			Value: "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"})
	r := warc.Entry{Type: warc.Warcinfo, ID: e.space, Date: e.Holdings.o.Now(), ContentType: warc.TypeFields,
		Payload: fields.Bytes()}
	if e.o.Name != "" {
		r.More = warc.Fields{{Name: warc.Filename, Value: e.o.Name}}
	}
	return e.write(r)
}

// exchange is a request and its response.
type exchange struct {
	capture uint64
	kind    string // distinguishes the exchanges of one capture
	url     string
	at      time.Time
	sent    []byte
	head    []byte
	cut     bool // the original response was longer than the written response
	address netip.Addr
}

func (x exchange) entry(e *exporter, kind, contentType string) warc.Entry {
	r := warc.Entry{Type: kind, ID: e.id(x.capture, x.kind+kind), Date: x.at, Target: x.url, ContentType: contentType}
	if x.address.IsValid() {
		r.More = warc.Fields{{Name: warc.IPAddress, Value: x.address.WithZone("").String()}}
	}
	return r
}

// begin writes the request, if it was recorded, and returns the response record without its
// payload.
func (x exchange) begin(e *exporter) (warc.Entry, error) {
	answer := x.entry(e, warc.Response, warc.TypeResponse)
	answer.Head = warc.Complete(x.head)
	if x.cut {
		answer.More = append(answer.More, warc.Field{Name: warc.Truncated, Value: "length"})
	}
	if len(x.sent) == 0 {
		return answer, nil
	}
	request := x.entry(e, warc.Request, warc.TypeRequest)
	request.Head = warc.Complete(x.sent)
	request.More = append(request.More, warc.Field{Name: warc.ConcurrentTo, Value: warc.Ref(answer.ID)})
	return answer, e.write(request)
}

// exchanges writes the request, response, conversion and metadata records of a capture. duplicate
// reports whether the response was written as a revisit record, without its body.
func (e *exporter) exchanges(c archive.Capture, wire []byte) (duplicate bool, err error) {
	x := exchange{capture: c.ID, url: c.URL, at: c.Fetched, sent: c.Sent, head: headOf(c, len(wire)),
		cut: c.Truncated, address: c.Address}
	answer, err := x.begin(e)
	if err != nil {
		return false, err
	}
	answer.Payload = wire
	if duplicate, err = e.duplicates(c, &answer); err != nil {
		return false, err
	}
	if err := e.write(answer); err != nil {
		return false, err
	}
	x.address = netip.Addr{}
	if e.rendered != nil {
		conversion := x.entry(e, warc.Conversion, page.RenderedType)
		conversion.More = warc.Fields{{Name: warc.RefersTo, Value: warc.Ref(answer.ID)}}
		conversion.Payload = e.rendered
		if err := e.write(conversion); err != nil {
			return false, err
		}
	}
	said, err := e.describe(c)
	if err != nil {
		return false, err
	}
	metadata := x.entry(e, warc.Metadata, warc.TypeFields)
	metadata.More = warc.Fields{{Name: warc.RefersTo, Value: warc.Ref(answer.ID)}, {Name: warc.ConcurrentTo,
		Value: warc.Ref(answer.ID)}}
	metadata.Payload = said.Bytes()
	return duplicate, e.write(metadata)
}

// duplicates changes answer into a revisit record if the file already contains the payload of
// answer as a response of the same address; otherwise it notes that the file now contains the payload. A revisit of
// another address would be lost if that address is refused at import. Redirects never become revisit
// records, because their bodies are short. No record refers to a part of a page (206), which an import refuses.
func (e *exporter) duplicates(c archive.Capture, answer *warc.Entry) (bool, error) {
	if e.o.Whole || c.Redirect() || c.Status == http.StatusPartialContent || c.Payload == "" ||
		len(answer.Payload) == 0 {
		return false, nil
	}
	sum := sha256.Sum256([]byte(c.Payload + " " + c.URL))
	first, known := e.shared[sum]
	if !known {
		several, err := e.archive.Shared(c.Payload)
		if several {
			e.shared[sum] = c.ID
		}
		return false, err
	}
	original, err := e.archive.Capture(first)
	if err != nil { // the capture whose record contains this body has been erased since
		return false, fmt.Errorf("capture %d was %w", first, ErrErased)
	}
	answer.Type, answer.Digest, answer.Payload = warc.Revisit, c.Payload, nil
	answer.More = slices.DeleteFunc(answer.More, func(f warc.Field) bool { return f.Name == warc.Truncated })
	answer.More = append(answer.More, warc.Fields{{Name: warc.Profile, Value: warc.IdenticalPayload},
		{Name: warc.Truncated, Value: "length"},
		{Name: warc.RefersTo, Value: warc.Ref(e.id(first, warc.Response))}, {Name: warc.RefersToTargetURI,
			Value: original.URL},
		{Name: warc.RefersToDate, Value: warc.Date(original.Fetched)}}...)
	return true, nil
}

// redirects writes records of the redirects before a capture, without their bodies. It writes only
// redirects whose HTTP head is stored in the capture; earlier versions of this program stored
// redirects in this way. Newer redirects are captures of their own addresses.
func (e *exporter) redirects(c archive.Capture) error {
	for i, hop := range c.Hops {
		if len(hop.Head) == 0 && len(hop.Header) == 0 {
			continue
		}
		known, _, err := e.archive.Resource(hop.URL)
		if err != nil {
			return err
		}
		j, why, _, err := e.prepareCheck(hop.URL, known)
		if err != nil {
			return err
		}
		if why != "" || !j.terms(nil).Preserving(e.Holdings.o.NoArchive).Allowed {
			continue
		}
		head := hop.Head
		if len(head) == 0 {
			head = headFrom(hop.Proto, hop.Status, hop.Header)
		}
		x := exchange{capture: c.ID, kind: strconv.Itoa(i), url: hop.URL, at: hop.Start, sent: hop.Sent,
			cut:  hop.Header.Get("Content-Length") != "0",
			head: warc.Consistent(head, 0, false)}
		if x.at.IsZero() {
			x.at = c.Fetched
		}
		answer, err := x.begin(e)
		if err != nil {
			return err
		}
		if err := e.write(answer); err != nil {
			return err
		}
	}
	return nil
}

// headOf returns the HTTP head of a capture as it was sent, except for fields that contradict the
// stored body, which has the given length.
func headOf(c archive.Capture, length int) []byte {
	head := c.Head
	if len(head) == 0 {
		head = headFrom("HTTP/1.1", c.Status, c.Header)
	}
	m, _ := warc.ParseMessage(head) // if the head cannot be parsed, no content coding is assumed
	return warc.Consistent(head, int64(length), c.Encoding != "" || len(coding.Of(m.Header)) == 0)
}

// headFrom returns an HTTP head made from a status and header fields.
func headFrom(proto string, status int, h http.Header) []byte {
	if !strings.HasPrefix(proto, "HTTP/1.") {
		proto = "HTTP/1.1"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %d %s\r\n", proto, status, http.StatusText(status))
	h.Write(&b) // writing to a bytes.Buffer never fails
	b.WriteString("\r\n")
	return b.Bytes()
}

// describe returns the fields of the metadata record for a capture.
func (e *exporter) describe(c archive.Capture) (f warc.Fields, err error) {
	add := func(name, value string) { f = append(f, warc.Field{Name: name, Value: value}) }
	if c.Policy.Origin != "" {
		add(metaPolicy, c.Policy.Origin)
		add(metaSince, warc.Date(c.Policy.Since))
	}
	for _, usage := range acap.Usages() {
		if line := c.Decided[usage]; line != "" {
			add(metaDecided, string(usage)+" "+line)
		}
	}
	for _, usage := range acap.NewerUsages() {
		for _, s := range e.preferences[usage] {
			add(metaPreference+string(usage), fmt.Sprintf("%s %s %s", s.Verdict, s.Vocabulary, s.Because))
		}
	}
	if own := c.Own; len(own.Tags) > 0 || len(own.Marks) > 0 || own.Plus != nil || own.Scripted != nil {
		text, err := json.Marshal(own)
		if err != nil {
			return nil, fmt.Errorf("the statements of %s cannot be encoded: %w", c.URL, err)
		}
		add(metaStatements, string(text))
	}
	if c.Cut {
		add(metaCut, "yes")
	}
	if c.Truncated {
		add(metaTruncated, "yes")
	}
	if e.rendered != nil {
		for _, source := range e.sources {
			name := metaMadeBy
			if slices.Contains(e.data, source) {
				name = metaMadeOf
			}
			add(name, source)
		}
	}
	return f, nil
}
