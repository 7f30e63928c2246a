package course

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options configure a Server. With zero Options, the server uses free ports of 127.0.0.1 and takes
// the names of a crawler from its User-Agent.
type Options struct {
	// host:port of the origin index; the other origins use the ports that follow; port 0 chooses
	// free ports
	Listen   string
	Crawler  []string  // names of the crawler; if empty: the names in the User-Agent
	Purposes []string  // purposes for which the crawler collects pages
	Log      io.Writer // gets one line for each visit; may be nil
	// name of the crawler if it is known that all visits come from one crawler; "": each address
	// with each User-Agent is another visitor
	Run string
}

// Server serves each origin of the course on its own port and records the visits. It is safe for
// concurrent use.
type Server struct {
	o         Options
	listeners map[string]net.Listener // origin → its listener
	ports     map[int]string          // port → name of the origin
	server    *http.Server
	serving   sync.WaitGroup
	began     time.Time

	mu     sync.Mutex
	webs   map[string]*Web
	open   map[string]int
	visits []Visit
	held   int   // total size in bytes of the visitors' texts in visits
	left   int   // number of visits that are not in visits, because there were too many
	failed error // first error of writing the log
}

// maxWebs is the maximum number of versions of the course that are cached, one for each set of
// names. At the limit the cache is emptied.
const maxWebs = 64

// Limits of the visits in memory: their number, and the size of the texts of visitors in bytes. The
// log contains all visits.
const (
	maxVisits = 200_000
	maxHeld   = 128 << 20
)

// Serve starts the course. It runs until Close is called; ctx only limits the start.
func Serve(ctx context.Context, o Options) (*Server, error) {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("%q is no address to listen at: write host:port, such as 127.0.0.1:8000", o.Listen)
	}
	first, err := strconv.Atoi(port)
	if err != nil || first < 0 || first+len(origins) > 65536 {
		return nil, fmt.Errorf("%q is no address to listen at: the course needs %d ports from %s on", o.Listen,
			len(origins), port)
	}
	s := &Server{o: o, listeners: map[string]net.Listener{}, ports: map[int]string{}, began: time.Now(),
		webs: map[string]*Web{}, open: map[string]int{}}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, originKey{}, s.ports[c.LocalAddr().(*net.TCPAddr).Port])
		}}
	for i, at := range origins {
		p := first
		if p > 0 {
			p += i
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(p)))
		if err != nil {
			for _, other := range s.listeners {
				other.Close()
			}
			return nil, fmt.Errorf("the course cannot be served: %w", err)
		}
		s.listeners[at.name], s.ports[l.Addr().(*net.TCPAddr).Port] = l, at.name
	}
	for _, l := range s.listeners {
		s.serving.Go(func() { s.server.Serve(l) }) // returns after Close
	}
	return s, nil
}

type originKey struct{}

// Close stops the course. It returns the first error of writing the log.
func (s *Server) Close() error {
	s.server.Close()
	s.serving.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// URL returns the address of an origin without a slash at the end.
func (s *Server) URL(origin string) string {
	at := s.listeners[origin].Addr().(*net.TCPAddr)
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(at.Port))
}

// Visits returns the requests so far in the order of arrival, within the limits of memory.
func (s *Server) Visits() []Visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.visits)
	slices.SortStableFunc(list, func(a, b Visit) int { return a.Time.Compare(b.Time) })
	return list
}

// Left returns the number of visits that Visits does not list because there were too many. The
// visits that are not listed are later than all visits that are.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// ServeHTTP records the visit and answers with the course for the visitor's names.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	origin, _ := r.Context().Value(originKey{}).(string)
	// a monotonic time: a change of the system clock does not change the order of the visits or the
	// intervals between them
	arrived := s.began.Add(time.Since(s.began)).UTC()
	v := Visit{Time: arrived, Origin: origin, Method: cut(r.Method), Target: cut(r.RequestURI),
		Agent: cut(r.UserAgent()),
		Names: s.o.Crawler, Purposes: s.o.Purposes, Clicked: r.Header.Get("Sec-Fetch-User") == "?1", Run: s.o.Run}
	if !strings.HasPrefix(v.Target, "/") { // the target is an absolute URL, as a client sends it to a proxy
		v.Target = cut(r.URL.RequestURI())
	}
	if len(v.Names) == 0 {
		v.Names = Names(v.Agent)
	}
	v.Address, _, _ = net.SplitHostPort(r.RemoteAddr)
	a := s.webFor(v.Names).Answer(v.Origin, v.Target)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		a = Answer{Status: http.StatusMethodNotAllowed, Header: http.Header{"Allow": {"GET, HEAD"}}}
	}
	v.Status = a.Status
	done := sync.OnceFunc(s.recordVisit(v))
	defer done()
	if a.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.Header().Set("Vary", "User-Agent")
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	w.WriteHeader(a.Status)
	if n := len(a.Body) - 1; r.Method == http.MethodGet && n >= 0 {
		w.Write(a.Body[:n]) // an error means that the visitor closed the connection
		// called before the last byte is sent: a visitor with the whole answer may send its next
		// request
		done()
		w.Write(a.Body[n:])
	}
}

// webFor returns the course for a visitor with these names.
func (s *Server) webFor(names []string) *Web {
	key := strings.Join(names, "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	web := s.webs[key]
	if web == nil {
		if len(s.webs) >= maxWebs {
			clear(s.webs)
		}
		web = NewWeb(names, s.o.Purposes, s.URL)
		s.webs[key] = web
	}
	return web
}

// recordVisit records the beginning of a visit and writes it to the log. The caller calls done when
// the visit ends.
func (s *Server) recordVisit(v Visit) (done func()) {
	who := v.Origin + "\n" + v.Address + "\n" + v.Agent
	if v.Run != "" {
		who = v.Origin
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[who]++
	v.Open = s.open[who]
	if sent := len(v.Target) + len(v.Agent) + len(v.Method); s.left == 0 && len(s.visits) < maxVisits &&
		s.held+sent <= maxHeld {
		s.visits, s.held = append(s.visits, v), s.held+sent
	} else {
		s.left++
	}
	if s.o.Log != nil && s.failed == nil {
		line, err := json.Marshal(v)
		if err == nil {
			_, err = s.o.Log.Write(append(line, '\n'))
		}
		if err != nil {
			s.failed = fmt.Errorf("the log of visits could not be written: %w", err)
		}
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[who]--; s.open[who] == 0 {
			delete(s.open, who)
		}
	}
}
