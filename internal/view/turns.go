package view

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// The limits of work that takes long.
const (
	// bytes of a copy from which it counts as such
	heavyCopy = 1 << 20
	// such requests that are answered at the same time
	mostHeavy = 2
	// requests of one client that may wait for a turn
	mostWaiting = 32
)

// turns limit how much work of one kind is done at the same time, and how much of it one client may ask for.
type turns struct {
	slots chan struct{} // holds a value for each turn that is taken

	mu      sync.Mutex
	clients map[netip.Addr]int // requests that wait or have a turn
}

func newTurns(most int) *turns {
	return &turns{slots: make(chan struct{}, most), clients: map[netip.Addr]int{}}
}

// take waits for a turn; done ends it. The error is a *Problem if the client has too many requests, or that of ctx.
func (t *turns) take(ctx context.Context, client netip.Addr) (done func(), err error) {
	t.mu.Lock()
	if t.clients[client] > mostWaiting {
		t.mu.Unlock()
		return nil, &Problem{Status: http.StatusTooManyRequests, Code: "rate", Title: "Too many requests at once",
			Detail: "Earlier requests of your address are still being answered; wait for their answers.",
			Retry:  time.Second}
	}
	t.clients[client]++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.clients[client]--; t.clients[client] == 0 {
			delete(t.clients, client)
		}
	}
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// takeHeavy is like take for copies of that many bytes: only large ones need a turn.
func (h *Handler) takeHeavy(r *request, bytes int64) (done func(), err error) {
	if bytes < heavyCopy {
		return func() {}, nil
	}
	return h.heavy.take(r.Context(), r.visitor.Reader.IP)
}
