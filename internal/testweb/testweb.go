// Package testweb serves a directory as a small web site on loopback, for tests: files as they are, an answer of one's own
// for single paths, and a log of every request as it was sent.
package testweb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// RulesFile may lie in the directory of a site. It maps a path, or a path with its query as sent, to a Rule, and is read
// anew for every request.
const RulesFile = ".site.json"

// Rule says how one path answers. What it leaves out is as for a plain file.
type Rule struct {
	Status   int                 `json:"status"`
	Header   map[string][]string `json:"header"`
	Location string              `json:"location"` // short for a Location header; the status is 302 unless given
	Body     *string             `json:"body"`
	File     string              `json:"file"`  // relative to the directory, in place of the path
	Delay    string              `json:"delay"` // before the answer, as in "50ms"
	Error    string              `json:"error"` // "close": the connection ends without an answer
	Hold     bool                `json:"hold"`  // the answer waits for Release
	ETag     string              `json:"etag"`  // sent with the answer, which is 304 where If-None-Match says the same
}

// Site is a running server. Its methods may be called concurrently.
type Site struct {
	URL string // http://address:port, without a slash

	dir    string
	log    io.Writer
	agents io.Writer // nil: none
	server *http.Server

	mu       sync.Mutex
	lines    []string
	news     chan struct{} // closed and replaced with every line
	released chan struct{}
}

// Start serves dir on host, a loopback address or name ("127.0.0.1"), at a free port. Every request is written to log when
// it arrives, one line each: method, blank, path with query as sent.
func Start(dir, host string, log io.Writer) (*Site, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, err
	}
	s := &Site{
		URL: "http://" + net.JoinHostPort(host, port), dir: dir, log: log,
		news: make(chan struct{}), released: make(chan struct{}),
	}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go s.server.Serve(l) // ends with Close
	return s, nil
}

// LogAgents writes the User-Agent of every request from now on to w, one line each.
func (s *Site) LogAgents(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents = w
}

// Close ends the server and every request under way.
func (s *Site) Close() error {
	s.Release()
	return s.server.Close()
}

// Release lets every held request go on, now and later.
func (s *Site) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.released:
	default:
		close(s.released)
	}
}

// Requests returns the lines of the log.
func (s *Site) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines...)
}

// Await returns when n lines of the log match, or with an error when ctx ends before.
func (s *Site) Await(ctx context.Context, match func(line string) bool, n int) error {
	for {
		s.mu.Lock()
		found, news := 0, s.news
		for _, line := range s.lines {
			if match(line) {
				found++
			}
		}
		s.mu.Unlock()
		if found >= n {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d requests came: %w", found, n, ctx.Err())
		}
	}
}

// ServeHTTP answers one request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.record(r)
	rule, err := s.rule(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if rule.Hold {
		select {
		case <-s.released:
		case <-r.Context().Done():
			return
		}
	}
	if rule.Delay != "" {
		d, err := time.ParseDuration(rule.Delay)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		select {
		case <-time.After(d):
		case <-r.Context().Done():
			return
		}
	}
	if rule.Error != "" {
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	s.answer(w, r, rule)
}

func (s *Site) record(r *http.Request) {
	line := r.Method + " " + r.RequestURI
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.log, line)
	if s.agents != nil {
		fmt.Fprintln(s.agents, r.UserAgent())
	}
	s.lines = append(s.lines, line)
	close(s.news)
	s.news = make(chan struct{})
}

func (s *Site) rule(r *http.Request) (Rule, error) {
	f, err := os.Open(filepath.Join(s.dir, RulesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Rule{}, nil
	}
	if err != nil {
		return Rule{}, err
	}
	defer f.Close()
	var rules map[string]Rule
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	if err := d.Decode(&rules); err != nil {
		return Rule{}, fmt.Errorf("%s: %w", RulesFile, err)
	}
	if rule, ok := rules[r.RequestURI]; ok {
		return rule, nil
	}
	return rules[r.URL.Path], nil
}

func (s *Site) answer(w http.ResponseWriter, r *http.Request, rule Rule) {
	name := rule.File
	if name == "" {
		name = r.URL.Path
		if strings.HasSuffix(name, "/") {
			name += "index.html"
		}
	}
	status, body := http.StatusOK, []byte(nil)
	switch {
	case rule.Body != nil:
		body = []byte(*rule.Body)
	case rule.Location == "":
		var err error
		if body, err = os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(path.Clean("/"+name)))); err != nil || path.Base(name) == RulesFile {
			status, body = http.StatusNotFound, []byte("not found\n")
			if rule.Status != 0 {
				body = nil
			}
		}
	}
	h := w.Header()
	h.Set("Content-Type", contentType(name))
	if rule.Location != "" {
		status = http.StatusFound
		h.Set("Location", rule.Location)
	}
	for k, values := range rule.Header {
		h[http.CanonicalHeaderKey(k)] = values
	}
	if rule.Status != 0 {
		status = rule.Status
	}
	if rule.ETag != "" {
		h.Set("ETag", rule.ETag)
		if r.Header.Get("If-None-Match") == rule.ETag {
			status, body = http.StatusNotModified, nil
		}
	}
	w.WriteHeader(status)
	w.Write(body) // a client that went away is no failure of the site
}

// contentType goes by the name alone, so that it does not depend on the machine's tables for what tests serve most.
func contentType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".html", "":
		return "text/html; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	default:
		return mime.TypeByExtension(ext)
	}
}

// Nowhere returns an address of loopback, host and port, where nobody listens until the returned
// connection is closed. The port is that of a connection, so no other process can listen there
// meanwhile.
func Nowhere() (address string, held io.Closer, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return "", nil, err
	}
	return c.LocalAddr().String(), c, nil
}
