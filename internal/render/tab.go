package render

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Page is a document to open.
type Page struct {
	URL         string
	ContentType string // the Content-Type of the response
	Body        []byte

	// further fields of the response, which Run passes to the browser if they restrict what the page may
	// do; Draw ignores them
	Header http.Header
}

// Part is a resource of a page. Its URL is the address after redirects.
type Part struct {
	Page
	Status int // of the response; 0: 200
}

// Fetch returns a part of a page. It is called concurrently. If it fails, the browser gets an error
// instead of the part.
type Fetch func(ctx context.Context, rawurl string, kind Kind) (Part, error)

// Kind is the kind of a Part.
type Kind int

// The kinds of parts. Draw requests only style sheets and images.
const (
	Sheet Kind = iota // a style sheet
	Image
	Script
	Data // what a script requests
)

const (
	width, height = 1280, 960

	atOnceParts = 6
	mostURL     = 16 << 10 // longer URLs are not requested
)

var (
	errLarge   = errors.New("it is too large to be rendered")
	errCrashed = errors.New("the browser could not render it")
)

// purpose is what a page is opened for.
type purpose struct {
	requests int           // limit for the requests of the page
	bytes    int           // limit for the document and its parts together
	loading  time.Duration // time limit for requests
	whole    time.Duration // time limit for everything
	scripts  bool

	// kind returns the kind of a request; ok is false if it must not be made
	kind func(network.ResourceType) (k Kind, ok bool)
	// header returns the header of the response with the part p, or with the document if first is true
	header func(p *Part, first bool) []*fetch.HeaderEntry
	fetch  Fetch
}

// tab is a page that is open in its own browser context.
type tab struct {
	Page
	purpose
	target *chromedp.Target
	loader cdp.LoaderID                   // of the document
	stages chan *page.EventLifecycleEvent // of documents: init, DOMContentLoaded and load
	left   chan struct{}                  // receives a value when the page tries to open another document
	slots  chan struct{}
	busy   atomic.Int32 // requests in progress
	asked  atomic.Int32 // requests so far, including those that are not made
	unmade atomic.Int32 // requests that are not made

	mu    sync.Mutex
	given bool                     // the document was sent to the browser
	made  int                      // requests for parts so far, including those over the limit
	read  int                      // bytes of the document and the parts
	full  bool                     // a limit prevented a request
	opens string                   // address of the first document that the page tried to open in its place
	moved map[fetch.RequestID]Part // the target of each redirect that was sent to the browser
}

// open opens a page in its own browser context, waits until it has loaded, calls work, and closes the
// page. The context loading of work ends when no more requests are made; within ends later. Requests may
// still be in progress when open returns; late waits for them. It fails with ErrGone if the browser ends, and
// with errCrashed if the process of the page ends.
func (p *process) open(ctx context.Context, doc Page, why purpose, late *sync.WaitGroup,
	work func(t *tab, loading, within context.Context) error) error {
	if len(doc.Body) > why.bytes {
		return errLarge
	}
	t := &tab{Page: doc, purpose: why, stages: make(chan *page.EventLifecycleEvent, 1024),
		left: make(chan struct{}, 1), slots: make(chan struct{}, atOnceParts),
		read: len(doc.Body), moved: map[fetch.RequestID]Part{}}
	paused := make(chan *fetch.EventRequestPaused, 1024)
	crashed := make(chan struct{}, 1)
	open, _ := chromedp.NewContext(p.ctx, chromedp.WithNewBrowserContext(),
		chromedp.WithListener(t.listener(paused, crashed)))
	defer func() { _ = chromedp.Cancel(open) }()
	open, end := context.WithCancelCause(open)
	defer end(nil)
	within, cancel := context.WithTimeout(open, why.whole)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	_, err := chromedp.Run(within, func(within context.Context, target *chromedp.Target) (chromedp.Void, error) {
		t.target = target
		return chromedp.Void{}, t.prepare(within)
	})
	loading, stop := context.WithTimeout(within, why.loading)
	defer stop()
	late.Go(func() {
		select {
		case <-crashed:
			end(errCrashed)
		case <-within.Done():
		}
	})
	late.Go(func() { t.respondAll(loading, paused, late) })
	if err == nil {
		err = t.load(loading)
	}
	if err == nil {
		err = work(t, loading, within)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case p.ended():
		return ErrGone
	case hasCrashed(within, err):
		return errCrashed
	}
	return err
}

// hasCrashed reports whether err, an error of a call within this context, means that the process of the page has
// ended. The error of the call and the event come in any order.
func hasCrashed(within context.Context, err error) bool {
	var reply *cdproto.Error
	return context.Cause(within) == errCrashed || errors.As(err, &reply) && reply.Message == "Target crashed"
}

// listener returns a function that passes on the events of the page.
func (t *tab) listener(paused chan<- *fetch.EventRequestPaused, crashed chan<- struct{}) func(any) {
	return func(ev any) {
		switch ev := ev.(type) {
		case *fetch.EventRequestPaused:
			t.asked.Add(1)
			t.busy.Add(1)
			select {
			case paused <- ev:
			default: // the request stays paused until the page is closed
				t.unmade.Add(1)
				t.busy.Add(-1)
			}
		case *page.EventLifecycleEvent:
			if ev.Name == "init" || ev.Name == "DOMContentLoaded" || ev.Name == "load" {
				select {
				case t.stages <- ev:
				default:
				}
			}
		case *inspector.EventTargetCrashed:
			select {
			case crashed <- struct{}{}:
			default:
			}
		}
	}
}

// prepare disables downloads and, unless the purpose needs them, scripts. It sets the size of the page, and
// makes the browser pause each request. It must be called before the first request.
func (t *tab) prepare(ctx context.Context) error {
	in := chromedp.FromContext(ctx)
	_, err := cdp.Call(ctx, t.target, fetch.Enable,
		fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*"}}})
	if err == nil {
		_, err = cdp.Call(ctx, t.target, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: !t.scripts})
	}
	if err == nil {
		_, err = cdp.Call(ctx, in.Browser, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: in.BrowserContextID})
	}
	if err == nil {
		_, err = cdp.Call(ctx, t.target, emulation.SetDeviceMetricsOverride,
			emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
	}
	if err == nil && t.scripts {
		_, err = cdp.Call(ctx, t.target, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: guardFrame, WorldName: guardWorld})
	}
	if err == nil {
		err = t.disable(ctx)
	}
	return err
}

// disable ends the events that chromedp requests and this package does not need. A page could make them as large
// as it wants, for example with console.log.
func (t *tab) disable(ctx context.Context) error {
	for _, c := range []cdp.Command[cdp.Empty, cdp.Empty]{runtime.Disable, log.Disable, network.Disable, css.Disable,
		dom.Disable} {
		if _, err := cdp.Call(ctx, t.target, c, cdp.Empty{}); err != nil {
			return err
		}
	}
	return nil
}

// load opens the document and waits until it and its parts are loaded, or until ctx is done.
func (t *tab) load(ctx context.Context) error {
	opened, err := cdp.Call(ctx, t.target, page.Navigate, page.NavigateParams{URL: t.URL})
	switch {
	case err != nil:
		return err
	case opened.ErrorText != "" || opened.IsDownload:
		return fmt.Errorf("the browser does not treat it as a page: %s", opened.ErrorText)
	}
	t.loader = opened.LoaderID
	t.awaitLoad(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.given {
		return errors.New("the browser did not request it")
	}
	return nil
}

// awaitLoad waits until the document and its parts are loaded, or until ctx is done. A script that tries to leave
// the page prevents the load event. So a page whose scripts run is also loaded if it makes no more requests
// after it was parsed or has tried to leave, or if another document has replaced it.
func (t *tab) awaitLoad(ctx context.Context) {
	tick := time.NewTicker(tickTime)
	defer tick.Stop()
	began := false // until it is true, events concern the empty document of a new tab
	var q *quiet   // nil: the browser still parses the document
	for {
		select {
		case ev := <-t.stages:
			switch {
			case string(ev.FrameID) != string(t.target.TargetID):
			case ev.LoaderID == t.loader && ev.Name == "init":
				began = true
			case ev.LoaderID == t.loader && ev.Name == "DOMContentLoaded":
				q = t.quiet()
			case ev.LoaderID == t.loader || began:
				return
			}
		case <-t.left:
			q = t.quiet()
		case now := <-tick.C:
			if q != nil && t.scripts && q.lasts(now) >= quietLoading {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// quiet measures how long a page has made no request.
type quiet struct {
	*tab
	since time.Time
	count int32
}

func (t *tab) quiet() *quiet { return &quiet{tab: t, since: time.Now(), count: t.asked.Load()} }

// lasts returns how long the page has made no request. Call it often: it notices requests only when it is called.
func (q *quiet) lasts(now time.Time) time.Duration {
	if n := q.asked.Load(); n != q.count || q.busy.Load() > 0 {
		q.since, q.count = now, n
	}
	return now.Sub(q.since)
}
