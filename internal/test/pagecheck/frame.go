package pagecheck

import (
	"context"
	"time"

	"github.com/chromedp/chromedp"
)

// ClickFrame clicks into the first frame of the page until done is closed: each half second, x pixels from its
// left edge, and from top to bottom pixels from its upper edge. One click is not enough, because a frame can be
// shown later than it is loaded, and because fonts decide where a link is.
func (b *Browser) ClickFrame(x, top, bottom float64, done <-chan struct{}) {
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
