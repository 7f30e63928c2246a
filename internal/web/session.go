package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// The limits of sessions.
const (
	sessionTime = 12 * time.Hour
	maxSessions = 100 // of one user; a further login ends the oldest one
	// how long a publisher may read after its credential was revoked, if reading needs a login
	credentialTime = time.Minute
)

// session is what the server knows of a browser after a login.
type session struct {
	role    view.Role
	name    string    // name of the user
	form    string    // token that every form sends back
	access  string    // access token of a publisher: the ledger checks it for each call
	until   time.Time // end of the session
	checked time.Time // when the ledger last accepted the access token
}

// call returns c with the rights of the session.
func (in *session) call(c actions.Call) actions.Call {
	switch in.role {
	case view.Operator:
		c.As = actions.AsOperator
	case view.Publisher:
		c.Token = in.access
	default:
		c.As = actions.AsAnyone
	}
	return c
}

// sessions holds the sessions in memory: they end with the process. It is safe for concurrent use.
type sessions struct {
	now func() time.Time

	mu sync.Mutex
	of map[[sha256.Size]byte]session // keyed by the digest of the token in the cookie
}

// open starts a session and returns its token. Every login has a new token, so that nobody knows it
// beforehand.
func (s *sessions) open(in session) (token string) {
	token, in.form = randomToken(), randomToken()
	in.until, in.checked = s.now().Add(sessionTime), s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[[sha256.Size]byte]session{}
	}
	s.makeRoom(in)
	s.of[sha256.Sum256([]byte(token))] = in
	return token
}

// makeRoom deletes sessions that have ended, and the oldest session of the user of in if there are
// too many.
func (s *sessions) makeRoom(in session) {
	var oldest [sha256.Size]byte
	n, first := 0, in.until
	for key, other := range s.of {
		switch {
		case !s.now().Before(other.until):
			delete(s.of, key)
		case other.role == in.role && other.name == in.name:
			if n++; !other.until.After(first) {
				oldest, first = key, other.until
			}
		}
	}
	if n >= maxSessions {
		delete(s.of, oldest)
	}
}

// get returns the session with a token.
func (s *sessions) get(token string) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, ok := s.of[sha256.Sum256([]byte(token))]
	if !ok || !s.now().Before(in.until) {
		return session{}, false
	}
	return in, true
}

// confirm notes that the ledger accepts the access token of a session.
func (s *sessions) confirm(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(token))
	if in, ok := s.of[key]; ok {
		in.checked = s.now()
		s.of[key] = in
	}
}

func (s *sessions) close(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, sha256.Sum256([]byte(token)))
}

// randomToken returns 256 random bits.
func randomToken() string {
	b := make([]byte, 32)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// The names of the cookie with TLS and on loopback without TLS. Browsers accept the prefix __Host-
// only from the host itself, with Secure, and for the whole host.
const (
	secureCookie = "__Host-acapcrawl"
	plainCookie  = "acapcrawl"
)

// cookie returns a cookie for the session token, or with an empty token a cookie that deletes it.
// ok is false if others could read the cookie: without TLS it is sent only to names of loopback.
func (s *Server) cookie(r *http.Request, token string) (c *http.Cookie, ok bool) {
	secure := s.scheme(r) == "https"
	c = &http.Cookie{Name: plainCookie, Value: token, Path: "/", HttpOnly: true, Secure: secure,
		SameSite: http.SameSiteStrictMode, MaxAge: int(sessionTime.Seconds())}
	if secure {
		c.Name = secureCookie
	}
	if token == "" {
		c.MaxAge = -1
	}
	return c, secure || loopbackName(r.Host)
}

// loopbackName reports whether a Host header names this machine itself.
func loopbackName(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// scheme returns the scheme with which the client sent r.
func (s *Server) scheme(r *http.Request) string {
	proto, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",") // the first proxy is the one next to the client
	if r.TLS != nil || s.trusts(r.RemoteAddr) && strings.EqualFold(strings.TrimSpace(proto), "https") {
		return "https"
	}
	return "http"
}

// session returns the session of r and its token. ok is false if nobody is logged in.
func (s *Server) session(r *http.Request) (in session, token string, ok bool) {
	c, safe := s.cookie(r, "")
	sent := r.CookiesNamed(c.Name)
	if !safe || len(sent) != 1 {
		return in, "", false
	}
	in, ok = s.sessions.get(sent[0].Value)
	return in, sent[0].Value, ok
}

// reconfirm ends the session of a publisher whose credential is no longer valid. It asks the ledger
// at most once in credentialTime. It returns false if the credential is not valid or could not be
// checked.
func (s *Server) reconfirm(r *http.Request, in *session, token string) bool {
	if in.role != view.Publisher || s.o.Now().Sub(in.checked) < credentialTime {
		return true
	}
	a, err := s.o.Backend.Answer(r.Context(), actions.Call{Do: actions.DoIdentify, Token: in.access})
	if err != nil || a.Code != "" {
		if a.Code == actions.BadCredential {
			s.sessions.close(token)
		}
		return false
	}
	s.sessions.confirm(token)
	return true
}
