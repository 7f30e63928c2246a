// Package render draws web pages with a headless Chromium that never gets to the network.
//
// The page to be drawn is handed over as bytes. Whatever the browser asks for is answered from them, by the caller's Fetch, or not at
// all: no request is ever let through. Behind that stand walls of their own: what Chromium would send goes to a proxy that has no
// address, no name is resolved, and the page comes with a policy (CSP) by which nothing but styles and images is asked for. Scripts are
// off. Every page has a browser context of its own, which is kept in memory alone.
//
//	browser.go  Start, Draw, Close: the process, how many pages at a time, and what becomes of it when it dies
//	draw.go     one page: its requests and its picture
//	flags.go    what the process is started with
package render

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// Options configure a Browser.
type Options struct {
	Program   string // the path of Chromium
	Home      string // a directory for its files, which is emptied before and removed afterwards
	Unguarded bool   // without Chromium's sandbox, which root cannot have

	Time time.Duration // for a page, its requests included; 0: 15 s
}

var (
	// ErrBusy means that more pages wait already than will be drawn soon.
	ErrBusy = errors.New("too many pages wait to be drawn")
	// ErrGone means that the browser has ended too often, or is closed.
	ErrGone = errors.New("there is no browser any more")
	// ErrRoot means that Chromium has no sandbox, for root starts it.
	ErrRoot = errors.New("pages cannot be shut in (Chromium's sandbox) when root starts it")
)

const (
	atOnce     = 2  // pages drawn at a time
	mostWait   = 8  // pages that wait for that
	mostStarts = 10 // of the process

	usualTime = 15 * time.Second
	startTime = 30 * time.Second
	askTime   = 2 * time.Second // in which a browser answers that is well
)

// Browser is a Chromium process, and another in its place when it dies. It is safe for concurrent use.
type Browser struct {
	o       Options
	turns   chan struct{}
	waiting chan struct{}

	mu     sync.Mutex
	now    *process // nil: it died, and none was started since
	starts int
	closed bool
}

// process is one Chromium.
type process struct {
	ctx context.Context // of chromedp; done when the process is gone
	cmd *exec.Cmd
	o   Options
	end func() // kills it, waits for it and removes its files
}

// Start starts the browser. The error is a sentence without its full stop.
func Start(ctx context.Context, o Options) (*Browser, error) {
	if !o.Unguarded && os.Geteuid() == 0 {
		return nil, ErrRoot
	}
	if o.Time == 0 {
		o.Time = usualTime
	}
	b := &Browser{o: o, turns: make(chan struct{}, atOnce), waiting: make(chan struct{}, atOnce+mostWait)}
	if _, err := b.running(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// Close kills the browser and all that it started, and waits until they are gone. Pages that are being drawn are not.
func (b *Browser) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.drop()
}

// Draw gives a picture of the upper part of a page, as PNG. It waits its turn for no more than Options.Time, and takes no more than that
// then; what has not arrived in the first four fifths of it is not in the picture, and the context of get ends. It returns when every get
// has. The error is ErrBusy where too many wait.
func (b *Browser) Draw(ctx context.Context, p Page, get Fetch) (png []byte, err error) {
	select {
	case b.waiting <- struct{}{}:
		defer func() { <-b.waiting }()
	default:
		return nil, ErrBusy
	}
	var late sync.WaitGroup
	defer late.Wait() // when others have their turn
	select {
	case b.turns <- struct{}{}:
		defer func() { <-b.turns }()
	case <-time.After(b.o.Time):
		return nil, ErrBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	proc, err := b.running(ctx)
	if err != nil {
		return nil, err
	}
	if png, err = proc.draw(ctx, p, get, &late); err != nil && ctx.Err() == nil {
		b.look(proc)
	}
	return png, err
}

// look ends a process that does not answer any more.
func (b *Browser) look(proc *process) {
	ctx, cancel := context.WithTimeout(proc.ctx, askTime)
	defer cancel()
	if _, err := chromedp.CallBrowser(ctx, browser.GetVersion, cdp.Empty{}); err == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now == proc {
		b.drop()
	}
}

// drop ends the process, if there is one. The lock is held.
func (b *Browser) drop() {
	if b.now != nil {
		b.now.end()
		b.now = nil
	}
}

// running gives the process, a new one where it died.
func (b *Browser) running(ctx context.Context) (*process, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now != nil && b.now.ctx.Err() == nil {
		return b.now, nil
	}
	b.drop()
	if b.closed || b.starts == mostStarts {
		return nil, ErrGone
	}
	b.starts++
	proc, err := start(ctx, b.o)
	if err != nil {
		return nil, err
	}
	b.now = proc
	return proc, nil
}

func start(ctx context.Context, o Options) (*process, error) {
	program, err := exec.LookPath(o.Program)
	if err != nil {
		return nil, err
	}
	if o.Home, err = filepath.Abs(o.Home); err != nil {
		return nil, err
	}
	if err := errors.Join(Clear(o.Home), os.MkdirAll(o.Home, 0o700), os.Mkdir(tempOf(o.Home), 0o700)); err != nil {
		return nil, errors.Join(err, Clear(o.Home))
	}
	p, said := &process{o: o}, &head{}
	base, end := chromedp.NewExecAllocator(context.Background(), flags(o, program, said, func(cmd *exec.Cmd) {
		p.cmd = cmd
		ownGroup(cmd)
	})...)
	silent := func(string, ...any) {}
	p.ctx, _ = chromedp.NewContext(base, chromedp.WithLogf(silent), chromedp.WithErrorf(silent)) // base ends it
	p.end = func() {
		end()
		if p.cmd != nil {
			endGroup(p.cmd)
		}
		_ = Clear(o.Home)
	}
	defer time.AfterFunc(startTime, end).Stop()
	defer context.AfterFunc(ctx, end)()
	if err := chromedp.Do(p.ctx); err != nil {
		p.end()
		return nil, fmt.Errorf("%s does not start: %s", program, said.why(err))
	}
	return p, nil
}

// Clear removes what a browser with that Home has left that could not clean up.
func Clear(home string) error {
	home, err := filepath.Abs(home)
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(home), os.RemoveAll(tempOf(home)))
}

// tempOf is for the sockets of a browser, whose paths must be short.
func tempOf(home string) string {
	sum := sha256.Sum256([]byte(home))
	return filepath.Join(os.TempDir(), "acapcrawl-"+hex.EncodeToString(sum[:8]))
}

// head keeps the beginning of what Chromium prints.
type head struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const mostSaid = 16 << 10

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(p[:min(mostSaid-h.text.Len(), len(p))])
	return len(p), nil
}

// why is the line in which Chromium says what stops it, else its first line, else that of err.
func (h *head) why(err error) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for line := range strings.Lines(h.text.String()) {
		if _, after, found := strings.Cut(line, "FATAL:"); found {
			_, reason, _ := strings.Cut(after, "] ")
			return strings.TrimSpace(reason)
		}
	}
	if h.text.Len() > 0 {
		err = errors.New(h.text.String())
	}
	first, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return strings.TrimSuffix(first, ":")
}
