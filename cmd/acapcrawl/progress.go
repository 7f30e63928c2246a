package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/display"
	"golang.org/x/term"
)

// progress shows the progress of work: on a terminal as one line that is drawn again and again,
// otherwise as a line at intervals. Each line begins with the elapsed time. Other output to the
// same terminal must be written with Write, so that lines do not mix. Its methods may be called
// concurrently.
type progress struct {
	w       io.Writer
	columns func() int // returns the width of the terminal in columns; 0: not known. nil: w is not a terminal

	now func() time.Time // the clock; nil: time.Now

	of  *progress // shows what this progress gets; nil: w does
	job string    // the job that is named in what is written to of

	mu    sync.Mutex
	json  *jsonLines // what is written becomes JSON; nil: it stays text
	line  string     // the line that is drawn now
	began time.Time  // when the work began whose progress is shown; zero: not yet
	last  time.Time  // when a line was last drawn
}

// redraw is the shortest time between two lines on a terminal.
const redraw = 100 * time.Millisecond

// reprint is the shortest time between two lines if the output is not a terminal.
const reprint = 30 * time.Second

// newProgress returns a progress that writes to w. If w already is a progress, newProgress returns
// w, so that all text for a terminal is written by the same progress.
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

// ofJob returns a progress that shows everything on p, and names the job in each error, notice and log record.
func (p *progress) ofJob(name string) *progress { return &progress{of: p, job: name} }

// time returns the time by the clock of p.
func (p *progress) time() time.Time {
	if p.now == nil {
		return time.Now()
	}
	return p.now()
}

// Set shows a line, preceded by the time since the first call. It does nothing if the previous line
// was shown less than redraw or reprint ago.
func (p *progress) Set(format string, args ...any) {
	if p.of != nil {
		p.of.Set(format, args...)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now, least := p.time(), redraw
	if p.columns == nil {
		least = reprint
	}
	if p.began.IsZero() {
		if p.began = now; p.columns == nil {
			p.last = now
		}
	}
	if now.Sub(p.last) < least {
		return
	}
	line := elapsed(now.Sub(p.began)) + ": " + fmt.Sprintf(format, args...)
	if p.last = now; p.columns == nil {
		_, _ = p.w.Write(p.printable([]byte(line + "\n"))) // nobody waits for this line
		return
	}
	if line != p.line {
		p.line = line
		p.draw()
	}
}

// Count shows the number of finished items, of total, with the rate and the remaining time. A total
// of 0 means that the total is unknown.
func (p *progress) Count(done, total int, noun string) {
	p.mu.Lock()
	took := time.Duration(0)
	if !p.began.IsZero() {
		took = p.time().Sub(p.began)
	}
	p.mu.Unlock()
	p.Set("%s", countLine(done, total, noun, took))
}

// countLine returns the text that Count shows, after the elapsed time took.
func countLine(done, total int, noun string, took time.Duration) string {
	line := several(done, noun)
	if total > 0 {
		line = number(done) + " of " + several(total, noun)
	}
	if took < time.Second || done == 0 {
		return line
	}
	rate := float64(done) / took.Seconds()
	line += ", " + strings.TrimSuffix(speed(rate), " pages/s") + "/s"
	if total > done {
		line += ", " + elapsed(time.Duration(float64(total-done)/rate*float64(time.Second))) + " left"
	}
	return line
}

// Write makes the text b safe to print, and writes this text above the progress line.
func (p *progress) Write(b []byte) (int, error) {
	n := len(b)
	if p.of != nil {
		_, err := p.of.Write(p.named(b))
		return n, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b = p.printable(b)
	if p.line == "" {
		_, err := p.w.Write(b)
		return n, err
	}
	io.WriteString(p.w, clearLine)
	_, err := p.w.Write(b)
	p.draw()
	return n, err
}

// named puts the name of the job into each line of b.
func (p *progress) named(b []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json != nil {
		return p.json.lines(b, p.of.time())
	}
	var out bytes.Buffer
	for line := range bytes.Lines(b) {
		level, text, found := bytes.Cut(line, []byte(": "))
		if found && (string(level) == "Error" || string(level) == "Notice") {
			fmt.Fprintf(&out, "%s: job %s: %s", level, p.job, text)
		} else {
			out.Write(line)
		}
	}
	return out.Bytes()
}

// printable makes the text b safe to print, as text or as JSON.
func (p *progress) printable(b []byte) []byte {
	if p.json != nil {
		return p.json.lines(b, p.time())
	}
	return []byte(display.Text(string(b)))
}

// WriteJSON makes p write a JSON object for each line from now on, and draw nothing.
func (p *progress) WriteJSON() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json != nil {
		return
	}
	if p.of != nil {
		p.of.WriteJSON()
	}
	p.eraseLine()
	p.json, p.columns = &jsonLines{job: p.job}, nil
}

// Done removes the progress line.
func (p *progress) Done() {
	if p.of != nil {
		p.of.Done()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.eraseLine()
}

func (p *progress) eraseLine() {
	if p.line != "" {
		io.WriteString(p.w, clearLine)
		p.line = ""
	}
}

const clearLine = "\r\x1b[K"

func (p *progress) draw() {
	line := []rune(display.Line(p.line))
	if n := p.columns(); len(line) >= n && n > 1 {
		line = line[:n-1]
	}
	io.WriteString(p.w, clearLine+string(line))
}
