// Package render draws web pages and runs their scripts with a headless Chromium that never uses the
// network.
//
// The caller passes the page as bytes. The package answers every request of the browser itself:
// with the page, with the result of the caller's Fetch, or with an error. It lets no request
// through. Further barriers protect against mistakes: the browser uses a proxy that does not exist,
// resolves no names, and gets the page with a Content-Security-Policy. For Draw, scripts are disabled,
// and the policy permits only style sheets and images. For Run, it prohibits what would make requests
// outside of the page: workers, frames, windows, forms. Every page has its own browser context, which
// is stored only in memory.
//
//	browser.go  Start, Draw, Close: the process, the limit of pages at a time, restarts
//	tab.go      one page: how it is opened and closed
//	requests.go its requests
//	draw.go     its picture
//	run.go      Run: its scripts and the document that they make
//	flags.go    the command line of the process
//	pipe_*.go   the size limits of the messages from the process
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
	Program   string // path of Chromium
	Home      string // a directory for its files; it is emptied by Start and removed by Close
	Unguarded bool   // run without Chromium's sandbox, which is not available to root

	Time time.Duration // time limit for a page, including its requests; 0: 15 s
}

var (
	// ErrBusy means that too many pages are waiting to be drawn.
	ErrBusy = errors.New("too many pages wait to be drawn")
	// ErrGone means that the browser ended while the page was open, has ended too often, or is closed.
	ErrGone = errors.New("the browser has ended")
	// ErrRoot means that root may not start Chromium, because its sandbox does not work for root.
	ErrRoot = errors.New("the sandbox of Chromium does not work if root starts it")
)

const (
	atOnce     = 2  // pages that are drawn at a time
	runsAtOnce = 4  // pages whose scripts run at a time
	mostWait   = 8  // further pages that may wait
	mostStarts = 10 // starts of the process, including the first, since it last worked

	usualTime = 15 * time.Second
	startTime = 30 * time.Second
	askTime   = 2 * time.Second // time within which a working browser answers a request for its version
)

// Browser is a Chromium process, which is started again if it ends. It is safe for concurrent use.
type Browser struct {
	o       Options
	turns   chan struct{}
	waiting chan struct{}
	runs    chan struct{}

	mu     sync.Mutex
	now    *process // nil if no process was started since the last one ended
	starts int
	closed bool
}

// process is one Chromium process.
type process struct {
	ctx context.Context // the context of chromedp; done when the process has ended
	cmd *exec.Cmd
	o   Options
	end func() // kills the process, waits for it and removes its files
}

// ended reports whether the process has ended or closed its connection.
func (p *process) ended() bool {
	select {
	case <-chromedp.FromContext(p.ctx).Browser.LostConnection:
		return true
	default:
		return p.ctx.Err() != nil
	}
}

// Start starts the browser. It fails with ErrRoot if root calls it without Options.Unguarded. The
// text of the error has no full stop at its end.
func Start(ctx context.Context, o Options) (*Browser, error) {
	if !o.Unguarded && os.Geteuid() == 0 {
		return nil, ErrRoot
	}
	if o.Time == 0 {
		o.Time = usualTime
	}
	b := &Browser{o: o, turns: make(chan struct{}, atOnce), waiting: make(chan struct{}, atOnce+mostWait),
		runs: make(chan struct{}, runsAtOnce)}
	if _, err := b.running(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// Close kills the browser and all processes that it started, and waits until they have ended. Draw
// fails for pages that are in progress.
func (b *Browser) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.endProcess()
}

// Draw returns a PNG image of the upper part of a page. It waits at most Options.Time for its turn,
// and then takes at most Options.Time. After four fifths of that it cancels the context of get;
// what has not arrived then is missing in the image. Draw returns when all calls of get have
// returned. It fails with ErrBusy if too many pages are waiting.
func (b *Browser) Draw(ctx context.Context, p Page, get Fetch) (png []byte, err error) {
	select {
	case b.waiting <- struct{}{}:
		defer func() { <-b.waiting }()
	default:
		return nil, ErrBusy
	}
	var late sync.WaitGroup
	defer late.Wait() // deferred calls run in reverse order, so the next page can start before this call waits
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
		b.endIfHung(proc)
	} else if err == nil {
		b.works()
	}
	return png, err
}

// works records that the process works. So a browser that ends only from time to time is always started again.
func (b *Browser) works() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.starts = 1
}

// endIfHung ends a process that does not answer any more.
func (b *Browser) endIfHung(proc *process) {
	ctx, cancel := context.WithTimeout(proc.ctx, askTime)
	defer cancel()
	if _, err := chromedp.CallBrowser(ctx, browser.GetVersion, cdp.Empty{}); err == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now == proc {
		b.endProcess()
	}
}

// endProcess ends the process if there is one. The caller holds b.mu.
func (b *Browser) endProcess() {
	if b.now != nil {
		b.now.end()
		b.now = nil
	}
}

// running returns the process. It starts a new one if the last one has ended.
func (b *Browser) running(ctx context.Context) (*process, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now != nil && !b.now.ended() {
		return b.now, nil
	}
	b.endProcess()
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
		cmd.Err = errors.Join(cmd.Err, limitMessages(cmd))
	})...)
	silent := func(string, ...any) {}
	// end cancels base and with it p.ctx
	p.ctx, _ = chromedp.NewContext(base, chromedp.WithLogf(silent), chromedp.WithErrorf(silent))
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
		return nil, fmt.Errorf("%s does not start: %s", program, said.reason(err))
	}
	return p, nil
}

// Clear removes the files of a browser with this Home that could not clean up, for example because
// it was killed.
func Clear(home string) error {
	home, err := filepath.Abs(home)
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(home), os.RemoveAll(tempOf(home)))
}

// tempOf returns the directory for the sockets of a browser. Their paths must be short, so it is
// not below home.
func tempOf(home string) string {
	sum := sha256.Sum256([]byte(home))
	return filepath.Join(os.TempDir(), "acapcrawl-"+hex.EncodeToString(sum[:8]))
}

// head stores the beginning of the output of Chromium.
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

// reason returns the line of the output in which Chromium gives its fatal error, otherwise the
// first line of the output, otherwise the first line of err.
func (h *head) reason(err error) string {
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
