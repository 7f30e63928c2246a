package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/defect"
)

// maxRedirects is the number of redirects that a visit follows.
const maxRedirects = 10

// errRedirects ends a visit whose redirects never reach a page. The crawler does not retry such a
// visit.
var errRedirects = errors.New("the redirects lead nowhere")

// visitor visits one page at a time with a Colly collector of its own. The collector makes the
// requests, follows the redirects and calls the callbacks. The visitor is the collector's
// transport, so that no request avoids the gate.
//
// These features of Colly are off, because this module has its own:
//
//	robots.txt            the gate evaluates the policy, which includes ACAP, META and header fields
//	URLs visited before   the queue is on disk and knows when a page is due to be revisited
//	MaxDepth, MaxRequests the queue and Options count over all collectors
//	MaxBodySize, gzip     the gate limits, decodes and keeps bodies; Colly would copy and decode them again
//	DetectCharset         package page decodes text once, also for callbacks
//	cookies               pages are fetched as a visitor without an account sees them
//	UserAgent             the gate sends the name for which it evaluates the policy
//	time limits, Async    the gate limits each request; a visit ends before its queue entry does
//	CacheDir, proxies     they would answer requests that the gate has not permitted
//	COLLY_* variables     NewCollector reads them, so it is not used
//
// Limit rules that a callback sets in its collector can only lengthen the delays of the gate.
type visitor struct {
	run       *run
	collector *colly.Collector
	client    *http.Client
	now       *pageVisit // the visit in progress; nil between visits
}

// newVisitor returns a visitor for one worker of the run r. It returns an error if Options.Collect
// panics.
func newVisitor(r *run) (v *visitor, err error) {
	defer defect.Catch(&err, "Options.Collect", nil)
	v = &visitor{run: r, collector: &colly.Collector{}, client: &http.Client{}}
	v.collector.Init()
	v.collector.OnRequest(v.announce)
	v.collector.OnResponse(v.deliver)
	v.collector.OnError(v.keepError)
	if r.o.Collect != nil {
		r.collecting.Lock()
		defer r.collecting.Unlock()
		r.o.Collect(v.collector)
		v.collector.OnResponse(withholdMarkup)
	}
	return v, nil
}

// configure sets all settings of the collector again, since a callback may have changed them.
func (v *visitor) configure(ctx context.Context) {
	c := v.collector
	c.Context = ctx
	c.AllowURLRevisit, c.IgnoreRobotsTxt = true, true
	c.MaxDepth, c.MaxRequests, c.MaxBodySize = 0, 0, 0
	c.Async, c.CheckHead, c.DetectCharset = false, false, false
	c.CacheDir, c.UserAgent, c.Headers = "", "", nil
	*v.client = http.Client{Transport: v}
	c.SetClient(v.client)
	c.SetRedirectHandler(v.redirect)
}

// request visits the page of p with the collector. It returns the error of the request, or a
// *defect.Error if a callback panicked.
func (v *visitor) request(p *pageVisit) (err error) {
	defer defect.Catch(&err, p.url.String(), nil)
	v.now = p
	v.configure(gate.With(p.ctx, gate.PageRequest, &p.trace))
	err = v.collector.Request(http.MethodGet, p.url.String(), nil, p.callbackContext(v.run.o.Collect != nil),
		http.Header{})
	return cmp.Or(p.err, err)
}

// forget drops the responses of the last visit, so that a worker without work keeps none in memory.
func (v *visitor) forget() { v.now, v.collector.Context = nil, context.Background() }

// announce is the first OnRequest callback: it prepares the request of a visit, and queues the
// requests that other callbacks make.
func (v *visitor) announce(req *colly.Request) {
	p := v.now
	if p == nil || p.announced {
		req.Abort()
		v.queueRequest(req)
		return
	}
	p.announced = true
	*req.URL = *p.url // Colly changes the spelling of addresses: it would turn http://0x7f.1/ into another host
	req.Depth = p.lease.Depth + 1
	if p.conditional {
		v.addCondition(*req.Headers, p.url)
	}
}

// addCondition adds the header fields that make a request for u conditional: If-None-Match and
// If-Modified-Since of the archived copy.
func (v *visitor) addCondition(header http.Header, u *url.URL) {
	for name, values := range v.run.condition(u.String()) {
		header[name], v.now.asked = values, true
	}
}

// keepError is the first OnError callback. It keeps the error, which determines the outcome of the
// visit.
func (v *visitor) keepError(_ *colly.Response, err error) {
	if v.now != nil && !v.now.answered {
		v.now.err = err
	}
}

// errChanged ends a visit if a callback changed the address of its request.
var errChanged = errors.New("a callback changed the address of the request; call Request.Visit to queue another " +
	"address")

// RoundTrip is the transport of the collector. It sends one hop through the gate. It processes the
// last response of the visit before the collector sees it. P2 2.2.9.1 (X01): if the page's own META
// or header fields prohibit crawl, RoundTrip returns an error, so that the page reaches no
// OnResponse or OnHTML callback.
func (v *visitor) RoundTrip(req *http.Request) (*http.Response, error) {
	p := v.now
	if p == nil || p.answered {
		return nil, errors.New("a collector of a crawl sends only the requests of its visits; call Request.Visit " +
			"to queue an address")
	}
	if req.Method != http.MethodGet || len(p.trace.Hops) == 0 && req.URL.String() != p.url.String() {
		return nil, errChanged
	}
	resp, err := v.run.gate.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	// the gate has already captured the body, and deliver gives it to callbacks without a copy
	_, err = io.Copy(io.Discard, resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	resp.Body, resp.Uncompressed = http.NoBody, true
	if v.continues(req, resp) {
		return resp, nil
	}
	if err := v.run.receive(p); err != nil {
		return nil, err
	}
	// A status other than 2xx is an error to callbacks, as usual with Colly; 206 is an error, too.
	v.collector.ParseHTTPErrorResponse = p.trace.Hops[len(p.trace.Hops)-1].OK()
	return resp, nil
}

// continues reports whether the visit continues after the response resp. It continues if a redirect
// is followed, or if net/http will end it with an error.
func (v *visitor) continues(req *http.Request, resp *http.Response) bool {
	to := location(resp)
	if to == "" {
		return false
	}
	u, err := req.URL.Parse(to)
	if err != nil {
		return true // net/http reports the error in the redirect
	}
	v.now.next, v.now.nextErr = v.follow(u.String())
	return !errors.Is(v.now.nextErr, http.ErrUseLastResponse)
}

// location returns the Location header field of a response if the response is a redirect that
// net/http would follow. It returns "" for other responses.
func location(resp *http.Response) string {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location")
	}
	return ""
}

// follow decides on a redirect: it returns the normal form of its target, http.ErrUseLastResponse
// if the visit ends with the redirect itself, or the error that ends the visit. The gate decides on
// the request for the target when it is made.
func (v *visitor) follow(to string) (*url.URL, error) {
	p := v.now
	u, err := address.Parse(to)
	switch {
	case err != nil || p.trace.TakeDown != nil: // redirects of a page that is taken down are not followed
		return nil, http.ErrUseLastResponse
	case !v.run.holds(p.lease, u):
		p.outside = u.String()
		return nil, http.ErrUseLastResponse
	case len(p.trace.Hops) > maxRedirects:
		return nil, fmt.Errorf("%w: %s redirects more than %d times", errRedirects, p.url, maxRedirects)
	}
	for _, hop := range p.trace.Hops {
		if hop.URL == u.String() {
			return nil, fmt.Errorf("%w: %s redirects in a circle through %s", errRedirects, p.url, u)
		}
	}
	if v.run.received(u.String()) {
		p.known = u.String()
		return nil, http.ErrUseLastResponse
	}
	return u, nil
}

// redirect is the collector's redirect callback. It follows the redirect or stops at it, as the
// method follow has decided.
func (v *visitor) redirect(req *http.Request, _ []*http.Request) error {
	p := v.now
	if p.nextErr != nil {
		return p.nextErr
	}
	p.asked = false // the gate removes the conditional header fields that net/http copied from the first request
	if p.conditional {
		v.addCondition(req.Header, p.next)
	}
	*req.URL = *p.next
	return nil
}
