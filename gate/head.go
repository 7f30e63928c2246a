package gate

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	maxHead       = 256 << 10 // maximum size of the header of an answer, in bytes
	headSlack     = 4 << 10   // bytes by which a recorded head may exceed maxHead
	handshakeTime = 15 * time.Second
)

// exchange records the heads of one request and its answer as they pass through an HTTP/1
// connection.
type exchange struct {
	mu         sync.Mutex // protects the fields, because the transport reads and writes in its own goroutines
	sent, head head

	use   *connUse // the use of the connection by this exchange
	visit *visit   // the use of the host
}

// heads returns the recorded heads. A head that is incomplete is nil.
func (x *exchange) heads() (sent, answer []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sent.whole(), x.head.whole()
}

// write records the next bytes of the request, and reports whether the request is complete.
func (x *exchange) write(p []byte) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent.add(p)
	return x.sent.done
}

// read records the next bytes of an answer. It drops the heads of interim answers (status 1xx),
// which precede the final answer (RFC 9110 15.2).
func (x *exchange) read(p []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		p = x.head.add(p)
		if !x.head.done || !interim(x.head.b) {
			return
		}
		x.head = head{}
	}
}

// interim reports whether b is the head of an answer with a status 1xx.
func interim(b []byte) bool {
	_, status, _ := bytes.Cut(b, []byte{' '})
	return bytes.HasPrefix(bytes.TrimLeft(status, " "), []byte{'1'})
}

// head collects bytes up to the blank line. Like net/http, it accepts line ends without CR.
type head struct {
	b    []byte
	line int // start of the last line in b
	done bool
}

// add collects the bytes of p that belong to the head and returns the rest.
func (h *head) add(p []byte) []byte {
	for !h.done && len(p) > 0 {
		n := bytes.IndexByte(p, '\n') + 1
		if n == 0 {
			n = len(p)
		}
		h.b = append(h.b, p[:n]...)
		p = p[n:]
		if h.b[len(h.b)-1] == '\n' {
			line := h.b[h.line:]
			h.line = len(h.b)
			h.done = len(line) == 1 || string(line) == "\r\n"
		}
		if len(h.b) > maxHead+headSlack { // the transport has already rejected an answer with so long a head
			h.b, h.done = nil, true
		}
	}
	return p
}

func (h *head) whole() []byte {
	if !h.done {
		return nil
	}
	return h.b
}

// recordedConn is an HTTP/1 connection whose exchanges are recorded, one after the other.
type recordedConn struct {
	net.Conn
	mu  sync.Mutex
	now *exchange
}

// begin makes c record in x the bytes that are sent and received from now on. The connection must
// be idle.
func (c *recordedConn) begin(x *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = x
}

// end removes x from c, if x was the last exchange of c. So an idle connection keeps neither a page
// nor its heads in memory. c may be nil.
func (c *recordedConn) end(x *exchange) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == x {
		c.now = nil
	}
}

func (c *recordedConn) current() *exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Read reads from the connection and records the bytes.
func (c *recordedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if x := c.current(); x != nil && n > 0 {
		x.read(p[:n])
	}
	return n, err
}

// Write records p and then writes it to the connection. In this order, p is recorded before the
// answer arrives.
func (c *recordedConn) Write(p []byte) (int, error) {
	x := c.current()
	whole := x != nil && x.write(p)
	n, err := c.Conn.Write(p)
	if whole && err == nil {
		x.use.wrote()
		x.visit.start()
	}
	return n, err
}

// dialPlain dials a connection without TLS, which uses HTTP/1.
func (g *Gate) dialPlain(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := g.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &recordedConn{Conn: c}, nil
}

// dialTLS dials a connection with TLS. If it uses HTTP/2, the result is a *tls.Conn, because the
// transport recognises HTTP/2 by this type.
func (g *Gate) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	plain, err := g.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{}
	if g.transport.TLSClientConfig != nil {
		config = g.transport.TLSClientConfig.Clone()
	}
	config.ServerName, config.NextProtos = host, []string{"h2", "http/1.1"}
	if proxyOf(ctx) != nil {
		config.NextProtos = []string{"http/1.1"} // net/http speaks HTTP/1.1 to a proxy
	}
	c := tls.Client(plain, config)
	limit := min(g.o.Timeout, handshakeTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, timeoutError(limit))
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	if c.ConnectionState().NegotiatedProtocol == "h2" {
		return c, nil
	}
	return &recordedConn{Conn: c}, nil
}

// headsAsHTTP1 returns the heads of an HTTP/2 exchange as an HTTP/1.1 connection would carry them.
func headsAsHTTP1(req *http.Request, resp *http.Response) (sent, answer []byte) {
	var b bytes.Buffer
	// a new context prevents that the httptrace of req is called
	if req.WithContext(context.Background()).Write(&b) == nil {
		sent = bytes.Clone(b.Bytes())
	}
	b.Reset()
	fmt.Fprintf(&b, "HTTP/1.1 %03d %s\r\n", resp.StatusCode, http.StatusText(resp.StatusCode))
	_ = resp.Header.Write(&b)
	b.WriteString("\r\n")
	return sent, b.Bytes()
}
