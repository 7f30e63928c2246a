package gate

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/coding"
	"github.com/acapcrawl/acapcrawl/internal/memory"
	"github.com/acapcrawl/acapcrawl/internal/test/squeeze"
)

const sentence = "The river rose in the night and fell by noon.\n"

func TestCapture(t *testing.T) {
	plain := []byte(strings.Repeat(sentence, 50))
	zipped := squeeze.Bytes(t, "gzip", plain)
	cases := []struct {
		name, coding string
		wire, body   []byte
		truncated    bool
	}{
		{"identity", "", plain, plain, false},
		{"named identity", "identity", plain, plain, false},
		{"gzip", "gzip", zipped, plain, false},
		{"x-gzip", "X-GZip", zipped, plain, false},
		{"deflate", "deflate", squeeze.Bytes(t, "zlib", plain), plain, false},
		{"twice", "deflate, gzip", squeeze.Bytes(t, "gzip", squeeze.Bytes(t, "zlib", plain)), plain, false},
		{"zstd", "zstd", squeeze.Bytes(t, "zstd", plain), plain, false},
		{"not brotli", "br", []byte{0xff, 0xff, 0xff}, nil, true},
		{"empty gzip", "gzip", nil, nil, false},
		{"broken checksum", "gzip", append(bytes.Clone(zipped[:len(zipped)-8]), 0, 0, 0, 0, 0, 0, 0, 0), plain, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.coding != "" {
					w.Header().Set("Content-Encoding", c.coding)
				}
				w.Header().Set("X-Robots-Tag", "noindex")
				_, _ = w.Write(c.wire)
			})
			g := newGate(t, Options{}, rule(open), s)
			var trace Trace
			resp, err := do(t, g, With(t.Context(), PageRequest, &trace), "GET", s.URL)
			if err != nil {
				t.Fatal(err)
			}
			hop := trace.Hops[0]
			got, err := io.ReadAll(resp.Body)
			if err != nil || !bytes.Equal(got, c.body) || !bytes.Equal(hop.Body, c.body) ||
				!bytes.Equal(hop.Wire, c.wire) {
				t.Errorf("body %d bytes, hop %d of %d, err %v", len(got), len(hop.Body), len(hop.Wire), err)
			}
			proved := hop.Undone.Leads(hop.Wire, hop.Body, coding.List(c.coding))
			if hop.Truncated != c.truncated || proved == c.truncated {
				t.Errorf("truncated: %v, proved: %v", hop.Truncated, proved)
			}
			if hop.Header.Get("Content-Encoding") != c.coding || hop.Header.Get("X-Robots-Tag") != "noindex" {
				t.Errorf("header of the hop: %v", hop.Header)
			}
			if resp.Header.Get("Content-Encoding") != "" || resp.ContentLength != int64(len(c.body)) {
				t.Errorf("response: %v, %d bytes", resp.Header, resp.ContentLength)
			}
		})
	}
}

func TestUnknownCodingIsAnError(t *testing.T) {
	for _, coding := range []string{"compress", "gzip, dcb", "gzip, gzip, gzip"} {
		s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", coding)
			hello(w, nil)
		})
		g := newGate(t, Options{}, rule(open), s)
		if trace, err := g.Get(t.Context(), PageRequest, s.URL); err == nil || len(trace.Hops) != 0 {
			t.Errorf("%s: %v", coding, err)
		}
	}
}

func TestHead(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", "1234")
	})
	g := newGate(t, Options{}, rule(open), s)
	var trace Trace
	resp, err := do(t, g, With(t.Context(), PageRequest, &trace), "HEAD", s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Header.Get("Content-Length") != "1234" || len(trace.Hops[0].Body) != 0 || trace.Hops[0].Truncated {
		t.Errorf("%v, %+v", resp.Header, trace.Hops[0])
	}
}

func TestCaps(t *testing.T) {
	long := bytes.Repeat([]byte{'x'}, 300_000)
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(long); err != nil {
				return
			}
		}
	}
	cases := []struct {
		name       string
		o          Options
		serve      http.HandlerFunc
		wire, body int
	}{
		{"body", Options{MaxBody: 1000}, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(long) }, 1000,
			1000},
		{"raw", Options{MaxBody: 1 << 20, MaxRaw: 500}, endless, 500, 500},
		{"endless", Options{MaxBody: 1 << 20}, endless, 1 << 20, 1 << 20},
		{"exact", Options{MaxBody: 300_000}, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(long) },
			300_000, 300_000},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, c.serve)
			g := newGate(t, c.o, rule(open), s)
			trace, err := g.Get(t.Context(), PageRequest, s.URL)
			if err != nil {
				t.Fatal(err)
			}
			h := trace.Hops[0]
			if len(h.Wire) != c.wire || len(h.Body) != c.body || h.Truncated != (c.name != "exact") {
				t.Errorf("wire %d, body %d, truncated %v", len(h.Wire), len(h.Body), h.Truncated)
			}
		})
	}
	s := newSite(t, endless)
	g := newGate(t, Options{MaxBody: 10}, nil, s)
	if h, err := g.Fetch(t.Context(), s.URL); err != nil || len(h.Body) != policyCap || !h.Truncated {
		t.Errorf("policy file: %d bytes, %v", len(h.Body), err)
	}
}

func TestCutOff(t *testing.T) {
	answer := func(head string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+head)
		}
	}
	half := string(squeeze.Bytes(t, "gzip", []byte(strings.Repeat(sentence, 50)))[:40])
	for name, head := range map[string]string{
		"length": "Content-Length: 100\r\n\r\nonly this",
		"chunks": "Transfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n",
		"gzip":   "Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + half,
	} {
		s := newSite(t, answer(head))
		g := newGate(t, Options{}, rule(open), s)
		trace, err := g.Get(t.Context(), PageRequest, s.URL)
		if err != nil || !trace.Hops[0].Truncated || len(trace.Hops[0].Wire) == 0 {
			t.Errorf("%s: %v, %+v", name, err, trace.Hops)
		}
	}
}

func TestSlowAnswersEnd(t *testing.T) {
	get := func(before string) (trace *Trace, err error) {
		synctest.Test(t, func(t *testing.T) {
			g := New(Options{Timeout: time.Second, AllowPrivate: true})
			g.Use(rule(open))
			newWeb(t, g, func(w http.ResponseWriter, r *http.Request) {
				if before != "" {
					_, _ = io.WriteString(w, before)
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			})
			trace, err = g.Get(t.Context(), PageRequest, "http://slow.example")
		})
		return trace, err
	}
	if _, err := get(""); err == nil {
		t.Error("no header, no error")
	}
	trace, err := get("a beginning")
	if err != nil || !trace.Hops[0].Truncated || string(trace.Hops[0].Body) != "a beginning" {
		t.Errorf("slow body: %v, %+v", err, trace.Hops)
	}
}

func TestHugeHeader(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 40 {
			w.Header().Add("X-Filler", strings.Repeat("x", 10_000))
		}
	}))
	defer s.Close()
	g := newGate(t, Options{}, rule(open))
	g.Name(parse(t, s.URL))
	if _, err := g.Get(t.Context(), PageRequest, s.URL); err == nil {
		t.Error("a header of 400 kB was taken")
	}
}

func FuzzTake(f *testing.F) {
	f.Add("gzip", []byte("\x1f\x8b\x08"), int64(10))
	f.Add("deflate, gzip", []byte("x\x9c"), int64(1))
	f.Add("deflate", []byte("\x00\x00"), int64(100))
	f.Add("br", []byte("\x0b\x02\x80hello\x03"), int64(10))
	f.Add("zstd", []byte("\x28\xb5\x2f\xfd\x04\x00\x29\x00\x00hello"), int64(10))
	ds := coding.NewDecoders()
	f.Fuzz(func(t *testing.T, coding string, wire []byte, most int64) {
		most &= 0xffff
		resp := &http.Response{Header: http.Header{"Content-Encoding": {coding}},
			Body: io.NopCloser(bytes.NewReader(wire)), ContentLength: -1}
		c, err := readBody(ds, resp, most, most, (*memory.Lease)(nil).Begin(t.Context()))
		if err == nil && (int64(len(c.undone.Body)) > most || int64(len(c.wire)) > most || int64(len(wire)) > most &&
			!c.truncated) {
			t.Errorf("wire %d, body %d of at most %d", len(c.wire), len(c.undone.Body), most)
		}
	})
}
