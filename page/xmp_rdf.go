package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"strings"
)

const rdfSpace = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

var (
	rdfRoot     = xml.Name{Space: rdfSpace, Local: "RDF"}
	rdfAbout    = xml.Name{Space: rdfSpace, Local: "about"}
	rdfResource = xml.Name{Space: rdfSpace, Local: "resource"}
	rdfValue    = xml.Name{Space: rdfSpace, Local: "value"}
	extendedXMP = xml.Name{Space: "http://ns.adobe.com/xmp/note/", Local: "HasExtendedXMP"}
)

// Limits against hostile packets.
const (
	maxXMPDepth  = 32
	maxXMPValues = 64
	maxXMPValue  = 4000 // bytes of one value
)

var (
	errXMPBounds   = errors.New("the metadata exceeds what is read of it")
	errXMPSubjects = errors.New("the metadata speaks of several resources")
	errXMPElse     = errors.New("the metadata goes on elsewhere in the file")
	errXMPDoctype  = errors.New("the metadata declares a document type")
)

// xmpReader reads the RDF of one XMP packet (XMP Specification Part 1, 7).
type xmpReader struct {
	decoder *xml.Decoder
	wanted  map[xml.Name]xml.Name
	found   map[xml.Name][]string
	values  int
	about   *string
}

// readXMP returns the values of the wanted properties of the resource, in order. wanted maps a
// property to the name of a field: only values of that field in the property's structures are
// returned. With an empty field name, all values of the property are returned. Properties are
// attributes or elements; their values are text, rdf:resource, rdf:value with qualifiers, or the
// items of a Bag, Seq or Alt. It is an error if a packet is not well-formed, describes several
// resources or continues in another segment.
func readXMP(packet []byte, wanted map[xml.Name]xml.Name) (map[xml.Name][]string, error) {
	r := &xmpReader{decoder: xml.NewDecoder(bytes.NewReader(bytes.TrimRight(packet, "\x00"))), wanted: wanted,
		found: map[xml.Name][]string{}}
	for {
		token, err := r.decoder.Token()
		if err != nil { // io.EOF is also returned as an error: the packet contains no RDF
			return nil, err
		}
		switch t := token.(type) {
		case xml.Directive:
			return nil, errXMPDoctype
		case xml.StartElement:
			if t.Name == rdfRoot {
				_, err := r.children(r.description)
				return r.found, err
			}
		}
	}
}

// children calls read for each element inside the current one, and returns the text between them.
// read must read to the end of its element.
func (r *xmpReader) children(read func(xml.StartElement) error) (text string, err error) {
	var b strings.Builder
	for {
		token, err := r.decoder.Token()
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.CharData:
			if b.Len() <= maxXMPValue {
				b.Write(t)
			}
		case xml.StartElement:
			if err := read(t); err != nil {
				return "", err
			}
		case xml.EndElement:
			return strings.TrimSpace(b.String()), nil
		}
	}
}

// description reads properties of the resource. Several descriptions must describe the same
// resource.
func (r *xmpReader) description(e xml.StartElement) error {
	about := ""
	for _, a := range e.Attr {
		switch {
		case a.Name == rdfAbout:
			about = a.Value
		case a.Name == extendedXMP:
			return errXMPElse
		case r.wanted[a.Name] == a.Name:
			if err := r.add(a.Name, a.Value); err != nil {
				return err
			}
		}
	}
	if r.about != nil && *r.about != about {
		return errXMPSubjects
	}
	r.about = &about
	_, err := r.children(r.property)
	return err
}

func (r *xmpReader) property(e xml.StartElement) error {
	_, wanted := r.wanted[e.Name]
	switch {
	case e.Name == extendedXMP:
		return errXMPElse
	case !wanted:
		return r.decoder.Skip()
	}
	return r.node(e, e.Name, false, 0)
}

// node reads an element that is a property, or that is inside a property. within says whether the
// text of the element is a value of the property.
func (r *xmpReader) node(e xml.StartElement, property xml.Name, within bool, depth int) error {
	if depth > maxXMPDepth {
		return errXMPBounds
	}
	field := r.wanted[property]
	within = within || e.Name == field
	for _, a := range e.Attr {
		if a.Name == field || within && (a.Name == rdfResource || a.Name == rdfValue) {
			if err := r.add(property, a.Value); err != nil {
				return err
			}
		}
	}
	text, err := r.children(func(child xml.StartElement) error { return r.node(child, property, within, depth+1) })
	if err != nil || !within {
		return err
	}
	return r.add(property, text)
}

func (r *xmpReader) add(property xml.Name, value string) error {
	value = strings.TrimSpace(value)
	if value == "" {
		return nil
	}
	if r.values++; r.values > maxXMPValues || len(value) > maxXMPValue {
		return errXMPBounds
	}
	r.found[property] = append(r.found[property], value)
	return nil
}
