package main

import (
	"bytes"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/view"
)

// The limits of answers that are held in memory until slow clients have read them.
const (
	mostHeld          = 256 << 20 // bytes for all clients
	mostHeldForClient = 64 << 20  // bytes for one client
	// an answer of unknown length that is written in small parts is passed on from this size
	longestHeld = 8 << 20
	smallPart   = 64 << 10
)

// pool counts the bytes of answers that are held.
type pool struct {
	mu      sync.Mutex
	all     int
	clients map[netip.Addr]int
}

// take adds n bytes for a client. It reports whether they fit.
func (p *pool) take(client netip.Addr, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all+n > mostHeld || p.clients[client]+n > mostHeldForClient {
		return false
	}
	if p.clients == nil {
		p.clients = map[netip.Addr]int{}
	}
	p.all += n
	p.clients[client] += n
	return true
}

func (p *pool) giveBack(client netip.Addr, n int) {
	if n == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all -= n
	if p.clients[client] -= n; p.clients[client] == 0 {
		delete(p.clients, client)
	}
}

// heldAnswer holds an answer until it is complete, so that nothing that the handler uses waits for a slow client.
// Answers that flush are passed on while they are made, and so are long ones of unknown length that are written in
// small parts.
type heldAnswer struct {
	http.ResponseWriter // to the client
	pool                *pool
	client              netip.Addr
	status              int
	body                bytes.Buffer
	passing             bool // the answer is passed on
	full                bool // the answer does not fit

	mu  sync.Mutex
	cut bool // the answer is over, whether the client has read it or not
}

// WriteHeader implements http.ResponseWriter.
func (a *heldAnswer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements io.Writer.
func (a *heldAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	switch {
	case a.full:
		return 0, http.ErrContentLength
	case a.passing:
	case a.body.Len()+len(p) > longestHeld && len(p) <= smallPart && a.Header().Get("Content-Length") == "":
		if err := a.pass(); err != nil {
			return 0, err
		}
	case !a.pool.take(a.client, len(p)):
		a.full = true
		return 0, http.ErrContentLength
	default:
		return a.body.Write(p)
	}
	return a.ResponseWriter.Write(p)
}

// FlushError sends what was written, for http.ResponseController.
func (a *heldAnswer) FlushError() error {
	a.WriteHeader(http.StatusOK)
	if err := a.pass(); err != nil {
		return err
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap returns the underlying writer for http.ResponseController.
func (a *heldAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// pass sends what is held, and passes on what follows.
func (a *heldAnswer) pass() error {
	a.mu.Lock()
	started := a.passing
	a.passing = true
	if a.cut {
		a.expire()
	}
	a.mu.Unlock()
	if started {
		return nil
	}
	return a.write()
}

// write sends the status and the bytes that are held.
func (a *heldAnswer) write() error {
	a.ResponseWriter.WriteHeader(a.status)
	_, err := a.ResponseWriter.Write(a.body.Bytes())
	a.release()
	return err
}

func (a *heldAnswer) release() {
	a.pool.giveBack(a.client, a.body.Len())
	a.body = bytes.Buffer{}
}

// end cuts off an answer that is passed on while a client reads it slowly. It may be called concurrently with the
// other methods.
func (a *heldAnswer) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cut = true; a.passing {
		a.expire()
	}
}

func (a *heldAnswer) expire() {
	// only the writers of tests have no deadlines
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now())
}

// send sends the complete answer, unless it was passed on. An answer that does not fit is replaced by a problem.
func (a *heldAnswer) send(r *http.Request, refuse func(http.ResponseWriter, *http.Request, *view.Problem)) {
	switch {
	case a.full:
		a.release()
		clear(a.Header())
		refuse(a.ResponseWriter, r, &view.Problem{Status: http.StatusServiceUnavailable, Code: "busy",
			Title:  "Too many long answers at once",
			Detail: "Earlier long answers have not been read yet; try again later.", Retry: 5 * time.Second})
	case !a.passing && a.status != 0:
		_ = a.write() // an error means that the client is gone
	}
}
