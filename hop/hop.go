// Package hop is one request with its response, as the gate makes it and a page consists of it.
package hop

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/acapcrawl/acapcrawl/coding"
)

// Hop is one request with its response.
type Hop struct {
	URL     string // as sent, without fragment
	Method  string
	Status  int
	Proto   string
	Address netip.Addr  // that answered; zero if it is not known
	Header  http.Header // of the response as sent, Content-Encoding included
	// head of the request as sent, from its first line to the blank line; of HTTP/2 in the form of
	// HTTP/1.1
	Sent      []byte
	Head      []byte        // head of the response, likewise
	Wire      []byte        // body as sent, still content-encoded, up to the limit
	Body      []byte        // body after Content-Encoding is undone; the same slice as Wire if there was none
	Undone    coding.Undone // how Wire became Body, if that is known
	Truncated bool          // something of the body is missing: it was too long, cut off, or a broken stream
	Start     time.Time
	Took      time.Duration // from Start to the end of the body
}
