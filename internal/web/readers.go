package web

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// route returns the handler that finds out who answers a request. It compares the request target as
// it was sent, because the paths of readers contain addresses, whose slashes must not change.
func (s *Server) route(requests http.Handler) http.Handler {
	requests = inNormalForm(requests)
	pages, isPage := s.pages()
	own := compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, _, _ := strings.Cut(r.RequestURI, "?")
		switch {
		case strings.HasPrefix(at, "/v1/"): // the address before version 1 of the API had other parts
			redirect(w, "/api"+r.RequestURI, http.StatusPermanentRedirect)
		case s.o.Readers == nil, s.o.Backend != nil && (at == "/api/v1/key" || at == "/api/v1/requests" ||
			strings.HasPrefix(at, "/api/v1/requests/")):
			requests.ServeHTTP(w, r)
		case s.o.Frame != nil && isPage(at):
			pages.ServeHTTP(w, r)
		case s.o.Frame != nil && strings.HasPrefix(at, "/assets/") && r.Method == http.MethodGet &&
			s.o.Frame.Asset(w, r, strings.TrimPrefix(at, "/assets/")):
		default:
			s.answerReader(w, r)
		}
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stripOrigin(r)
		copies := strings.HasPrefix(r.RequestURI, "/raw/") || strings.HasPrefix(r.RequestURI, "/thumbnail/")
		if s.o.Readers != nil && (copies || s.label(r) != "") { // copies and pictures are sent as they are
			s.answerReader(w, r)
			return
		}
		own.ServeHTTP(w, r)
	})
}

// stripOrigin removes scheme and host from a request target in absolute form (RFC 9112 3.2.2). The
// host was checked as the Host header, which net/http takes from the target.
func stripOrigin(r *http.Request) {
	_, rest, found := strings.Cut(r.RequestURI, "://")
	if !found || r.RequestURI[0] == '/' {
		return
	}
	at := strings.IndexAny(rest, "/?")
	if at < 0 {
		at = len(rest)
	}
	r.RequestURI = "/" + strings.TrimPrefix(rest[at:], "/")
}

// inNormalForm answers requests for paths that are not in normal form with status 404.
func inNormalForm(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path.Clean("/"+r.URL.Path) {
			fail(w, notFound())
			return
		}
		h.ServeHTTP(w, r)
	})
}

// compress compresses answers of text with gzip.
func compress(h http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.RandomJitter(32, 0, false),
		gzhttp.ContentTypes([]string{"text/html", "text/css", "text/javascript", "application/json", "text/plain",
			"application/atom+xml", "application/link-format", "text/x-cdxj", "text/x-ndjson", "application/x-ndjson",
			"application/problem+json", "application/opensearchdescription+xml"}))
	if err != nil { // cannot happen: the options are constants
		return h
	}
	return wrap(h)
}

// answerReader answers a reader, who changes nothing: a POST request only asks something that is too long for an
// address, and other sites may send it, too. The body of the request and the time for the answer are limited.
func (s *Server) answerReader(w http.ResponseWriter, r *http.Request) {
	r, err := s.identify(r)
	switch {
	case err != nil:
		fail(w, err)
		return
	case s.mustLogIn(r):
		s.askForLogin(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readersTimeout)
	defer cancel()
	// only the writers of tests have no deadlines
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(readersTimeout))
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	r = r.Clone(ctx)
	r.Header.Del("Cookie") // the secrets of the visitor stay in this server
	r.Header.Del("Authorization")
	s.o.Readers.ServeHTTP(w, r)
}

// identify returns r with a context that names the visitor.
func (s *Server) identify(r *http.Request) (*http.Request, error) {
	who, err := s.visitor(r)
	r = r.WithContext(view.WithVisitor(r.Context(), who))
	if err != nil || !s.mustLogIn(r) || token(r) == "" {
		return r, err
	}
	// programs read with the access token of a publisher
	a, err := s.callBackend(r, actions.Call{Do: actions.DoIdentify})
	if err == nil && a.Credential != nil {
		who.Role, who.Name = view.Publisher, a.Credential.Name
	}
	return r.WithContext(view.WithVisitor(r.Context(), who)), err
}

// visitor returns who sends r.
func (s *Server) visitor(r *http.Request) (view.Visitor, error) {
	who := view.Visitor{Base: s.scheme(r) + "://" + r.Host, Users: s.o.Backend != nil}
	s.setReplay(&who, r)
	if in, token, ok := s.session(r); ok && who.Label == "" && (!s.o.LoginToRead || s.reconfirm(r, &in, token)) {
		who.Role, who.Name, who.Token = in.role, in.name, in.form
	}
	ip, ok := addressOf(s.address(r))
	if !ok {
		ip = netip.Addr{}
	}
	who.Reader = acap.Target{IP: ip}
	if s.o.Reader == nil {
		return who, nil
	}
	var err error
	if who.Reader, err = s.o.Reader(r.Context(), ip); err != nil {
		return who, errors.Join(errReader, err)
	}
	return who, nil
}

// errReader means that the facts that decide about a reader could not be found out.
var errReader = errors.New("the country or domain of the reader could not be found")
