package render

import (
	"context"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
)

const (
	mostRequests = 100
	mostBytes    = 20 << 20 // limit for the document and its parts together
)

// drawGuard is the Content-Security-Policy of a document that is drawn. Because of sandbox the document can
// neither refresh itself nor run scripts.
const drawGuard = "sandbox; default-src 'none'; style-src http: https: data: 'unsafe-inline'; img-src http: https: " +
	"data:; base-uri http: https:; form-action 'none'; frame-ancestors 'none'; webrtc 'block'"

// draw draws a page. Requests may still be in progress when it returns; late waits for them.
func (p *process) draw(ctx context.Context, doc Page, get Fetch, late *sync.WaitGroup) (png []byte, err error) {
	why := purpose{requests: mostRequests, bytes: mostBytes, loading: p.o.Time * 4 / 5, whole: p.o.Time, fetch: get,
		kind: drawn, header: drawHeader} // the rest of the time is for the image
	err = p.open(ctx, doc, why, late, func(t *tab, _, within context.Context) error {
		picture, err := cdp.Call(within, t.target, page.CaptureScreenshot,
			page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
		png = picture.Data
		return err
	})
	return png, err
}

// drawn returns the kind of a part that a picture of the page needs.
func drawn(t network.ResourceType) (k Kind, ok bool) {
	switch t {
	case network.ResourceTypeStylesheet:
		return Sheet, true
	case network.ResourceTypeImage:
		return Image, true
	}
	return 0, false
}

func drawHeader(p *Part, first bool) []*fetch.HeaderEntry {
	list := []*fetch.HeaderEntry{{Name: "Content-Type", Value: p.ContentType},
		{Name: "Access-Control-Allow-Origin", Value: "*"}}
	if first {
		list = append(list, guards(drawGuard)...)
	}
	return list
}

// guards returns header fields of a document that restrict what it may do.
func guards(policy string) []*fetch.HeaderEntry {
	return []*fetch.HeaderEntry{{Name: "Content-Security-Policy", Value: policy},
		{Name: "X-DNS-Prefetch-Control", Value: "off"}, {Name: "Referrer-Policy", Value: "no-referrer"}}
}
