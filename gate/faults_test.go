package gate

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/faults"
)

// maxFault is the limit for a body in these tests, in bytes.
const maxFault = 1 << 20

// patient returns options with a time limit that no fault in these tests reaches. The limit only
// ends a test that hangs.
func patient() Options {
	return Options{AllowPrivate: true, PerHost: 8, MaxBody: maxFault, MaxPages: 5, Timeout: 2 * time.Minute}
}

// Each faulty answer leads to one hop or one error, within the limits.
func TestFaults(t *testing.T) {
	s, err := faults.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, f := range s.Faults() {
		t.Run(f.Path[1:], func(t *testing.T) {
			if f.Slow {
				slowFault(t, f.Path, f.End)
				return
			}
			t.Parallel()
			end := f.End
			// The gate follows no redirect and does not try again later, so it receives one answer.
			if f.Redirect || end == faults.Later {
				end = faults.Whole
			}
			trace, err := ask(t, newGate(t, patient(), rule(open)), s.URL+f.Path)
			checkFault(t, end, trace, err)
			if n := s.Asked(f.Path); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// slowFault requests a page whose answer lasts until the time limit. The test runs in a synctest
// bubble, whose clock does not wait.
func slowFault(t *testing.T, path string, end faults.End) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{dialed: make(chan net.Conn)}
		s, err := faults.Serve(w)
		if err != nil {
			t.Fatal(err)
		}
		g := hasty(w)
		trace, err := ask(t, g, s.URL+path)
		checkFault(t, end, trace, err)
		if n := s.Asked(path); n != 1 {
			t.Errorf("%d requests", n)
		}
		g.Close()
		_ = s.Close()
	})
}

// hasty returns a gate with a short time limit. Its connections lead to the test network w.
func hasty(w *web) *Gate {
	o := patient()
	o.Timeout = 2 * time.Second
	g := New(o)
	g.Use(rule(open))
	w.connect(g)
	return g
}

func ask(t *testing.T, g *Gate, address string) (trace Trace, err error) {
	t.Helper()
	_, err = do(t, g, With(t.Context(), PageRequest, &trace), "GET", address)
	return trace, err
}

// checkFault fails the test unless the request had the result that end describes.
func checkFault(t *testing.T, end faults.End, trace Trace, err error) {
	t.Helper()
	if end == faults.Broken || end == faults.Silent {
		if err == nil || len(trace.Hops) != 0 || trace.Refused != nil {
			t.Errorf("%v, %+v", err, trace)
		}
		return
	}
	if err != nil || len(trace.Hops) != 1 {
		t.Fatalf("%v, %d hops", err, len(trace.Hops))
	}
	h := trace.Hops[0]
	if h.Truncated != (end == faults.Cut) || len(h.Wire) > maxFault || len(h.Body) > maxFault {
		t.Errorf("%s %d, %d bytes, %d decoded, truncated %v", h.Proto, h.Status, len(h.Wire), len(h.Body), h.Truncated)
	}
}

// TestH2Faults tests the faults of TestFaults over HTTP/2. If an HTTP/2 server does nothing,
// net/http can repeat the request by itself. The test checks that this never happens without the
// gate.
func TestH2Faults(t *testing.T) {
	s, err := faults.StartH2()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, f := range faults.H2Faults() {
		t.Run(f.Path[1:], func(t *testing.T) {
			if f.Slow {
				slowH2Fault(t, f)
				return
			}
			t.Parallel()
			g := newGate(t, patient(), rule(open))
			g.transport.TLSClientConfig = &tls.Config{RootCAs: s.Roots}
			checkH2(t, g, s, f)
		})
	}
}

func slowH2Fault(t *testing.T, f faults.H2Fault) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{dialed: make(chan net.Conn)}
		s, err := faults.ServeH2(buffered{w})
		if err != nil {
			t.Fatal(err)
		}
		g := hasty(w)
		// The transport dials through w and does the TLS handshake itself.
		g.transport.DialTLSContext, g.transport.TLSClientConfig = nil, &tls.Config{RootCAs: s.Roots}
		checkH2(t, g, s, f)
		g.Close()
		_ = s.Close()
	})
}

func checkH2(t *testing.T, g *Gate, s *faults.H2, f faults.H2Fault) {
	t.Helper()
	trace, err := ask(t, g, s.URL+f.Path)
	checkFault(t, f.End, trace, err)
	if n := s.Asked(f.Path); n != max(f.Requests, 1) || n != g.pages {
		t.Errorf("%d requests, %d in the budget", n, g.pages)
	}
	var network net.Error
	again := errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if again != (f.End == faults.Silent) {
		t.Errorf("%v, to be tried again: %v", err, again)
	}
	if err == nil && trace.Hops[0].Proto != "HTTP/2.0" {
		t.Errorf("over %s", trace.Hops[0].Proto)
	}
}

// buffered is a listener for HTTP/2, where both ends write at any time. Like a network, its
// connections accept what the server writes before the client reads it.
type buffered struct{ net.Listener }

func (l buffered) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	b := bufferedConn{c, make(chan []byte, 1024), make(chan struct{})}
	go b.write()
	return b, nil
}

type bufferedConn struct {
	net.Conn
	out  chan []byte
	over chan struct{} // closed when the client has closed the connection
}

func (c bufferedConn) write() {
	defer close(c.over)
	for b := range c.out {
		if _, err := c.Conn.Write(b); err != nil {
			return
		}
	}
}

// Write queues b for the client.
func (c bufferedConn) Write(b []byte) (int, error) {
	select {
	case c.out <- bytes.Clone(b):
		return len(b), nil
	case <-c.over:
		return 0, io.ErrClosedPipe
	}
}

// Close closes the connection and waits until write has ended.
func (c bufferedConn) Close() error {
	err := c.Conn.Close()
	select {
	case <-c.over:
	case c.out <- nil: // wakes the goroutine write, which then fails because the connection is closed
		<-c.over
	}
	return err
}
