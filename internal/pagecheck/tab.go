package pagecheck

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Tab is a window of Chromium that a test controls like a reader. It is for one goroutine.
type Tab struct {
	t   *testing.T
	ctx context.Context
}

// NewTab starts Chromium. Without Chromium the test is skipped. Chromium ends with the test.
func NewTab(t *testing.T) *Tab {
	t.Helper()
	return &Tab{t, browse(t)}
}

// do performs an action within pageTime. If it fails, the test ends.
func (b *Tab) do(what string, a chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTime)
	defer cancel()
	if _, err := chromedp.Run(ctx, a); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// Open loads a page and waits until it is loaded, with its frames.
func (b *Tab) Open(address string) {
	b.t.Helper()
	b.do(address, chromedp.Navigate(address))
}

// ClickFrame clicks into the first frame of the page until done is closed: each half second, x pixels from its
// left edge, and from top to bottom pixels from its upper edge. One click is not enough, because a frame can be
// shown later than it is loaded, and because fonts decide where a link is.
func (b *Tab) ClickFrame(x, top, bottom float64, done <-chan struct{}) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTime)
	defer cancel()
	at, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](`(f => {
		f.scrollIntoView();
		const r = f.getBoundingClientRect();
		return [r.x, r.y];
	})(document.querySelector('iframe'))`))
	if err != nil || len(at) != 2 {
		b.t.Fatalf("there is no frame: %v", err)
	}
	for y := top; ; y += 10 {
		if y > bottom {
			y = top
		}
		go func() { // Chromium does not answer if the click closes the page of the frame
			_, _ = chromedp.Run(ctx, chromedp.MouseClickXY(at[0]+x, at[1]+y))
		}()
		select {
		case <-done:
			return
		case <-ctx.Done():
			b.t.Fatal("the click has no effect")
		case <-time.After(time.Second / 2):
		}
	}
}

// Location returns the address of the page.
func (b *Tab) Location() string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTime)
	defer cancel()
	at, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		b.t.Fatal(err)
	}
	return at
}
