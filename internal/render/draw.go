package render

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Page is a document to draw.
type Page struct {
	URL         string
	ContentType string // the Content-Type of the response
	Body        []byte
}

// Part is a style sheet or an image of a page. Its URL is the address after redirects.
type Part Page

// Fetch returns a part of a page. It is called concurrently. If it fails, the part is missing in
// the image.
type Fetch func(ctx context.Context, rawurl string, kind Kind) (Part, error)

// Kind is the kind of a Part.
type Kind int

const (
	Sheet Kind = iota // a style sheet
	Image
)

const (
	width, height = 1280, 960

	mostRequests = 100
	mostBytes    = 20 << 20 // limit for the document and its parts together
	atOnceParts  = 6
)

// guard is the Content-Security-Policy of the document. Because of sandbox the document can neither
// refresh itself nor run scripts.
const guard = "sandbox; default-src 'none'; style-src http: https: data: 'unsafe-inline'; img-src http: https: " +
	"data:; " +
	"base-uri http: https:; form-action 'none'; frame-ancestors 'none'; webrtc 'block'"

var errLarge = errors.New("it is too large to be rendered")

// drawing is the state of one page.
type drawing struct {
	Page
	fetch  Fetch
	target *chromedp.Target
	loads  chan cdp.LoaderID
	slots  chan struct{}

	mu       sync.Mutex
	given    bool // the document was sent to the browser
	requests int
	bytes    int
	moved    map[fetch.RequestID]Part // the target of each redirect that was sent to the browser
}

// draw draws a page in its own browser context, and closes this context. Requests may still be in
// progress when it returns; late waits for them.
func (p *process) draw(ctx context.Context, doc Page, get Fetch, late *sync.WaitGroup) ([]byte, error) {
	if len(doc.Body) > mostBytes {
		return nil, errLarge
	}
	d := &drawing{Page: doc, fetch: get, loads: make(chan cdp.LoaderID, 64), slots: make(chan struct{}, atOnceParts),
		bytes: len(doc.Body),
		moved: map[fetch.RequestID]Part{}}
	paused := make(chan *fetch.EventRequestPaused, 1024)
	crashed := make(chan struct{}, 1)
	tab, _ := chromedp.NewContext(p.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(func(ev any) {
		switch ev := ev.(type) {
		case *fetch.EventRequestPaused:
			select {
			case paused <- ev:
			default: // the request stays paused until the page is closed
			}
		case *page.EventLifecycleEvent:
			if ev.Name == "load" {
				select {
				case d.loads <- ev.LoaderID:
				default:
				}
			}
		case *inspector.EventTargetCrashed:
			select {
			case crashed <- struct{}{}:
			default:
			}
		}
	}))
	defer func() { _ = chromedp.Cancel(tab) }()
	within, cancel := context.WithTimeout(tab, p.o.Time)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	_, err := chromedp.Run(within, func(within context.Context, t *chromedp.Target) (chromedp.Void, error) {
		d.target = t
		return chromedp.Void{}, d.prepare(within)
	})
	if err != nil {
		return nil, err
	}
	loading, stop := context.WithTimeout(within, p.o.Time*4/5) // the rest of the time is for the image
	defer stop()
	late.Go(func() {
		for {
			select {
			case ev := <-paused:
				late.Go(func() { d.respond(loading, ev) })
			case <-loading.Done():
				return
			case <-crashed:
				cancel()
				return
			}
		}
	})
	err = d.load(loading)
	stop()
	d.mu.Lock()
	given := d.given
	d.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case !given:
		return nil, errors.New("the browser did not request it")
	}
	picture, err := cdp.Call(within, d.target, page.CaptureScreenshot,
		page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	return picture.Data, err
}

// prepare disables scripts and downloads, sets the size of the image, and makes the browser pause
// each request. It must be called before the first request.
func (d *drawing) prepare(ctx context.Context) error {
	t := d.target
	tab := chromedp.FromContext(ctx)
	_, err := cdp.Call(ctx, t, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*"}}})
	if err == nil {
		_, err = cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
	}
	if err == nil {
		_, err = cdp.Call(ctx, tab.Browser, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: tab.BrowserContextID})
	}
	if err == nil {
		_, err = cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: height, DeviceScaleFactor: 1})
	}
	return err
}

// load opens the document and waits until it and its parts are loaded, or until ctx is done.
func (d *drawing) load(ctx context.Context) error {
	opened, err := cdp.Call(ctx, d.target, page.Navigate, page.NavigateParams{URL: d.URL})
	switch {
	case err != nil:
		return err
	case opened.ErrorText != "" || opened.IsDownload:
		return fmt.Errorf("the browser does not treat it as a page: %s", opened.ErrorText)
	}
	for {
		select {
		case id := <-d.loads:
			if id == opened.LoaderID {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// respond answers one request of the page: with the document, with a part, or with an error.
func (d *drawing) respond(ctx context.Context, ev *fetch.EventRequestPaused) {
	part, first, ok := d.takeAnswer(ev)
	if !ok {
		part, ok = d.fetchPart(ctx, ev)
	}
	if ctx.Err() != nil {
		return
	}
	if !ok {
		reason := network.ErrorReasonBlockedByClient
		if ev.ResourceType == network.ResourceTypeDocument { // this error lets the browser keep the current page open
			reason = network.ErrorReasonAborted
		}
		_, _ = cdp.Call(ctx, d.target, fetch.FailRequest, fetch.FailRequestParams{RequestID: ev.RequestID,
			ErrorReason: reason})
		return
	}
	answer := fetch.FulfillRequestParams{RequestID: ev.RequestID, ResponseCode: 200, Body: part.Body,
		ResponseHeaders: []*fetch.HeaderEntry{
			{Name: "Content-Type", Value: part.ContentType}, {Name: "Access-Control-Allow-Origin", Value: "*"}}}
	switch {
	case first:
		answer.ResponseHeaders = append(answer.ResponseHeaders,
			&fetch.HeaderEntry{Name: "Content-Security-Policy", Value: guard},
			&fetch.HeaderEntry{Name: "X-DNS-Prefetch-Control", Value: "off"},
			&fetch.HeaderEntry{Name: "Referrer-Policy", Value: "no-referrer"})
	// a redirect, so that relative references in the part are resolved against its final URL
	case part.URL != ev.Request.URL && ev.RedirectedRequestID == "":
		d.mu.Lock()
		d.moved[ev.RequestID] = part
		d.mu.Unlock()
		answer.ResponseCode, answer.Body = 302, nil
		answer.ResponseHeaders[0] = &fetch.HeaderEntry{Name: "Location", Value: part.URL}
	}
	_, _ = cdp.Call(ctx, d.target, fetch.FulfillRequest, answer)
}

// takeAnswer returns the answer to a request if it is known: the document for the first request, or
// the target of a redirect. first is true for the document.
func (d *drawing) takeAnswer(ev *fetch.EventRequestPaused) (part Part, first, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ev.RedirectedRequestID != "" {
		part, ok = d.moved[ev.RedirectedRequestID]
		return part, false, ok
	}
	if d.given || ev.ResourceType != network.ResourceTypeDocument {
		return part, false, false
	}
	d.given = true
	return Part(d.Page), true, true
}

// fetchPart fetches a style sheet or an image within the limits of a page.
func (d *drawing) fetchPart(ctx context.Context, ev *fetch.EventRequestPaused) (part Part, ok bool) {
	kind := Image
	switch {
	// frames are not drawn
	case ev.RedirectedRequestID != "" || ev.Request.Method != "GET" || string(ev.FrameID) != string(d.target.TargetID):
		return part, false
	case ev.ResourceType == network.ResourceTypeStylesheet:
		kind = Sheet
	case ev.ResourceType != network.ResourceTypeImage:
		return part, false
	}
	d.mu.Lock()
	d.requests++
	enough := d.requests > mostRequests || d.bytes >= mostBytes
	d.mu.Unlock()
	if enough {
		return part, false
	}
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return part, false
	}
	part, err := d.fetch(ctx, ev.Request.URL, kind)
	if err != nil {
		return part, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bytes += len(part.Body); d.bytes > mostBytes {
		return part, false
	}
	return part, true
}
