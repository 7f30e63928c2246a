package web

import (
	"context"
	"crypto/subtle"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// The user names of logins.
const (
	operatorName  = "operator"
	publisherName = "publisher" // a publisher may also use the name of its credential
)

// pages returns the handler of the pages that this server makes itself: login, and requests of
// publishers. answers reports whether that handler answers a path.
func (s *Server) pages() (h http.Handler, answers func(at string) bool) {
	get, post := http.MethodGet, http.MethodPost
	list := map[string]map[string]handler{
		"/login":                  {get: s.loginPage, post: s.login},
		"/logout":                 {post: s.logout},
		"/requests":               {get: s.requestsPage, post: s.submitForm},
		"/requests/{id}":          {get: s.requestPage},
		"/requests/{id}/receipt":  {get: s.receiptFile},
		"/requests/{id}/withdraw": {post: s.withdrawForm},
		"/audit":                  {get: s.auditPage},
	}
	mux, none := http.NewServeMux(), s.page(nil)
	mux.Handle("/", none)
	for at, do := range list {
		mux.Handle(at, s.page(do))
	}
	normal := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path.Clean("/"+r.URL.Path) { // the mux would redirect
			none.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
	return normal, func(at string) bool {
		for one := range list {
			if prefix, _, more := strings.Cut(one, "{"); at == one || more && strings.HasPrefix(at, prefix) {
				return true
			}
		}
		return false
	}
}

// noPage returns the problem for a page that does not exist.
func noPage() error {
	return &problem{status: http.StatusNotFound, code: "no-page",
		detail: "the address leads to no page of this archive"}
}

// page returns the handler for one path, which does not exist if do is nil. It answers errors as pages.
func (s *Server) page(do map[string]handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		r, err := s.identify(r)
		if err == nil && s.mustLogIn(r) {
			s.askForLogin(w, r)
			return
		}
		if err == nil && do == nil {
			err = noPage()
		} else if err == nil {
			err = answer(w, r, do)
		}
		if err != nil {
			s.failPage(w, r, err)
		}
	})
}

// failPage writes err as a page, and records its code.
func (s *Server) failPage(w http.ResponseWriter, r *http.Request, err error) {
	p, is := errors.AsType[*problem](err)
	if !is {
		s.failed(err)
		p = rejection(actions.Unavailable, "this could not be done now; try again later")
	}
	noteCode(w, p.code)
	if p.needsLogin() {
		who := view.VisitorOf(r.Context())
		who.Role, who.Name, who.Token = view.Anyone, "", "" // the session has ended
		r = r.WithContext(view.WithVisitor(r.Context(), who))
		form := loginForm{Problem: display.Sentence(p.detail), Next: comeBack(r)}
		if err := s.o.Frame.Write(w, r, p.status, "login.html", "Log in", form); err == nil {
			return
		}
	}
	s.o.Frame.WriteProblem(w, r, &view.Problem{Status: p.status, Code: p.code, Title: p.title(),
		Detail: display.Sentence(p.detail), Retry: p.retry, Allow: w.Header().Get("Allow")})
}

// comeBack returns the path to which a login leads after r was refused: the page itself, or for a form its page
// with the address that was filled in.
func comeBack(r *http.Request) string {
	at, _, _ := strings.Cut(r.RequestURI, "?")
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return localPath(r.RequestURI)
	case at == "/logout":
		return "/"
	case at == "/requests" && r.PostForm.Get("url") != "":
		return at + "?url=" + url.QueryEscape(r.PostForm.Get("url"))
	}
	return localPath(strings.TrimSuffix(at, "/withdraw"))
}

func (s *Server) failed(err error) {
	if s.o.Failed != nil {
		s.o.Failed(err)
	}
}

// mustLogIn reports whether the visitor must log in before r is answered.
func (s *Server) mustLogIn(r *http.Request) bool {
	at, _, _ := strings.Cut(r.RequestURI, "?")
	switch at {
	case "/login", "/logout", "/robots.txt":
		return false
	}
	return s.o.LoginToRead && view.VisitorOf(r.Context()).Role == view.Anyone && !strings.HasPrefix(at, "/assets/")
}

// forPrograms are the prefixes of paths that programs read more often than people.
var forPrograms = []string{"/api/", "/cdx", "/raw/", "/thumbnail/", "/timegate/", "/timemap/", "/feed.atom",
	"/openapi.json", "/opensearch.xml"}

// askForLogin answers a request that needs a login: with a redirect to the login in browsers, otherwise with status
// 401.
func (s *Server) askForLogin(w http.ResponseWriter, r *http.Request) {
	program := !strings.Contains(r.Header.Get("Accept"), "text/html") &&
		slices.ContainsFunc(forPrograms, func(prefix string) bool { return strings.HasPrefix(r.RequestURI, prefix) })
	if s.o.Frame == nil || program || r.Method != http.MethodGet && r.Method != http.MethodHead {
		fail(w, rejection(actions.BadCredential, "this archive can be read only after a login, or with the access "+
			"token of a publisher in the header Authorization: Bearer"))
		return
	}
	http.Redirect(w, r, "/login?next="+url.QueryEscape(r.RequestURI), http.StatusSeeOther)
}

// checkOrigin returns an error unless a page of this server sent r. Sec-Fetch-Site cannot be set by
// scripts; browsers that do not send it send Origin.
func (s *Server) checkOrigin(r *http.Request) error {
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site == "same-origin":
		return nil
	case site == "" && r.Header.Get("Origin") == view.VisitorOf(r.Context()).Base:
		return nil
	}
	return &problem{status: http.StatusForbidden, code: "cross-site", detail: "a page of another site sent this " +
		"form, or a proxy changed the Host header or did not send X-Forwarded-Proto"}
}

// readForm reads the form in the body of r. Each field may occur once.
func readForm(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return &problem{status: http.StatusUnsupportedMediaType, code: "media-type",
			detail: "the body must be application/x-www-form-urlencoded"}
	}
	if err := r.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return &problem{status: http.StatusRequestEntityTooLarge, code: "too-large",
				detail: "the form may have at most 16 KiB"}
		}
		return malformed("the form cannot be read")
	}
	for _, values := range r.PostForm {
		if len(values) != 1 {
			return malformed("a field of the form occurs twice")
		}
	}
	return nil
}

// checkForm reads a form that changes something. It returns the session of the visitor and its
// token, or an error if the form does not come from a page that this server made for this session.
func (s *Server) checkForm(r *http.Request) (in session, token string, err error) {
	if err := s.checkOrigin(r); err != nil {
		return in, "", err
	}
	if err := readForm(r); err != nil {
		return in, "", err
	}
	in, token, ok := s.session(r)
	switch {
	case !ok:
		return in, "", &problem{status: http.StatusForbidden, code: codeLogin,
			detail: "you are not logged in, or your session has ended; log in and send the form again"}
	case subtle.ConstantTimeCompare([]byte(r.PostForm.Get("token")), []byte(in.form)) != 1:
		return in, "", &problem{status: http.StatusForbidden, code: "token",
			detail: "this form belongs to another session; load its page again and submit it from there"}
	}
	return in, token, nil
}

// loginForm is what the template login.html shows.
type loginForm struct{ Problem, Next, User string }

func (s *Server) loginPage(w http.ResponseWriter, r *http.Request) error {
	return s.o.Frame.Write(w, r, http.StatusOK, "login.html", "Log in",
		loginForm{Next: localPath(r.URL.Query().Get("next"))})
}

// localPath returns next if it is a path of this server, otherwise "/".
func localPath(next string) string {
	if len(next) > 1 && next[0] == '/' && next[1] != '/' &&
		!strings.ContainsFunc(next, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' }) {
		return next
	}
	return "/"
}

// login starts a session. A failed login counts against the limit of the client before the password
// is checked, so that simultaneous attempts do not exceed it.
func (s *Server) login(w http.ResponseWriter, r *http.Request) error {
	if err := s.checkOrigin(r); err != nil {
		return err
	}
	if err := readForm(r); err != nil {
		return err
	}
	if _, safe := s.cookie(r, ""); !safe {
		return &problem{status: http.StatusForbidden, code: "insecure",
			detail: "a login needs https, because others could read the password"}
	}
	client := s.client(r)
	if wait := s.limits.tryLogin(client); wait > 0 {
		return tooMany(wait, "too many logins of this client failed")
	}
	user := r.PostForm.Get("user")
	in, err := s.authenticate(r, user, r.PostForm.Get("password"))
	if p, wrong := errors.AsType[*problem](err); wrong {
		if err := s.record(r, Entry{What: FailedLogin}, in); err != nil {
			s.failed(err)
		}
		noteCode(w, p.code)
		return s.o.Frame.Write(w, r, p.status, "login.html", "Log in",
			loginForm{Problem: display.Sentence(p.detail), Next: localPath(r.PostForm.Get("next")), User: user})
	}
	s.limits.loginWorked(client)
	if err == nil {
		err = s.record(r, Entry{What: Login}, in)
	}
	if err != nil {
		return err
	}
	if _, old, ok := s.session(r); ok {
		s.sessions.close(old)
	}
	c, _ := s.cookie(r, s.sessions.open(in))
	http.SetCookie(w, c)
	redirect(w, localPath(r.PostForm.Get("next")), http.StatusSeeOther)
	return nil
}

// redirect redirects to a path of this server as it is. http.Redirect would change slashes and dots in it, also those
// of an address that it contains.
func redirect(w http.ResponseWriter, path string, status int) {
	w.Header().Set("Location", path)
	w.WriteHeader(status)
}

// authenticate returns a session for the user. A wrong name or password is the same *problem; the
// session then only says which role the client asked for.
func (s *Server) authenticate(r *http.Request, user, password string) (in session, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	wrong := &problem{status: http.StatusForbidden, code: actions.BadCredential,
		detail: "user name or password is wrong"}
	in.role = view.Publisher
	if user == operatorName {
		in.role = view.Operator
		switch ok, err := s.passwords.admits(ctx, password); {
		case err != nil:
			return in, err
		case !ok:
			return in, wrong
		}
		in.name = operatorName
		return in, nil
	}
	if password == "" || len(password) > maxToken || !printable(password) {
		return in, wrong
	}
	a, err := s.o.Backend.Answer(ctx, actions.Call{Do: actions.DoIdentify, Token: password})
	switch {
	case err != nil:
		return in, err
	case a.Code == actions.BadCredential:
		return in, wrong
	case a.Code != "" || a.Credential == nil:
		return in, errors.New("the credential of a publisher could not be checked")
	case user != publisherName && user != a.Credential.Name:
		return in, wrong
	}
	in.name, in.access = a.Credential.Name, password
	return in, nil
}

// logout ends the session.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) error {
	in, token, err := s.checkForm(r)
	if err != nil {
		return err
	}
	s.sessions.close(token)
	if err := s.record(r, Entry{What: Logout}, in); err != nil {
		s.failed(err)
	}
	c, _ := s.cookie(r, "")
	http.SetCookie(w, c)
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}
