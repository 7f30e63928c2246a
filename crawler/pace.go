package crawler

import (
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
)

// The pauses after which a host that did not answer is requested again.
const (
	maxBackoff = 5 * time.Minute
	downAfter  = 5         // failures in a row after which the pause is downFor
	downFor    = time.Hour // pause after downAfter failures in a row
)

// slowness is how many times the duration of a response the crawler waits before the next request,
// if delays are adaptive.
const slowness = 5

// gap returns the delay between the starts of two requests to h: the longest of the operator's
// delay, the delay that the host asks for, and the delay derived from its response times.
func (f *Frontier) gap(h *host) time.Duration {
	gap := max(h.asks, f.o.Delay)
	if f.adaptive() {
		gap = max(gap, h.pace)
	}
	return gap
}

func (f *Frontier) adaptive() bool { return f.o.Adaptive && f.o.Delay > 0 }

// adaptPace adjusts the adaptive delay of h to a response. If the response asks the client to retry
// later, or there is none, adaptPace doubles the delay.
func (f *Frontier) adaptPace(h *host, e *End) {
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

// backoff returns the pause of a host after failures in a row. Each pause is twice as long as the
// one before. A random part of up to one half is added, so that hosts that failed together are not
// requested together.
func (f *Frontier) backoff(failures int) time.Duration {
	d := time.Duration(downFor)
	if failures < downAfter {
		d = min(f.o.Backoff<<(failures-1), maxBackoff)
	}
	return d + time.Duration(f.random()*float64(d)/2)
}
