package oneway

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// conn is a connection of a client, with the connection to the server that belongs to it.
type conn struct {
	p      *Proxy
	client net.Conn
	ended  context.Context
	cancel context.CancelFunc

	// guarded by p.mu
	server net.Conn  // nil: not connected
	lost   Direction // the directions in which something was dropped
}

// reset resets both connections, unless they have ended. The caller must hold p.mu.
func (c *conn) reset() {
	if c.ended.Err() != nil {
		return
	}
	for _, n := range []net.Conn{c.client, c.server} {
		if t, ok := n.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // makes Close send a reset
		}
	}
	c.close()
}

// close closes both connections. What was written is still delivered. The caller must hold p.mu.
func (c *conn) close() {
	c.cancel()
	c.client.Close()
	if c.server != nil {
		c.server.Close()
	}
}

func (c *conn) serve() {
	defer func() {
		c.p.mu.Lock()
		defer c.p.mu.Unlock()
		c.close()
		delete(c.p.conns, c)
	}()
	server := c.dial()
	if server == nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { c.forward(ToServer, c.client, server) })
	both.Go(func() { c.forward(ToClient, server, c.client) })
	both.Wait()
}

// dial connects to the server as soon as ToServer is neither dropped nor held. If it is dropped,
// dial swallows what the client sends, until the connection ends, and returns nil.
func (c *conn) dial() net.Conn {
	for {
		passes, changed := c.pass(ToServer)
		if passes {
			break
		}
		if changed == nil {
			_, _ = io.Copy(io.Discard, c.client)
			return nil
		}
		select {
		case <-changed:
		case <-c.ended.Done():
			return nil
		}
	}
	server, err := new(net.Dialer).DialContext(c.ended, "tcp", c.p.target)
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if err != nil {
		c.reset() // as the server would
		return nil
	}
	if c.ended.Err() != nil {
		server.Close()
		return nil
	}
	c.server = server
	return server
}

// chunk is a piece of a stream, nil for its end.
type chunk struct {
	data []byte
	due  time.Time // the time of its delivery
}

// queued is the number of chunks that a direction of a connection keeps. When it is full, the proxy
// reads no more, so the sender blocks when the buffers of the kernel are full.
const queued = 256

// forward copies one direction until its end.
func (c *conn) forward(d Direction, from, to net.Conn) {
	chunks := make(chan chunk, queued)
	var reader sync.WaitGroup
	reader.Go(func() { c.read(d, from, chunks) })
	defer reader.Wait()
	for {
		select {
		case k := <-chunks:
			if !c.deliver(d, k, to) || k.data == nil {
				return
			}
		case <-c.ended.Done():
			return
		}
	}
}

// read reads from a connection until its end.
func (c *conn) read(d Direction, from net.Conn, chunks chan<- chunk) {
	for {
		data := make([]byte, 16<<10)
		n, err := from.Read(data)
		due := time.Now().Add(c.p.delay(d))
		if n > 0 && !c.enqueue(chunks, chunk{data[:n], due}) {
			return
		}
		if err != nil { // a reset is forwarded as an end, too
			c.enqueue(chunks, chunk{nil, due})
			return
		}
	}
}

func (c *conn) enqueue(chunks chan<- chunk, k chunk) bool {
	select {
	case chunks <- k:
		return true
	case <-c.ended.Done():
		return false
	}
}

// deliver waits until k is due and may pass, and writes it. It returns false if the connection has
// ended.
func (c *conn) deliver(d Direction, k chunk, to net.Conn) bool {
	if wait := time.Until(k.due); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.ended.Done():
			return false
		}
	}
	for {
		passes, changed := c.pass(d)
		switch {
		case passes:
			return c.write(k, to)
		case changed == nil && k.data != nil:
			return true // dropped
		case changed == nil: // the end is dropped: this direction is open until the connection is reset
			<-c.ended.Done()
			return false
		}
		select {
		case <-changed:
		case <-c.ended.Done():
			return false
		}
	}
}

// pass reports whether a chunk may pass now. If it may not, changed says when to ask again; nil means
// that the chunk is lost. What follows a lost chunk is lost, too.
func (c *conn) pass(d Direction) (passes bool, changed <-chan struct{}) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	switch w := *c.p.way(d); {
	case w.dropped || c.lost&d != 0:
		c.lost |= d
		return false, nil
	case w.held:
		return false, c.p.changed
	}
	return true, nil
}

func (c *conn) write(k chunk, to net.Conn) bool {
	if k.data != nil {
		_, err := to.Write(k.data)
		if err == nil {
			return true
		}
	} else if t, ok := to.(*net.TCPConn); ok && t.CloseWrite() == nil {
		return true
	}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.reset() // the receiver has closed its connection
	return false
}
