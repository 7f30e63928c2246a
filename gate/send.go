package gate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/coding"
	"github.com/acapcrawl/acapcrawl/memory"
)

// errStale is the end of a request that the transport would begin again by itself: its connection
// was closed, or the host refused it, before anything was done. Nothing is sent again without
// budget and pause.
var errStale = fmt.Errorf("the connection ended before an answer: %w", io.ErrUnexpectedEOF)

// attempt is one sending of a request.
type attempt struct {
	*Gate
	req   *http.Request
	url   *url.URL
	key   string
	why   purpose
	alone bool // on a connection that no other request uses

	at          netip.Addr // to dial; zero: what the name resolves to
	visit       *visit
	heads       exchange
	wire        *recorded // that records them; nil with HTTP/2
	ride        *ride
	connections int
	peer        netip.Addr // of the connection
	refused     error      // why it was not sent after the wait
}

// send takes a request from the budget, waits for the host, sends and captures. If nothing is sent,
// the budget gets the request back.
func (a *attempt) send() (Hop, *http.Response, error) {
	if a.why.kind == PageRequest && !a.spend() {
		return Hop{}, nil, a.overspent()
	}
	hop, resp, sent, err := a.enter()
	if !sent {
		a.refund(a.why.kind)
	}
	return hop, resp, err
}

// enter waits for the host and sends.
func (a *attempt) enter() (_ Hop, _ *http.Response, sent bool, err error) {
	place, parent := a.key, a.req.Context()
	if a.o.ByAddress {
		if a.at, err = a.resolve(parent, a.key); err != nil {
			return Hop{}, nil, false, err
		}
		place = a.at.String()
	}
	if a.visit, err = a.hosts.enter(parent, a.key, place); err != nil {
		return Hop{}, nil, false, fmt.Errorf("waiting for %s: %w", place, err)
	}
	defer a.visit.leave()
	ctx, giveUp := context.WithCancelCause(parent)
	defer giveUp(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, a.o.Timeout, tooSlow(a.o.Timeout))
	defer cancel()
	if a.at.IsValid() {
		ctx = pin(ctx, a.at)
	}
	defer func() {
		a.ride.leave()
		a.wire.end(&a.heads)
	}()
	out := a.outgoing(a.req, a.url, a.key, httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(i httptrace.GotConnInfo) { a.connected(i.Conn, giveUp) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { a.visit.start() },
		GotFirstResponseByte: a.visit.answered,
	}))
	start := time.Now()
	resp, err := a.transmit(out)
	var r *Refusal
	switch {
	case a.refused != nil:
		return Hop{}, nil, false, a.refused
	case errors.As(err, &r): // at dialling: nothing was sent
		return Hop{}, nil, false, r
	case err != nil:
		return Hop{}, nil, true, a.failure(ctx, err, false)
	}
	defer resp.Body.Close()
	hop, err := a.receive(ctx, out, resp, start)
	if err != nil {
		return Hop{}, nil, true, err
	}
	return hop, decoded(resp, a.req, hop.Body), true, nil
}

// connected is called with the connection that is going to carry the request. It is the last
// moment to give the request up.
func (a *attempt) connected(c net.Conn, giveUp context.CancelCauseFunc) {
	a.connections++
	a.peer = remote(c)
	elsewhere := a.at.IsValid() && a.peer != a.at // the connection is older than the last resolution of the name
	if a.connections > 1 || elsewhere {
		giveUp(errStale)
		unused(c, elsewhere)
		return
	}
	if a.refused = a.readmit(a.url, a.why); a.refused != nil {
		giveUp(a.refused)
		unused(c, false)
		return
	}
	a.ride = board(c)
	if c, ok := c.(*recorded); ok {
		a.wire = c
		c.begin(&a.heads)
	}
}

// transmit sends out through the shared transport, or through one for this request alone.
func (a *attempt) transmit(out *http.Request) (*http.Response, error) {
	if !a.alone {
		return a.transport.RoundTrip(out)
	}
	own := a.transport.Clone()
	own.DisableKeepAlives = true
	return own.RoundTrip(out)
}

// failure says what err, which ended the exchange, means. answered says that a head was received.
func (a *attempt) failure(ctx context.Context, err error, answered bool) error {
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case !a.alone && a.ride.blameless(err, answered):
		err = fmt.Errorf("%w: %w", errShared, err)
	default:
		err = diagnosed(err)
	}
	return fmt.Errorf("%s %s: %w", cmp.Or(a.req.Method, http.MethodGet), a.url, err)
}

// receive captures the answer to out.
func (a *attempt) receive(ctx context.Context, out *http.Request, resp *http.Response, start time.Time) (Hop, error) {
	asked, head := a.heads.heads()
	if resp.ProtoMajor != 1 {
		asked, head = written(out, resp)
	}
	body := &noting{ReadCloser: resp.Body}
	resp.Body = body
	parent := a.req.Context()
	c, err := a.capture(parent, resp, out.Method, a.why.kind)
	if parent.Err() != nil {
		err = context.Cause(parent)
	}
	if err != nil {
		return Hop{}, fmt.Errorf("%s %s: %w", out.Method, a.url, err)
	}
	if c.truncated && ctx.Err() == nil && !a.alone && a.ride.blameless(body.err, true) {
		memory.Of(parent).Discard() // it is requested again, which may take a while
		return Hop{}, a.failure(ctx, body.err, true)
	}
	return Hop{URL: a.url.String(), Method: out.Method, Status: resp.StatusCode, Proto: resp.Proto, Address: a.peer,
		Header: resp.Header,
		Sent:   asked, Head: head, Wire: c.wire, Body: c.undone.Body, Undone: c.undone, Truncated: c.truncated,
		Start: start, Took: time.Since(start)}, nil
}

// resolve gives the address of the host key, for pauses and slots; it is the one that is dialled.
// It is judged here already, so that nobody waits for what will be refused.
func (g *Gate) resolve(ctx context.Context, key string) (netip.Addr, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialTime(g.o.Timeout), tooSlow(dialTime(g.o.Timeout)))
	defer cancel()
	a, err := g.places.of(ctx, key)
	if err != nil {
		return a, err
	}
	return a, g.address(key, a)
}

// remote returns the address at the other end of c.
func remote(c net.Conn) netip.Addr {
	ap, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	return ap.Addr().Unmap()
}

// unused keeps a connection from carrying a request that was given up. With HTTP/2 the end of its
// context does, and the connection, which others share, is closed only if it leads elsewhere.
func unused(c net.Conn, elsewhere bool) {
	if t, ok := c.(*tls.Conn); ok && t.ConnectionState().NegotiatedProtocol == "h2" && !elsewhere {
		return
	}
	_ = c.Close()
}

// capture takes the body of resp in, if it has one.
func (g *Gate) capture(ctx context.Context, resp *http.Response, method string, kind Kind) (capture, error) {
	x := memory.Of(ctx).Begin(ctx)
	defer x.End()
	switch {
	case resp.StatusCode < 200: // 101; the others do not end an exchange
		return capture{}, fmt.Errorf("an answer of status %d was not asked for", resp.StatusCode)
	case method == http.MethodHead, resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return capture{}, nil
	case kind == PolicyFile:
		return take(g.decoders, resp, policyCap, policyCap, x)
	case redirects(resp):
		return take(g.decoders, resp, min(g.o.MaxRaw, redirectCap), min(g.o.MaxBody, redirectCap), x)
	}
	return take(g.decoders, resp, g.o.MaxRaw, g.o.MaxBody, x)
}

// redirectCap bounds the body of a redirect, in bytes: those of a whole chain are in memory while
// its last page is waited for.
const redirectCap = 1 << 20

func redirects(resp *http.Response) bool {
	return resp.StatusCode/100 == 3 && resp.Header.Get("Location") != ""
}

// tooSlow is the net.Error of an exchange that took longer than it may.
type tooSlow time.Duration

func (d tooSlow) Error() string { return fmt.Sprintf("no full answer within %s", time.Duration(d)) }
func (d tooSlow) Timeout() bool { return true }

// Temporary is what net.Error still asks for.
func (d tooSlow) Temporary() bool { return true }

// outgoing is the request as it is sent: to the host of the URL that was judged, under our name,
// and without a body.
func (g *Gate) outgoing(req *http.Request, u *url.URL, key string, ctx context.Context) *http.Request {
	out := req.Clone(ctx)
	out.URL, out.Host = u, ""
	if out.Method == "" {
		out.Method = http.MethodGet
	}
	if out.Header == nil {
		out.Header = http.Header{}
	}
	h := out.Header
	h.Del("Host")
	h.Del("Connection")
	h.Del("Upgrade")
	h.Del("Referer")                         // http.Client adds it to redirects, with the query of the address before
	if before := first(req); before != req { // http.Client repeats at each redirect what was asked of the first address
		for _, name := range []string{"If-None-Match", "If-Modified-Since"} {
			if slices.Equal(h.Values(name), before.Header.Values(name)) {
				h.Del(name)
			}
		}
	}
	h.Set("User-Agent", g.o.UserAgent)
	h.Set("Accept-Encoding", coding.Accepted)
	if g.o.Sign != nil {
		g.o.Sign.sign(h, authority(u, key))
	}
	out.Body, out.GetBody, out.ContentLength = http.NoBody, nil, 0
	return out
}

// first is the request that http.Client began with, where req follows a redirect.
func first(req *http.Request) *http.Request {
	for req.Response != nil && req.Response.Request != nil {
		req = req.Response.Request
	}
	return req
}

// decoded turns resp into what the caller gets: the body without content coding.
func decoded(resp *http.Response, req *http.Request, body []byte) *http.Response {
	resp.Request = req
	resp.Header = resp.Header.Clone()
	// its header is that of another answer
	if req.Method == http.MethodHead || resp.StatusCode == http.StatusNotModified {
		resp.Body = http.NoBody
		return resp
	}
	resp.Uncompressed = resp.Header.Get("Content-Encoding") != ""
	resp.Header.Del("Content-Encoding")
	if int64(len(body)) != resp.ContentLength {
		resp.Header.Del("Content-Length")
	}
	resp.ContentLength, resp.TransferEncoding = int64(len(body)), nil
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp
}
