package render

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Budget limits what the scripts of one page may use. In addition, the resulting document has at most 20 Mi
// characters.
type Budget struct {
	Time     time.Duration // for requests and scripts
	Requests int
	Bytes    int  // of the page and its parts together, and of the resulting document
	Screens  int  // how many screens the page is scrolled at most
	Images   bool // request images; otherwise the browser gets an empty image for each
}

// Result is the document that the scripts of a page have made.
type Result struct {
	HTML []byte // UTF-8
	// the limit that was reached before the scripts had finished, as a clause; "" if they had finished
	Ended string

	// address of the first document that the page tried to open in its place, which is not opened; "": none
	Opens  string
	Unmade int // other requests that got an error without a call of Fetch
}

const (
	quietLoading  = time.Second            // without requests for this long, a page has finished
	quietScrolled = 300 * time.Millisecond // the same after each scrolling
	tickTime      = 20 * time.Millisecond  // how often requests are counted
	readTime      = 10 * time.Second       // for reading the document afterwards
)

const (
	mostMarkup = 20 << 20             // characters of the resulting document
	mostReply  = 6*mostMarkup + 1<<20 // bytes of a reply of the browser, which has at most 6 for a character
)

// runGuard is the Content-Security-Policy of a document whose scripts run, in addition to its own. Because of
// sandbox it can open no windows, send no forms and show no dialogs. Workers and frames, whose requests would
// not be those of the page, cannot begin.
const runGuard = "sandbox allow-scripts allow-same-origin; worker-src 'none'; child-src 'none'; frame-src 'none'; " +
	"object-src 'none'; font-src data:; media-src 'none'; manifest-src 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; webrtc 'block'"

// guardWorld is the name of the world of the scripts of this package. It has its own globals and prototypes, which the
// scripts of the page cannot change.
const guardWorld = "guard"

// guardFrame is a script that runs in each document before its own scripts. It lets the documents of frames load
// nothing from the network: such a request looks like one of the page, because a frame without an address shares the
// loader of the page. A policy stays in force when its META element is removed. The global refused of the page counts
// what is not loaded.
const guardFrame = `if (window !== top) {
	const meta = document.createElement("meta"), head = document.head || document.createElement("head");
	meta.httpEquiv = "Content-Security-Policy";
	meta.content = "default-src data: blob: 'unsafe-inline' 'unsafe-eval'";
	if (document.head) {
		head.append(meta);
	} else { // only the head of a document is read
		const html = document.createElement("html"), root = document.documentElement;
		if (root) root.remove();
		html.append(head);
		document.append(html);
		head.append(meta);
		html.remove();
		if (root) document.append(root);
	}
	meta.remove();
	document.addEventListener("securitypolicyviolation", () => { top.refused = (top.refused || 0) + 1 });
}`

var (
	// ErrScripts means that the scripts of a page never give the browser time to read the document.
	ErrScripts = errors.New("its scripts do not end")

	errLeft = errors.New("its scripts open another page")
)

// Run lets the scripts of a page run, scrolls it, and returns the document when the page makes no more
// requests or has reached a limit of budget. It waits for its turn until ctx ends. Only GET requests for scripts, style
// sheets, data and images are passed to get; for others the page gets an error. Nothing is stored in the
// browser from one page to the next. If the browser ends meanwhile, for example because of another page, Run
// starts the page once more in a new browser.
func (b *Browser) Run(ctx context.Context, p Page, budget Budget, get Fetch) (r Result, err error) {
	var late sync.WaitGroup
	defer late.Wait()
	select {
	case b.runs <- struct{}{}:
		defer func() { <-b.runs }()
	case <-ctx.Done():
		return r, ctx.Err()
	}
	if r, err = b.execute(ctx, p, budget, get, &late); errors.Is(err, ErrGone) && ctx.Err() == nil {
		r, err = b.execute(ctx, p, budget, get, &late)
	}
	return r, err
}

// execute runs the scripts of a page in the current process.
func (b *Browser) execute(ctx context.Context, p Page, budget Budget, get Fetch, late *sync.WaitGroup) (r Result,
	err error) {
	proc, err := b.running(ctx)
	if err != nil {
		return r, err
	}
	if r, err = proc.execute(ctx, p, budget, get, late); err != nil && ctx.Err() == nil {
		b.endIfHung(proc)
	} else if err == nil {
		b.works()
	}
	return r, err
}

func (p *process) execute(ctx context.Context, doc Page, budget Budget, get Fetch, late *sync.WaitGroup) (r Result,
	err error) {
	why := purpose{requests: budget.Requests, bytes: budget.Bytes, loading: budget.Time, whole: budget.Time + readTime,
		scripts: true, kind: executed, header: runHeader, fetch: get}
	if !budget.Images {
		why.fetch = withoutImages(get)
	}
	err = p.open(ctx, doc, why, late, func(t *tab, loading, within context.Context) error {
		t.awaitQuiet(loading, quietLoading)
		t.scroll(loading, budget.Screens)
		html, err := t.document(within)
		switch {
		case err != nil && within.Err() != nil && ctx.Err() == nil:
			return ErrScripts
		case err != nil:
			return err
		}
		r = Result{HTML: []byte(html), Ended: t.ended(loading, budget), Unmade: int(t.unmade.Load())}
		t.mu.Lock()
		defer t.mu.Unlock()
		r.Opens = t.opens
		return nil
	})
	return r, err
}

// ended returns which limit of budget was reached, as a clause, or "".
func (t *tab) ended(loading context.Context, budget Budget) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.made > t.requests:
		return fmt.Sprintf("it makes more than %d requests", t.requests)
	case t.full:
		return fmt.Sprintf("it requests more than %d bytes", t.bytes)
	case loading.Err() != nil:
		return fmt.Sprintf("it is still loading after %s", budget.Time)
	}
	return ""
}

// awaitQuiet waits until the page has made no request for the time pause, or until ctx is done.
func (t *tab) awaitQuiet(ctx context.Context, pause time.Duration) {
	tick := time.NewTicker(tickTime)
	defer tick.Stop()
	q := t.quiet()
	for {
		select {
		case now := <-tick.C:
			if q.lasts(now) >= pause {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// scroll scrolls the page by one screen at a time, at most n times, until it is at its end and makes no more
// requests. After the last scrolling it waits for longer: scripts often wait for a pause before they act.
func (t *tab) scroll(ctx context.Context, n int) {
	isolated, err := t.isolate(ctx)
	if err != nil {
		return
	}
	for i := range n {
		asked := t.asked.Load()
		more, err := chromedp.Evaluate[bool](`(() => { const e = document.scrollingElement;
	if (!e) return false;
	e.scrollTop += innerHeight;
	return e.scrollTop + innerHeight < e.scrollHeight - 1 })()`, isolated)(ctx, t.target)
		if err != nil { // the scripts of the page, or the end of ctx, prevent it
			return
		}
		pause := quietScrolled
		if !more || i == n-1 {
			pause = quietLoading
		}
		t.awaitQuiet(ctx, pause)
		if !more && t.asked.Load() == asked {
			return
		}
	}
}

// isolate returns an option that evaluates a script in guardWorld.
func (t *tab) isolate(ctx context.Context) (chromedp.EvaluateOption, error) {
	world, err := cdp.Call(ctx, t.target, page.CreateIsolatedWorld,
		page.CreateIsolatedWorldParams{FrameID: cdp.FrameID(t.target.TargetID), WorldName: guardWorld})
	return func(p *runtime.EvaluateParams) { p.ContextID = world.ExecutionContextID }, err
}

// readDocument is a function that returns the markup of the document if it is not longer than most. It calls
// the getters of the prototypes, because elements of the page can hide properties of the document and of forms.
const readDocument = `(most => {
	const get = (type, name, object) => Reflect.get(type.prototype, name, object);
	try {
		const parts = Array.from(get(Node, "childNodes", document),
			n => n instanceof Element ? get(Element, "outerHTML", n) : new XMLSerializer().serializeToString(n));
		const html = parts.join("");
		return html.length > most ? {large: true} : {html, refused: globalThis.refused};
	} catch (e) { // the longest string of the browser is shorter
		return {large: true};
	}
})`

// document returns the markup of the page as it is now. If the page changes its document meanwhile, it tries again,
// at most ten times.
func (t *tab) document(ctx context.Context) (markup string, err error) {
	for range 10 {
		if markup, err = t.readOnce(ctx); err == nil || errors.Is(err, errLarge) || errors.Is(err, errLeft) ||
			ctx.Err() != nil {
			return markup, err
		}
	}
	return "", err
}

// readOnce returns the markup of the page. It fails if the page changes its document meanwhile.
func (t *tab) readOnce(ctx context.Context) (string, error) {
	isolated, err := t.isolate(ctx)
	if err != nil {
		return "", err
	}
	// This must follow, so that the world belongs to the document whose loader is compared.
	tree, err := cdp.Call(ctx, t.target, page.GetFrameTree, cdp.Empty{})
	switch {
	case err != nil:
		return "", err
	case tree.FrameTree.Frame.LoaderID != t.loader:
		return "", errLeft
	}
	type read struct {
		HTML    string `json:"html"`
		Large   bool   `json:"large"`
		Refused int32  `json:"refused"`
	}
	script := fmt.Sprintf("%s(%d)", readDocument, min(t.bytes, mostMarkup))
	got, err := chromedp.Evaluate[read](script, isolated)(ctx, t.target)
	switch {
	case err != nil:
		return "", err
	case got.Large || len(got.HTML) > t.bytes:
		return "", errLarge
	}
	t.unmade.Add(got.Refused)
	return got.HTML, nil
}

// executed returns the kind of a part that a page may need whose scripts run.
func executed(t network.ResourceType) (k Kind, ok bool) {
	switch t {
	case network.ResourceTypeScript:
		return Script, true
	// the type of a JSON module and of a preload for fetch is Other
	case network.ResourceTypeXHR, network.ResourceTypeFetch, network.ResourceTypeOther:
		return Data, true
	}
	return drawn(t)
}

// emptyImage is a transparent image of one pixel.
const emptyImage = "GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00" +
	"\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// withoutImages returns get, with an empty image for each image.
func withoutImages(get Fetch) Fetch {
	return func(ctx context.Context, rawurl string, kind Kind) (Part, error) {
		if kind == Image {
			return Part{Page: Page{URL: rawurl, ContentType: "image/gif", Body: []byte(emptyImage)}}, nil
		}
		return get(ctx, rawurl, kind)
	}
}

// restricting reports whether a field of a response restricts what the page may do with the response, or with
// itself. The browser gets only such fields and Content-Type: others, such as Refresh, could make it act.
func restricting(name string) bool {
	return strings.HasPrefix(name, "Access-Control-") || name == "Content-Security-Policy" ||
		name == "X-Content-Type-Options" || name == "Cross-Origin-Resource-Policy"
}

func runHeader(p *Part, first bool) []*fetch.HeaderEntry {
	list := []*fetch.HeaderEntry{{Name: "Content-Type", Value: p.ContentType}}
	for name, values := range p.Header {
		if !restricting(http.CanonicalHeaderKey(name)) {
			continue
		}
		for _, value := range values {
			list = append(list, &fetch.HeaderEntry{Name: name, Value: value})
		}
	}
	if first {
		list = append(list, guards(runGuard)...)
	}
	return list
}
