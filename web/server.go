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
	Metrics     http.Handler                                   // answers /metrics of ServeAdmin; nil: nobody does
	Key         json.RawMessage                                // the public key of receipts, as a JWK; nil: they are not signed
	Late        time.Duration                                  // after which what was asked for and is not done is a failure of health; 10 min
	Told        func(r *http.Request, status int, code string) // hears of every answer, concurrently; may be nil
	Defect      func(*defect.Error)                            // is called for each panic, which is answered with status 503; may be nil
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

// Server answers publishers on one listener, and the operator on another. Its methods may be called
// concurrently.
type Server struct {
	o      Options
	limits *limits
	health health
	public endpoint
	admin  endpoint
}

// endpoint answers on one listener.
type endpoint struct {
	*http.Server
	names map[string]bool // of hosts, with the port where only that is answered to
}

// New makes a server.
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

// endpoint returns an endpoint that answers by mux. Every request passes the same checks first,
// also those that net/http and its mux would answer themselves.
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
			seen.code = refuse(seen, err)
		} else if err := s.safely(mux, seen, r); err != nil {
			seen.code = refuse(seen, err)
		}
		if s.o.Told != nil {
			s.o.Told(r, seen.status, seen.code)
		}
	})
	return out
}

// safely lets mux answer; a panic is the error.
func (s *Server) safely(mux http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer defect.Catch(&err, r.Method+" "+r.URL.Path, s.o.Defect)
	mux.ServeHTTP(w, r)
	return nil
}

// Serve answers publishers on l until Shutdown is called, and returns http.ErrServerClosed then.
// The address of l is accepted as a host, and if it is a loopback address, the other names of
// loopback are too.
func (s *Server) Serve(l net.Listener) error {
	answerTo(s.public.names, l.Addr())
	for _, name := range s.o.Hosts {
		s.public.names[hostName(name)] = true
	}
	if !s.o.BehindProxy {
		l = &shared{Listener: l, of: map[string]int{}}
	}
	if s.o.TLS != nil { // outermost: the protocol that it agrees on shows by the type of its connections
		l = tls.NewListener(l, s.o.TLS)
	}
	return s.public.Server.Serve(l)
}

// ServeAdmin answers the operator on l, without TLS, until Shutdown is called: /healthz and
// /metrics.
func (s *Server) ServeAdmin(l net.Listener) error {
	answerTo(s.admin.names, l.Addr())
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
	case !answersTo(names, r):
		return &problem{status: http.StatusMisdirectedRequest, code: "host",
			detail: "this server does not answer to that host name"}
	case !s.limits.any(s.client(r)):
		return tooMany(time.Second, "too many requests came from this client, or reach this server")
	case r.Method == http.MethodConnect || r.URL.Path != path.Clean("/"+r.URL.Path):
		return nowhere()
	}
	return nil
}

// nowhere is the answer to a request for something that does not exist.
func nowhere() error {
	return &problem{status: http.StatusNotFound, code: actions.NotFound,
		detail: "there is nothing here; requests go to /v1/requests"}
}

// handler answers a request that was checked. Its error is a *problem, or means that the backend
// could not be asked.
type handler func(w http.ResponseWriter, r *http.Request) error

// route answers all requests of a path, by method. Without methods there is nothing there.
func route(allow string, do map[string]handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := answer(w, r, allow, do); err != nil {
			code := refuse(w, err)
			if seen, ok := w.(*status); ok {
				seen.code = code
			}
		}
	})
}

func answer(w http.ResponseWriter, r *http.Request, allow string, do map[string]handler) error {
	if do == nil {
		return nowhere()
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

// status notes the status of an answer, and the code of a refusal.
type status struct {
	http.ResponseWriter
	status int
	code   string
}

// WriteHeader notes the status.
func (s *status) WriteHeader(n int) {
	s.status = n
	s.ResponseWriter.WriteHeader(n)
}

// Unwrap gives the writer to http.ResponseController.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }
