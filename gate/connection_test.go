package gate

import (
	"bufio"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/faults"
)

// If an answer breaks a shared connection, no other page is lost: each request in progress is sent
// once more, on its own connection. The request that broke the connection is sent again too, and
// then fails.
func TestSharedConnectionBreaks(t *testing.T) {
	for _, c := range []struct {
		path string
		end  faults.End
	}{{"/header-flood", faults.Broken}, {"/no-frames", faults.Broken}, {"/closed", faults.Silent},
		{"/going-wrong", faults.Silent}} {
		t.Run(c.path[1:], func(t *testing.T) {
			s, err := faults.StartH2()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			g := newGate(t, Options{AllowPrivate: true, PerHost: 4, Timeout: time.Minute}, rule(open))
			g.transport.TLSClientConfig = &tls.Config{RootCAs: s.Roots}
			// The first request opens the connection that all others use.
			if _, err := g.Get(t.Context(), PageRequest, s.URL+"/ok"); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for _, path := range []string{"/held", "/half"} {
				wg.Go(func() {
					trace, err := g.Get(t.Context(), PageRequest, s.URL+path)
					if err != nil {
						t.Errorf("%s: %v", path, err)
					} else if h := trace.Hops[0]; string(h.Body) != "ok" || h.Truncated {
						t.Errorf("%s: %+v", path, h)
					}
				})
			}
			s.Await("/held", 1)
			s.Await("/half", 1)
			if trace, err := g.Get(t.Context(), PageRequest, s.URL+c.path); err == nil {
				t.Errorf("%s: %+v", c.path, trace.Hops)
			}
			wg.Wait()
			for path, want := range map[string]int{"/held": 2, "/half": 2, c.path: 2} {
				if n := s.Asked(path); n != want {
					t.Errorf("%s was requested %d times, want %d", path, n, want)
				}
			}
			if g.pages != 7 {
				t.Errorf("%d requests in the budget", g.pages)
			}
		})
	}
}

// An HTTP/2 stream that the host resets affects no other stream, and its request is not sent again.
func TestStreamReset(t *testing.T) {
	s, err := faults.StartH2()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	g := newGate(t, Options{AllowPrivate: true, PerHost: 4, Timeout: time.Minute}, rule(open))
	g.transport.TLSClientConfig = &tls.Config{RootCAs: s.Roots}
	for _, path := range []string{"/ok", "/reset", "/ok", "/no-status", "/ok"} {
		_, err := g.Get(t.Context(), PageRequest, s.URL+path)
		if (err == nil) != (path == "/ok") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if s.Asked("/reset") != 1 || s.Asked("/no-status") != 1 || g.pages != 5 {
		t.Errorf("%d, %d, %d requests", s.Asked("/reset"), s.Asked("/no-status"), g.pages)
	}
}

// Bytes that follow an answer on an HTTP/1 connection are not used as the answer to the next
// request.
func TestLeftOnKeptConnection(t *testing.T) {
	for name, left := range map[string]string{"text": "and more\r\n\r\n", "head": "HTTP/1.1 2", "nothing": ""} {
		t.Run(name, func(t *testing.T) { keepAlive(t, left) })
	}
}

func keepAlive(t *testing.T, left string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { answerOnce(c, left) })
		}
	})
	g := newGate(t, Options{AllowPrivate: true}, rule(open))
	for _, path := range []string{"/first", "/second", "/third"} {
		trace, err := g.Get(t.Context(), PageRequest, "http://"+l.Addr().String()+path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if string(trace.Hops[0].Body) != path {
			t.Errorf("%s: %q", path, trace.Hops[0].Body)
		}
	}
	g.Close()
	_ = l.Close()
	wg.Wait()
}

// answerOnce answers the first request on a connection. When a second request arrives, it sends the
// text left instead of an answer, if left is not empty.
func answerOnce(c net.Conn, left string) {
	defer c.Close()
	in := bufio.NewReader(c)
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	body := req.URL.Path
	_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: " + string(rune('0'+len(body))) + "\r\n\r\n" + body))
	if _, err := http.ReadRequest(in); err == nil {
		_, _ = c.Write([]byte(left))
	}
}

// A request that is sent again waits for the pause and counts against the budget.
func TestRetryIsPolite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Delay: 3 * time.Second, AllowPrivate: true, MaxPages: 3})
		g.Use(rule(open))
		first := true
		w := newWeb(t, g, func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/b") && first {
				first = false
				panic(http.ErrAbortHandler)
			}
		})
		follow(t, g, "http://a.example/a")
		follow(t, g, "http://a.example/b")
		if gap := w.gaps()["a.example"]; len(w.log) != 3 || gap != 3*time.Second || g.pages != 3 {
			t.Errorf("%d requests, %s apart, %d in the budget", len(w.log), gap, g.pages)
		}
	})
}
