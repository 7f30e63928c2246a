package gate

import (
	"errors"
	"net"
)

// The errors that Options.Tenure returns. errors.Is finds them in the Refusal of the request.
var (
	// ErrForeign: another machine owns the partition of the host, so this machine must not request
	// it.
	ErrForeign = errors.New("another machine owns the host")
	// ErrPaused: the lease of this machine has run out. It must request no host until the lease is
	// renewed. A refusal has this cause too if the machine that owns the host does not answer now.
	ErrPaused = errors.New("the lease of this machine has run out")
)

// errUnwritten is the error of a write that was refused on a connection which other exchanges use
// or used. It does not contain the *Refusal, because net/http also reports it to exchanges whose
// request was written before.
var errUnwritten = errors.New("the connection is not used any more, because the lease of the host ended")

// tenure returns nil if this machine may send a request to the host key at this moment, otherwise a
// *Refusal.
func (g *Gate) tenure(key string) error {
	if g.o.Tenure == nil {
		return nil
	}
	if err := g.o.Tenure(key); err != nil {
		return leaseRefusal(key, err)
	}
	return nil
}

// leaseRefusal returns the refusal of a request to the host key because of err, an error of
// Options.Tenure.
func leaseRefusal(key string, err error) *Refusal {
	why := err.Error()
	switch {
	case errors.Is(err, ErrForeign):
		why = "another machine owns the host " + key
	case errors.Is(err, ErrPaused):
		why = "the lease of this machine has run out; requests are possible again when it is renewed"
	}
	return &Refusal{URL: key, Rule: RuleLease, Why: why, Cause: err}
}

// leaseOf returns the check of the lease for the writes of a connection to the host key, or nil if
// there are no leases.
func (g *Gate) leaseOf(key string) func() error {
	if g.o.Tenure == nil {
		return nil
	}
	return func() error { return g.tenure(key) }
}

// Write writes p to the network if the lease of the host permits it. This is the last check before
// the network: a process may be stopped and continued at any point after the earlier checks. The
// lease is not needed while all requests on the connection are already written. So an answer can be
// received to its end, even if that requires window updates or other frames of HTTP/2.
func (c *countedConn) Write(p []byte) (int, error) {
	if c.lease != nil {
		if err := c.checkWrite(); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

// checkWrite returns why nothing may be written to c. Once it has refused a write, it refuses all
// later ones, so that half a request is never completed.
func (c *countedConn) checkWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil && (c.unwritten > 0 || c.open == 0) {
		c.refused = c.lease()
	}
	if c.refused != nil && c.begun > 0 {
		return errUnwritten
	}
	return c.refused // if there was no exchange yet, the error ends a dial or a handshake
}

// wrote records that the request of this exchange is completely written. If a write was refused
// before, it changes nothing, because net/http calls the hook of HTTP/2 after a failed write too.
func (r *connUse) wrote() {
	if r == nil || r.conn.lease == nil {
		return
	}
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	if r.unwritten && r.conn.refused == nil {
		r.unwritten = false
		r.conn.unwritten--
	}
}

// refusal returns why the request of this exchange was not written. It returns nil if the request
// was written, or if no write was refused.
func (r *connUse) refusal() error {
	if r == nil {
		return nil
	}
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	if !r.unwritten {
		return nil
	}
	return r.conn.refused
}

// unwritable reports whether a write to c was refused, so that c cannot be used any more.
func unwritable(c net.Conn) bool {
	l := countedConnOf(c)
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused != nil
}
