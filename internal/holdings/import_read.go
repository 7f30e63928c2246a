package holdings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/warc"
)

// incoming is a response that is being imported, with the information in other records about this
// response.
type incoming struct {
	result     Imported
	id         string // ID of its WARC record
	concurrent []string
	target     string // address as written in the record
	url        string // address in the form in which it is stored
	at         time.Time
	message    warc.Message // without the body
	payload    []byte       // body as sent, after removing the transfer coding
	digest     string       // payload digest as written in the record
	verified   bool         // the digest of payload equals digest
	truncated  bool
	request    *question

	redirect  bool // the response is a redirect
	address   netip.Addr
	revisit   bool           // the payload is contained in another record
	refersURL string         // address of that other record
	repeats   uint64         // the capture with that payload, if this import has it; 0: it is not known
	waits     bool           // that other record has not been read yet
	told      func(Imported) // receives the result of a record that has waited

	cut  bool       // the payload lacks parts that may not be preserved
	bare bool       // the payload has no content coding, even if the HTTP head names one
	said []acap.Own // statements of the page according to other records

	rendered []byte // the rendered document, from a conversion record; nil: none
	// data from which scripts made it, and these scripts, according to a metadata record
	made, ran []string
	hops      []*incoming // redirects that lead to this response
}

// readRecord reads one record. A request record may come before or after the record of its
// response; metadata and conversion records come after it.
func (m *importer) readRecord(rec *warc.Record) error {
	switch rec.Type() {
	case warc.Request:
		return m.readRequest(rec)
	case warc.Response, warc.Revisit, warc.Resource:
		if err := m.finishResponse(); err != nil {
			return err
		}
		x := &incoming{result: Imported{Offset: rec.Offset, URL: rec.Target()}, id: rec.ID(),
			concurrent: rec.Concurrent(), target: rec.Target()}
		if err := m.readResponse(rec, x); err != nil {
			return err
		}
		if m.asked.isRequestOf(x) {
			x.request, m.asked = m.asked, nil
		} else if method := m.methods.of(x); method != "" {
			x.request = &question{method: method}
		}
		m.open = x
	case warc.Metadata:
		return m.readMetadata(rec)
	case warc.Conversion:
		return m.readConversion(rec)
	}
	return nil
}

// readBlock reads the block of a record. If the record is damaged, it returns nil and reports the
// record.
func (m *importer) readBlock(rec *warc.Record) ([]byte, error) {
	block, err := io.ReadAll(rec.Block)
	var damage *warc.Damage
	switch {
	case errors.As(err, &damage):
		m.reportDamage(rec, "the record "+damage.What)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	return block, nil
}

// readResponse reads the response in rec into x. If the record contains no page, it stores the
// reason in x.
func (m *importer) readResponse(rec *warc.Record, x *incoming) error {
	if why := m.readFields(rec, x); why != "" {
		x.skip(why)
		return nil
	}
	block, err := m.readBlock(rec)
	if block == nil {
		x.result.Outcome = reported
		return err
	}
	if rec.Type() == warc.Resource {
		x.payload, x.message = block, warc.Message{Line: "HTTP/1.1 200 OK", Header: http.Header{}}
		if kind := rec.ContentType(); kind != "" {
			x.message.Header.Set("Content-Type", kind)
		}
		x.verify(rec, block, block)
		return nil
	}
	var parsed error
	x.message, parsed = warc.ParseMessage(block)
	// The block digest of a revisit record is not checked, because wget writes the digest of an
	// empty block.
	if rec.Type() == warc.Revisit {
		x.setRevisit(rec, parsed == nil)
		return nil
	}
	var whole bool
	x.payload, whole = x.message.Payload()
	x.truncated = x.truncated || !whole
	if x.verify(rec, block, x.message.Body, x.payload); parsed != nil {
		x.skip("its block " + parsed.Error())
	} else if x.message.Body == nil && !bytes.HasSuffix(block, []byte("\n")) {
		x.skip("its head has no end")
	}
	x.message.Body = nil
	x.redirect = isRedirect(x.hop())
	return nil
}

// shorten cuts the body of a redirect to the length that may be stored.
func (x *incoming) shorten() {
	if len(x.payload) > longestRedirect {
		x.payload, x.truncated = x.payload[:longestRedirect], true
	}
	x.payload, x.message.Head = bytes.Clone(x.payload), bytes.Clone(x.message.Head)
}

// reported is the outcome of a response about which told has already been called.
const reported Outcome = "told"

// skip sets why a response is not imported, unless it already has an outcome.
func (x *incoming) skip(why string) {
	if x.result.Outcome == "" {
		x.result.Outcome, x.result.Why = Unfit, why
	}
}

// verify checks the digests in the fields of rec. block is the block of the record. The payload
// digest may be the digest of any of payloads.
func (x *incoming) verify(rec *warc.Record, block []byte, payloads ...[]byte) {
	if wrong := rec.Check(block, payloads...); wrong != "" {
		x.result.Outcome, x.result.Why = Broken, wrong
	}
	_, known := warc.Matches(x.digest, nil)
	x.verified = known && x.result.Outcome == ""
}

// oldest is the earliest date that a record may have. Before this date there were no web pages.
var oldest = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)

// readFields sets x from the fields of a record. The result says why the record cannot contain a
// page; it is "" if the record can.
func (m *importer) readFields(rec *warc.Record, x *incoming) string {
	var dated bool
	x.at, dated = rec.Date()
	x.digest, x.truncated = rec.PayloadDigest(), rec.Fields.Get(warc.Truncated) != ""
	x.address, _ = netip.ParseAddr(rec.Fields.Get(warc.IPAddress)) // an invalid address is ignored
	u, err := url.Parse(x.target)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return "its address is no http or https address"
	case !dated:
		return "its date cannot be read"
	case x.at.Before(oldest):
		return "its date lies before the web"
	case x.at.After(m.Holdings.o.Now()):
		return "its date lies in the future"
	case rec.Fields.Get(warc.SegmentNumber) != "":
		return "it is one segment of several"
	case rec.Length > m.o.MaxBody+longestHead:
		return fmt.Sprintf("it has %d bytes, and a body may have %d", rec.Length, m.o.MaxBody)
	}
	if x.url, err = m.o.Normal(x.target); err != nil {
		return err.Error()
	}
	return ""
}

// setRevisit records in x which response a revisit record repeats. headed means that the revisit
// record contains an HTTP head.
func (x *incoming) setRevisit(rec *warc.Record, headed bool) {
	profile := strings.Trim(rec.Fields.Get(warc.Profile), "<>")
	kind := strings.TrimRight(profile, "/")
	kind = kind[strings.LastIndexByte(kind, '/')+1:]
	switch {
	case kind == "server-not-modified":
		x.skip("it says that the page had not changed (304)")
	case kind != "" && kind != "identical-payload-digest" && kind != "uri-agnostic-identical-payload-digest":
		x.skip("it is a revisit of an unknown profile: " + profile)
	case x.digest == "":
		x.skip("it is a revisit that names no digest")
	}
	x.revisit, x.refersURL = true, rec.Fields.Get(warc.RefersToTargetURI)
	x.truncated = false // in a revisit record, WARC-Truncated only means that another record contains the payload
	if x.refersURL == "" {
		x.refersURL = x.target
	}
	x.message.Body = nil
	if !headed {
		x.message = warc.Message{}
	}
	x.redirect = isRedirect(x.hop())
}

// readMetadata reads from the metadata records of our own exports those facts that the response
// does not contain.
func (m *importer) readMetadata(rec *warc.Record) error {
	x := m.open
	if x == nil || rec.ContentType() != warc.TypeFields || rec.Length > longestHead ||
		rec.Fields.Get(warc.RefersTo) != warc.Ref(x.id) && !slices.Contains(rec.Concurrent(), x.id) {
		return nil
	}
	block, err := m.readBlock(rec)
	if block == nil {
		return err
	}
	if wrong := rec.Check(block); wrong != "" {
		m.reportDamage(rec, wrong)
		return nil
	}
	fields := warc.ParseFields(block)
	x.made = m.addresses(x.made, fields.All(metaMadeOf))
	x.ran = m.addresses(x.ran, fields.All(metaMadeBy))
	x.truncated = x.truncated || fields.Get(metaTruncated) != ""
	if fields.Get(metaCut) == "" {
		return nil
	}
	x.cut = true
	var own acap.Own
	if json.Unmarshal([]byte(fields.Get(metaStatements)), &own) == nil {
		x.said = append(x.said, own)
	}
	return nil
}

// longestChain is the greatest number of redirects stored with a page.
const longestChain = 20

// finishResponse completes the open response and adds it to the batch. If the response is a page,
// the redirects that lead to it are added to it. If it depends on a response in the batch,
// finishResponse first imports the batch.
func (m *importer) finishResponse() error {
	x := m.open
	m.open = nil
	if x == nil || x.result.Outcome == reported {
		return nil
	}
	if n := len(m.chain); n > 0 && (n == longestChain || m.chain[n-1].redirectTarget(m.o.Normal) != x.url) {
		m.chain = nil
	}
	if why := x.unfit(); why != "" {
		x.skip(why)
	}
	to := ""
	if x.redirect && x.result.Outcome == "" {
		to = x.redirectTarget(m.o.Normal)
	}
	if to != "" {
		x.shorten()
		m.chain = append(m.chain, x)
		m.loose = append(m.loose, [2]string{x.url, to})
	} else {
		x.hops, m.chain = m.chain, nil
	}
	if x.revisit || m.urls[x.url] {
		if err := m.flush(); err != nil {
			return err
		}
	}
	m.add(x)
	return nil
}

// redirectTarget returns the target of a redirect; "" for other responses.
func (x *incoming) redirectTarget(normal func(string) (string, error)) string {
	status, to := x.message.Status(), x.message.Header.Get("Location")
	if status < 300 || status > 399 || to == "" {
		return ""
	}
	base, err := url.Parse(x.url)
	if err != nil {
		return ""
	}
	u, err := base.Parse(to)
	if err != nil {
		return ""
	}
	if to, err = normal(u.String()); err != nil {
		return ""
	}
	return to
}

// unfit returns why a response cannot be stored as the page at its address; "" if it can.
func (x *incoming) unfit() string {
	status := x.message.Status()
	switch {
	case x.request != nil && x.request.method != http.MethodGet:
		return x.request.notGET()
	case x.revisit && x.message.Line == "", x.redirect:
		return ""
	case status == http.StatusPartialContent:
		return "it is a part of a page (206)"
	case status < 200 || status > 299:
		return fmt.Sprintf("its status is %d: it is no page", status)
	}
	return ""
}

// addresses adds the addresses of list to all, also in normal form: in this form the resources themselves are
// imported.
func (m *importer) addresses(all, list []string) []string {
	for _, named := range list {
		if named == "" {
			continue
		}
		all = append(all, named)
		if normal, err := m.o.Normal(named); err == nil && normal != named {
			all = append(all, normal)
		}
	}
	return all
}
