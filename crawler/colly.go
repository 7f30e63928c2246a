package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/defect"
	"github.com/acapcrawl/acapcrawl/gate"
)

// maxRedirects is how many redirects a visit follows.
const maxRedirects = 10

// errRedirects is the end of a visit that redirects lead nowhere; it is not tried again.
var errRedirects = errors.New("the redirects lead nowhere")

// visitor visits one address at a time with a Colly collector of its own.
type visitor struct {
	run       *run
	collector *colly.Collector
	want      *url.URL // the address of this visit
	aside     string   // where a redirect out of scope led; not requested
	led       string   // where a redirect led that was received before; not requested
	trace     *gate.Trace

	conditional bool // of pages that are held it is asked whether they have changed
	asked       bool // the last request did
}

// newVisitor makes a visitor whose every request, redirect hops included, passes the gate. Colly's own ideas of
// robots.txt, repetition, limits, cookies and time-outs are off: policy, politeness and memory are ours. The collector
// is not made by NewCollector, which lets COLLY_* variables of the environment undo what is set here.
func newVisitor(r *run) *visitor {
	v := &visitor{run: r, collector: &colly.Collector{}}
	c := v.collector
	c.Init()
	c.AllowURLRevisit = true
	c.IgnoreRobotsTxt = true
	c.ParseHTTPErrorResponse = true
	c.MaxBodySize = 0 // the gate caps and says so
	c.UserAgent = ""  // the gate sends ours
	c.DisableCookies()
	c.SetRequestTimeout(0)
	c.WithTransport(captured{r.gate})
	c.SetRedirectHandler(v.redirect)
	c.OnRequest(func(r *colly.Request) { *r.URL = *v.want }) // Colly respells addresses: http://0x7f.1/ is another host
	return v
}

// visit requests u, which is in normal form, and follows its redirects as long as they stay in scope. It returns the hops made, also
// with an error. What a re-crawl asks for is requested also while its publisher has it taken down (P11).
func (v *visitor) visit(ctx context.Context, u *url.URL, recrawl, conditional bool) (hops []gate.Hop, err error) {
	defer defect.Catch(&err, u.String(), nil)
	header := http.Header{}
	v.want, v.aside, v.led, v.trace, v.conditional, v.asked = u, "", "", &gate.Trace{}, conditional, false
	if recrawl {
		v.trace.Confirms = u.String()
	}
	if conditional {
		v.ask(header, u)
	}
	v.collector.Context = gate.With(ctx, gate.PageRequest, v.trace)
	err = v.collector.Request(http.MethodGet, u.String(), nil, nil, header)
	return v.trace.Hops, err
}

// forget drops the answers of the last visit, so that a worker that waits for the next one keeps
// none in memory.
func (v *visitor) forget() { v.trace, v.collector.Context = nil, context.Background() }

// ask adds to header what is asked for instead of the page at u.
func (v *visitor) ask(header http.Header, u *url.URL) {
	for name, values := range v.run.condition(u.String()) {
		header[name], v.asked = values, true
	}
}

// redirect decides on the next hop before it is requested; the gate judges it when it is.
func (v *visitor) redirect(req *http.Request, via []*http.Request) error {
	u, err := normal(req.URL.String())
	if err != nil || v.trace.TakeDown != nil { // what is taken down leads nowhere
		return http.ErrUseLastResponse
	}
	if !v.run.holds(u) {
		v.aside = u.String()
		return http.ErrUseLastResponse
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("%w: %s redirects more than %d times", errRedirects, v.want, maxRedirects)
	}
	for _, before := range via {
		if before.URL.String() == u.String() {
			return fmt.Errorf("%w: %s redirects in a circle by %s", errRedirects, v.want, u)
		}
	}
	if v.run.received(u.String()) {
		v.led = u.String()
		return http.ErrUseLastResponse
	}
	v.asked = false // the gate takes away what net/http copied from the first hop
	if v.conditional {
		v.ask(req.Header, u)
	}
	*req.URL = *u
	return nil
}

// captured hands Colly a response without its body: the page is made of what the gate captured, and Colly would copy,
// decompress (.xml.gz) and transcode a body again.
type captured struct{ http.RoundTripper }

func (t captured) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	resp.Body, resp.Uncompressed = http.NoBody, true
	return resp, nil
}
