package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Errand is a request that one machine passes to the machine that owns the host of URL. It is a
// plain value, which encoding/json preserves.
type Errand struct {
	Method   string        // GET or HEAD
	URL      string        // without user and fragment
	Kind     Kind          // never PageRequest
	Header   []HeaderField // header of the request, for example conditional header fields
	Confirms bool          // the request confirms that the page at URL is gone; see Trace.Confirms
	MaxRaw   int64         // limit for the body as sent in bytes
	MaxBody  int64         // limit for the decoded body in bytes
}

// HeaderField is one line of a header. Value need not be UTF-8.
type HeaderField struct {
	Name  string // in the form of http.CanonicalHeaderKey
	Value []byte
}

// ErrandAnswer is the result of an Errand: an exchange with the host, or why there is none. It is a
// plain value, which encoding/json preserves. It holds the body as sent; the machine that receives
// the answer decodes it.
type ErrandAnswer struct {
	Failure *ErrandFailure // why there is no exchange; if it is not nil, the fields below are not set

	// These fields have the meaning that they have in a Hop.
	URL       string
	Method    string
	Status    int
	Proto     string
	Address   netip.Addr
	Header    []HeaderField
	Sent      []byte
	Head      []byte
	Wire      []byte
	Truncated bool // Wire is incomplete
	Start     time.Time
	Took      time.Duration
}

// Execute makes the request of an errand for another machine, through all steps of this gate: its
// address rule, its policies, and the pace of the host. This machine must own the host, otherwise
// the answer is a refusal with ErrForeign. The memory of the body counts against the lease of ctx.
func (g *Gate) Execute(ctx context.Context, e Errand) ErrandAnswer {
	hop, err := g.execute(ctx, e)
	if err != nil {
		return ErrandAnswer{Failure: newErrandFailure(err)}
	}
	return ErrandAnswer{URL: hop.URL, Method: hop.Method, Status: hop.Status, Proto: hop.Proto, Address: hop.Address,
		Header: headerFields(hop.Header), Sent: hop.Sent, Head: hop.Head, Wire: hop.Wire, Truncated: hop.Truncated,
		Start: hop.Start, Took: hop.Took}
}

func (g *Gate) execute(ctx context.Context, e Errand) (Hop, error) {
	if e.Kind == PageRequest {
		return Hop{}, errors.New("a page request cannot be passed to another machine")
	}
	if e.MaxRaw < 0 || e.MaxBody < 0 {
		return Hop{}, errors.New("the limits of the errand are negative")
	}
	header, err := headerOf(e.Header)
	if err != nil {
		return Hop{}, err
	}
	p := purpose{kind: e.Kind, trace: &Trace{}, errand: &e}
	if e.Confirms {
		p.trace.Confirms = e.URL
	}
	req, err := http.NewRequestWithContext(context.WithValue(ctx, purposeKey{}, p), e.Method, e.URL, nil)
	if err != nil {
		return Hop{}, fmt.Errorf("%q is not a URL: %w", e.URL, err)
	}
	req.Header = header
	hop, _, err := g.checkAndSend(req, p)
	return hop, err
}

// kindNames are the names of the kinds of request in JSON.
var kindNames = []string{PageRequest: "page", Part: "part", Sitemap: "sitemap", PolicyFile: "policy"}

// MarshalText returns the name of k.
func (k Kind) MarshalText() ([]byte, error) {
	if k < 0 || int(k) >= len(kindNames) {
		return nil, fmt.Errorf("%d is not a kind of request", int(k))
	}
	return []byte(kindNames[k]), nil
}

// UnmarshalText sets k to the kind of request with this name.
func (k *Kind) UnmarshalText(name []byte) error {
	i := slices.Index(kindNames, string(name))
	if i < 0 {
		return fmt.Errorf("%q is not a kind of request", name)
	}
	*k = Kind(i)
	return nil
}

// headerFields returns h as a list, ordered by name.
func headerFields(h http.Header) (list []HeaderField) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			list = append(list, HeaderField{name, []byte(value)})
		}
	}
	return list
}

// headerOf returns the header with the fields of list, or an error if it is not a valid header.
func headerOf(list []HeaderField) (http.Header, error) {
	h, size := http.Header{}, 0
	for _, f := range list {
		if f.Name == "" || f.Name != http.CanonicalHeaderKey(f.Name) || strings.ContainsAny(f.Name, " \t\r\n\x00:") ||
			strings.ContainsAny(string(f.Value), "\r\n\x00") {
			return nil, fmt.Errorf("%q is not a header field", cmp.Or(f.Name, string(f.Value)))
		}
		if size += len(f.Name) + len(f.Value) + len(": \r\n"); size > maxHead {
			return nil, fmt.Errorf("the header has more than %d bytes", maxHead)
		}
		h[f.Name] = append(h[f.Name], string(f.Value))
	}
	return h, nil
}
