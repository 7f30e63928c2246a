package pagecheck

import (
	"bytes"
	"fmt"
	"image/png"

	"github.com/chromedp/chromedp"
)

// Picture returns the window as PNG.
func (b *Browser) Picture() []byte {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

// pixel returns the colour of a point of the window, as RRGGBB.
func (b *Browser) pixel(x, y int) string {
	b.t.Helper()
	img, err := png.Decode(bytes.NewReader(b.Picture()))
	if err != nil {
		b.t.Fatal(err)
	}
	red, green, blue, _ := img.At(x, y).RGBA()
	return fmt.Sprintf("%02x%02x%02x", red>>8, green>>8, blue>>8)
}
