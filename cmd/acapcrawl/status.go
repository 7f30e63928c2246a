package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/crawler"
)

// watch prints the state of a crawl at configured intervals and when a signal arrives. On a
// terminal it also shows the state in one line that is drawn again and again. Its methods may be
// called concurrently.
type watch struct {
	screen   *progress
	asJSON   bool          // print the states at intervals and on signals as lines of JSON
	every    time.Duration // interval between two states; 0: print states only on signals
	stopping func() bool   // reports whether the crawl is stopping

	mu   sync.Mutex
	last *crawler.Progress // the last state received; nil until the crawl has begun
	told time.Time         // when a state was last printed because of the interval
}

// progress stores the state p of the crawl, and prints it if the interval has passed.
func (w *watch) progress(p crawler.Progress) {
	now := time.Now()
	w.mu.Lock()
	w.last = &p
	tell := w.every > 0 && now.Sub(w.told) >= w.every
	if tell {
		w.told = now
	}
	w.mu.Unlock()
	w.screen.Set("%s", progressLine(p, now, w.stopping()))
	if tell {
		w.status(now)
	}
}

// state returns the last state received, or the zero value before the first one.
func (w *watch) state() crawler.Progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		return crawler.Progress{}
	}
	return *w.last
}

// listen prints the state whenever a status signal arrives, until stop is called. After that, these
// signals are ignored.
func (w *watch) listen() (stop func()) {
	if len(statusSignals) == 0 {
		return func() {}
	}
	asked, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(asked, statusSignals...)
	var listener sync.WaitGroup
	listener.Go(func() {
		for {
			select {
			case <-asked:
				w.status(time.Now())
			case <-done:
				return
			}
		}
	})
	return func() {
		signal.Ignore(statusSignals...) // a signal that arrives late must not end the process
		close(done)
		listener.Wait()
	}
}

// status prints the state as one line of JSON or as a few lines of text.
func (w *watch) status(now time.Time) {
	w.mu.Lock()
	last := w.last
	w.mu.Unlock()
	stopping := w.stopping()
	switch {
	case w.asJSON:
		line, err := json.Marshal(statusOf(last, now, stopping))
		if err != nil {
			line = []byte(err.Error())
		}
		w.screen.Write(append(line, '\n'))
	case last == nil:
		fmt.Fprintln(w.screen, "The crawl has not begun yet: the data directory is being opened.")
	default:
		w.screen.Write([]byte(statusBlock(*last, now, stopping)))
	}
}

// progressLine returns the state on one line, with what matters most first.
func progressLine(p crawler.Progress, now time.Time, stopping bool) string {
	if stopping {
		return fmt.Sprintf("stopping: %s under way; %s done, %s queued", several(p.UnderWay, "visit"), number(p.Done),
			number(p.Queued))
	}
	line := fmt.Sprintf("%s done, %s queued on %s, %s, %s refused, %s", number(p.Done), number(p.Queued),
		several(p.Hosts, "host"),
		speed(p.Rate), number(p.Refused), several(p.Errors, "error"))
	if idle(p, now) {
		line += ", next " + until(p.NextDue, now)
	}
	return line
}

// idle reports whether the crawl only waits, because no visit is due for some time.
func idle(p crawler.Progress, now time.Time) bool {
	return p.UnderWay == 0 && p.NextDue.Sub(now) > time.Second
}

// statusBlock returns the state in a few lines.
func statusBlock(p crawler.Progress, now time.Time, stopping bool) string {
	s := p.SoFar
	doing := "Crawling for "
	if stopping {
		doing = "Stopping after "
	}
	var b strings.Builder
	line := func(name, n, more string) { fmt.Fprintf(&b, "  %-9s %9s  %s\n", name, n, more) }
	b.WriteString(doing + span(time.Duration(s.Duration*float64(time.Second))) + "\n")
	line("done", number(p.Done), fmt.Sprintf("%s fetched, %s refused, %s failed", number(p.Fetched), number(p.Refused),
		number(p.Errors)))
	line("under way", number(p.UnderWay), "")
	line("queued", number(p.Queued), "on "+several(p.Hosts, "host")+due(", the next due ", p.NextDue, now))
	if s.Waiting > 0 {
		line("waiting", number(s.Waiting), "to be visited again, pages and required resources"+due(", the first ",
			s.NextAgain, now))
	}
	line("kept", number(s.Stored), fmt.Sprintf("and %s indexed", number(s.Indexed)))
	line("speed", strings.TrimSuffix(speed(p.Rate), " pages/s"), fmt.Sprintf("pages/s, %s in all", size(s.Bytes)))
	return strings.ReplaceAll(b.String(), "  \n", "\n")
}

// statusJSON is the state as JSON.
type statusJSON struct {
	Status   string    `json:"status"` // opening, crawling or stopping
	Time     time.Time `json:"time"`
	Done     int       `json:"done"`
	UnderWay int       `json:"under_way"`
	Recent   float64   `json:"recent_pages_per_s"` // pages per second in the last ten seconds
	crawler.Summary
}

func statusOf(p *crawler.Progress, now time.Time, stopping bool) statusJSON {
	j := statusJSON{Status: "opening", Time: now.UTC()}
	if p != nil {
		j = statusJSON{Status: "crawling", Time: now.UTC(), Done: p.Done, UnderWay: p.UnderWay, Recent: p.Rate,
			Summary: p.SoFar}
	}
	if stopping {
		j.Status = "stopping"
		j.Interrupted = true
	}
	return j
}
