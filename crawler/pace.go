package crawler

import (
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
)

// What is asked of a host that does not answer.
const (
	maxBackoff = 5 * time.Minute
	downAfter  = 5         // failures in a row after which it is left alone
	downFor    = time.Hour // how long
)

// slowness is how many times as long as an answer took the next request waits, where pauses are
// adaptive.
const slowness = 5

// gap is the pause between the starts of two requests to h: the longest of what the operator sets,
// what the host asks for and what its answers suggest.
func (f *Frontier) gap(h *host) time.Duration {
	gap := max(h.asks, f.o.Delay)
	if f.adaptive() {
		gap = max(gap, h.pace)
	}
	return gap
}

func (f *Frontier) adaptive() bool { return f.o.Adaptive && f.o.Delay > 0 }

// heed learns from an answer how long a pause h can bear. An answer that says "not now", and none
// at all, doubles it and never makes it shorter.
func (f *Frontier) heed(h *host, e *End) {
	wanted := slowness * e.Took
	switch {
	case e.Trouble || again(e.Status):
		h.pace = max(2*max(h.pace, h.asks, f.o.Delay), wanted)
	case e.Took <= 0:
		return
	case h.pace == 0:
		h.pace = wanted
	default:
		h.pace = (3*h.pace + wanted) / 4
	}
	h.pace = min(h.pace, gate.MaxCrawlDelay)
}

// backoff is the pause of a host after failures in a row: each twice as long as the one before, and
// up to a half longer by chance, so that hosts that failed together are not asked together.
func (f *Frontier) backoff(failures int) time.Duration {
	d := time.Duration(downFor)
	if failures < downAfter {
		d = min(f.o.Backoff<<(failures-1), maxBackoff)
	}
	return d + time.Duration(f.random()*float64(d)/2)
}
