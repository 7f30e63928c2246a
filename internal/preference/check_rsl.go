package preference

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Naming says where a licence document is named.
type Naming int

// How a licence document is named. A content without URL is for the page that names or contains the
// document; robots.txt names no page (RSL 4.6).
const (
	Unnamed Naming = iota // it is not known where the document is named
	BySite                // robots.txt names the document
	ByPage                // a page names the document
	InPage                // a page contains the document
)

// LicenceText is a licence document that is checked.
type LicenceText struct {
	Name         string // the file name or the address, for findings
	Text         []byte
	Line, Column int // the position at which Text begins in the file; 1 and 1 for a whole file
	Naming       Naming
	Root         *url.URL // a URL of the site with the resources; nil if it is unknown
}

// CheckLicence returns the findings about a licence document. Each fault against the schema has a
// finding with its place, while a crawler only reports that it cannot read the document. If the
// vocabulary rsl is not in force, CheckLicence returns nothing.
func CheckLicence(t LicenceText, vocabularies []acap.Vocabulary) []acap.Finding {
	if !Reads(vocabularies, rsl{}.Name()) {
		return nil
	}
	text := bytes.TrimPrefix(t.Text, []byte("\ufeff"))
	c := &licenceCheck{LicenceText: t}
	c.rslReader = rslReader{Decoder: xml.NewDecoder(bytes.NewReader(text)), url: t.Name,
		places: places{text: text, line: t.Line, column: t.Column}}
	if len(text) > acap.MaxSize {
		c.Report(c.here(), "too-long", acap.Error, "split it", "the document is too long, so it cannot be read")
		return c.Findings()
	}
	if err := c.document(); err != nil {
		at := c.here()
		if syntax, is := errors.AsType[*xml.SyntaxError](err); is {
			err = errors.New(syntax.Msg)
		}
		c.Report(at, "malformed-licence", acap.Error, "write well-formed XML without a document type",
			"the document cannot be read: "+err.Error())
	}
	return c.Findings()
}

// licenceCheck checks one licence document. Its methods return an error if the text cannot be
// parsed any further.
type licenceCheck struct {
	rslReader
	acap.Collector
	LicenceText
	contents int
	lastTag  []byte // the start tag that was read last
	lastAt   int    // its offset
}

// here returns the field for a finding about the place up to which the text was read.
func (c *licenceCheck) here() *acap.Field {
	end := len(bytes.TrimRight(c.text, " \t\r\n"))
	at := max(c.offset, c.characterAt(min(int(c.InputOffset()), end)))
	return c.mark(acap.Licensing, c.url, at, at)
}

// tag returns the field for findings about the start tag that was just read.
func (c *licenceCheck) tag() *acap.Field {
	end := int(c.InputOffset())
	start := c.offset + max(0, bytes.LastIndexByte(c.text[c.offset:end], '<'))
	c.lastTag, c.lastAt = c.text[start:end], start
	return c.mark(acap.Licensing, c.url, start, end)
}

// value returns the field for findings about the value of an attribute of the last start tag. If
// the attribute was not found, it returns otherwise.
func (c *licenceCheck) value(name string, otherwise *acap.Field) *acap.Field {
	tag, at := c.lastTag, bytes.IndexAny(c.lastTag, " \t\r\n")
	for at >= 0 {
		equals := bytes.IndexByte(tag[at:], '=')
		if equals < 0 {
			break
		}
		attribute := strings.TrimSpace(string(tag[at : at+equals]))
		from := at + equals + 1
		from += bytes.IndexAny(tag[from:], "\"'") + 1 // in XML that parses, each value has quotation marks
		to := from + bytes.IndexByte(tag[from:], tag[from-1])
		if to < from || c.lastAt+from < c.offset {
			break
		}
		if attribute == name {
			return c.mark(acap.Licensing, c.url, c.lastAt+from, c.lastAt+to)
		}
		at = to + 1
	}
	return otherwise
}

func (c *licenceCheck) document() error {
	root, err := c.start()
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it contains no element")
	case err != nil:
		return err
	}
	at := c.tag()
	if root.Name != (xml.Name{Space: rslSpace, Local: "rsl"}) {
		c.Report(at, "wrong-namespace", acap.Error, `begin with <rsl xmlns="`+rslSpace+`">`,
			"the first element is not rsl of the namespace "+rslSpace+", so the document is not one of RSL")
		return nil
	}
	if age := attribute(root, "max-age"); has(root, "max-age") {
		if _, err := strconv.ParseUint(age, 10, 16); err != nil {
			c.malformed(c.value("max-age", at), "max-age", "a number of days", "30 days count")
		}
	}
	if err := c.each("rsl", c.checkContent); err != nil {
		return err
	}
	switch {
	case c.contents == 0:
		c.Report(at, "missing-element", acap.Error, `write <content url="/">`,
			"the document contains no element content, so it cannot be read")
	case c.contents > 1 && c.Naming == InPage:
		c.Report(at, "several-contents", acap.Error, "keep the one for the page",
			"a document in a page must have exactly one element content, so it cannot be read")
	}
	if _, err := c.start(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its first element")
	}
	return nil
}

// has reports whether an element has the attribute with the given name.
func has(e xml.StartElement, name string) bool {
	return slices.ContainsFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == name && a.Name.Space == "" })
}

// malformed reports a value that is not what it should be. so says what follows.
func (c *licenceCheck) malformed(at *acap.Field, name, want, so string) {
	c.Report(at, "malformed-term", acap.Warning, "write "+want, name+" is not "+want+": "+so)
}

// each calls check for the elements inside an element with the given name, which check must read to
// their ends. It reports and skips elements of RSL that may not be there.
func (c *licenceCheck) each(name string, check func(xml.StartElement, *acap.Field) error) error {
	for {
		t, err := c.Token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.Directive:
			return errors.New("it declares a document type")
		case xml.EndElement:
			return nil
		case xml.StartElement:
			switch {
			case t.Name.Space != rslSpace:
				err = c.Skip()
			case !slices.Contains(inside[name], t.Name.Local):
				c.unknownElement(name, t, c.tag())
				err = c.Skip()
			default:
				err = check(t, c.tag())
			}
			if err != nil {
				return err
			}
		}
	}
}

func (c *licenceCheck) unknownElement(in string, e xml.StartElement, at *acap.Field) {
	c.Report(at, "unknown-element", acap.Error, meant(e.Name.Local, "leave it out", inside[in]...),
		in+" may not contain the element "+e.Name.Local+", so the document cannot be read")
}

// checkContent checks an element content.
func (c *licenceCheck) checkContent(e xml.StartElement, at *acap.Field) error {
	c.contents++
	if !has(e, "url") {
		c.Report(at, "missing-attribute", acap.Error, `write url="/" for the whole site`,
			"the element content has no url, so the document cannot be read")
	} else {
		c.checkURL(attribute(e, "url"), at)
	}
	if server := attribute(e, "server"); has(e, "server") && !absolute(server, "https") {
		c.malformed(c.value("server", at), "server", "an absolute URL of the https scheme",
			"no licence can be obtained there")
	}
	if v := attribute(e, "encrypted"); has(e, "encrypted") && v != "true" && v != "false" {
		c.malformed(c.value("encrypted", at), "encrypted", "true or false", "it says nothing")
	}
	if has(e, "lastmod") && !isDate(attribute(e, "lastmod")) {
		c.malformed(c.value("lastmod", at), "lastmod", "a date, as in 2026-01-31", "it says nothing")
	}
	var offers []*offer
	err := c.each("content", func(e xml.StartElement, at *acap.Field) error {
		if e.Name.Local != "license" {
			return c.Skip()
		}
		o, err := c.checkOffer()
		offers = append(offers, o)
		return err
	})
	if err == nil && offers == nil {
		c.Report(at, "missing-element", acap.Error, "write a license inside",
			"the element content contains no license, so the document cannot be read")
	}
	c.reportContradictions(offers)
	return err
}

// checkURL checks the attribute url of an element content.
func (c *licenceCheck) checkURL(value string, at *acap.Field) {
	of := associated{root: c.Root, whole: c.Naming >= ByPage}
	other := "this is no address of the site, so the content matches nothing"
	switch {
	case value == "" && c.Naming == Unnamed:
		c.Report(at, "empty-url", acap.Notice, `write url="/" if robots.txt names the document`,
			"the content is for the page that names the document: if robots.txt names it, it matches nothing")
	case value == "" && c.Naming == BySite:
		c.Report(at, "empty-url", acap.Warning, `write url="/" for the whole site`,
			"robots.txt names the document, so a content without URL matches nothing")
	case value == "":
	case strings.HasPrefix(value, "//"), strings.Contains(value, "://") && !absolute(value, "http", "https"),
		c.Root != nil && of.pattern(value) == nowhere:
		c.Report(c.value("url", at), "foreign-url", acap.Warning, "write a path, or a URL of the site", other)
	case value[0] != '/' && value[0] != '*' && !strings.Contains(value, "//"):
		c.Report(c.value("url", at), "rule-without-slash", acap.Notice, "write /"+value,
			"the URL begins without a slash and is read with one")
	}
}

// absolute reports whether a value is an absolute URL of one of the given schemes.
func absolute(value string, schemes ...string) bool {
	u, err := url.Parse(value)
	return err == nil && u.Host != "" && slices.Contains(schemes, strings.ToLower(u.Scheme))
}

// isDate reports whether a value is a date or a time of ISO 8601.
func isDate(value string) bool {
	return slices.ContainsFunc([]string{time.DateOnly, time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01", "2006",
		"2006-01-02T15:04:05"}, func(layout string) bool {
		_, err := time.Parse(layout, value)
		return err == nil
	})
}

// checkPayment checks an element payment.
func (c *licenceCheck) checkPayment(e xml.StartElement, at *acap.Field) error {
	known := []string{"free", "attribution", "purchase", "subscription", "training", "crawl", "use", "contribution"}
	switch kind := attribute(e, "type"); {
	case kind == "":
		c.Report(at, "unknown-payment", acap.Warning, `write type="free" if nothing is to be paid`,
			"the payment has no type, so what the licence permits needs an agreement")
	case kind == "inference":
		c.Report(c.value("type", at), "unknown-payment", acap.Warning, "write use",
			"inference was a type of payment in drafts only; what the licence permits needs an agreement")
	case !slices.Contains(known, kind):
		c.Report(c.value("type", at), "unknown-payment", acap.Warning,
			meant(kind, "use a type of RSL 1.0, such as purchase", known...),
			"the type of payment is unknown, so what the licence permits needs an agreement")
	}
	return c.each("payment", func(e xml.StartElement, at *acap.Field) error {
		switch e.Name.Local {
		case "standard":
			text, err := c.textOf(e)
			if err == nil && !absolute(strings.TrimSpace(text), "http", "https") {
				c.malformed(at, "standard", "an absolute URL", "nobody finds the terms")
			}
			return err
		case "amount":
			isCapital := func(r rune) bool { return 'A' <= r && r <= 'Z' }
			if code := attribute(e, "currency"); len(code) != 3 || strings.TrimFunc(code, isCapital) != "" {
				c.malformed(c.value("currency", at), "currency", "a code of ISO 4217, as in EUR",
					"the amount is not clear")
			}
		}
		return c.Skip()
	})
}

// textOf returns the text of an element that contains only text, and reads to its end. It reports
// elements of RSL inside.
func (c *licenceCheck) textOf(of xml.StartElement) (text string, err error) {
	var b strings.Builder
	for {
		t, err := c.Token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			if t.Name.Space == rslSpace {
				c.unknownElement(of.Name.Local, t, c.tag())
			}
			if err := c.Skip(); err != nil {
				return "", err
			}
		case xml.Directive:
			return "", errors.New("it declares a document type")
		case xml.EndElement:
			return b.String(), nil
		}
	}
}

// kinds are the values of type of two elements that have no effect on verdicts.
func kinds(element string) []string {
	if element == "legal" {
		return []string{"warranty", "disclaimer", "attestation", "contact", "proof"}
	}
	return []string{"telemetry", "provenance", "audit"}
}

// checkKind checks the type of an element legal or reporting.
func (c *licenceCheck) checkKind(e xml.StartElement, at *acap.Field) {
	kind, known := attribute(e, "type"), kinds(e.Name.Local)
	if !slices.Contains(known, kind) {
		c.Report(c.value("type", at), "unknown-type", acap.Warning,
			meant(kind, "use "+strings.Join(known, ", "), known...),
			fmt.Sprintf("the type %q of %s is unknown", kind, e.Name.Local))
	}
}
