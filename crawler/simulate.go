package crawler

import "time"

// Pacing makes the decisions of a Frontier about the times of requests, for a simulation of more hosts than a
// Frontier could store. It is not safe for concurrent use.
type Pacing struct{ p pacing }

// HostPace is what a Frontier knows about the pace of one host.
type HostPace struct {
	Due      time.Time     // when the host may be requested
	Asks     time.Duration // delay that the host asks for
	Known    bool          // Asks is known
	Pace     time.Duration // adaptive delay
	Failures int           // in a row
}

// NewPacing returns the Pacing of a Frontier with the options o. random returns numbers in [0,1).
func NewPacing(o FrontierOptions, random func() float64) *Pacing {
	f := &Frontier{o: o, random: random}
	return &Pacing{f.pacing()}
}

func (h *HostPace) times() times {
	return times{due: h.Due, asks: h.Asks, met: h.Known, pace: h.Pace, failures: h.Failures}
}

func (h *HostPace) set(t *times) {
	*h = HostPace{Due: t.due, Asks: t.asks, Known: t.met, Pace: t.pace, Failures: t.failures}
}

// Begin changes h as Next does when it leases an address.
func (p *Pacing) Begin(h *HostPace, now time.Time) {
	t := h.times()
	p.p.begin(&t, now)
	h.set(&t)
}

// Learn changes h as Return does after robots.txt was read in the only lease of the host.
func (p *Pacing) Learn(h *HostPace, said Pace) {
	t := h.times()
	t.due = time.Time{} // as giveBack does
	p.p.learn(&t, said)
	h.set(&t)
}

// End changes h as Done does at the end of the only lease of the host, in which a request was made.
func (p *Pacing) End(h *HostPace, e *End, now time.Time) {
	t := h.times()
	t.due = time.Time{} // as giveBack does
	p.p.end(&t, e, h.Failures, now)
	h.set(&t)
}

// Adopt changes h as Adopt does if a request to its partition may have been made. since is the time of the adoption.
func (p *Pacing) Adopt(h *HostPace, since time.Time) {
	t := h.times()
	t.holdUntil(since.Add(p.p.gapAfter(&t)))
	h.set(&t)
}
