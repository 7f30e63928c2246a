package gate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// lease is a source of Options.Tenure for tests. It permits a number of checks and refuses all later
// ones.
type lease struct {
	mu    sync.Mutex
	calls int
	left  int // number of checks that are still permitted; negative: no limit
	err   error
}

func newLease(err error) *lease { return &lease{left: -1, err: err} }

func (l *lease) tenure(string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if l.left == 0 {
		return l.err
	}
	if l.left > 0 {
		l.left--
	}
	return nil
}

// permit permits n further checks, or all if n is negative.
func (l *lease) permit(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls, l.left = 0, n
}

// sink is a server that accepts connections, and closes each when it has received something.
type sink struct {
	net.Listener
	read chan []byte // what each connection received, in the order in which they ended
	wg   sync.WaitGroup
}

func newSink(t *testing.T) *sink {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{Listener: l, read: make(chan []byte, 99)}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() {
				defer c.Close()
				b := make([]byte, 4096)
				n, _ := c.Read(b)
				s.read <- b[:n]
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); s.wg.Wait() })
	return s
}

// received returns the number of connections and bytes that arrived before the call. Connections are
// accepted in the order in which they were opened, so a connection of its own marks the end.
func (s *sink) received(t *testing.T) (connections, size int) {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write([]byte("end"))
	_ = c.Close()
	for b := range s.read {
		if string(b) == "end" {
			break
		}
		connections, size = connections+1, size+len(b)
	}
	_ = s.Close()
	s.wg.Wait()
	for close(s.read); ; {
		b, more := <-s.read
		if !more {
			return connections, size
		}
		connections, size = connections+1, size+len(b)
	}
}

// checkUnsent fails the test unless err is the refusal of the request because of the cause.
func checkUnsent(t *testing.T, g *Gate, rawurl string, err, cause error) {
	t.Helper()
	r := refusal(t, err)
	if !errors.Is(err, cause) || r.Rule != RuleLease || r.URL != rawurl || r.Why == "" {
		t.Errorf("%+v", r)
	}
	if g.pages != 0 {
		t.Errorf("%d requests in the budget", g.pages)
	}
}

// The lease may end at each of the four checks of a request. Until the third, there is no
// connection, and no request sends a byte.
func TestLeaseEndsBeforeRequest(t *testing.T) {
	for _, cause := range []error{ErrPaused, ErrForeign} {
		for _, kind := range []Kind{PageRequest, Part, Sitemap, PolicyFile} {
			for permitted, dialled := range []int{0, 0, 1, 1} {
				s, l := newSink(t), newLease(fmt.Errorf("a reason: %w", cause))
				g := newGate(t, Options{AllowPrivate: true, MaxPages: 1, Tenure: l.tenure}, rule(open))
				l.permit(permitted)
				address := "http://" + s.Addr().String() + "/"
				_, err := g.Get(t.Context(), kind, address)
				checkUnsent(t, g, address, err, cause)
				g.Close()
				if connections, size := s.received(t); connections != dialled || size != 0 {
					t.Errorf("%v, kind %d, %d checks permitted: %d connections, %d bytes", cause, kind, permitted,
						connections, size)
				}
			}
		}
	}
}

// protocols are the three kinds of connections of a gate.
var protocols = []string{"http/1.1", "http/1.1 over TLS", "h2"}

// serve starts a server of this protocol, and returns its URL and a gate that trusts it.
func serve(t *testing.T, protocol string, o Options, h http.HandlerFunc) (string, *Gate) {
	t.Helper()
	o.AllowPrivate = true
	g := newGate(t, o, rule(open))
	if protocol == protocols[0] {
		return newSite(t, h).URL, g
	}
	s, trust := secure(t, protocol == "h2", h)
	g.transport.TLSClientConfig = trust
	t.Cleanup(g.Close) // before the server is closed
	return s.URL, g
}

// The lease ends after each number of checks, until the first request is sent. With TLS, each write
// of the handshake is checked too.
func TestLeaseEndsAtEachCheck(t *testing.T) {
	for i, protocol := range protocols {
		least := []int{4, 6, 7}[i]
		for n := 0; ; n++ {
			var requests atomic.Int32
			l := newLease(ErrPaused)
			address, g := serve(t, protocol, Options{MaxPages: 1, Tenure: l.tenure}, func(http.ResponseWriter,
				*http.Request) {
				requests.Add(1)
			})
			l.permit(n)
			_, err := g.Get(t.Context(), PageRequest, address+"/")
			if err == nil {
				if n < least {
					t.Errorf("%s: a request was sent after %d checks", protocol, n)
				}
				break
			}
			checkUnsent(t, g, address+"/", err, ErrPaused)
			if requests.Load() != 0 {
				t.Errorf("%s: a request arrived after %d checks", protocol, n)
			}
			if n > 99 {
				t.Fatal("no request was sent")
			}
		}
	}
}

// On a reused connection the lease is checked at the beginning, before the connection is used, and
// before each write.
func TestLeaseEndsOnReusedConnection(t *testing.T) {
	for _, protocol := range protocols {
		for permitted := range 3 {
			t.Run(fmt.Sprint(protocol, permitted), func(t *testing.T) {
				var requests atomic.Int32
				l := newLease(ErrPaused)
				address, g := serve(t, protocol, Options{MaxPages: 2, Tenure: l.tenure}, func(http.ResponseWriter,
					*http.Request) {
					requests.Add(1)
				})
				follow(t, g, address)
				l.permit(permitted)
				_, err := g.Get(t.Context(), PageRequest, address+"/b")
				if r := refusal(t, err); r.Rule != RuleLease || !errors.Is(err, ErrPaused) || g.pages != 1 ||
					requests.Load() != 1 {
					t.Errorf("%+v, %d requests, %d in the budget", r, requests.Load(), g.pages)
				}
				l.permit(-1) // the lease is renewed
				if _, err := g.Get(t.Context(), PageRequest, address+"/c"); err != nil || requests.Load() != 2 {
					t.Errorf("after the renewal: %v, %d requests", err, requests.Load())
				}
			})
		}
	}
}

// An answer is received to its end although the lease ends meanwhile. With HTTP/2 the body is larger
// than all windows, so it needs window updates.
func TestLeaseEndsDuringAnswer(t *testing.T) {
	const size = 5 << 20
	for _, protocol := range protocols {
		l := newLease(ErrPaused)
		half, goOn := make(chan struct{}), make(chan struct{})
		address, g := serve(t, protocol, Options{Tenure: l.tenure}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, size/5))
			_ = http.NewResponseController(w).Flush()
			close(half)
			<-goOn
			_, _ = w.Write(make([]byte, size/5*4))
		})
		go func() {
			<-half
			l.permit(0)
			close(goOn)
		}()
		trace, err := g.Get(t.Context(), PageRequest, address)
		if err != nil || len(trace.Hops[0].Body) != size || trace.Hops[0].Truncated {
			t.Errorf("%s: %v, %+v", protocol, err, trace.Hops)
		}
		if _, err := g.Get(t.Context(), PageRequest, address); !errors.Is(err, ErrPaused) {
			t.Errorf("%s: the next request: %v", protocol, err)
		}
	}
}

// A request that is refused before the write does not disturb another request on the connection. If
// the write itself is refused, the connection breaks. Then the other request, which was sent, is not
// sent again, and counts against the budget.
func TestLeaseEndsOnSharedConnection(t *testing.T) {
	for permitted, whole := range []bool{true, true, false} {
		arrived, release := make(chan string, 9), make(chan struct{})
		l := newLease(ErrPaused)
		address, g := serve(t, "h2", Options{Tenure: l.tenure, PerHost: 4, MaxPages: 9}, func(_ http.ResponseWriter,
			r *http.Request) {
			arrived <- r.URL.Path
			if r.URL.Path == "/slow" {
				<-release
			}
		})
		follow(t, g, address)
		<-arrived
		slow := make(chan error)
		go func() {
			_, err := g.Get(context.Background(), PageRequest, address+"/slow")
			slow <- err
		}()
		<-arrived
		l.permit(permitted)
		_, err := g.Get(t.Context(), PageRequest, address+"/b")
		if !errors.Is(err, ErrPaused) {
			t.Errorf("%d checks permitted: %v", permitted, err)
		}
		if whole {
			close(release)
		}
		switch err := <-slow; {
		case whole && err != nil, !whole && !errors.Is(err, ErrPaused):
			t.Errorf("%d checks permitted: the other request: %v", permitted, err)
		}
		if !whole {
			close(release)
		}
		if g.pages != 2 || len(arrived) != 0 {
			t.Errorf("%d checks permitted: %d requests in the budget, %d more arrived", permitted, g.pages,
				len(arrived))
		}
	}
}

// An error of Tenure that is neither ErrForeign nor ErrPaused refuses the request too.
func TestUnknownTenureRefuses(t *testing.T) {
	broken := errors.New("the clock is broken")
	g := newGate(t, Options{AllowPrivate: true, Tenure: (&lease{err: broken}).tenure}, rule(open))
	_, err := g.Get(t.Context(), PageRequest, "http://127.0.0.1:1/")
	checkUnsent(t, g, "http://127.0.0.1:1/", err, broken)
}

// If a write is refused on an idle connection, such as an answer to a ping of the host, no later
// request uses this connection. The error of the write is not a *Refusal: net/http also reports it to
// requests that were written before.
func TestLeaseEndsOnIdleConnection(t *testing.T) {
	l := newLease(ErrPaused)
	address, g := serve(t, protocols[0], Options{MaxPages: 2, Tenure: l.tenure}, hello)
	var dialled []net.Conn
	dial := g.transport.DialContext
	g.transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		dialled = append(dialled, c)
		return c, err
	}
	follow(t, g, address)
	l.permit(0)
	_, err := dialled[0].Write([]byte("x"))
	var r *Refusal
	if err == nil || errors.As(err, &r) {
		t.Errorf("the write: %v", err)
	}
	l.permit(-1)
	if follow(t, g, address); len(dialled) != 2 || g.pages != 2 {
		t.Errorf("%d connections, %d requests in the budget", len(dialled), g.pages)
	}
}

// A request whose connection is unusable because the lease ended meanwhile is refused. It has not failed
// because of its host.
func TestLeaseEndsWithConnection(t *testing.T) {
	l := newLease(ErrPaused)
	address, g := serve(t, protocols[0], Options{MaxPages: 2, Tenure: l.tenure}, hello)
	dial := g.transport.DialContext
	g.transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		l.permit(-1)
		c, err := dial(ctx, network, addr)
		if err == nil {
			l.permit(0)
			_, _ = c.Write([]byte("x"))
		}
		return c, err
	}
	_, err := g.Get(t.Context(), PageRequest, address+"/")
	checkUnsent(t, g, address+"/", err, ErrPaused)
}
