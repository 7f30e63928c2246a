package web

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// Backend answers the calls of publishers and checks their credentials. Answer is called
// concurrently. If the backend could not be reached, Answer returns an error, and the caller may
// repeat the same call.
type Backend interface {
	Answer(ctx context.Context, call actions.Call) (actions.Answer, error)
}

// Options configure a Server. The comments of the fields say what their zero values mean.
type Options struct {
	Backend Backend // nil: there are no action requests; then Readers must be set
	// accepted host names in the Host header, with any port, in addition to the listener's address
	Hosts []string
	// ReplayDomain is the domain below which unmodified copies have host names of their own; "": none. It must not be
	// set together with LoginToRead, because browsers send no cookie to these hosts.
	ReplayDomain string
	TLS          *tls.Config // nil: no TLS
	// addresses of proxies, which send the address of the client in X-Forwarded-For, and in
	// X-Forwarded-Proto whether the client uses TLS
	Trusted []netip.Prefix
	Limits  Limits
	Ready   func() error // why readers cannot be answered now, for /readyz; called concurrently; nil: they always can
	Metrics http.Handler // answers /metrics in ServeAdmin; nil: /metrics does not exist

	// Readers answers all requests except those for action requests; the context names the visitor
	// (view.WithVisitor). nil: there is nothing to read.
	Readers http.Handler
	// Reader returns what decides about restrictions to certain readers, from the address of a client
	// (P1 2.5.5.9). It is called concurrently. nil: only the address is known. After an error nothing is
	// shown to the client.
	Reader func(context.Context, netip.Addr) (acap.Target, error)

	// Frame makes the pages of logins and requests; nil: these pages do not exist.
	Frame *view.Frame
	// hash of the operator's password, which CheckHash accepts; "": the operator cannot log in
	Password    string
	LoginToRead bool        // reading needs a login
	Contact     string      // URL under which publishers reach the operator, for the page of requests; "": unknown
	Audit       *Audit      // nil: logins and changes are not recorded
	Failed      func(error) // called for errors that are not answered in words, possibly concurrently; may be nil

	// the public key, as a JWK, with which receipts can be checked; nil: receipts are not signed
	Key json.RawMessage
	// if an action request is late by more than this, /healthz reports a failure; 0: 10 minutes
	Late time.Duration

	// Answered is called after every answer, possibly concurrently. Answered may be nil.
	Answered func(r *http.Request, status int, code string)
	// Defect is called for each panic in a handler; the answer is then status 503. Defect may be
	// nil.
	Defect func(*defect.Error)
	Now    func() time.Time // the clock; nil: time.Now
}

// The limits of a connection.
const (
	maxStreams     = 16       // maximum number of concurrent requests on one HTTP/2 connection
	maxHead        = 16 << 10 // maximum size of the header of a request in bytes
	maxBody        = 16 << 10
	headTimeout    = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = 2 * time.Minute // a request may have to wait for a compaction
	idleTimeout    = 10 * time.Second
	answerTimeout  = 90 * time.Second
	readersTimeout = time.Minute // time for an answer to a reader
	maxForm        = 1 << 20     // maximum size of the body of a reader's request
)

// Server answers readers and publishers on one listener, and the operator on another. Its methods
// may be called concurrently.
type Server struct {
	o      Options
	limits *limits
	health health

	sessions  sessions
	passwords passwords

	public endpoint
	admin  endpoint
	main   string // host name of the viewer, without port
	// the public listener can be reached from other machines without TLS, so only proxies may use it
	proxied bool
}

// endpoint is the HTTP server of one listener.
type endpoint struct {
	*http.Server
	names map[string]bool // accepted host names; a name that contains a port is accepted only with this port
}

// New returns a Server. Serve and ServeAdmin start it.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Late <= 0 {
		o.Late = 10 * time.Minute
	}
	o.Limits.setDefaults()
	s := &Server{o: o, limits: newLimits(o.Limits, o.Now), sessions: sessions{now: o.Now},
		passwords: passwords{hash: o.Password, turn: make(chan struct{}, 1)}}
	public, admin := http.NewServeMux(), http.NewServeMux()
	get := http.MethodGet
	public.Handle("/api/v1/key", route(map[string]handler{get: s.key}))
	public.Handle("/api/v1/requests", route(map[string]handler{get: s.list, http.MethodPost: s.submit}))
	public.Handle("/api/v1/requests/{id}", route(map[string]handler{get: s.get, http.MethodDelete: s.withdraw}))
	public.Handle("/api/v1/requests/{id}/receipt", route(map[string]handler{get: s.receipt}))
	public.Handle("/", route(nil))
	admin.Handle("/healthz", route(map[string]handler{get: s.healthz}))
	admin.Handle("/readyz", route(map[string]handler{get: s.readyz}))
	if o.Metrics != nil {
		admin.Handle("/metrics", route(map[string]handler{get: func(w http.ResponseWriter, r *http.Request) error {
			o.Metrics.ServeHTTP(w, r)
			return nil
		}}))
	}
	admin.Handle("/", route(nil))
	s.prepare(&s.public, s.route(public))
	s.prepare(&s.admin, inNormalForm(admin))
	return s
}

// prepare makes the server of an endpoint, which passes requests to h. All requests are checked first in the same
// way, even the requests that net/http would answer itself.
func (s *Server) prepare(at *endpoint, h http.Handler) {
	at.names = map[string]bool{}
	at.Server = &http.Server{ReadHeaderTimeout: headTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHead, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		DisableGeneralOptionsHandler: true,
		ConnState:                    newPool(s.o.Limits.Connections).state}
	at.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Cache-Control", "no-store")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		seen := &status{ResponseWriter: w, status: http.StatusOK}
		if err := s.check(at, r); err != nil {
			seen.code = writeProblem(seen, err)
		} else if err := s.serveSafely(h, seen, r); err != nil {
			seen.code = writeProblem(seen, err)
		}
		if s.o.Answered != nil {
			s.o.Answered(r, seen.status, seen.code)
		}
	})
}

// serveSafely calls h.ServeHTTP and returns a panic as an error.
func (s *Server) serveSafely(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer defect.Catch(&err, r.Method+" "+r.URL.Path, s.o.Defect)
	h.ServeHTTP(w, r)
	return nil
}

// Serve answers readers and publishers on l until Shutdown is called, and then returns
// http.ErrServerClosed. The address of l is accepted as a host. If it is a loopback address, the
// other names of loopback are accepted too.
func (s *Server) Serve(l net.Listener) error {
	addAddress(s.public.names, l.Addr())
	ip, known := addressOf(l.Addr().String())
	s.proxied = s.o.TLS == nil && known && !ip.IsLoopback()
	if s.main = hostName(l.Addr().String()); strings.Contains(s.main, ":") {
		s.main = "[" + s.main + "]"
	}
	for i, name := range s.o.Hosts {
		s.public.names[hostName(name)] = true
		if i == 0 {
			s.main = hostName(name)
		}
	}
	l = &shared{Listener: l, most: s.o.Limits.PerClient, trusted: s.trusts, of: map[string]int{}}
	// the TLS listener wraps all others, because net/http recognises HTTP/2 by the type of the
	// connection
	if s.o.TLS != nil {
		l = tls.NewListener(l, s.o.TLS)
	}
	return s.public.Server.Serve(l)
}

// ServeAdmin answers the operator on l, without TLS, until Shutdown is called: /healthz, /readyz and
// /metrics.
func (s *Server) ServeAdmin(l net.Listener) error {
	addAddress(s.admin.names, l.Addr())
	for _, name := range s.o.Hosts {
		s.admin.names[hostName(name)] = true
	}
	return s.admin.Server.Serve(l)
}

// Shutdown makes Serve and ServeAdmin return. It waits until the requests that have arrived are
// answered, or ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	var errs []error
	for _, at := range []endpoint{s.public, s.admin} {
		if at.Server.Shutdown(ctx) != nil {
			errs = append(errs, at.Close())
		}
	}
	return errors.Join(errs...)
}

// check returns an error for a request for another host, and for a request of a client that sends too many
// requests.
func (s *Server) check(at *endpoint, r *http.Request) error {
	switch {
	case !namesServer(at.names, r) && (at != &s.public || s.label(r) == ""):
		return &problem{status: http.StatusMisdirectedRequest, code: "host",
			detail: "the Host header names another server; names can be added in serve.public_hosts"}
	case at == &s.public && s.proxied && !s.trusts(r.RemoteAddr) && !loopbackName(r.RemoteAddr):
		return &problem{status: http.StatusForbidden, code: "tls",
			detail: "this server answers without TLS to its proxies only; use the https address of the archive"}
	case !s.limits.allowRequest(s.client(r)):
		return tooMany(time.Second, "this client sent too many requests; wait a second")
	case r.Method == http.MethodConnect:
		return notFound()
	}
	return nil
}

// notFound returns the problem for a path that does not exist.
func notFound() error {
	return &problem{status: http.StatusNotFound, code: actions.NotFound,
		detail: "nothing exists at this path"}
}

// handler answers a request that Server.check has accepted. The error is a *problem, or an error of
// the backend.
type handler func(w http.ResponseWriter, r *http.Request) error

// route returns the handler for one path, which calls the function in do for the HTTP method. If do
// is nil, the path does not exist.
func route(do map[string]handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := answer(w, r, do); err != nil {
			fail(w, err)
		}
	})
}

// fail writes err as a problem document, and records its code.
func fail(w http.ResponseWriter, err error) {
	noteCode(w, writeProblem(w, err))
}

// noteCode records the code of a refusal, for Options.Answered.
func noteCode(w http.ResponseWriter, code string) {
	for w != nil {
		switch at := w.(type) {
		case *status:
			at.code = code
			return
		case interface{ Unwrap() http.ResponseWriter }:
			w = at.Unwrap()
		default:
			return
		}
	}
}

func answer(w http.ResponseWriter, r *http.Request, do map[string]handler) error {
	if do == nil {
		return notFound()
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	fn := do[method]
	if fn == nil {
		methods := slices.Collect(maps.Keys(do))
		if do[http.MethodGet] != nil {
			methods = append(methods, http.MethodHead)
		}
		slices.Sort(methods)
		allow := strings.Join(methods, ", ")
		w.Header().Set("Allow", allow)
		return &problem{status: http.StatusMethodNotAllowed, code: "method",
			detail: "use " + strings.Join(methods, " or ")}
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
