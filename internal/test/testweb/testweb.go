// Package testweb serves a directory as a small web site on 127.0.0.1, for tests. It serves files
// unchanged, answers single paths by rules, and logs every request.
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

// RulesFile is an optional file in the directory of a site. It maps a path, or a path with its
// query as sent, to a Rule. The server reads it for every request.
const RulesFile = ".site.json"

// Rule is the answer of one path. If a field is not set, the server does what it does for a plain
// file.
type Rule struct {
	Status   int                 `json:"status"`
	Header   map[string][]string `json:"header"`
	Location string              `json:"location"` // the Location header; the status is 302 unless Status is set
	Body     *string             `json:"body"`
	// the file to serve instead of the file at the path, relative to the directory
	File  string `json:"file"`
	Delay string `json:"delay"` // waiting time before the answer, for example "50ms"
	Error string `json:"error"` // "close": the server closes the connection without an answer
	Hold  bool   `json:"hold"`  // the answer waits until Release is called
	// the ETag of the answer; the answer is 304 if If-None-Match is equal to it
	ETag string `json:"etag"`
}

// Site is a running server. Its methods may be called concurrently.
type Site struct {
	URL string // http://address:port, without a slash

	dir    string
	log    io.Writer
	agents io.Writer // nil: not logged
	server *http.Server

	mu       sync.Mutex
	lines    []string
	news     chan struct{} // closed and replaced when a line is added
	released chan struct{}
}

// Start serves dir on a free port of host, which is a loopback address or name such as "127.0.0.1".
// It writes a line to log when a request arrives: method, blank, path with query as sent.
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
	go s.server.Serve(l) // returns after Close
	return s, nil
}

// LogAgents makes the server write the User-Agent of every further request to w, one on each line.
func (s *Site) LogAgents(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents = w
}

// Close ends the server and all requests in progress.
func (s *Site) Close() error {
	s.Release()
	return s.server.Close()
}

// Release ends the wait of all requests that a Rule holds, and of all later ones.
func (s *Site) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.released:
	default:
		close(s.released)
	}
}

// Requests returns the lines of the log so far.
func (s *Site) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines...)
}

// Await waits until match is true for n lines of the log. It returns an error if ctx ends first.
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
		if body, err = os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(path.Clean("/"+name)))); err != nil ||
			path.Base(name) == RulesFile {
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
	w.Write(body) // an error means that the client disconnected
}

// contentType returns the media type for a file name. For the most common types it does not depend
// on the tables of the machine.
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

// Nowhere returns an address on 127.0.0.1, host and port, where no server listens until held is
// closed. The port belongs to an open connection, so no other process can listen on it.
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
