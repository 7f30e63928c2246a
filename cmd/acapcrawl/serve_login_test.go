package main

import (
	"encoding/json"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
)

const operatorPassword = "kelp and limpets"

// startGuarded starts serve with a password of the operator.
func startGuarded(t *testing.T, data, settings string) (s *serving, end func() int) {
	t.Helper()
	return startServe(t, data, "--config", guardedSettings(t, settings))
}

// guardedSettings returns the name of a configuration file with a password of the operator, and with more settings
// below serve.
func guardedSettings(t *testing.T, settings string) string {
	t.Helper()
	var hash strings.Builder
	c := Command{Stdin: strings.NewReader(operatorPassword + "\n"), Stdout: &hash, Stderr: io.Discard}
	if status := c.Main(t.Context(), []string{"serve", "password"}); status != statusDone {
		t.Fatal(status)
	}
	file := filepath.Join(t.TempDir(), "c.yaml")
	text := "serve:\n  operator_password: '" + strings.TrimSpace(hash.String()) + "'\n" + settings
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// person returns a browser with cookies of its own.
func (s *serving) person(t *testing.T) *serving {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &serving{at: s.at, client: &http.Client{Jar: jar, Transport: s.client.Transport}}
}

// post sends a form, follows the redirect, and returns the status, path and text of the page.
func (s *serving) post(t *testing.T, path string, form url.Values) (status int, at, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.at+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", s.at)
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Request.URL.Path, string(page)
}

func (s *serving) login(t *testing.T, user, password string) {
	t.Helper()
	status, at, text := s.post(t, "/login", url.Values{"user": {user}, "password": {password}, "next": {"/requests"}})
	if status != 200 || at != "/requests" {
		t.Fatalf("login of %s: %d %s %s", user, status, at, text)
	}
}

var hidden = regexp.MustCompile(`type="hidden" name="([a-z]+)" value="([^"]+)"`)

// form returns the hidden fields of the page of requests.
func (s *serving) form(t *testing.T, action, address string) url.Values {
	t.Helper()
	out := url.Values{"action": {action}, "url": {address}}
	for _, field := range hidden.FindAllStringSubmatch(s.text(t, "/requests"), -1) {
		out.Set(field[1], field[2])
	}
	return out
}

// takeDown submits a take-down that erases a number of versions, and confirms it. It returns the status, path and
// text of the last page.
func (s *serving) takeDown(t *testing.T, address string, versions int) (status int, at, text string) {
	t.Helper()
	status, at, text = s.post(t, "/requests", s.form(t, "take-down", address))
	if said := strings.Contains(text, several(versions, "version")+" of this page"); status != 200 ||
		at != "/requests" || said != (versions > 0) || !strings.Contains(text, address) {
		t.Fatalf("the page to confirm the take-down of %s: %d %s %s", address, status, at, text)
	}
	confirmed := url.Values{}
	_, text, _ = strings.Cut(text, "<main")
	for _, field := range hidden.FindAllStringSubmatch(text, -1) {
		confirmed.Set(field[1], html.UnescapeString(field[2]))
	}
	return s.post(t, "/requests", confirmed)
}

// TestTakeDownInBrowser lets the operator log in, take a page down and withdraw that, and checks that the page
// disappears from every route at once.
func TestTakeDownInBrowser(t *testing.T) {
	t.Parallel()
	site, data := crawled(t, "/a.html", "/big.html")
	page := site.URL + "/a.html"
	s, end := startGuarded(t, data, "")
	operator := s.person(t)
	var moved string
	s.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		moved = r.URL.Opaque + r.URL.Path
		return http.ErrUseLastResponse
	}
	if status := s.read(t, "/timegate/"+page, io.Discard); status != http.StatusFound {
		t.Fatal(status)
	}
	stamp := regexp.MustCompile(`\d{14}`).FindString(moved)
	pages := []string{"/versions/" + page, "/raw/" + stamp + "/" + page, "/copy/" + stamp + "/" + page,
		"/timegate/" + page, "/timemap/link/" + page, "/timemap/json/" + page,
		"/api/v1/show?url=" + url.QueryEscape(page)}
	lists := []string{"/search?q=gull", "/feed.atom?q=gull", "/api/v1/search?q=gull",
		"/cdx?url=" + url.QueryEscape(page)}
	for _, path := range pages {
		if status := s.read(t, path, io.Discard); status >= 400 {
			t.Errorf("before: %s: %d", path, status)
		}
	}
	for _, path := range lists {
		if !strings.Contains(s.text(t, path), page) {
			t.Errorf("before: %s lists the page not", path)
		}
	}
	operator.login(t, "operator", operatorPassword)
	status, at, text := operator.takeDown(t, page, 1)
	if status != 200 || !strings.HasPrefix(at, "/requests/") || !strings.Contains(text, page) ||
		!strings.Contains(text, "1 version</dd>") {
		t.Fatalf("%d %s %s", status, at, text)
	}
	for _, path := range pages {
		if status := s.read(t, path, io.Discard); status != http.StatusGone {
			t.Errorf("%s: %d", path, status)
		}
	}
	for _, path := range lists {
		if strings.Contains(s.text(t, path), page) {
			t.Errorf("%s lists the page", path)
		}
	}
	for _, path := range []string{"/requests", at} { // no line of robots.txt makes this request public
		var out strings.Builder
		if s.read(t, path, &out); strings.Contains(out.String(), page) {
			t.Errorf("%s shows everybody the page", path)
		}
	}
	if said := call(t.Context(), data, "actions", "run"); said.status != statusDone { // compacts the files
		t.Errorf("%+v", said)
	}
	if status := operator.read(t, at+"/receipt", io.Discard); status != 200 {
		t.Errorf("the receipt: %d", status)
	}
	operator.keepsLedger(t, data, at, append(pages, lists...))
	if _, _, text := operator.takeDown(t, site.URL+"/never.html", 0); !strings.Contains(text,
		"Nothing was archived at this address.") {
		t.Error(text)
	}
	status, _, text = operator.post(t, at+"/withdraw", operator.form(t, "", ""))
	if status != 200 || !strings.Contains(text, "<dt>Blocks the page</dt><dd>no</dd>") {
		t.Errorf("withdrawn: %d %s", status, text)
	}
	log, err := os.ReadFile(filepath.Join(data, auditFile))
	if err != nil || strings.Count(string(log), "\n") != 4 || strings.Contains(string(log), operatorPassword) {
		t.Errorf("%s, %v", log, err)
	}
	if status := end(); status != statusDone {
		t.Error(status)
	}
}

// keepsLedger sends GET to all routes, and checks that the requests in the ledger stay the same.
func (s *serving) keepsLedger(t *testing.T, data, at string, more []string) {
	t.Helper()
	ledger := func() string {
		said := call(t.Context(), data, "actions", "ls", "--json")
		var list []struct {
			ID       int
			URL      string
			Standing bool
		}
		if err := json.Unmarshal([]byte(said.stdout), &list); err != nil {
			t.Fatalf("%+v, %v", said, err)
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := ledger()
	fields := "?" + s.form(t, "take-down", "http://quay.example/x").Encode()
	for _, path := range append([]string{"/", "/login", "/logout", "/requests", at, at + "/withdraw", at + "/receipt",
		"/audit", "/sites", "/docs", "/openapi.json", "/explain", "/api/v1/requests", "/api/v1/decide"}, more...) {
		s.read(t, path, io.Discard)
		if !strings.Contains(path, "?") {
			s.read(t, path+fields, io.Discard)
		}
	}
	if after := ledger(); after != before {
		t.Errorf("%s\nwas\n%s", after, before)
	}
}

// TestPublisherInBrowser lets a publisher log in and submit requests, also while another process has the data
// directory open. It sees only its own requests.
func TestPublisherInBrowser(t *testing.T) {
	t.Parallel()
	site, data := crawled(t, "/a.html", "/big.html")
	made := call(t.Context(), data, "actions", "credentials", "add", "--json", "--name", "newsdesk",
		strings.TrimSuffix(site.URL, "/"))
	var credential struct{ Token string }
	if err := json.Unmarshal([]byte(made.stdout), &credential); err != nil || credential.Token == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	s, end := startGuarded(t, data, "  readers: login\n")
	operator, publisher := s.person(t), s.person(t)
	operator.login(t, "operator", operatorPassword)
	publisher.login(t, "newsdesk", credential.Token)
	if status, _, text := publisher.takeDown(t, site.URL+"/a.html", 1); status != 200 ||
		!strings.Contains(text, "<dt>Requested by</dt><dd>newsdesk</dd>") {
		t.Errorf("%d %s", status, text)
	}
	_, elsewhere, _ := operator.takeDown(t, "http://reef.example/x", 0)
	if status := publisher.read(t, elsewhere, io.Discard); status != http.StatusNotFound {
		t.Errorf("a request for another site: %d", status)
	}
	down := publisher.form(t, "take-down", "http://reef.example/x")
	if status, _, text := publisher.post(t, "/requests", down); status != 403 ||
		!strings.Contains(text, "not for http://reef.example") {
		t.Errorf("%d %s", status, text)
	}
	if status, _, _ := publisher.post(t, elsewhere+"/withdraw", down); status != http.StatusNotFound {
		t.Errorf("withdrawing a request for another site: %d", status)
	}

	d, done := own(t, data, "crawl")
	d.serve()
	status, at, text := operator.takeDown(t, site.URL+"/big.html", 1)
	if status != 200 || !strings.Contains(text, "<dt>Requested by</dt><dd>the operator</dd>") {
		t.Errorf("through another process: %d %s", status, text)
	}
	if status, _, text := publisher.post(t, at+"/withdraw", down); status != http.StatusConflict {
		t.Errorf("withdrawing a request of the operator: %d %s", status, text)
	}
	if status := publisher.read(t, "/versions/"+site.URL+"/big.html", io.Discard); status != http.StatusGone {
		t.Errorf("through another process: %d", status)
	}
	if err := done(); err != nil {
		t.Error(err)
	}

	if said := call(t.Context(), data, "actions", "credentials", "revoke", "newsdesk"); said.status != statusDone {
		t.Errorf("%+v", said)
	}
	if status := publisher.read(t, "/requests", io.Discard); status != http.StatusForbidden {
		t.Errorf("after the credential was revoked: %d", status)
	}
	if text := publisher.text(t, "/requests"); !strings.Contains(text, "<h1>Log in</h1>") {
		t.Error(text)
	}
	if status := end(); status != statusDone {
		t.Error(status)
	}
}

// TestLoginPages checks the pages of login, requests and audit log like TestPages, for everybody and for the
// operator.
func TestLoginPages(t *testing.T) {
	t.Parallel() // most of the time it waits for the browser
	site, data := crawled(t, "/a.html", "/big.html")
	s, end := startGuarded(t, data, "")
	operator := s.person(t)
	operator.login(t, "operator", operatorPassword)
	_, at, _ := operator.takeDown(t, site.URL+"/a.html", 1)
	_, _, confirm := operator.post(t, "/requests", operator.form(t, "take-down", site.URL+"/big.html"))
	// for the browser, which has no session, this server sends the cookie of the operator
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/confirm" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, confirm)
			return
		}
		answer, err := operator.client.Get(s.at + r.RequestURI)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	}))
	defer front.Close()
	// the first request is that of a line of robots.txt
	pages := pagesOf(t, s.at, "/login", "/requests", "/requests/1", at, "/audit")
	maps.Copy(pages, pagesOf(t, front.URL, "/login", "/requests", "/requests?before=1", "/requests/1", at, "/audit",
		"/confirm"))
	t.Run("html", func(t *testing.T) { pagecheck.Validate(t, pages) })
	t.Run("axe", func(t *testing.T) { pagecheck.Axe(t, slices.Sorted(maps.Keys(pages))) })
	if status := end(); status != statusDone {
		t.Error(status)
	}
}
