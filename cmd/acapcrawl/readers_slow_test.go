package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/view"
)

// TestSlowReaders checks that clients which do not read long answers delay neither other readers nor a crawl.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	const large = 12 << 20
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large.bin":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(make([]byte, large))
		case "/a.html":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<p>A gull.")
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	data := filepath.Join(t.TempDir(), "data")
	crawl := []string{"crawl", "--delay", "0", "--depth", "0", site.URL + "/large.bin", site.URL + "/a.html"}
	if said := call(t.Context(), data, crawl...); said.status != statusDone {
		t.Fatal(said)
	}
	s, end := startServe(t, data)
	s.text(t, "/search?q=gull") // the archive can be read
	var conns []net.Conn
	for range 8 { // more than may wait
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.at, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		fmt.Fprintf(conn, "GET /raw/20990101000000/%s/large.bin HTTP/1.1\r\nHost: %s\r\n\r\n", site.URL,
			conn.RemoteAddr())
		resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)
		if err != nil || resp.StatusCode != http.StatusFound {
			t.Fatal(resp, err)
		}
		path := resp.Header.Get("Location")
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path[strings.Index(path, "/raw/"):], conn.RemoteAddr())
		if first, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil ||
			!strings.Contains(first, " 200 ") && !strings.Contains(first, " 503 ") {
			t.Fatal(first, err)
		}
	}
	if said := call(t.Context(), data, append(crawl, "--refetch")...); said.status != statusDone {
		t.Errorf("a crawl: %+v", said)
	}
	for _, path := range []string{"/search?q=gull", "/versions/" + site.URL + "/a.html", "/"} {
		if status := s.read(t, path, io.Discard); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
	for _, conn := range conns {
		conn.Close()
	}
	end()
}

// TestHeldAnswer checks which answers are held until they are complete, and which are passed on.
func TestHeldAnswer(t *testing.T) {
	who := netip.MustParseAddr("192.0.2.1")
	refuse := func(w http.ResponseWriter, _ *http.Request, p *view.Problem) { w.WriteHeader(p.Status) }
	for name, c := range map[string]struct {
		write  func(a *heldAnswer)
		passed int // bytes that the client has before the answer is complete
		status int
		bytes  int
	}{
		"short": {func(a *heldAnswer) { fmt.Fprint(a, "abc") }, 0, 200, 3},
		"a status": {func(a *heldAnswer) { a.WriteHeader(404); a.WriteHeader(200); fmt.Fprint(a, "abc") },
			0, 404, 3},
		"no body":     {func(a *heldAnswer) { a.WriteHeader(304) }, 0, 304, 0},
		"a long body": {func(a *heldAnswer) { a.Write(make([]byte, longestHeld+1)) }, 0, 200, longestHeld + 1},
		"a list": {func(a *heldAnswer) {
			for range longestHeld/smallPart + 2 {
				a.Write(make([]byte, smallPart))
			}
		}, longestHeld + 2*smallPart, 200, longestHeld + 2*smallPart},
		"of known length": {func(a *heldAnswer) {
			a.Header().Set("Content-Length", fmt.Sprint(longestHeld+2*smallPart))
			for range longestHeld/smallPart + 2 {
				a.Write(make([]byte, smallPart))
			}
		}, 0, 200, longestHeld + 2*smallPart},
		"flushed": {func(a *heldAnswer) {
			fmt.Fprint(a, "abc")
			_ = http.NewResponseController(a).Flush()
			fmt.Fprint(a, "de")
		}, 5, 200, 5},
		"too much for one client": {func(a *heldAnswer) {
			a.Write(make([]byte, mostHeldForClient+1))
		}, 0, 503, 0},
	} {
		held, w := &pool{}, httptest.NewRecorder()
		a := &heldAnswer{ResponseWriter: w, pool: held, client: who}
		if c.write(a); w.Body.Len() != c.passed {
			t.Errorf("%s: %d bytes before the end", name, w.Body.Len())
		}
		a.send(nil, refuse)
		a.release()
		if w.Code != c.status || w.Body.Len() != c.bytes || held.all != 0 || len(held.clients) > 0 {
			t.Errorf("%s: %d, %d bytes, %+v", name, w.Code, w.Body.Len(), held)
		}
	}
	held := &pool{}
	for i := range mostHeld / mostHeldForClient {
		if one := netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}); !held.take(one, mostHeldForClient) ||
			held.take(one, 1) {
			t.Errorf("client %d", i)
		}
	}
	if held.take(netip.MustParseAddr("198.51.100.1"), 1) {
		t.Error("more than the memory for all clients")
	}
}

// TestInterruptedAnswer checks what happens if another process sends only a part of an answer: the request is sent
// again, if the client has received nothing and the request had no body.
func TestInterruptedAnswer(t *testing.T) {
	long := make([]byte, longestHeld+1)
	for name, c := range map[string]struct {
		method string
		write  func(a *heldAnswer)
		again  bool // the request is sent again
		abort  bool // the connection of the client is cut
	}{
		"held":     {http.MethodGet, func(a *heldAnswer) { a.Write(long) }, true, false},
		"passed":   {http.MethodGet, func(a *heldAnswer) { _ = a.FlushError() }, false, true},
		"too much": {http.MethodGet, func(a *heldAnswer) { a.Write(make([]byte, mostHeldForClient+1)) }, false, false},
		"a form":   {http.MethodPost, func(a *heldAnswer) { a.Write(long) }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var body io.Reader
			if c.method == http.MethodPost {
				body = strings.NewReader("a=b")
			}
			r := httptest.NewRequestWithContext(t.Context(), c.method, "/raw", body)
			w := httptest.NewRecorder()
			w.Header().Set("Content-Length", "1")
			a := &heldAnswer{ResponseWriter: w, pool: &pool{}, client: netip.MustParseAddr("192.0.2.1")}
			c.write(a)
			defer func() {
				if aborted := recover() != nil; aborted != c.abort {
					t.Errorf("aborted: %t", aborted)
				}
			}()
			if again := !interrupted(a, r); again != c.again || again && len(w.Header()) > 0 {
				t.Errorf("sent again: %t, %v", again, w.Header())
			}
		})
	}
}
