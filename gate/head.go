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
	maxHead       = 256 << 10 // bytes of the header of an answer
	handshakeTime = 15 * time.Second
)

// exchange records the heads of one request and its answer as they pass a connection of HTTP/1.
type exchange struct {
	mu         sync.Mutex // the transport reads, writes and answers in goroutines of its own
	sent, head head
}

// heads are those recorded; nil for one that did not pass.
func (x *exchange) heads() (sent, answer []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sent.whole(), x.head.whole()
}

func (x *exchange) write(p []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent.add(p)
}

// read takes an answer, of which heads of status 1xx come first and are not it (RFC 9110 15.2).
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

// interim reports whether the head of an answer is of status 1xx.
func interim(b []byte) bool {
	_, status, _ := bytes.Cut(b, []byte{' '})
	return bytes.HasPrefix(bytes.TrimLeft(status, " "), []byte{'1'})
}

// head gathers bytes up to the blank line. It ends lines as net/http does, also without CR.
type head struct {
	b    []byte
	line int // where the line under way begins
	done bool
}

// add takes what belongs to the head and returns the rest.
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
		if len(h.b) > maxHead+4096 { // the transport has given up by then
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

// recorded is a connection of HTTP/1 whose exchanges are recorded, one after the other.
type recorded struct {
	net.Conn
	mu  sync.Mutex
	now *exchange
}

// begin makes x the exchange that what passes from now on belongs to. The connection is idle.
func (c *recorded) begin(x *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = x
}

// end makes the connection drop x if that was its last exchange, so that an idle connection keeps
// neither a page nor its heads in memory. c may be nil.
func (c *recorded) end(x *exchange) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == x {
		c.now = nil
	}
}

func (c *recorded) current() *exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Read reads from the connection.
func (c *recorded) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if x := c.current(); x != nil && n > 0 {
		x.read(p[:n])
	}
	return n, err
}

// Write writes to the connection; what is written is recorded before it can be answered.
func (c *recorded) Write(p []byte) (int, error) {
	if x := c.current(); x != nil {
		x.write(p)
	}
	return c.Conn.Write(p)
}

// dialPlain is dial for connections without TLS, which speak HTTP/1.
func (g *Gate) dialPlain(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := g.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &recorded{Conn: c}, nil
}

// dialTLS is dial with TLS. A connection that speaks HTTP/2 stays a *tls.Conn, by which the
// transport knows it.
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
	c := tls.Client(plain, config)
	limit := min(g.o.Timeout, handshakeTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooSlow(limit))
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
	return &recorded{Conn: c}, nil
}

// written gives the heads of an exchange over HTTP/2 in the form of HTTP/1.1.
func written(req *http.Request, resp *http.Response) (sent, answer []byte) {
	var b bytes.Buffer
	if req.WithContext(context.Background()).Write(&b) == nil { // without the trace of the request
		sent = bytes.Clone(b.Bytes())
	}
	b.Reset()
	fmt.Fprintf(&b, "HTTP/1.1 %03d %s\r\n", resp.StatusCode, http.StatusText(resp.StatusCode))
	_ = resp.Header.Write(&b)
	b.WriteString("\r\n")
	return sent, b.Bytes()
}
