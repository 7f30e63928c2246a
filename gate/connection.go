package gate

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
)

// errShared is the failure of an exchange on a connection that other exchanges used, too: one of
// those may have broken it.
var errShared = errors.New("the connection broke while other requests used it")

// line is a connection that counts its exchanges.
type line struct {
	net.Conn
	mu    sync.Mutex
	begun int
	open  int
}

// ride is the place of one exchange on a line. A nil ride shares its connection with no other
// exchange.
type ride struct {
	line   *line
	number int // 1 for the first exchange of the connection
	beside int // number of exchanges that had not ended when this one began
}

// lineOf returns the line that c wraps, nil if there is none.
func lineOf(c net.Conn) *line {
	switch c := c.(type) {
	case *line:
		return c
	case *recorded:
		return lineOf(c.Conn)
	case *tls.Conn:
		return lineOf(c.NetConn())
	}
	return nil
}

// board counts an exchange that begins on c, until leave is called.
func board(c net.Conn) *ride {
	l := lineOf(c)
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun++
	l.open++
	return &ride{line: l, number: l.begun, beside: l.open - 1}
}

func (r *ride) leave() {
	if r != nil {
		r.line.mu.Lock()
		defer r.line.mu.Unlock()
		r.line.open--
	}
}

// blameless reports whether another exchange on the connection may have caused err. answered says
// that a head was received: then an earlier exchange can no longer be the cause. An error of the
// stream of this exchange has no other cause.
func (r *ride) blameless(err error, answered bool) bool {
	var own streamError
	if r == nil || err == nil || errors.As(err, &own) {
		return false
	}
	r.line.mu.Lock()
	defer r.line.mu.Unlock()
	return r.beside > 0 || r.line.begun > r.number || !answered && r.number > 1
}

// streamError is the form of net/http's error of one stream of HTTP/2, which errors.As fills
// (golang.org/issue/53896).
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return fmt.Sprintf("stream %d: error %d", e.StreamID, e.Code) }

// Codes of stream errors that net/http reports for an answer that it cannot read (RFC 9113 7). The
// host sent all others.
const (
	codeProtocol    = 1
	codeFlowControl = 3
)

// hungUp is the net.Error of an exchange that its host ended without an answer, by RST_STREAM or
// GOAWAY.
type hungUp struct{ error }

func (h hungUp) Unwrap() error { return h.error }
func (hungUp) Timeout() bool   { return false }

// Temporary is there because net.Error still requires it.
func (hungUp) Temporary() bool { return true }

// diagnosed returns err as a hungUp if the host ended the exchange. net/http does not export its
// error for GOAWAY.
func diagnosed(err error) error {
	var reset streamError
	switch {
	case errors.As(err, &reset) && reset.Code != codeProtocol && reset.Code != codeFlowControl,
		strings.HasPrefix(err.Error(), "http2: server sent GOAWAY"):
		return hungUp{err}
	}
	return err
}

// noting keeps the error that ended the reading of a body.
type noting struct {
	io.ReadCloser
	err error
}

func (n *noting) Read(p []byte) (int, error) {
	k, err := n.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return k, err
}
