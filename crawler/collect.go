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
// returns the decision for any other usage. ok is false if there is no page that callbacks may see:
// before it was received, after an error, for a page that may not be crawled or is taken down, and
// for requests of another collector.
//
// The page is safe for concurrent use and must not be changed.
func PageOf(r *colly.Request) (pg *page.Page, receipt Receipt, ok bool) {
	p, _ := r.Ctx.GetAny(visitKey).(*pageVisit)
	if p == nil || !p.visible() {
		return nil, Receipt{}, false
	}
	return p.page, p.receipt, true
}

// callbackContext returns the Colly context for the request of a visit. If callbacks is true, the
// context holds p, so that PageOf finds it. Otherwise callbackContext returns nil, which Colly
// replaces by an empty context.
func (p *pageVisit) callbackContext(callbacks bool) *colly.Context {
	if !callbacks {
		return nil
	}
	ctx := colly.NewContext()
	ctx.Put(visitKey, p)
	return ctx
}

// visible reports whether callbacks may see the page of the visit.
func (p *pageVisit) visible() bool {
	if p.page == nil || p.receipt.RefusedCrawl || p.end.down != nil {
		return false
	}
	last := p.page.Last()
	return last.OK() || last.Status == http.StatusNotModified
}

// deliver is the first OnResponse callback. It sets the body of the response to the body that the
// gate captured, for the other callbacks. Text is converted to UTF-8. The body is not copied.
func (v *visitor) deliver(resp *colly.Response) {
	p := v.now
	if v.run.o.Collect == nil || p == nil || !p.visible() {
		return
	}
	body := p.page.Last().Body
	// comparing a string with converted bytes does not copy them
	if text := p.page.Source(); text != "" && text != string(body) {
		body = []byte(text)
	}
	resp.Body = slices.Clip(body)
}

// withholdMarkup is the last OnResponse callback. Colly would parse HTML without limits. So the
// callback removes the body if package page reads it only in part, or parses it only while no other
// page is parsed.
func withholdMarkup(resp *colly.Response) {
	p, _ := resp.Ctx.GetAny(visitKey).(*pageVisit)
	if p == nil || !p.risky && len(p.page.Cuts()) == 0 {
		return
	}
	header := resp.Headers.Clone()
	header.Set("Content-Type", "application/octet-stream")
	resp.Headers, resp.Body = &header, nil
}

// queueRequest queues the address of a request that a callback made with Request.Visit, as a link
// of the page, instead of sending it. If the page does not permit following the link, queueRequest
// reports the link and does not queue it.
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
	case !p.visible():
		return errors.New("a callback requested it before its page was received")
	case p.receipt.RefusedFollow:
		return errors.New("a callback requested it, but the page does not permit that its links are followed")
	}
	asked, err := Link(req.URL.String(), dropped)
	if err != nil {
		return err
	}
	same := func(link string) bool {
		if req.AbsoluteURL(link) == req.URL.String() { // compares the spelling that Colly gives to the link
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

// declined returns why a callback, or a URL filter of the Colly collector, ended a visit before a
// response was received. It returns "" if a response was received or the visit ended for another
// reason.
func declined(p *pageVisit, err error) string {
	if err == nil {
		return "a callback of this crawl aborted the request"
	}
	for _, filter := range []error{colly.ErrForbiddenURL, colly.ErrNoURLFiltersMatch, colly.ErrForbiddenDomain,
		colly.ErrAbortedBeforeRequest} {
		if errors.Is(err, filter) {
			return "the collector of this crawl does not request it: " + withoutURL(err).Error()
		}
	}
	if errors.Is(err, errChanged) {
		return errChanged.Error()
	}
	return ""
}
