package gate

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// wire starts a server that sends the answers unchanged, one for each request in order. asked
// returns the heads of the requests as received. A connection can carry several requests.
func wire(t *testing.T, answers ...string) (address string, asked func() []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var heads []string
	var serving sync.WaitGroup
	serve := func(c net.Conn) {
		defer c.Close()
		var b []byte
		for buf := make([]byte, 512); ; {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			b = append(b, buf[:n]...)
			if !bytes.HasSuffix(b, []byte("\r\n\r\n")) {
				continue
			}
			mu.Lock()
			heads = append(heads, string(b))
			answer := answers[min(len(heads), len(answers))-1]
			mu.Unlock()
			b = nil
			for len(answer) > 0 { // writes the answer in pieces that end in the middle of lines
				n := min(len(answer), 7)
				if _, err := c.Write([]byte(answer[:n])); err != nil {
					return
				}
				answer = answer[n:]
			}
		}
	}
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return "http://" + l.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return heads
	}
}

// Heads are recorded byte for byte, also on a connection that is used again, and without the heads
// of interim answers.
func TestHeads(t *testing.T) {
	const (
		plain   = "HTTP/1.1 200 Fine Thing\r\nserver:  one \r\nX-Odd: caf\xe9\r\ncontent-LENGTH: 5\r\nx-odd: 2\r\n\r\n"
		bare    = "HTTP/1.1 200\nContent-Length: 0\n\n"
		folded  = "HTTP/1.1 200 OK\r\nX-Long: one\r\n two\r\n \r\nContent-Length: 1\r\n\r\n"
		missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
		chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n"
	)
	const early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
	address, asked := wire(t, plain+"hello", bare, early+folded+"x", missing, chunked+
		"3\r\nhi!\r\n0\r\nX-End: 1\r\n\r\n", plain+"again")
	g := newGate(t, Options{AllowPrivate: true}, rule(open))
	defer g.Close()
	for i, want := range []string{plain, bare, folded, missing, chunked, plain} {
		trace, err := g.Get(t.Context(), PageRequest, address+"/a?b=c")
		if err != nil {
			t.Fatal(err)
		}
		h := trace.Hops[0]
		if h.Address != netip.MustParseAddr("127.0.0.1") {
			t.Errorf("answered by %v", h.Address)
		}
		if string(h.Head) != want || string(h.Sent) != asked()[i] ||
			!strings.HasPrefix(string(h.Sent), "GET /a?b=c HTTP/1.1\r\nHost: ") {
			t.Errorf("%q\nwant %q\nasked %q, and %q came", h.Head, want, h.Sent, asked()[i])
		}
	}
}

// Heads over TLS are recorded too. Heads of HTTP/2 are recorded in the form of HTTP/1.1.
func TestHeadsOverTLS(t *testing.T) {
	for _, h2 := range []bool{true, false} {
		s, trust := secure(t, h2, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Tide", "low")
			_, _ = io.WriteString(w, "water")
		})
		g := newGate(t, Options{PerHost: 4, AllowPrivate: true}, rule(open))
		g.transport.TLSClientConfig = trust
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 3 {
					trace, err := g.Get(t.Context(), PageRequest, s.URL+"/a")
					if err != nil {
						t.Error(err)
						return
					}
					h := trace.Hops[0]
					sent, head := string(h.Sent), string(h.Head)
					if h.Address != netip.MustParseAddr("127.0.0.1") ||
						!strings.HasPrefix(sent, "GET /a HTTP/1.1\r\nHost: 127.0.0.1:") ||
						!strings.Contains(sent, "\r\nAccept-Encoding: gzip") ||
						!strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") ||
						!strings.Contains(head, "\r\nX-Tide: low\r\n") ||
						!strings.HasSuffix(sent, "\r\n\r\n") || !strings.HasSuffix(head, "\r\n\r\n") ||
						strings.Count(sent+head, "\r\n\r\n") != 2 {
						t.Errorf("h2 %v: %q, %q, by %v", h2, sent, head, h.Address)
					}
				}
			})
		}
		wg.Wait()
	}
}

// A head that never ends uses a bounded amount of memory.
func TestEndlessHead(t *testing.T) {
	var h head
	for range 1000 {
		if rest := h.add(bytes.Repeat([]byte("x"), 1000)); len(rest) > 0 {
			break
		}
	}
	if !h.done || h.whole() != nil {
		t.Errorf("%d bytes", len(h.b))
	}
}
