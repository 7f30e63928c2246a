package acapcolly

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
	"weak"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// ticket is the name of a header field that tells the transport which visit a request belongs to. It is not a valid
// name, so another transport of package net/http refuses the request instead of sending it, and names the field in
// its error.
const ticket = "acapcolly: the transport of the collector was replaced after Attach, so permissions cannot be obeyed"

// visit is one request of a collector with the redirects that it follows. Its fields are set before callbacks see the
// response.
type visit struct {
	trace gate.Trace
	page  *page.Page     // nil until the last response was received
	terms *terms.Reached // nil until then, too
	depth int            // Depth of the request
	proxy atomic.Pointer[url.URL]

	documents documents
}

// begin is an OnRequestHeaders callback. It gives the request a ticket.
func (p *Permissions) begin(r *colly.Request) {
	v, key := &visit{depth: r.Depth}, weak.Make(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	n := p.last
	p.visits[n], p.number[key] = v, n
	(*r.Headers)[ticket] = []string{strconv.FormatUint(n, 10)}
	runtime.AddCleanup(r, p.forget, key)
}

// forget drops the visit of a request that is no longer reachable.
func (p *Permissions) forget(key weak.Pointer[colly.Request]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.visits, p.number[key])
	delete(p.number, key)
}

// visitOf returns the visit of a request; nil if there is none.
func (p *Permissions) visitOf(r *colly.Request) *visit {
	if r == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.visits[p.number[weak.Make(r)]]
}

// transport is the transport of the collectors.
type transport struct{ *Permissions }

var errNoTicket = errors.New("the request is not one of an attached collector: the collector is a clone, which needs " +
	"Permissions.Attach, or IgnoreRobotsTxt was set to false after Attach, so that Colly requests robots.txt itself")

// RoundTrip sends one request through the gate. P2 2.2.9.1 (X01): if the page's own META or header fields prohibit
// crawl, the result is an error, so that the page reaches no callback.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.roundTrip(req)
	if err != nil && req.Body != nil {
		_ = req.Body.Close() // the gate may not have seen it
	}
	return resp, err
}

func (t *transport) roundTrip(req *http.Request) (*http.Response, error) {
	value := req.Header[ticket]
	if len(value) != 1 {
		return nil, errNoTicket
	}
	n, err := strconv.ParseUint(value[0], 10, 64)
	if err != nil {
		return nil, errNoTicket
	}
	t.mu.Lock()
	v := t.visits[n]
	t.mu.Unlock()
	if v == nil {
		return nil, errNoTicket
	}
	if req.Response == nil { // a redirect does not follow a link
		if err := t.links.pass(req.URL.String()); err != nil {
			return nil, err
		}
	}
	ctx := context.WithValue(req.Context(), visitKey{}, v)
	out := req.Clone(gate.With(ctx, gate.PageRequest, &v.trace))
	delete(out.Header, ticket)
	resp, err := t.gate.RoundTrip(out)
	if u := v.proxy.Load(); u != nil { // Colly copies it to Request.ProxyURL
		*req = *req.WithContext(context.WithValue(req.Context(), colly.ProxyURLKey, u.String()))
	}
	if err != nil {
		return nil, err
	}
	resp.Request = req
	switch {
	case redirects(resp): // a page there is not judged, so callbacks must not see it, if the redirect is not followed
		_ = resp.Body.Close()
		resp.Body = http.NoBody
		if to, err := resp.Location(); err == nil { // Colly does not follow it if it has asked for that address before
			t.links.permit(v.depth, keyOf(to.String()))
		}
		return resp, nil
	case req.Method == http.MethodHead:
		return resp, nil
	}
	if err := t.receive(req.Context(), v); err != nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// visitKey is the key of the visit in the context of a request that the gate sends.
type visitKey struct{}

// noteProxy makes a proxy function note its choice in the visit, because the gate calls it with a request of its own.
func noteProxy(choose colly.ProxyFunc) colly.ProxyFunc {
	if choose == nil {
		return nil
	}
	return func(r *http.Request) (*url.URL, error) {
		u, err := choose(r)
		if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
			v.proxy.Store(u)
		}
		return u, err
	}
}

// redirects reports whether net/http follows the response.
func redirects(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// receive determines the terms of the page that a visit has received. The error is a *gate.Refusal if the page itself
// prohibits crawl.
func (p *Permissions) receive(ctx context.Context, v *visit) error {
	hops := slices.Clone(v.trace.Hops)
	pg := page.New(hops)
	last := pg.Last()
	if last.Status == http.StatusPartialContent { // nobody asked for a part, and its rest may prohibit something
		return fmt.Errorf("%s answered with a part of a page (206)", last.URL)
	}
	if last.Truncated && int64(max(len(last.Wire), len(last.Body))) < p.maxBody {
		return fmt.Errorf("the body of %s ended early, or after Options.Timeout, or is badly encoded: %w", last.URL,
			io.ErrUnexpectedEOF)
	}
	asked, err := url.Parse(hops[0].URL)
	if err != nil {
		return err
	}
	policy, err := p.policies.Policy(ctx, asked)
	if err != nil {
		return fmt.Errorf("the policy for %s could not be read: %w", asked, err)
	}
	now := time.Now().UTC()
	reached, err := terms.Reach(context.WithoutCancel(ctx), policy, asked, pg, p.sources,
		acap.Facts{Now: now, FirstCrawled: now})
	if err != nil {
		return fmt.Errorf("the terms of %s could not be determined: %w", pg.URL(), err)
	}
	if d := reached.Decide(acap.Crawl); !d.Allowed {
		return &gate.Refusal{URL: pg.URL().String(), Decision: d}
	}
	v.page, v.terms = pg, reached
	p.links.learn(pg, reached, v.depth+1)
	return nil
}

// withhold is the first OnResponse callback after Attach. It empties a response that did not pass the gate.
func (p *Permissions) withhold(r *colly.Response) {
	if v := p.visitOf(r.Request); v == nil || len(v.trace.Hops) == 0 {
		r.Body, r.Headers = nil, &http.Header{}
	}
}

// PageOf returns the page that a collector has received, as package page reads it. It is nil if there is none: after
// an error, for a HEAD request, and for a redirect that was not followed. The page is safe for concurrent use and
// must not be changed.
func (p *Permissions) PageOf(r *colly.Response) *page.Page {
	if v := p.visitOf(r.Request); v != nil {
		return v.page
	}
	return nil
}
