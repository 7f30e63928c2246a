package web

import (
	"net"
	"net/http"
	"sync"
)

// pool limits the number of open connections. If there are too many, pool closes an idle
// connection: it chooses the client with the most idle connections, and of these the connection
// that has been idle longest. A new connection is idle until its request arrives, so the new
// connection itself is closed if all others are busy.
type pool struct {
	most int

	mu   sync.Mutex
	open int
	idle map[net.Conn]idleConn
	tick uint64
}

// idleConn is an idle connection.
type idleConn struct {
	client string
	since  uint64 // value of tick when the connection became idle
}

func newPool(most int) *pool { return &pool{most: most, idle: map[net.Conn]idleConn{}} }

// state updates the pool; net/http calls it when the state of a connection changes.
func (p *pool) state(conn net.Conn, now http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch now {
	case http.StateNew:
		p.open++
		p.idle[conn] = p.next(conn)
		if p.open > p.most {
			p.evict()
		}
	case http.StateIdle:
		p.idle[conn] = p.next(conn)
	case http.StateActive:
		delete(p.idle, conn)
	case http.StateClosed, http.StateHijacked:
		p.open--
		delete(p.idle, conn)
	}
}

func (p *pool) next(conn net.Conn) idleConn {
	p.tick++
	return idleConn{clientAt(conn.RemoteAddr().String()), p.tick}
}

// evict closes an idle connection; at least one must exist. net/http then calls state for the
// closed connection.
func (p *pool) evict() {
	has := map[string]int{}
	for _, one := range p.idle {
		has[one.client]++
	}
	var worst net.Conn
	most := 0
	for conn, one := range p.idle {
		n := has[one.client]
		if n > most || n == most && one.since < p.idle[worst].since {
			worst, most = conn, n
		}
	}
	delete(p.idle, worst)
	go worst.Close() // in a goroutine, because TLS first sends an alert, which may take some time
}

// shared is a net.Listener that limits the number of open connections of each client, except of trusted
// proxies.
type shared struct {
	net.Listener
	most    int // maximum number of connections of one client
	trusted func(remote string) bool

	mu sync.Mutex
	of map[string]int // client → number of open connections
}

// Accept returns the next connection. It closes a connection at once if its client already has the
// maximum number.
func (l *shared) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		remote := conn.RemoteAddr().String()
		client := clientAt(remote)
		if l.trusted(remote) {
			return conn, nil
		}
		if l.acquire(client) {
			return &sharedConn{Conn: conn, end: sync.OnceFunc(func() { l.release(client) })}, nil
		}
		conn.Close()
	}
}

func (l *shared) acquire(client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[client] >= l.most {
		return false
	}
	l.of[client]++
	return true
}

func (l *shared) release(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[client]--; l.of[client] == 0 {
		delete(l.of, client)
	}
}

type sharedConn struct {
	net.Conn
	end func()
}

func (c *sharedConn) Close() error {
	defer c.end()
	return c.Conn.Close()
}
