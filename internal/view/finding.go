package view

import (
	"encoding/xml"
	"net/http"
)

// openSearchDescription says how to search this archive (OpenSearch 1.1, draft 6).
type openSearchDescription struct {
	XMLName     xml.Name        `xml:"http://a9.com/-/spec/opensearch/1.1/ OpenSearchDescription"`
	ShortName   string          // at most 16 characters
	Description string          // at most 1024 characters
	Encoding    string          `xml:"InputEncoding"`
	URLs        []openSearchURL `xml:"Url"`
}

type openSearchURL struct {
	Type     string `xml:"type,attr"`
	Rel      string `xml:"rel,attr,omitempty"`
	Template string `xml:"template,attr"`
}

// openSearch describes the search, so that browsers and other programs can offer it.
func (h *Handler) openSearch(w http.ResponseWriter, r *request) error {
	base := r.visitor.Base
	return writeXML(w, r, "application/opensearchdescription+xml", openSearchDescription{ShortName: "acapcrawl",
		Description: "Search archived pages on their publishers' terms", Encoding: "UTF-8",
		URLs: []openSearchURL{
			{Type: "text/html", Template: base + "/search?q={searchTerms}"},
			{Type: atomType, Rel: "results", Template: base + "/feed.atom?q={searchTerms}"},
			{Type: "application/opensearchdescription+xml", Rel: "self", Template: base + "/opensearch.xml"},
		}})
}

// writeXML answers with value as a document, and an ETag.
func writeXML(w http.ResponseWriter, r *request, kind string, value any) error {
	text, err := textOfXML(value)
	if err != nil {
		return err
	}
	return writeTagged(w, r, kind, text)
}

// textOfXML returns a value as an XML document.
func textOfXML(value any) ([]byte, error) {
	text, err := xml.MarshalIndent(value, "", " ")
	return append(append([]byte(xml.Header), text...), '\n'), err
}

// ownRobots keeps other crawlers away from everything that shows archived pages or lists them for programs:
// they would publish the pages without their publishers' limits (RFC 9309 2.2).
const ownRobots = `User-agent: *
Disallow: /copy/
Disallow: /raw/
Disallow: /thumbnail/
Disallow: /compare/
Disallow: /timegate/
Disallow: /timemap/
Disallow: /cdx
Disallow: /feed.atom
Disallow: /search?
Disallow: /explain?
Disallow: /api/
`

// robots returns the robots.txt of this server.
func (h *Handler) robots(w http.ResponseWriter, r *request) error {
	return writeTagged(w, r, "text/plain; charset=utf-8", []byte(ownRobots))
}
