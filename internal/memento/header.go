package memento

import "net/http"

// Form is a serialisation of TimeMaps.
type Form int

const (
	AsLinks Form = iota // application/link-format
	AsJSON              // application/json
)

// ContentType returns the media type of the form.
func (f Form) ContentType() string {
	if f == AsJSON {
		return "application/json"
	}
	return LinkFormat
}

// Page holds the addresses that belong to one original page.
type Page struct {
	Original string // address of the original page (URI-R)
	TimeGate string // address of its TimeGate (URI-G)

	// TimeMap returns the address of a page of its TimeMap (URI-T). The first page has the number
	// 1.
	TimeMap func(f Form, page int) string

	// PageSize is the number of versions in a page of a TimeMap; 0 for DefaultPageSize.
	PageSize int
}

// links returns the links from version i of a page: original, TimeGate, TimeMap, and the first,
// previous, next and last version (RFC 7089 2.2).
func (p Page) links(v Versions, i int) []Link {
	links := []Link{
		{Target: p.Original, Rels: []string{"original"}},
		{Target: p.TimeGate, Rels: []string{"timegate"}},
		p.mapLink("timemap", AsLinks, 1, v),
	}
	for _, r := range v.around(i) {
		at := v.At(r.index)
		links = append(links, Link{Target: at.Address, Rels: r.rels, Datetime: at.Time})
	}
	return links
}

// TimeGateHeader returns the header of a TimeGate that redirects to version i with status 302 (RFC
// 7089 4.2.1: Location has the address of the version, Vary contains accept-datetime, Link contains
// the original, and there is no Memento-Datetime).
func (p Page) TimeGateHeader(v Versions, i int) http.Header {
	h := p.RedirectHeader(v, i)
	h.Set("Vary", "accept-datetime")
	return h
}

// RedirectHeader returns the header of a redirect to version i that does not depend on
// Accept-Datetime, such as from an inexact timestamp (RFC 7089 4.5.7, intermediate resources: Link
// contains the original; there is no Memento-Datetime, and Vary does not contain accept-datetime).
func (p Page) RedirectHeader(v Versions, i int) http.Header {
	return http.Header{"Location": {reference(v.At(i).Address)}, "Link": {HeaderValue(p.links(v, i))}}
}

// VersionHeader returns the header of version i itself, also if it is a redirect or an error of the
// original server (RFC 7089 4.2.1, 4.5.4, 4.5.5: Memento-Datetime has the time of the version, Link
// contains the original, and Vary does not contain accept-datetime).
func (p Page) VersionHeader(v Versions, i int) http.Header {
	return http.Header{"Memento-Datetime": {Date(v.At(i).Time)}, "Link": {HeaderValue(p.links(v, i))}}
}
