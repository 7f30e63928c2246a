package testweb

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Pages is a site on 127.0.0.1 whose answers a test sets by path. It logs every request. Its
// methods may be called concurrently. It is closed when the test ends.
type Pages struct {
	*httptest.Server

	mu       sync.Mutex
	handlers map[string]http.HandlerFunc // by path
	log      []Request
}

// Request is a request that a site received.
type Request struct {
	Method string
	URI    string // path and query, as sent
	Path   string
	At     time.Time
}

// NewPages starts a site without pages: it answers every request with status 404.
func NewPages(t testing.TB) *Pages {
	t.Helper()
	s := &Pages{handlers: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP logs a request and calls the handler of its path.
func (s *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.log = append(s.log, Request{r.Method, r.RequestURI, r.URL.Path, time.Now()})
	h := s.handlers[r.URL.Path]
	if h == nil {
		h = s.handlers[AnyPath]
	}
	s.mu.Unlock()
	if h == nil {
		h = http.NotFound
	}
	h(w, r)
}

// AnyPath stands for all paths that have no handler of their own: its handler answers requests that
// no other handler answers.
const AnyPath = "*"

// Handle makes h answer requests for path.
func (s *Pages) Handle(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[path] = h
}

// Handler returns the handler of path, nil if there is none.
func (s *Pages) Handler(path string) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handlers[path]
}

// Text answers path with these lines as plain text.
func (s *Pages) Text(path string, lines ...string) {
	s.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Join(lines, "\n")+"\n")
	})
}

// Page answers path with an HTML page that links to the addresses.
func (s *Pages) Page(path string, links ...string) {
	var b strings.Builder
	for _, l := range links {
		fmt.Fprintf(&b, "<p><a href=%q>on</a>", l)
	}
	s.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><body>", b.String())
	})
}

// Status answers path with a status and no body.
func (s *Pages) Status(path string, code int) {
	s.Handle(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
}

// Redirect answers path with a redirect.
func (s *Pages) Redirect(path, to string) {
	s.Handle(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	})
}

// Requests returns the requests so far.
func (s *Pages) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Asked returns how often the path and query in uri, as sent, was requested.
func (s *Pages) Asked(uri string) (n int) {
	for _, r := range s.Requests() {
		if r.URI == uri {
			n++
		}
	}
	return n
}
