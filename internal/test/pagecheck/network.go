package pagecheck

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// NetBrowser is a Chromium that can reach no host but this one, and that logs what it does in the network.
type NetBrowser struct {
	ctx context.Context
	log string       // path of the network log
	end func() error // ends Chromium, which then completes the log
}

// BrowseLogged starts Chromium. It ends when Log is called, or with the test.
func BrowseLogged(t *testing.T) *NetBrowser {
	t.Helper()
	program, sandbox := Chromium(t)
	dir := t.TempDir()
	b := &NetBrowser{log: filepath.Join(dir, "net.json")}
	// Not the defaults of chromedp: they disable some requests that Chromium makes on its own.
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(program), chromedp.Headless,
		chromedp.UserDataDir(filepath.Join(dir, "home")), chromedp.Flag("log-net-log", b.log),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *.localhost")}
	for _, name := range []string{"disable-gpu", "no-first-run", "disable-component-update", "disable-sync",
		"disable-default-apps", "disable-extensions", "disable-dev-shm-usage", "no-pings"} {
		options = append(options, chromedp.Flag(name, true))
	}
	if !sandbox {
		options = append(options, chromedp.NoSandbox)
	}
	base, end := chromedp.NewExecAllocator(context.Background(), options...)
	b.ctx, _ = chromedp.NewContext(base)
	b.end = sync.OnceValue(func() error {
		defer end()
		ctx, cancel := UntilDeadline(t, b.ctx)
		defer cancel()
		return chromedp.Cancel(ctx)
	})
	t.Cleanup(func() { _ = b.end() })
	if err := chromedp.Do(b.ctx); err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return b
}

// UntilDeadline returns a context that ends shortly before the time limit of the test binary. Tests with Chromium
// have no other limit, because a busy machine can be slower than any limit.
func UntilDeadline(t *testing.T, parent context.Context) (context.Context, context.CancelFunc) {
	deadline, limited := t.Deadline()
	if !limited {
		return context.WithCancel(parent)
	}
	return context.WithDeadline(parent, deadline.Add(-15*time.Second)) // enough to report and to end Chromium
}

// Load loads an address, and returns after the load event of the page.
func (b *NetBrowser) Load(t *testing.T, address string) {
	t.Helper()
	b.load(t, b.ctx, address)
}

// LoadAside is like Load in another tab, which it closes.
func (b *NetBrowser) LoadAside(t *testing.T, address string) {
	t.Helper()
	tab, done := chromedp.NewContext(b.ctx)
	defer done()
	b.load(t, tab, address)
}

func (b *NetBrowser) load(t *testing.T, tab context.Context, address string) {
	t.Helper()
	ctx, cancel := UntilDeadline(t, tab)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
}

// Log ends Chromium and returns its network log.
func (b *NetBrowser) Log(t *testing.T) []byte {
	t.Helper()
	if err := b.end(); err != nil {
		t.Fatalf("chromium: %v", err)
	}
	text, err := os.ReadFile(b.log)
	if err != nil || !json.Valid(text) {
		t.Fatalf("the network log cannot be read: %v", err)
	}
	return text
}
