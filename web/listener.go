package web

import (
	"net"
	"sync"

	"golang.org/x/net/netutil"
)

// bounded bounds the connections that are open at once: one that comes too many waits, and one of a client that has its share is closed.
func (s *Server) bounded(l net.Listener) net.Listener {
	if !s.o.BehindProxy {
		l = &shared{Listener: l, of: map[string]int{}}
	}
	return netutil.LimitListener(l, maxConnections)
}

// shared gives each client its share of connections.
type shared struct {
	net.Listener
	mu sync.Mutex
	of map[string]int // connections that are open, by client
}

// Accept gives the next connection of a client that has less than its share.
func (l *shared) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := clientAt(conn.RemoteAddr().String())
		if l.take(client) {
			return &sharedConn{Conn: conn, end: sync.OnceFunc(func() { l.give(client) })}, nil
		}
		conn.Close()
	}
}

func (l *shared) take(client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[client] >= maxOfClient {
		return false
	}
	l.of[client]++
	return true
}

func (l *shared) give(client string) {
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
