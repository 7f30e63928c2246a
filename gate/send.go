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

	"github.com/acapcrawl/acapcrawl/internal/coding"
	"github.com/acapcrawl/acapcrawl/internal/memory"
)

// errStale is the error of a request that failed before its host did anything, because the
// connection was closed or the host refused the request. net/http would send such a request again
// by itself. The gate prevents that, because each repetition must count against the budget and wait
// for the pause.
var errStale = fmt.Errorf("the connection ended before an answer: %w", io.ErrUnexpectedEOF)

// attempt is one attempt to send a request.
type attempt struct {
	*Gate
	req   *http.Request
	url   *url.URL
	key   string
	why   purpose
	alone bool // use a connection that no other request uses

	at          netip.Addr // address to dial; zero: resolve the name when dialling
	visit       *visit
	heads       exchange
	wire        *recordedConn // connection that records the heads; nil with HTTP/2
	use         *connUse
	connections int
	proxied     bool       // a proxy forwards the request
	peer        netip.Addr // address of the host; zero if a proxy forwards the request
	refused     error      // why the request was refused after it waited for its host
	unsent      bool       // the first connection could not be used, so nothing was sent
	credentials []string   // names of header fields whose values are not kept
}

// send counts a page request against the budget, waits for the host, sends the request and reads
// the answer. If nothing is sent, it restores the budget.
func (a *attempt) send() (Hop, *http.Response, error) {
	if a.why.kind == PageRequest {
		if err := a.spendPage(a.req.Context(), a.key); err != nil {
			return Hop{}, nil, err
		}
	}
	hop, resp, sent, err := a.waitAndSend()
	if !sent {
		a.refundPage(a.why.kind)
	}
	return hop, resp, err
}

// waitAndSend waits for the host and sends the request. sent is false if certainly nothing was
// sent.
func (a *attempt) waitAndSend() (_ Hop, _ *http.Response, sent bool, err error) {
	place, parent := a.key, a.req.Context()
	if a.o.ByAddress {
		if a.at, err = a.resolve(parent, a.key); err != nil {
			return Hop{}, nil, false, err
		}
		place = a.at.String()
	}
	if a.visit, err = a.hosts.enter(parent, a.key, place, a.why.kind); err != nil {
		return Hop{}, nil, false, fmt.Errorf("waiting for %s: %w", place, err)
	}
	defer a.visit.leave()
	ctx, giveUp := context.WithCancelCause(parent)
	defer giveUp(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, a.o.Timeout, timeoutError(a.o.Timeout))
	defer cancel()
	if a.at.IsValid() {
		ctx = pin(ctx, a.at)
	}
	defer func() {
		a.use.leave()
		a.wire.end(&a.heads)
	}()
	out := a.outgoing(a.req, a.url, a.key, httptrace.WithClientTrace(ctx, a.hooks(giveUp)))
	a.credentials = a.addCredentials(out.Header, a.url)
	if out, err = a.withProxy(out, a.key); err != nil {
		return Hop{}, nil, false, err
	}
	a.proxied = proxyOf(out.Context()) != nil
	start := time.Now()
	resp, err := a.transmit(out)
	var r *Refusal
	switch {
	case a.refused != nil:
		return Hop{}, nil, false, a.refused
	case err != nil && a.use.refusal() != nil:
		return Hop{}, nil, false, a.use.refusal()
	case errors.As(err, &r): // the request was refused while dialling, so nothing was sent
		return Hop{}, nil, false, r
	case err != nil:
		return Hop{}, nil, !a.unsent, a.explainFailure(ctx, err, false)
	}
	defer resp.Body.Close()
	a.visit.observe(resp)
	hop, err := a.receive(ctx, out, resp, start)
	if err != nil {
		return Hop{}, nil, true, err
	}
	return hop, decodedResponse(resp, a.req, hop.Body), true, nil
}

// hooks returns the functions that net/http calls while it sends the request.
func (a *attempt) hooks(giveUp context.CancelCauseFunc) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) { a.connected(i.Conn, giveUp) },
		// HTTP/2 calls this before anything else is written to the connection. HTTP/1 calls it while
		// the head of the request is still in a buffer; there recordedConn calls wrote.
		WroteHeaders: func() {
			if a.wire == nil {
				a.use.wrote()
			}
		},
		// HTTP/1 calls this too while the request is still in the buffer. If the process is stopped
		// at this point, the pause would begin before the request leaves.
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if a.wire == nil {
				a.visit.start()
			}
		},
		GotFirstResponseByte: a.visit.answered,
	}
}

// connected is called with the connection that will carry the request. This is the last moment at
// which the request can be cancelled.
func (a *attempt) connected(c net.Conn, giveUp context.CancelCauseFunc) {
	a.connections++
	if !a.proxied {
		a.peer = remote(c)
	}
	first := a.connections == 1
	otherAddress := a.at.IsValid() && a.peer != a.at // an older connection that leads to another address of the host
	unusable := otherAddress || unwritable(c)
	stale := !first || unusable
	if first {
		a.refused = a.tenure(a.key)
	}
	if a.refused == nil && !stale {
		a.refused = a.admitAgain(a.url, a.why)
	}
	if a.refused != nil || stale {
		a.unsent = a.unsent || first
		giveUp(cmp.Or(a.refused, errStale))
		abandon(c, unusable)
		return
	}
	a.use = beginUse(c)
	a.heads.use, a.heads.visit = a.use, a.visit
	if c, ok := c.(*recordedConn); ok {
		a.wire = c
		c.begin(&a.heads)
	}
}

// transmit sends out through the shared transport, or, if alone is set, through a transport for
// this request only.
func (a *attempt) transmit(out *http.Request) (*http.Response, error) {
	if !a.alone {
		return a.transport.RoundTrip(out)
	}
	own := a.transport.Clone()
	own.DisableKeepAlives = true
	return own.RoundTrip(out)
}

// explainFailure returns the error of an exchange that ended with err. answered means that the head
// of an answer was received.
func (a *attempt) explainFailure(ctx context.Context, err error, answered bool) error {
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case !a.alone && a.use.mayBeBrokenByOther(err, answered):
		err = fmt.Errorf("%w: %w", errShared, err)
	default:
		err = asEndedByHost(err)
	}
	return fmt.Errorf("%s %s: %w", cmp.Or(a.req.Method, http.MethodGet), a.url, err)
}

// receive reads the answer to the request out.
func (a *attempt) receive(ctx context.Context, out *http.Request, resp *http.Response, start time.Time) (Hop, error) {
	asked, head := a.heads.heads()
	if resp.ProtoMajor != 1 || a.wire == nil {
		asked, head = headsAsHTTP1(out, resp)
	}
	if !a.o.KeepCredentials && (len(a.credentials) > 0 || a.proxied) {
		asked = redacted(asked, a.credentials)
	}
	body := &errorKeeper{ReadCloser: resp.Body}
	resp.Body = body
	parent := a.req.Context()
	c, err := a.captureBody(parent, resp, out.Method, a.why)
	if parent.Err() != nil {
		err = context.Cause(parent)
	}
	if err != nil {
		return Hop{}, fmt.Errorf("%s %s: %w", out.Method, a.url, err)
	}
	if c.truncated && ctx.Err() == nil && !a.alone && a.use.mayBeBrokenByOther(body.err, true) {
		// The request is sent again later. Until then this answer must not occupy memory.
		memory.Of(parent).Discard()
		return Hop{}, a.explainFailure(ctx, body.err, true)
	}
	return Hop{URL: a.url.String(), Method: out.Method, Status: resp.StatusCode, Proto: resp.Proto, Address: a.peer,
		Header: resp.Header,
		Sent:   asked, Head: head, Wire: c.wire, Body: c.undone.Body, Undone: c.undone, Truncated: c.truncated,
		Start: start, Took: time.Since(start)}, nil
}

// resolve returns the address of the host key, which determines the pauses and slots of the host
// and is dialled later. It applies the address rule already, so that no request waits for a host
// only to be refused.
func (g *Gate) resolve(ctx context.Context, key string) (netip.Addr, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialTime(g.o.Timeout), timeoutError(dialTime(g.o.Timeout)))
	defer cancel()
	a, err := g.addresses.addressOf(ctx, key)
	if err != nil {
		return a, err
	}
	return a, g.checkAddress(key, a)
}

// remote returns the address at the other end of c.
func remote(c net.Conn) netip.Addr {
	ap, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	return ap.Addr().Unmap()
}

// abandon closes the connection c, so that a request that was cancelled is not sent on it. An
// HTTP/2 connection is shared, and cancelling the context of the request is enough; abandon closes
// it only if it is unusable for all requests.
func abandon(c net.Conn, unusable bool) {
	if t, ok := c.(*tls.Conn); ok && t.ConnectionState().NegotiatedProtocol == "h2" && !unusable {
		return
	}
	_ = c.Close()
}

// captureBody reads the body of resp, if it has one. For an errand, it does not decode the body: the
// machine that passed the request on does that.
func (g *Gate) captureBody(ctx context.Context, resp *http.Response, method string, why purpose) (capture, error) {
	x := memory.Of(ctx).Begin(ctx)
	defer x.End()
	raw, most := g.bodyLimits(why.kind, resp)
	switch {
	case resp.StatusCode < 200: // status 101; net/http skips all other interim answers
		return capture{}, fmt.Errorf("an answer of status %d was not asked for", resp.StatusCode)
	case method == http.MethodHead, resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return capture{}, nil
	case why.errand != nil:
		return receiveBody(resp, min(raw, why.errand.MaxRaw), min(most, why.errand.MaxBody), x)
	}
	return readBody(g.decoders, resp, raw, most, x)
}

// bodyLimits returns the limits for the body of resp in bytes, as sent and decoded.
func (g *Gate) bodyLimits(kind Kind, resp *http.Response) (raw, most int64) {
	switch {
	case kind == PolicyFile:
		return policyCap, policyCap
	case redirects(resp):
		return min(g.o.MaxRaw, redirectCap), min(g.o.MaxBody, redirectCap)
	}
	return g.o.MaxRaw, g.o.MaxBody
}

// redirectCap is the limit for the body of a redirect in bytes. It is low because the bodies of a
// whole redirect chain are in memory until the last page has arrived.
const redirectCap = 1 << 20

func redirects(resp *http.Response) bool {
	return resp.StatusCode/100 == 3 && resp.Header.Get("Location") != ""
}

// timeoutError is the net.Error of an exchange that took longer than this time limit.
type timeoutError time.Duration

func (d timeoutError) Error() string {
	return fmt.Sprintf("no full answer within %s", time.Duration(d))
}
func (d timeoutError) Timeout() bool { return true }

// Temporary returns true. The interface net.Error still requires this method.
func (d timeoutError) Temporary() bool { return true }

// outgoing returns the request as it is sent: to the host of the checked URL, with the User-Agent
// of the gate, and without a body.
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
	// http.Client adds Referer after redirects; it contains the query of the previous address
	h.Del("Referer")
	// a part of a page does not show what the rest of it prohibits
	h.Del("Range")
	h.Del("If-Range")
	// http.Client copies the conditional header fields of the first request to the requests after
	// redirects
	if before := first(req); before != req {
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

// first returns the first request of the redirect chain to which req belongs. If req does not
// follow a redirect, first returns req.
func first(req *http.Request) *http.Request {
	for req.Response != nil && req.Response.Request != nil {
		req = req.Response.Request
	}
	return req
}

// decodedResponse returns resp in the form that the caller gets: with the decoded body.
func decodedResponse(resp *http.Response, req *http.Request, body []byte) *http.Response {
	resp.Request = req
	resp.Header = resp.Header.Clone()
	// The answer has no body. Its header describes the answer to another request, so it is not
	// changed.
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
