// Package oneway is a TCP proxy on loopback that imitates a broken network, for tests: it drops,
// holds back or delays what one side sends, while both sides see an open connection.
package oneway

import (
	"context"
	"net"
	"sync"
	"time"
)

// Direction is a direction of the traffic, or both.
type Direction int

// The directions.
const (
	ToServer Direction = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// Proxy forwards connections to one server. Its methods may be called concurrently, and apply to
// connections that exist and to later ones.
type Proxy struct {
	target string
	l      net.Listener
	done   sync.WaitGroup // of all goroutines

	mu      sync.Mutex
	to      way
	back    way
	changed chan struct{} // closed and replaced when a way changes
	conns   map[*conn]bool
	closed  bool
}

// way is the state of one direction.
type way struct {
	dropped bool
	held    bool
	delay   time.Duration
}

// Start starts a proxy on a free port of 127.0.0.1. It forwards to target, host:port.
func Start(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, l: l, changed: make(chan struct{}), conns: map[*conn]bool{}}
	p.done.Go(p.accept)
	return p, nil
}

// Addr returns the address for clients, host:port.
func (p *Proxy) Addr() string { return p.l.Addr().String() }

// Drop swallows what is sent in direction d from now on. Connections stay open, and new connections
// are accepted. While ToServer is dropped, new connections do not reach the server. Ends of
// connections are swallowed, too.
func (p *Proxy) Drop(d Direction) { p.set(d, func(w *way) { w.dropped = true }) }

// Hold keeps what is sent in direction d until Heal, which delivers it late. The sender blocks when
// the buffers of the connection are full. That is what a network does whose failure is shorter than
// the time limits of TCP.
func (p *Proxy) Hold(d Direction) { p.set(d, func(w *way) { w.held = true }) }

// Delay delivers later what is sent in direction d, by this time, without limiting the throughput.
// It is in force until another Delay, and for what arrives at the proxy from now on.
func (p *Proxy) Delay(d Direction, by time.Duration) { p.set(d, func(w *way) { w.delay = by }) }

// Heal ends Drop and Hold in both directions. Connections that lost something are reset, because a
// TCP connection never continues after a gap. The others continue.
func (p *Proxy) Heal() {
	p.set(Both, func(w *way) { w.dropped, w.held = false, false })
	p.reset(func(c *conn) bool { return c.lost != 0 })
}

// Reset resets all connections.
func (p *Proxy) Reset() { p.reset(func(*conn) bool { return true }) }

// Close resets all connections, ends the proxy, and returns when all its goroutines have ended.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.l.Close()
	p.Reset()
	p.done.Wait()
}

func (p *Proxy) set(d Direction, change func(*way)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range []Direction{ToServer, ToClient} {
		if d&one != 0 {
			change(p.way(one))
		}
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// way returns the state of one direction. The caller must hold mu.
func (p *Proxy) way(d Direction) *way {
	if d == ToServer {
		return &p.to
	}
	return &p.back
}

func (p *Proxy) delay(d Direction) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.way(d).delay
}

func (p *Proxy) reset(which func(*conn) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if which(c) {
			c.reset()
		}
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.l.Accept()
		if err != nil {
			return // the proxy is closed
		}
		c := &conn{p: p, client: client}
		c.ended, c.cancel = context.WithCancel(context.Background())
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			c.close()
			return
		}
		p.conns[c] = true
		p.mu.Unlock()
		p.done.Go(c.serve)
	}
}
