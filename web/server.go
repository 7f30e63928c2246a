package web

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
)

// Backend answers what a publisher asks. It judges credentials, and is called concurrently. An error means that it could not be asked:
// the same may be asked again.
type Backend interface {
	Answer(ctx context.Context, call actions.Call) (actions.Answer, error)
}

// Options configure a Server. Zero values take the default named.
type Options struct {
	Backend     Backend
	Hosts       []string                                       // names answered to with any port, beside the address listened on
	TLS         *tls.Config                                    // nil: none is spoken
	BehindProxy bool                                           // the client is the last that X-Forwarded-For names
	Metrics     http.Handler                                   // answers /metrics; nil: nobody does
	Key         json.RawMessage                                // the public key of receipts, as a JWK; nil: they are not signed
	Late        time.Duration                                  // after which what was asked for and is not done is a failure of health; 10 min
	Told        func(r *http.Request, status int, code string) // hears of every answer, concurrently; may be nil
	Now         func() time.Time                               // time.Now
}

// The bounds of a connection.
const (
	maxConnections = 256
	maxOfClient    = 32       // connections, where clients connect themselves
	maxStreams     = 16       // requests under way of a connection that carries several (HTTP/2)
	maxHead        = 16 << 10 // bytes
	maxBody        = 16 << 10
	headTimeout    = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = 2 * time.Minute // what is asked for may wait for a compaction
	idleTimeout    = time.Minute
	answerTimeout  = 90 * time.Second
)

// Server answers publishers. Serve it on one listener.
type Server struct {
	o      Options
	limits *limits
	health health
	http   *http.Server
	names  map[string]bool // of hosts, with the port where only that is answered to
}

// New makes a server.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Late <= 0 {
		o.Late = 10 * time.Minute
	}
	s := &Server{o: o, limits: newLimits(o.Now), names: map[string]bool{}}
	mux := http.NewServeMux()
	for _, r := range []struct {
		pattern, methods string
		do               map[string]handler
	}{
		{"/healthz", "GET, HEAD", map[string]handler{http.MethodGet: s.healthz}},
		{"/v1/key", "GET, HEAD", map[string]handler{http.MethodGet: s.key}},
		{"/v1/requests", "GET, HEAD, POST", map[string]handler{http.MethodGet: s.list, http.MethodPost: s.submit}},
		{"/v1/requests/{id}", "DELETE, GET, HEAD", map[string]handler{http.MethodGet: s.get, http.MethodDelete: s.withdraw}},
		{"/v1/requests/{id}/receipt", "GET, HEAD", map[string]handler{http.MethodGet: s.receipt}},
	} {
		mux.Handle(r.pattern, s.route(r.methods, r.do))
	}
	if o.Metrics != nil {
		mux.Handle("/metrics", s.route("GET, HEAD", map[string]handler{http.MethodGet: func(w http.ResponseWriter, r *http.Request) error {
			o.Metrics.ServeHTTP(w, r)
			return nil
		}}))
	}
	mux.Handle("/", s.route("", nil))
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: headTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHead, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams}}
	return s
}

// Serve answers on l until Shutdown is called, and returns http.ErrServerClosed then. The address of l is answered to as a host; where
// it is of loopback, so are the other names of loopback.
func (s *Server) Serve(l net.Listener) error {
	s.answerTo(l.Addr())
	for _, name := range s.o.Hosts {
		s.names[hostName(name)] = true
	}
	l = s.bounded(l)
	if s.o.TLS != nil { // outermost: the protocol that it agrees on shows by the type of its connections
		l = tls.NewListener(l, s.o.TLS)
	}
	return s.http.Serve(l)
}

// Shutdown ends Serve; answers under way are finished until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}

// handler answers a request that passed the gate of its route. Its error is a *problem, or means that the backend could not be asked.
type handler func(w http.ResponseWriter, r *http.Request) error

// route is what all requests of a path have in common. Without methods there is nothing there.
func (s *Server) route(allow string, do map[string]handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		seen := &status{ResponseWriter: w, status: http.StatusOK}
		err := s.answer(seen, r, allow, do)
		code := ""
		if err != nil {
			code = refuse(seen, err)
		}
		if s.o.Told != nil {
			s.o.Told(r, seen.status, code)
		}
	})
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, allow string, do map[string]handler) error {
	if !s.answersTo(r) {
		return &problem{status: http.StatusMisdirectedRequest, code: "host", detail: "this server does not answer to that host name"}
	}
	if !s.limits.any(s.client(r)) {
		return tooMany(time.Second, "too many requests came from this client, or reach this server")
	}
	if do == nil {
		return &problem{status: http.StatusNotFound, code: actions.NotFound, detail: "there is nothing here; requests go to /v1/requests"}
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	fn := do[method]
	if fn == nil {
		w.Header().Set("Allow", allow)
		return &problem{status: http.StatusMethodNotAllowed, code: "method", detail: "this answers to " + allow}
	}
	return fn(w, r)
}

// status notes the status of an answer.
type status struct {
	http.ResponseWriter
	status int
}

func (s *status) WriteHeader(n int) {
	s.status = n
	s.ResponseWriter.WriteHeader(n)
}
