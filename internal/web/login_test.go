package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

const password = "kelp and limpets"

// office is a Server with logins, without a listener.
type office struct {
	*backend
	*Server
	audit string
	clock *wall
}

// wall is a clock that a test sets.
type wall struct {
	mu sync.Mutex
	at time.Time
}

func (c *wall) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *wall) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newOffice(t *testing.T, o Options) *office {
	t.Helper()
	frame, err := view.NewFrame()
	if err != nil {
		t.Fatal(err)
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	f := &office{backend: &backend{keys: map[string]actions.Call{}},
		clock: &wall{at: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}, audit: filepath.Join(t.TempDir(), "audit.jsonl")}
	o.Backend, o.Frame, o.Password, o.Audit, o.Now = f, frame, string(hash), NewAudit(f.audit), f.clock.now
	o.Hosts = []string{"archive.example"}
	o.Failed = func(err error) { t.Error(err) }
	if o.Readers == nil {
		o.Readers = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			who := view.VisitorOf(r.Context())
			_, _ = io.WriteString(w, string(who.Role)+" "+who.Name+" "+r.Header.Get("Cookie")+
				r.Header.Get("Authorization"))
		})
	}
	f.Server = New(o)
	for _, name := range []string{"archive.example", "localhost"} {
		f.public.names[name] = true
	}
	return f
}

// Answer is the ledger: the operator and two credentials.
func (f *office) Answer(_ context.Context, c actions.Call) (actions.Answer, error) {
	f.mu.Lock()
	f.calls = append(f.calls, c)
	answer := f.answer
	f.mu.Unlock()
	if answer != nil {
		return answer(c)
	}
	name := map[string]string{good: "newsdesk", other: "reef"}[c.Token]
	switch {
	case c.As == actions.AsCredential && name == "":
		return actions.Answer{Code: actions.BadCredential, Why: "the credential is not valid"}, nil
	case c.Do == actions.DoIdentify:
		return actions.Answer{Credential: &actions.Credential{Name: name}}, nil
	case c.Do == actions.DoList:
		return actions.Answer{Requests: []actions.Request{{ID: 7, Action: "take-down",
			URL: "https://quay.example/<x>"}}}, nil
	case c.Do == actions.DoReceipt:
		return actions.Answer{Receipt: []byte(`{"url":"a&b"}`)}, nil
	case c.URL == "https://quay.example/*":
		return actions.Answer{Code: actions.BadURL, Why: "the URL does not name one page"}, nil
	case c.Do == actions.DoPreview:
		return actions.Answer{Request: &actions.Request{Action: c.Action, URL: c.URL},
			Holding: &actions.Holding{Versions: 5, First: f.clock.now().Add(-48 * time.Hour), Last: f.clock.now()}}, nil
	case c.ID == 404:
		return actions.Answer{Code: actions.NotFound, Why: "there is no request 404"}, nil
	}
	return actions.Answer{Request: &actions.Request{ID: 7, Action: "take-down", URL: "https://quay.example/x",
		Standing: true, State: actions.Done, Done: f.clock.now(),
		From: actions.Source{Kind: actions.Channel, Credential: "newsdesk"}}}, nil
}

// changes returns the calls so far that change the ledger.
func (f *office) changes() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.Do == actions.DoSubmit || c.Do == actions.DoWithdraw {
			n++
		}
	}
	return n
}

// browser sends requests like a browser: with cookies, and with the headers that name the origin of
// a form.
type browser struct {
	t      *testing.T
	office *office
	base   string
	client string
	jar    map[string]string
	header map[string]string // replaces headers; "" removes one
}

func (f *office) browser(t *testing.T, base string) *browser {
	return &browser{t: t, office: f, base: base, client: "192.0.2.1:1234", jar: map[string]string{}}
}

func (b *browser) do(method, path string, form url.Values) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, b.base+path, strings.NewReader(form.Encode()))
	r.RequestURI, r.RemoteAddr = path, b.client
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.base)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for name, value := range b.jar {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	for name, value := range b.header {
		if r.Header.Del(name); name == "Host" {
			r.Host = value
		} else if value != "" {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	b.office.public.Handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if b.jar[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.jar, c.Name)
		}
	}
	return w
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]+)"`)

// formToken returns the token of the forms on the page of requests.
func (b *browser) formToken() string {
	b.t.Helper()
	found := tokenField.FindStringSubmatch(b.do("GET", "/requests", nil).Body.String())
	if found == nil {
		b.t.Fatal("the page has no form")
	}
	return found[1]
}

func (b *browser) login(user, password string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.do("POST", "/login", url.Values{"user": {user}, "password": {password}, "next": {"/requests"}})
}

func submission7(token string) url.Values {
	return url.Values{"token": {token}, "key": {"k"}, "action": {"take-down"}, "url": {"https://quay.example/x"},
		"confirmed": {"yes"}}
}

// TestLogin checks who can log in, with which rights, and that a session ends.
func TestLogin(t *testing.T) {
	f := newOffice(t, Options{})
	for _, c := range []struct {
		user, password string
		who            string // role and name; empty: the login fails
	}{
		{"operator", password, "operator operator"},
		{"publisher", good, "publisher newsdesk"},
		{"newsdesk", good, "publisher newsdesk"},
		{"reef", other, "publisher reef"},
		{"reef", good, ""},
		{"operator", good, ""},
		{"operator", "", ""},
		{"publisher", password, ""},
		{"", password, ""},
	} {
		b := f.browser(t, "http://localhost")
		b.client = c.user + ":1" // each with failures of its own
		w := b.login(c.user, c.password)
		if c.who == "" {
			if w.Code != 403 || len(b.jar) != 0 || strings.TrimSpace(b.do("GET", "/", nil).Body.String()) != "" {
				t.Errorf("%s: %d %s", c.user, w.Code, w.Body)
			}
			continue
		}
		if w.Code != 303 || w.Header().Get("Location") != "/requests" {
			t.Errorf("%s: %d %v", c.user, w.Code, w.Header())
		}
		// neither cookie nor token goes on to what answers readers
		if got := strings.TrimSpace(b.do("GET", "/", nil).Body.String()); got != c.who {
			t.Errorf("%s: %q", c.user, got)
		}
		b.do("POST", "/logout", url.Values{"token": {b.formToken()}})
		if got := b.do("GET", "/", nil).Body.String(); strings.TrimSpace(got) != "" || len(b.jar) != 0 {
			t.Errorf("%s after logout: %q", c.user, got)
		}
	}
	b := f.browser(t, "http://localhost")
	b.login("operator", password)
	f.clock.pass(sessionTime)
	if got := b.do("GET", "/", nil).Body.String(); strings.TrimSpace(got) != "" {
		t.Errorf("after %s: %q", sessionTime, got)
	}
}

// TestCookie checks the attributes of the cookie with TLS, behind a proxy and on loopback, and that
// there is no login where others could read the password.
func TestCookie(t *testing.T) {
	f := newOffice(t, Options{Trusted: nil})
	const strict = "; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"
	const secure = "; Path=/; Max-Age=43200; HttpOnly; Secure; SameSite=Strict"
	for _, c := range []struct{ base, name, attributes string }{
		{"https://archive.example", "__Host-acapcrawl", secure},
		{"https://localhost", "__Host-acapcrawl", secure},
		{"http://localhost", "acapcrawl", strict},
		{"http://archive.example", "", ""},
	} {
		w := f.browser(t, c.base).login("operator", password)
		name, rest, _ := strings.Cut(w.Header().Get("Set-Cookie"), "=")
		value, attributes, _ := strings.Cut(rest, "; ")
		if c.name == "" {
			if w.Code != 403 || name != "" {
				t.Errorf("%s: %d %s", c.base, w.Code, name)
			}
			continue
		}
		if name != c.name || "; "+attributes != c.attributes || len(value) != 43 {
			t.Errorf("%s: %s", c.base, w.Header().Get("Set-Cookie"))
		}
	}
	// a cookie without the prefix could be set by another host, and is not read with TLS
	b := f.browser(t, "http://localhost")
	b.login("operator", password)
	b.base = "https://localhost"
	if got := b.do("GET", "/", nil).Body.String(); strings.Contains(got, "operator") {
		t.Error(got)
	}
}

// TestSessionFixation checks that a login never takes over a token that the browser sent, and that
// the former session of the browser ends.
func TestSessionFixation(t *testing.T) {
	f := newOffice(t, Options{})
	b := f.browser(t, "http://localhost")
	b.jar[plainCookie] = "chosen-by-another"
	b.login("publisher", good)
	first := b.jar[plainCookie]
	if first == "" || first == "chosen-by-another" {
		t.Fatalf("%q", first)
	}
	b.login("operator", password)
	if second := b.jar[plainCookie]; second == first || second == "" {
		t.Fatalf("%q", second)
	}
	for _, stale := range []string{first, "chosen-by-another", ""} {
		b.jar[plainCookie] = stale
		if got := b.do("GET", "/", nil).Body.String(); strings.TrimSpace(got) != "" {
			t.Errorf("%q: %q", stale, got)
		}
	}
}

// TestBruteForce checks that the eleventh failure of a client within a minute gets status 429, also
// if all arrive at once, and that other clients and successful logins are not limited.
func TestBruteForce(t *testing.T) {
	f := newOffice(t, Options{})
	for range 30 {
		if w := f.browser(t, "http://localhost").login("operator", password); w.Code != 303 {
			t.Fatalf("a right password: %d", w.Code)
		}
	}
	codes := make(chan int, 40)
	for range cap(codes) {
		go func() { codes <- f.browser(t, "http://localhost").login("operator", "wrong").Code }()
	}
	n := map[int]int{}
	for range cap(codes) {
		n[<-codes]++
	}
	if n[403] != 10 || n[429] != 30 {
		t.Errorf("%v", n)
	}
	w := f.browser(t, "http://localhost").login("operator", password)
	if w.Code != 429 || w.Header().Get("Retry-After") != "60" || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	far := f.browser(t, "http://localhost")
	far.client = "192.0.2.2:1"
	if w := far.login("operator", password); w.Code != 303 {
		t.Errorf("another client: %d", w.Code)
	}
	for _, c := range []struct {
		wait   time.Duration
		status int
	}{{59 * time.Second, 429}, {time.Second, 303}} {
		f.clock.pass(c.wait)
		if w := f.browser(t, "http://localhost").login("operator", password); w.Code != c.status {
			t.Errorf("%s later: %d", c.wait, w.Code)
		}
	}
	for i := range 20 { // one each 5 s: within any minute at most ten are answered
		f.clock.pass(5 * time.Second)
		want := 403
		if i%12 >= 10 {
			want = 429
		}
		if w := f.browser(t, "http://localhost").login("operator", "wrong"); w.Code != want {
			t.Errorf("failure %d: %d", i, w.Code)
		}
	}
}

// TestLockOut checks that requests which other sites can make a browser send do not count as failed logins of its
// address.
func TestLockOut(t *testing.T) {
	f := newOffice(t, Options{})
	b := f.browser(t, "http://localhost")
	b.header = map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
	for range 2 * mostFails {
		if w := b.do("POST", "/api/v1/requests", url.Values{}); w.Code != 401 {
			t.Fatal(w.Code)
		}
		if w := b.do("POST", "/login", url.Values{"user": {"operator"}, "password": {"wrong"}}); w.Code != 403 {
			t.Fatal(w.Code)
		}
	}
	b.header = nil
	if w := b.login("operator", password); w.Code != 303 {
		t.Errorf("a login: %d", w.Code)
	}
}

// TestCSRF checks that forms change something only if they come from a page of this server with the
// token of the session.
func TestCSRF(t *testing.T) {
	f := newOffice(t, Options{})
	b := f.browser(t, "http://localhost")
	b.login("operator", password)
	token := b.formToken()
	stranger := f.browser(t, "http://localhost")
	stranger.login("reef", other)
	other := stranger.formToken()
	for _, path := range []string{"/requests", "/requests/7/withdraw", "/logout"} {
		for name, c := range map[string]struct {
			token  string
			header map[string]string
		}{
			"another site": {token,
				map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}},
			"another port": {token,
				map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:1"}},
			"an old browser":        {token, map[string]string{"Sec-Fetch-Site": "", "Origin": "https://evil.example"}},
			"a sandboxed frame":     {token, map[string]string{"Sec-Fetch-Site": "", "Origin": "null"}},
			"no origin":             {token, map[string]string{"Sec-Fetch-Site": "", "Origin": ""}},
			"no token":              {"", nil},
			"the token of another":  {other, nil},
			"the beginning":         {token[:20], nil},
			"a text that any sends": {token, map[string]string{"Content-Type": "text/plain"}},
			"another host":          {token, map[string]string{"Host": "evil.example"}},
		} {
			b.header = c.header
			if w := b.do("POST", path, submission7(c.token)); w.Code < 400 || w.Code >= 500 {
				t.Errorf("%s: %s: %d", path, name, w.Code)
			}
		}
		b.header = nil
		if w := b.do("POST", path+"?token="+token, submission7("")); w.Code != 403 {
			t.Errorf("%s: the token in the address: %d", path, w.Code)
		}
	}
	evil := f.browser(t, "http://localhost")
	evil.header = map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
	if w := evil.login("reef", other); w.Code != 403 || len(evil.jar) != 0 { // login of another as the victim
		t.Errorf("a login from another site: %d", w.Code)
	}
	if n := f.changes(); n != 0 {
		t.Fatalf("%d changes", n)
	}
	b.header = map[string]string{"Sec-Fetch-Site": ""} // a browser that sends only Origin
	if w := b.do("POST", "/requests", submission7(token)); w.Code != 303 ||
		w.Header().Get("Location") != "/requests/7" || f.changes() != 1 {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// TestReadersForms checks that forms of other sites to readers' routes, which change nothing, are answered by the
// handler of readers.
func TestReadersForms(t *testing.T) {
	f := newOffice(t, Options{})
	b := f.browser(t, "http://localhost")
	b.login("operator", password)
	b.header = map[string]string{"Sec-Fetch-Site": "cross-site"}
	for _, path := range []string{"/explain", "/api/v1/decide", "/search", "/nowhere"} {
		if w := b.do("POST", path, url.Values{"robots": {"x"}}); w.Code != 200 || f.changes() != 0 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestRebinding checks that a page that reaches this server under a name of its own gets nothing,
// with a session or without.
func TestRebinding(t *testing.T) {
	f := newOffice(t, Options{})
	b := f.browser(t, "http://localhost")
	b.login("operator", password)
	for _, host := range []string{"evil.example", "evil.example:80", "localhost.evil.example", "192.0.2.9", "",
		"archive.example.evil.example"} {
		b.header = map[string]string{"Host": host}
		for _, path := range []string{"/", "/requests", "/login", "/audit", "/api/v1/key"} {
			if w := b.do("GET", path, nil); w.Code != 421 || strings.Contains(w.Body.String(), "operator") {
				t.Errorf("%q %s: %d %s", host, path, w.Code, w.Body)
			}
		}
	}
	b.header = map[string]string{"Host": "archive.example."}
	if w := b.do("GET", "/", nil); w.Code != 200 {
		t.Errorf("with a final dot: %d", w.Code)
	}
}

// TestAbsoluteTarget checks that a request target in absolute form, which every server must accept (RFC 9112
// 3.2.2), leads to the same page as its path, and that its host counts.
func TestAbsoluteTarget(t *testing.T) {
	f := newOffice(t, Options{})
	for target, leads := range map[string]bool{
		"http://localhost/login": true, "HTTP://localhost/login": true, "https://LOCALHOST/login?x=http://y/": true,
		"http://user@localhost/login": true, "http://localhost//login": false, "http://evil.example/login": false,
		"/x?y=http://localhost/login": false,
	} {
		r := httptest.NewRequest("GET", target, nil)
		if target[0] == '/' {
			r.Host = "localhost"
		}
		w := httptest.NewRecorder()
		f.public.Handler.ServeHTTP(w, r)
		if got := w.Code == 200 && strings.Contains(w.Body.String(), `name="password"`); got != leads {
			t.Errorf("%s: status %d, %.80s", target, w.Code, w.Body)
		}
	}
}

// TestRequestsAPI checks with which rights the API reads requests: those of the token, otherwise those of the session
// or of everybody. A session alone changes nothing.
func TestRequestsAPI(t *testing.T) {
	for _, login := range []bool{false, true} {
		f := newOffice(t, Options{LoginToRead: login})
		anyone, operator := f.browser(t, "http://localhost"), f.browser(t, "http://localhost")
		operator.login("operator", password)
		for _, path := range []string{"/api/v1/requests", "/api/v1/requests/7", "/api/v1/requests/7/receipt"} {
			status := 200
			if login {
				status = 401
			}
			for _, c := range []struct {
				b      *browser
				token  string
				status int
				as     actions.Caller
			}{{anyone, "", status, actions.AsAnyone}, {operator, "", 200, actions.AsOperator},
				{operator, good, 200, actions.AsCredential}, {operator, "acap_wrong", 401, actions.AsCredential}} {
				if c.b.header = nil; c.token != "" {
					c.b.header = map[string]string{"Authorization": "Bearer " + c.token}
				}
				before := len(f.calls)
				w := c.b.do("GET", path, nil)
				asked := len(f.calls) > before
				if w.Code != c.status || asked && f.calls[len(f.calls)-1].As != c.as || !asked && c.status == 200 {
					t.Errorf("login %t, %s with %q as %s: %d %v", login, path, c.token, c.as, w.Code, f.calls[before:])
				}
			}
		}
		operator.header = nil
		for _, method := range []string{"POST", "DELETE"} {
			if w := operator.do(method, "/api/v1/requests/7", nil); w.Code != 401 && w.Code != 405 || f.changes() != 0 {
				t.Errorf("%s with a session: %d", method, w.Code)
			}
		}
	}
}

// TestRequestPages checks what the pages of requests show and with which rights they ask the
// ledger.
func TestRequestPages(t *testing.T) {
	f := newOffice(t, Options{})
	anyone, operator, publisher := f.browser(t, "http://localhost"), f.browser(t, "http://localhost"),
		f.browser(t, "http://localhost")
	operator.login("operator", password)
	publisher.login("publisher", good)
	for name, c := range map[string]struct {
		b     *browser
		as    actions.Caller
		token string
		form  bool
	}{
		"anyone":    {anyone, actions.AsAnyone, "", false},
		"operator":  {operator, actions.AsOperator, "", true},
		"publisher": {publisher, actions.AsCredential, good, true},
	} {
		for _, path := range []string{"/requests", "/requests/7"} {
			w := c.b.do("GET", path, nil)
			body := w.Body.String()
			if w.Code != 200 || !strings.Contains(body, "https://quay.example/") || strings.Contains(body, "<x>") ||
				strings.Contains(body, `name="token"`) != c.form || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s: %d %s", name, path, w.Code, body)
			}
			if strings.Contains(body, "Withdraw request 7") != (c.form && path != "/requests") {
				t.Errorf("%s %s: withdraw: %s", name, path, body)
			}
			if last := f.calls[len(f.calls)-1]; last.As != c.as || last.Token != c.token {
				t.Errorf("%s %s: asked as %q with %q", name, path, last.As, last.Token)
			}
		}
		if w := c.b.do("GET", "/requests/7/receipt", nil); c.form && w.Body.String() != "{\"url\":\"a&b\"}\n" {
			t.Errorf("%s: receipt: %d %s", name, w.Code, w.Body)
		}
		want := map[string]int{"anyone": 303, "operator": 200, "publisher": 403}[name]
		if w := c.b.do("GET", "/audit", nil); w.Code != want ||
			want == 303 && w.Header().Get("Location") != "/login?next=%2Faudit" {
			t.Errorf("%s: audit: %d %v", name, w.Code, w.Header())
		}
	}
	for path, want := range map[string]int{"/requests/404": 404, "/requests/x": 404, "/requests/07": 404,
		"/requests/7/x": 404, "/requests?before=x": 400, "/requests?page=2": 400, "/requests?url=a&url=b": 400,
		"/requests?before=9&url=x": 200, "/requests/": 404, "/requests/7/": 404, "/requests/7/receipt/": 404} {
		w := operator.do("GET", path, nil)
		if w.Code != want || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		if want != 200 && strings.Contains(w.Body.String(), http.StatusText(want)) { // a random token may contain "OK"
			t.Errorf("%s: the title is that of the status: %s", path, w.Body)
		}
	}
	wild := submission7(operator.formToken())
	wild.Set("url", "https://quay.example/*")
	if w := operator.do("POST", "/requests", wild); w.Code != 422 ||
		!strings.Contains(w.Body.String(), "does not name one page") ||
		!strings.Contains(w.Body.String(), `value="https://quay.example/*"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	f.answer = func(actions.Call) (actions.Answer, error) { // the credential is revoked
		return actions.Answer{Code: actions.BadCredential, Why: "the credential is not valid"}, nil
	}
	if w := publisher.do("GET", "/requests", nil); w.Code != 403 {
		t.Errorf("revoked: %d", w.Code)
	}
	if got := publisher.do("GET", "/", nil).Body.String(); strings.TrimSpace(got) != "" {
		t.Errorf("revoked: %q", got)
	}
}

// TestGetChangesNothing sends GET and HEAD to every route as the operator.
func TestGetChangesNothing(t *testing.T) {
	f := newOffice(t, Options{})
	b := f.browser(t, "http://localhost")
	b.login("operator", password)
	token := b.formToken()
	query := "?" + submission7(token).Encode()
	before, err := os.ReadFile(f.audit)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/login", "/logout", "/requests", "/requests/7", "/requests/7/withdraw",
		"/requests/7/receipt", "/audit", "/api/v1/requests", "/api/v1/requests/7", "/explain", "/"} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE"} {
			b.do(method, path, nil)
			b.do(method, path+query, nil)
		}
	}
	after, err := os.ReadFile(f.audit)
	if err != nil || string(after) != string(before) || f.changes() != 0 || b.formToken() != token {
		t.Errorf("%d changes, %v, %s", f.changes(), err, after)
	}
	if w := b.do("GET", "/logout", nil); w.Code != 405 || w.Header().Get("Allow") != "POST" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// TestLoginToRead checks serve.readers: login.
func TestLoginToRead(t *testing.T) {
	f := newOffice(t, Options{LoginToRead: true, Key: []byte(`{}`)})
	b := f.browser(t, "http://localhost")
	b.header = map[string]string{"Accept": "text/html,*/*;q=0.8"}
	for path, want := range map[string]int{"/": 303, "/raw/20260301000000/http://quay.example//x?a=b": 303,
		"/requests": 303, "/requests/": 303,
		"/api/v1/search?q=x": 303, "/login": 200, "/robots.txt": 200, "/api/v1/key": 200, "/assets/none": 200} {
		if w := b.do("GET", path, nil); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	w := b.do("GET", "/raw/20260301000000/http://quay.example//x?a=b", nil)
	next, err := url.Parse(w.Header().Get("Location"))
	if err != nil || next.Query().Get("next") != "/raw/20260301000000/http://quay.example//x?a=b" {
		t.Errorf("%v, %v", next, err)
	}
	if w := b.do("POST", "/explain", url.Values{}); w.Code != 401 {
		t.Errorf("POST: %d", w.Code)
	}
	program := f.browser(t, "http://localhost")
	for token, want := range map[string]int{good: 200, "acap_wrong": 401} {
		program.header = map[string]string{"Authorization": "Bearer " + token}
		for _, path := range []string{"/api/v1/search?q=x", "/cdx?url=x", "/timegate/http://quay.example/",
			"/openapi.json",
			"/raw/20260301000000/http://quay.example/", "/feed.atom?q=x"} {
			w := program.do("GET", path, nil)
			if w.Code != want || (want == 401) != (w.Header().Get("WWW-Authenticate") != "") {
				t.Errorf("%s, %s: %d %v", path, token, w.Code, w.Header())
			}
		}
	}
	program.header = nil
	if w := program.do("GET", "/search", nil); w.Code != 303 {
		t.Errorf("a page, for a client that accepts anything: %d", w.Code)
	}
	b.login("publisher", good)
	if w := b.do("GET", "/", nil); w.Code != 200 {
		t.Errorf("logged in: %d", w.Code)
	}
	f.answer = func(actions.Call) (actions.Answer, error) {
		return actions.Answer{Code: actions.BadCredential, Why: "the credential is not valid"}, nil
	}
	f.clock.pass(credentialTime)
	if w := b.do("GET", "/", nil); w.Code != 303 {
		t.Errorf("after the credential was revoked: %d", w.Code)
	}
}

// TestNext checks that a login never redirects to another site.
func TestNext(t *testing.T) {
	for next, want := range map[string]string{"/requests": "/requests",
		"/copy/2/http://a.example//b": "/copy/2/http://a.example//b",
		"":                            "/", "//evil.example": "/", "/\\evil.example": "/", "https://evil.example": "/",
		"/\t/evil.example":     "/",
		"/a/../\\evil.example": "/", "/./\\evil.example": "/",
		"/copy/2/http://a.example/%5C": "/copy/2/http://a.example/%5C",
		"/a\r\nSet-Cookie: x":          "/"} {
		if got := localPath(next); got != want {
			t.Errorf("%q: %q", next, got)
		}
	}
}
