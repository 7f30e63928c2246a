package pagecheck

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The names of keys for Press.
const (
	Enter = kb.Enter
	Esc   = kb.Escape
	tab   = kb.Tab
)

// pageTime is the limit for one page, much more than it needs.
const pageTime = 2 * time.Minute

// Browser is one tab of Chromium, in which a test clicks and types as a reader does. What does not work ends
// the test. It must not be used concurrently.
type Browser struct {
	t   *testing.T
	ctx context.Context
}

// Browse starts Chromium. Without Chromium the test is skipped.
func Browse(t *testing.T) *Browser {
	t.Helper()
	return &Browser{t, browse(t)}
}

// In returns the same tab for a subtest.
func (b *Browser) In(t *testing.T) *Browser { return &Browser{t, b.ctx} }

// Resize sets the width of the window, and the colours that the reader prefers: light or dark.
func (b *Browser) Resize(width int64, scheme string) {
	b.t.Helper()
	b.try(chromedp.EmulateViewport(width, 900))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.t.Fatal(err)
	}
}

// Scripts switches JavaScript on or off for pages that are opened from now on.
func (b *Browser) Scripts(on bool) {
	b.t.Helper()
	off := emulation.SetScriptExecutionDisabledParams{Value: !on}
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, off); err != nil {
		b.t.Fatal(err)
	}
}

// Forget deletes the cookies of all sites.
func (b *Browser) Forget() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, storage.ClearCookies, storage.ClearCookiesParams{}); err != nil {
		b.t.Fatal(err)
	}
}

// Open opens an address and returns the status of the answer.
func (b *Browser) Open(address string) int64 {
	b.t.Helper()
	return b.load("open "+address, chromedp.Navigate(address))
}

// Follow clicks on the visible link or button with this text, and waits for the page to which it leads. It
// returns the status of the answer.
func (b *Browser) Follow(text string) int64 {
	b.t.Helper()
	at := b.find(text)
	return b.load("follow "+text, chromedp.MouseClickXY(at.X, at.Y))
}

// Click clicks on the visible link, button, label or summary with this text, and waits for nothing.
func (b *Browser) Click(text string) {
	b.t.Helper()
	at := b.find(text)
	b.try(chromedp.MouseClickXY(at.X, at.Y))
}

// Fill clicks on the field with this label, and types text.
func (b *Browser) Fill(label, text string) {
	b.t.Helper()
	b.Click(label)
	b.Press(text)
}

// Press presses keys; runes are printable characters or the constants of this package.
func (b *Browser) Press(keys string) {
	b.t.Helper()
	b.try(typed(keys))
}

// Tab presses Tab, and waits until an element has the keyboard focus: Chromium moves it into a frame with a process
// of its own only after the key.
func (b *Browser) Tab() {
	b.t.Helper()
	b.Press(tab)
	Eval[bool](b, `new Promise((resolve) => {
		const look = () => document.activeElement !== document.body ? resolve(true) : requestAnimationFrame(look);
		look();
	})`)
}

// Submit presses keys that lead to another page, and returns the status of the answer.
func (b *Browser) Submit(keys string) int64 {
	b.t.Helper()
	return b.load(fmt.Sprintf("press %q", keys), typed(keys))
}

// Text returns the text that a reader sees on the page, with single blanks. Text in frames and in closed
// details is not part of it.
func (b *Browser) Text() string {
	b.t.Helper()
	return strings.Join(strings.Fields(Eval[string](b, "document.body.innerText")), " ")
}

// See fails the test if the page does not show all these texts.
func (b *Browser) See(texts ...string) {
	b.t.Helper()
	page := b.Text()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			b.t.Errorf("%s shows no %q: %s", b.Address(), text, page)
		}
	}
}

// Address returns the address of the page, with its fragment.
func (b *Browser) Address() string {
	b.t.Helper()
	return Eval[string](b, "location.href")
}

// Focused returns the text of the element that has the keyboard focus, or the label of a field. It is empty if
// no element has it.
func (b *Browser) Focused() string {
	b.t.Helper()
	return Eval[string](b, `(() => {
		const e = document.activeElement;
		if (!e || e === document.body) return "";
		return (e.labels?.[0]?.innerText ?? e.getAttribute("aria-label") ?? e.innerText).trim();
	})()`)
}

// FocusVisible reports whether the element that has the keyboard focus is in the window, is not covered, and has an
// outline.
func (b *Browser) FocusVisible() bool {
	b.t.Helper()
	return Eval[bool](b, `(() => {
		const e = document.activeElement, style = getComputedStyle(e), r = e.getClientRects()[0];
		const top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
		return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && e.contains(top);
	})()`)
}

// AwaitColour waits until a point on the screen, the middle of the element that a selector finds, has a colour, given
// as RRGGBB. It includes what frames show, which Chromium draws later than the page.
func (b *Browser) AwaitColour(selector, want string) {
	b.t.Helper()
	Eval[bool](b, fmt.Sprintf(`(document.querySelector(%s).scrollIntoView({block: "center"}), true)`, quote(selector)))
	at := Eval[point](b, fmt.Sprintf(`(() => {
		const r = document.querySelector(%s).getBoundingClientRect();
		return {x: r.x + r.width / 2, y: r.y + r.height / 2};
	})()`, quote(selector)))
	got := ""
	for until := time.Now().Add(pageTime); got != want; got = b.pixel(int(at.X), int(at.Y)) {
		if time.Now().After(until) {
			b.t.Fatalf("%s: %s has the colour %s instead of %s", b.Address(), selector, got, want)
		}
	}
}

// Eval returns the value of an expression in the page. It works without JavaScript too.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTime)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// typed presses keys. Unlike chromedp.KeyEvent, it enters a character only if the page does not prevent that when
// the key goes down, as a keyboard does.
func typed(keys string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, r := range keys {
			events := kb.Encode(r)
			if len(events) == 3 { // down, character, up
				events[0].Text, events[0].UnmodifiedText = events[1].Text, events[1].UnmodifiedText
				events = []*input.DispatchKeyEventParams{events[0], events[2]}
			}
			for _, e := range events {
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *e); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// point is a place in the window, in CSS pixels.
type point struct{ X, Y float64 }

// find returns the middle of the first visible element with this text, and fails if something covers it.
// An element whose whole text it is comes before one that begins with it.
func (b *Browser) find(text string) point {
	b.t.Helper()
	at := Eval[*point](b, fmt.Sprintf(`((text) => {
		const words = (e) => e.innerText.trim().replace(/\s+/g, " ");
		const all = [...document.querySelectorAll("a[href], button, summary, label")]
			.filter((e) => e.checkVisibility({visibilityProperty: true}) && words(e).startsWith(text));
		const found = all.find((e) => words(e) === text) ?? all[0];
		if (!found) return null;
		found.scrollIntoView({block: "center"});
		const r = found.getClientRects()[0];
		const at = {x: r.x + r.width / 2, y: r.y + r.height / 2};
		return found.contains(document.elementFromPoint(at.x, at.y)) ? at : null;
	})(%s)`, quote(text)))
	if at == nil {
		b.t.Fatalf("%s has nothing to click with the text %q: %s", b.Address(), text, b.Text())
	}
	return *at
}

func (b *Browser) try(step chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTime)
	defer cancel()
	if _, err := chromedp.Run(ctx, step); err != nil {
		b.t.Fatal(err)
	}
}

// load runs a step that leads to another page, and returns the status of that page.
func (b *Browser) load(what string, step chromedp.Action[chromedp.Void]) int64 {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageTime)
	defer cancel()
	var answer *network.Response
	answer, err := chromedp.RunResponse(ctx, step)
	if err != nil || answer == nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	return answer.Status
}

// quote returns s as a string of JavaScript.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil { // cannot happen: s is a string
		return `""`
	}
	return string(text)
}
