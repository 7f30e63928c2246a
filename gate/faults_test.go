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

	"github.com/acapcrawl/acapcrawl/internal/faults"
)

// maxFault is the limit of a body in these tests, in bytes.
const maxFault = 1 << 20

// patient are the options for faults that end by themselves: the time limit only ends a test that
// hangs.
func patient() Options {
	return Options{AllowPrivate: true, PerHost: 8, MaxBody: maxFault, MaxPages: 5, Timeout: 2 * time.Minute}
}

// Each fault gives one hop or one error, within the limits.
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
			if f.Redirect || end == faults.Later { // one answer, for this package
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

// slowFault asks for a fault that lasts until the time limit of the request, by the clock of a
// bubble.
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

// hasty is a gate with a short time limit whose connections lead to w.
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

// checkFault fails the test unless a request ended as a fault does.
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

// The same over HTTP/2, where the transport repeats a request by itself if the server did nothing:
// never without the gate.
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
		// TLS by the transport, over w
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

// buffered is a listener whose connections take what the server writes without waiting for the
// client to read it, as a network does: both ends of HTTP/2 write when they please.
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
	over chan struct{} // closed when the client is gone
}

func (c bufferedConn) write() {
	defer close(c.over)
	for b := range c.out {
		if _, err := c.Conn.Write(b); err != nil {
			return
		}
	}
}

// Write queues b.
func (c bufferedConn) Write(b []byte) (int, error) {
	select {
	case c.out <- bytes.Clone(b):
		return len(b), nil
	case <-c.over:
		return 0, io.ErrClosedPipe
	}
}

// Close ends the connection.
func (c bufferedConn) Close() error {
	err := c.Conn.Close()
	select {
	case <-c.over:
	case c.out <- nil: // wakes write, which finds the connection closed
		<-c.over
	}
	return err
}
