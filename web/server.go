package web

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/defect"
)

// Backend answers the calls of publishers and checks their credentials. Answer is called
// concurrently. It returns an error if the backend could not be reached; the same call may then be
// repeated.
type Backend interface {
	Answer(ctx context.Context, call actions.Call) (actions.Answer, error)
}

// Options configure a Server. Zero values mean the defaults in the comments.
type Options struct {
	Backend     Backend
	Hosts       []string        // accepted Host headers, with any port, in addition to the listener's address
	TLS         *tls.Config     // nil: no TLS
	BehindProxy bool            // the client is the last address in X-Forwarded-For
	Metrics     http.Handler    // handles /metrics of ServeAdmin; nil: not found
	Key         json.RawMessage // the public key of receipts as a JWK; nil: receipts are not signed
	Late        time.Duration   // delay of a request after which /healthz reports a failure; 10 min

	// Answered is called concurrently after every answer. It may be nil.
	Answered func(r *http.Request, status int, code string)
	// Defect is called for each panic, which is answered with status 503. It may be nil.
	Defect func(*defect.Error)
	Now    func() time.Time // default: time.Now
}

// The limits of a connection.
const (
	maxConnections = 256
	maxOfClient    = 32       // connections of one client if there is no proxy
	maxStreams     = 16       // concurrent requests on one HTTP/2 connection
	maxHead        = 16 << 10 // limit for the header of a request in bytes
	maxBody        = 16 << 10
	headTimeout    = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = 2 * time.Minute // a request may have to wait for a compaction
	idleTimeout    = time.Minute
	answerTimeout  = 90 * time.Second
)

// Server answers publishers on one listener, and the operator on another. Its methods may be called
// concurrently.
type Server struct {
	o      Options
	limits *limits
	health health
	public endpoint
	admin  endpoint
}

// endpoint is the HTTP server of one listener.
type endpoint struct {
	*http.Server
	names map[string]bool // accepted host names; with a port if only that port is accepted
}

// New returns a Server. Serve and ServeAdmin start it.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Late <= 0 {
		o.Late = 10 * time.Minute
	}
	s := &Server{o: o, limits: newLimits(o.Now)}
	public, admin := http.NewServeMux(), http.NewServeMux()
	public.Handle("/v1/key", route("GET, HEAD", map[string]handler{http.MethodGet: s.key}))
	public.Handle("/v1/requests", route("GET, HEAD, POST",
		map[string]handler{http.MethodGet: s.list, http.MethodPost: s.submit}))
	public.Handle("/v1/requests/{id}", route("DELETE, GET, HEAD",
		map[string]handler{http.MethodGet: s.get, http.MethodDelete: s.withdraw}))
	public.Handle("/v1/requests/{id}/receipt", route("GET, HEAD", map[string]handler{http.MethodGet: s.receipt}))
	public.Handle("/", route("", nil))
	admin.Handle("/healthz", route("GET, HEAD", map[string]handler{http.MethodGet: s.healthz}))
	if o.Metrics != nil {
		admin.Handle("/metrics", route("GET, HEAD",
			map[string]handler{http.MethodGet: func(w http.ResponseWriter, r *http.Request) error {
				o.Metrics.ServeHTTP(w, r)
				return nil
			}}))
	}
	admin.Handle("/", route("", nil))
	s.public, s.admin = s.endpoint(public), s.endpoint(admin)
	return s
}

// endpoint returns an endpoint that routes requests by mux. Every request passes the same checks
// first, even those that net/http and mux would answer themselves.
func (s *Server) endpoint(mux *http.ServeMux) endpoint {
	out := endpoint{names: map[string]bool{}}
	out.Server = &http.Server{ReadHeaderTimeout: headTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHead, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		DisableGeneralOptionsHandler: true,
		ConnState:                    newPool(maxConnections).state}
	out.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		seen := &status{ResponseWriter: w, status: http.StatusOK}
		if err := s.check(out.names, r); err != nil {
			seen.code = writeProblem(seen, err)
		} else if err := s.serveSafely(mux, seen, r); err != nil {
			seen.code = writeProblem(seen, err)
		}
		if s.o.Answered != nil {
			s.o.Answered(r, seen.status, seen.code)
		}
	})
	return out
}

// serveSafely calls mux.ServeHTTP and returns a panic as an error.
func (s *Server) serveSafely(mux http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer defect.Catch(&err, r.Method+" "+r.URL.Path, s.o.Defect)
	mux.ServeHTTP(w, r)
	return nil
}

// Serve answers publishers on l until Shutdown is called, and then returns http.ErrServerClosed.
// The address of l is accepted as a host. If it is a loopback address, the other names of loopback
// are accepted too.
func (s *Server) Serve(l net.Listener) error {
	addAddress(s.public.names, l.Addr())
	for _, name := range s.o.Hosts {
		s.public.names[hostName(name)] = true
	}
	if !s.o.BehindProxy {
		l = &shared{Listener: l, of: map[string]int{}}
	}
	if s.o.TLS != nil { // outermost, because net/http recognises HTTP/2 by the type of the connection
		l = tls.NewListener(l, s.o.TLS)
	}
	return s.public.Server.Serve(l)
}

// ServeAdmin answers the operator on l, without TLS, until Shutdown is called: /healthz and
// /metrics.
func (s *Server) ServeAdmin(l net.Listener) error {
	addAddress(s.admin.names, l.Addr())
	return s.admin.Server.Serve(l)
}

// Shutdown ends Serve and ServeAdmin; answers under way are finished until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	var errs []error
	for _, at := range []endpoint{s.public, s.admin} {
		if at.Server.Shutdown(ctx) != nil {
			errs = append(errs, at.Close())
		}
	}
	return errors.Join(errs...)
}

// check refuses a request for another host, a request of a client that sends too many, and a path
// in another form than the routes.
func (s *Server) check(names map[string]bool, r *http.Request) error {
	switch {
	case !namesServer(names, r):
		return &problem{status: http.StatusMisdirectedRequest, code: "host",
			detail: "this server does not answer to that host name"}
	case !s.limits.allowRequest(s.client(r)):
		return tooMany(time.Second, "too many requests came from this client, or reach this server")
	case r.Method == http.MethodConnect || r.URL.Path != path.Clean("/"+r.URL.Path):
		return notFound()
	}
	return nil
}

// notFound is the answer for a path that does not exist.
func notFound() error {
	return &problem{status: http.StatusNotFound, code: actions.NotFound,
		detail: "there is nothing here; requests go to /v1/requests"}
}

// handler answers a request that was checked. Its error is a *problem, or an error of the backend.
type handler func(w http.ResponseWriter, r *http.Request) error

// route returns a handler that selects by method from do. If do is nil, the path does not exist.
func route(allow string, do map[string]handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := answer(w, r, allow, do); err != nil {
			code := writeProblem(w, err)
			if seen, ok := w.(*status); ok {
				seen.code = code
			}
		}
	})
}

func answer(w http.ResponseWriter, r *http.Request, allow string, do map[string]handler) error {
	if do == nil {
		return notFound()
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

// status records the status of an answer and the code of a refusal.
type status struct {
	http.ResponseWriter
	status int
	code   string
}

// WriteHeader records and writes the status.
func (s *status) WriteHeader(n int) {
	s.status = n
	s.ResponseWriter.WriteHeader(n)
}

// Unwrap returns the underlying writer for http.ResponseController.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }
