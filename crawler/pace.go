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

// pacing has the options that decide when a host is requested again.
type pacing struct {
	delay    time.Duration // shortest delay between two requests to a host
	backoff  time.Duration // first pause for a host that does not answer
	adaptive bool
	random   func() float64 // returns a number in [0,1)
}

func (f *Frontier) pacing() pacing {
	return pacing{f.o.Delay, f.o.Backoff, f.o.Adaptive && f.o.Delay > 0, f.random}
}

// times is what decides when a host is requested.
type times struct {
	due      time.Time
	held     time.Time     // when the host would be due without the pause after failures
	leased   time.Time     // when the delay after the request of the last lease ends
	asks     time.Duration // delay that the host asks for
	met      bool          // the delay that the host asks for is known
	pace     time.Duration // adaptive delay, derived from response times
	failures int
}

// gap returns the delay between the starts of two requests to a host: the longest of the operator's
// delay, the delay that the host asks for, and the delay derived from its response times.
func (p pacing) gap(t *times) time.Duration {
	gap := max(t.asks, p.delay)
	if p.adaptive {
		gap = max(gap, t.pace)
	}
	return gap
}

// gapAfter returns the delay of a host after its partition was adopted. The machine that owned it before may have
// requested the host just before, and may have learned a delay that it could not record any more.
func (p pacing) gapAfter(t *times) time.Duration {
	if t.met {
		return p.gap(t)
	}
	return max(p.gap(t), gate.MaxCrawlDelay)
}

// adaptPace adjusts the adaptive delay of a host to a response. If the response asks the client to
// retry later, or there is none, adaptPace doubles the delay.
func (p pacing) adaptPace(t *times, e *End) {
	wanted := slowness * e.Took
	switch {
	case e.Trouble || again(e.Status):
		t.pace = max(2*max(t.pace, t.asks, p.delay), wanted)
	case e.Took <= 0:
		return
	case t.pace == 0:
		t.pace = wanted
	default:
		t.pace = (3*t.pace + wanted) / 4
	}
	t.pace = min(t.pace, gate.MaxCrawlDelay)
}

// pause returns the pause of a host after failures in a row. Each pause is twice as long as the one
// before. A random part of up to one half is added, so that hosts that failed together are not
// requested together.
func (p pacing) pause(failures int) time.Duration {
	d := time.Duration(downFor)
	if failures < downAfter {
		d = min(p.backoff<<(failures-1), maxBackoff)
	}
	return d + time.Duration(p.random()*float64(d)/2)
}

// begin records that a lease begins.
func (p pacing) begin(t *times, now time.Time) {
	t.due = now.Add(p.gap(t))
	t.leased = t.due
}

// learn records what robots.txt said about a host.
func (p pacing) learn(t *times, said Pace) {
	t.asks, t.met = said.Delay, true
	t.holdUntil(said.Asked.Add(p.gap(t)))
}

// end records how a visit ended. failures is the number of failures in a row when the visit began.
func (p pacing) end(t *times, e *End, failures int, now time.Time) {
	t.asks, t.met = e.Delay, true
	if p.adaptive {
		p.adaptPace(t, e)
	}
	if !e.Asked.IsZero() {
		t.holdUntil(e.Asked.Add(p.gap(t)))
		t.failures = 0
	}
	if e.Trouble {
		t.failures = failures + 1
		t.holdUntil(e.Rest)
		t.due = later(t.due, now.Add(p.pause(t.failures)))
	}
}

// giveBack makes the due time again what it was before a lease, if it was not changed since the lease began.
func (t *times) giveBack(before, after time.Time) {
	if t.due.Equal(after) {
		t.due = before
	}
}

// holdUntil delays a host until a time, because the host asks not to be requested before that time.
func (t *times) holdUntil(until time.Time) {
	t.held, t.due = later(t.held, until), later(t.due, until)
}
