package crawler

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/page"
)

// visitKey is the key of the pageVisit in the context of a request.
const visitKey = "acapcrawl visit"

// PageOf returns the page that was requested with r and what its publisher permits: which links may
// be followed, and whether the page was stored and indexed. Receipt.Decide, if the Handler sets it,
// answers for any other usage. ok is false if there is no page that callbacks may see: before it
// was received, after an error, for a page that may not be crawled or is taken down, and for
// requests of another collector.
//
// The page is safe for concurrent use and must not be changed.
func PageOf(r *colly.Request) (pg *page.Page, receipt Receipt, ok bool) {
	p, _ := r.Ctx.GetAny(visitKey).(*pageVisit)
	if p == nil || !p.open() {
		return nil, Receipt{}, false
	}
	return p.page, p.receipt, true
}

// callbackContext returns what callbacks find in the context of their requests; nil, which is
// Colly's empty context, without callbacks.
func (p *pageVisit) callbackContext(callbacks bool) *colly.Context {
	if !callbacks {
		return nil
	}
	ctx := colly.NewContext()
	ctx.Put(visitKey, p)
	return ctx
}

// open reports whether callbacks may see the page.
func (p *pageVisit) open() bool {
	if p.page == nil || p.receipt.RefusedCrawl || p.end.down != nil {
		return false
	}
	status := p.page.Last().Status
	return status/100 == 2 || status == http.StatusNotModified
}

// deliver is the first OnResponse callback: it hands the body that the gate captured to the others,
// as UTF-8 if it is text. The body is not copied.
func (v *visitor) deliver(resp *colly.Response) {
	p := v.now
	if v.run.o.Collect == nil || p == nil || !p.open() {
		return
	}
	body := p.page.Last().Body
	if text := p.page.Source(); text != "" && text != string(body) { // the comparison does not copy
		body = []byte(text)
	}
	resp.Body = slices.Clip(body)
}

// withholdMarkup is the last OnResponse callback: Colly would parse without limits, so it gets no
// markup that package page reads only in part, or only while no other page is parsed.
func withholdMarkup(resp *colly.Response) {
	p, _ := resp.Ctx.GetAny(visitKey).(*pageVisit)
	if p == nil || !p.risky && len(p.page.Cuts()) == 0 {
		return
	}
	header := resp.Headers.Clone()
	header.Set("Content-Type", "application/octet-stream")
	resp.Headers, resp.Body = &header, nil
}

// queueRequest queues the address of a request that a callback made instead of sending it:
// Request.Visit is a link of the page. The link is reported and not queued unless the page permits
// that it is followed.
func (v *visitor) queueRequest(req *colly.Request) {
	p := v.now
	if p == nil {
		return
	}
	address := req.URL.String()
	if err := p.mayFollow(req, v.run.o.Drop); err != nil {
		v.run.skip(Skip{URL: address, State: Refused, Why: err.Error(), When: time.Now()})
		return
	}
	p.links = append(p.links, address)
}

// mayFollow returns why the address of req, which a callback requested, must not be queued; nil if
// it may be.
func (p *pageVisit) mayFollow(req *colly.Request, dropped []string) error {
	switch {
	case req.Method != http.MethodGet:
		return errors.New("a callback requested it with " + req.Method + "; a crawl sends GET only")
	case !p.open():
		return errors.New("a callback requested it before its page was received")
	case p.receipt.RefusedFollow:
		return errors.New("a callback requested it, but the page does not permit that its links are followed")
	}
	asked, err := Link(req.URL.String(), dropped)
	if err != nil {
		return err
	}
	same := func(link string) bool {
		if req.AbsoluteURL(link) == req.URL.String() { // as Colly spells it
			return true
		}
		address, err := Link(link, dropped)
		return err == nil && address == asked
	}
	kept, all := p.page.NoFollow()
	if links := slices.Concat(p.page.Links(page.Cut{}), kept); slices.ContainsFunc(p.receipt.Links, same) ||
		all && !slices.ContainsFunc(links, same) {
		return nil
	}
	return errors.New("a callback requested it, but the page does not permit that this link is followed")
}

// declined returns why a callback, or a filter of its collector, ended a visit before anything was
// received; "" if neither did.
func declined(p *pageVisit, err error) string {
	if err == nil {
		return "a callback of this crawl aborted the request"
	}
	for _, filter := range []error{colly.ErrForbiddenURL, colly.ErrNoURLFiltersMatch, colly.ErrForbiddenDomain,
		colly.ErrAbortedBeforeRequest} {
		if errors.Is(err, filter) {
			return "the collector of this crawl does not request it: " + plain(err).Error()
		}
	}
	if errors.Is(err, errChanged) {
		return errChanged.Error()
	}
	return ""
}
