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

// errShared is the error of an exchange whose connection broke while other exchanges used it too.
// Another exchange may have broken the connection.
var errShared = errors.New("the connection broke while other requests used it")

// countedConn is a connection that counts its exchanges.
type countedConn struct {
	net.Conn
	lease func() error // returns why no request may be sent to the host at this moment; nil: always permitted

	mu        sync.Mutex
	begun     int   // exchanges since the connection was opened
	open      int   // exchanges that have not ended
	unwritten int   // open exchanges whose request is not completely written
	refused   error // why lease refused a write; after that nothing is written
}

// connUse is the use of a connection by one exchange. If it is nil, no other exchange uses the
// connection.
type connUse struct {
	conn      *countedConn
	number    int  // 1 for the first exchange on the connection, 2 for the second, and so on
	others    int  // number of other exchanges in progress on the connection when this exchange began
	unwritten bool // the request is not completely written; protected by conn.mu
}

// countedConnOf returns the countedConn that c wraps, or nil if there is none.
func countedConnOf(c net.Conn) *countedConn {
	switch c := c.(type) {
	case *countedConn:
		return c
	case *recordedConn:
		return countedConnOf(c.Conn)
	case *tls.Conn:
		return countedConnOf(c.NetConn())
	}
	return nil
}

// beginUse counts an exchange that begins on c. It ends when leave is called.
func beginUse(c net.Conn) *connUse {
	l := countedConnOf(c)
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun++
	l.open++
	l.unwritten++
	return &connUse{conn: l, number: l.begun, others: l.open - 1, unwritten: true}
}

func (r *connUse) leave() {
	if r != nil {
		r.conn.mu.Lock()
		defer r.conn.mu.Unlock()
		r.conn.open--
		if r.unwritten {
			r.unwritten = false
			r.conn.unwritten--
		}
	}
}

// mayBeBrokenByOther reports whether another exchange on the connection may have caused err.
// answered means that the head of the answer was received; after that an earlier exchange cannot be
// the cause. The error of an HTTP/2 stream is always caused by its own exchange.
func (r *connUse) mayBeBrokenByOther(err error, answered bool) bool {
	var own streamError
	if r == nil || err == nil || errors.As(err, &own) {
		return false
	}
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	return r.others > 0 || r.conn.begun > r.number || !answered && r.number > 1
}

// streamError has the same fields as the error that net/http returns for one HTTP/2 stream, so that
// errors.As can copy that error (golang.org/issue/53896).
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return fmt.Sprintf("stream %d: error %d", e.StreamID, e.Code) }

// Codes of stream errors that net/http itself reports for an answer that it cannot read (RFC 9113
// 7). All other codes were sent by the host.
const (
	codeProtocol    = 1
	codeFlowControl = 3
)

// endedByHost is the net.Error of an exchange that the host ended without an answer, by RST_STREAM
// or GOAWAY.
type endedByHost struct{ error }

func (h endedByHost) Unwrap() error { return h.error }
func (endedByHost) Timeout() bool   { return false }

// Temporary returns true. The interface net.Error still requires this method.
func (endedByHost) Temporary() bool { return true }

// asEndedByHost returns err as an endedByHost if the host ended the exchange. It recognises GOAWAY
// by the text, because net/http does not export that error.
func asEndedByHost(err error) error {
	var reset streamError
	switch {
	case errors.As(err, &reset) && reset.Code != codeProtocol && reset.Code != codeFlowControl,
		strings.HasPrefix(err.Error(), "http2: server sent GOAWAY"):
		return endedByHost{err}
	}
	return err
}

// errorKeeper stores the error that ended the reading of a body.
type errorKeeper struct {
	io.ReadCloser
	err error
}

func (n *errorKeeper) Read(p []byte) (int, error) {
	k, err := n.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return k, err
}
