// Package hop contains the type Hop, which holds one HTTP request with its response. Package gate
// makes the requests. To get a page, the crawler makes one request, or several if the server
// redirects.
package hop

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/coding"
)

// Hop is one request with its response.
type Hop struct {
	URL     string // the URL as sent, without fragment
	Method  string
	Status  int
	Proto   string
	Address netip.Addr  // network address of the server; zero if unknown
	Header  http.Header // header of the response as sent, with Content-Encoding
	// Sent is the head of the request as sent, from its first line to the blank line. For HTTP/2 it
	// has the form of HTTP/1.1.
	Sent      []byte
	Head      []byte        // head of the response, in the same form as Sent
	Wire      []byte        // body as sent, before content codings are undone, up to the limit
	Body      []byte        // body after content codings are undone; the same slice as Wire if there were none
	Undone    coding.Undone // how Body was decoded from Wire, if known
	Rendered  []byte        // the document after its scripts ran, as UTF-8 HTML; nil: it was not rendered
	Made      []string      // addresses of the data from which the scripts made it, redirects included
	Ran       []string      // addresses of the scripts that made it, redirects included
	Truncated bool          // the body is incomplete: too long, cut off, or invalidly encoded
	Start     time.Time
	Took      time.Duration // time from Start to the end of the body
}

// OK reports whether the response contains a whole page: whether its status is 2xx, but not 206 (Partial Content).
func (h Hop) OK() bool { return h.Status/100 == 2 && h.Status != http.StatusPartialContent }
