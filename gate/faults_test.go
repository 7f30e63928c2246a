package gate

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/faults"
)

func newFaults(t *testing.T) *faults.Server {
	t.Helper()
	s, err := faults.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Each fault gives one hop or one error, within time and the caps.
func TestFaults(t *testing.T) {
	s := newFaults(t)
	const most = 1 << 20
	patient := newGate(t, Options{AllowPrivate: true, PerHost: 8, MaxBody: most, Timeout: time.Minute}, rule(open))
	hasty := newGate(t, Options{AllowPrivate: true, PerHost: 8, MaxBody: most, Timeout: 2 * time.Second}, rule(open))
	for _, f := range s.Faults() {
		t.Run(f.Path[1:], func(t *testing.T) {
			t.Parallel()
			g := patient
			if f.Slow {
				g = hasty
			}
			end := f.End
			if f.Redirect || end == faults.Later { // one answer, for this package
				end = faults.Whole
			}
			var trace Trace
			_, err := do(t, g, With(t.Context(), PageRequest, &trace), "GET", s.URL+f.Path)
			if n := s.Asked(f.Path); n != 1 {
				t.Errorf("%d requests", n)
			}
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
			if h.Truncated != (end == faults.Cut) || len(h.Wire) > most || len(h.Body) > most {
				t.Errorf("status %d, %d bytes, %d decoded, truncated %v", h.Status, len(h.Wire), len(h.Body), h.Truncated)
			}
		})
	}
}

// The same over HTTP/2, where the transport tries again by itself what was not done: never past the gate.
func TestH2Faults(t *testing.T) {
	s, err := faults.StartH2()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	const most = 1 << 20
	for _, f := range faults.H2Faults() {
		t.Run(f.Path[1:], func(t *testing.T) {
			t.Parallel()
			o := Options{AllowPrivate: true, MaxBody: most, MaxPages: 5, Timeout: time.Minute}
			if f.Slow {
				o.Timeout = 2 * time.Second
			}
			g := newGate(t, o, rule(open))
			g.transport.TLSClientConfig = &tls.Config{RootCAs: s.Roots}
			var trace Trace
			_, err := do(t, g, With(t.Context(), PageRequest, &trace), "GET", s.URL+f.Path)
			if n := s.Asked(f.Path); n != max(f.Requests, 1) || n != g.pages {
				t.Errorf("%d requests, %d in the budget", n, g.pages)
			}
			if f.End == faults.Broken || f.End == faults.Silent {
				var network net.Error
				again := errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
				if err == nil || len(trace.Hops) != 0 || trace.Refused != nil || again != (f.End == faults.Silent) {
					t.Errorf("%v, to be tried again: %v, %+v", err, again, trace)
				}
				return
			}
			if err != nil || len(trace.Hops) != 1 {
				t.Fatalf("%v, %d hops", err, len(trace.Hops))
			}
			h := trace.Hops[0]
			if h.Proto != "HTTP/2.0" || h.Truncated != (f.End == faults.Cut) || len(h.Wire) > most {
				t.Errorf("%s %d, %d bytes, truncated %v", h.Proto, h.Status, len(h.Wire), h.Truncated)
			}
		})
	}
}
