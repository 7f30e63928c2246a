package gate

import (
	"bytes"
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
)

// errStale is the end of a request that the transport would begin again by itself: its connection was closed, or the host
// refused it, before anything was done. Nothing is sent again without budget and pause.
var errStale = fmt.Errorf("the connection ended before an answer: %w", io.ErrUnexpectedEOF)

// send spends budget, waits for the host, sends and captures.
func (g *Gate) send(req *http.Request, u *url.URL, key string, kind Kind) (_ Hop, _ *http.Response, err error) {
	parent := req.Context()
	if kind == PageRequest && !g.spend() {
		return Hop{}, nil, g.overspent()
	}
	sent := false
	defer func() {
		if !sent {
			g.refund(kind)
		}
	}()
	place, at := key, netip.Addr{}
	if g.o.ByAddress {
		if at, err = g.resolve(parent, key); err != nil {
			return Hop{}, nil, err
		}
		place = at.String()
	}
	v, err := g.hosts.enter(parent, key, place)
	if err != nil {
		return Hop{}, nil, fmt.Errorf("waiting for %s: %w", place, err)
	}
	defer v.leave()
	sent = true

	ctx, stale := context.WithCancelCause(parent)
	defer stale(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, g.o.Timeout, tooSlow(g.o.Timeout))
	defer cancel()
	if at.IsValid() {
		ctx = pin(ctx, at)
	}
	connections, x := 0, new(exchange)
	out := g.outgoing(req, u, key, httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			connections++
			elsewhere := at.IsValid() && remote(i.Conn) != at // kept from before the name was resolved anew
			if connections > 1 || elsewhere {
				stale(errStale)
				unused(i.Conn, elsewhere)
			}
			if c, ok := i.Conn.(*recorded); ok {
				c.begin(x)
			}
		},
		WroteRequest:         func(httptrace.WroteRequestInfo) { v.start() },
		GotFirstResponseByte: v.answered,
	}))
	start := time.Now()
	resp, err := g.transport.RoundTrip(out)
	if err != nil {
		var r *Refusal
		if errors.As(err, &r) { // at dialling: nothing was sent
			sent = false
			return Hop{}, nil, r
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return Hop{}, nil, fmt.Errorf("%s %s: %w", out.Method, u, err)
	}
	defer resp.Body.Close()
	asked, head := x.heads()
	if resp.ProtoMajor != 1 {
		asked, head = written(out, resp)
	}
	c, err := g.capture(resp, out.Method, kind)
	if parent.Err() != nil {
		err = context.Cause(parent)
	}
	if err != nil {
		return Hop{}, nil, fmt.Errorf("%s %s: %w", out.Method, u, err)
	}
	hop := Hop{URL: u.String(), Method: out.Method, Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header,
		Sent: asked, Head: head, Wire: c.wire, Body: c.undone.Body, Undone: c.undone, Truncated: c.truncated, Start: start, Took: time.Since(start)}
	return hop, decoded(resp, req, c.undone.Body), nil
}

// resolve gives the address of the host key, for pauses and slots; it is the one that is dialled. It is judged here already,
// so that nobody waits for what will be refused.
func (g *Gate) resolve(ctx context.Context, key string) (netip.Addr, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialTime(g.o.Timeout), tooSlow(dialTime(g.o.Timeout)))
	defer cancel()
	a, err := g.places.of(ctx, key)
	if err != nil {
		return a, err
	}
	return a, g.address(key, a)
}

// remote is the address at the other end of c.
func remote(c net.Conn) netip.Addr {
	ap, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	return ap.Addr().Unmap()
}

// unused keeps a connection from carrying a request that was given up. With HTTP/2 the end of its context does, and the
// connection, which others share, is closed only if it leads elsewhere.
func unused(c net.Conn, elsewhere bool) {
	if t, ok := c.(*tls.Conn); ok && t.ConnectionState().NegotiatedProtocol == "h2" && !elsewhere {
		return
	}
	_ = c.Close()
}

// capture takes the body of resp in, if it has one.
func (g *Gate) capture(resp *http.Response, method string, kind Kind) (capture, error) {
	switch {
	case resp.StatusCode < 200: // 101; the others do not end an exchange
		return capture{}, fmt.Errorf("an answer of status %d was not asked for", resp.StatusCode)
	case method == http.MethodHead, resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return capture{}, nil
	case kind == PolicyFile:
		return take(g.decoders, resp, policyCap, policyCap)
	}
	return take(g.decoders, resp, g.o.MaxRaw, g.o.MaxBody)
}

// tooSlow is the net.Error of an exchange that took longer than it may.
type tooSlow time.Duration

func (d tooSlow) Error() string { return fmt.Sprintf("no full answer within %s", time.Duration(d)) }
func (d tooSlow) Timeout() bool { return true }

// Temporary is what net.Error still asks for.
func (d tooSlow) Temporary() bool { return true }

// outgoing is the request as it is sent: to the host of the URL that was judged, under our name, and without a body.
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
	if req.Method == http.MethodHead || resp.StatusCode == http.StatusNotModified { // its header is that of another answer
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
