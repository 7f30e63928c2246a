package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress redraws one line on a terminal. On anything else it draws nothing. It is the writer for all that goes to the
// same terminal meanwhile, so that the line does not mix with it. Its methods may be called concurrently.
type progress struct {
	w       io.Writer
	columns func() int // of the terminal; 0: not known. nil: it is none

	mu   sync.Mutex
	line string
	last time.Time
}

// redraw is the least time between two lines.
const redraw = 100 * time.Millisecond

// newProgress draws on w, which is a progress already where others write to the same terminal.
func newProgress(w io.Writer) *progress {
	if p, ok := w.(*progress); ok {
		return p
	}
	p := &progress{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.columns = func() int {
			n, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0
			}
			return n
		}
	}
	return p
}

// Set draws the line, unless it is there already or another was drawn just before.
func (p *progress) Set(format string, args ...any) {
	if p.columns == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.last) < redraw {
		return
	}
	if line := fmt.Sprintf(format, args...); line != p.line {
		p.last, p.line = now, line
		p.draw()
	}
}

// Write writes above the line.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line == "" {
		return p.w.Write(b)
	}
	io.WriteString(p.w, clearLine)
	n, err := p.w.Write(b)
	p.draw()
	return n, err
}

// Done takes the line away.
func (p *progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line != "" {
		io.WriteString(p.w, clearLine)
		p.line = ""
	}
}

const clearLine = "\r\x1b[K"

func (p *progress) draw() {
	line := []rune(p.line)
	if n := p.columns(); len(line) >= n && n > 1 {
		line = line[:n-1]
	}
	io.WriteString(p.w, clearLine+string(line))
}
