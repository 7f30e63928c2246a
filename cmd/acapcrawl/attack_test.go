package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
)

// publisher is a site on which addresses with any difference in path or query are different pages.
type publisher struct {
	*httptest.Server
	origin string
	robots atomic.Pointer[string]
	files  map[string]string // files to which robots.txt refers
	pages  atomic.Int64      // number of pages requested
}

// attacked are the paths of the pages of each publisher.
var attacked = []string{"/a.html", "/A.html", "/a%2Fb.html", "/a/b.html", "/dir/c.html", "/q", "/q?id=1", "/q?id=2",
	"/%2A", "/x//y.html"}

// newPublisher starts a site with the given pages.
func newPublisher(t *testing.T, pages ...string) *publisher {
	t.Helper()
	p := &publisher{files: map[string]string{}}
	p.setRobots("ACAP-crawler: *\n")
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, plain := p.files[r.URL.Path]
		switch {
		case r.URL.Path == "/robots.txt":
			io.WriteString(w, *p.robots.Load())
		case plain:
			io.WriteString(w, text)
		case slices.Contains(pages, r.RequestURI):
			p.pages.Add(1)
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!DOCTYPE html><html lang=en><title>x</title><p>The page %s.</html>", r.RequestURI)
		default:
			p.pages.Add(1)
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(p.Close)
	p.origin = p.URL
	return p
}

func (p *publisher) setRobots(robots string) { p.robots.Store(&robots) }

// holds returns the pages of p that are archived in the data directory.
func (p *publisher) holds(t *testing.T, data string) (pages []string) {
	t.Helper()
	said := call(t.Context(), data, "archive", "ls", "--json")
	var list []struct{ URL string }
	if err := json.Unmarshal([]byte(said.stdout), &list); err != nil {
		t.Fatal(said, err)
	}
	for _, c := range list {
		if page, of := strings.CutPrefix(c.URL, p.origin+"/"); of {
			pages = append(pages, "/"+page)
		}
	}
	slices.Sort(pages)
	return slices.Compact(pages)
}

// visit crawls all pages of the given publishers.
func visit(t *testing.T, data string, pages []string, of ...*publisher) {
	t.Helper()
	args := []string{"crawl", "--delay", "0", "--depth", "0"}
	for _, p := range of {
		for _, page := range pages {
			args = append(args, p.origin+page)
		}
	}
	if said := call(t.Context(), data, args...); said.status != statusDone {
		t.Fatal(said)
	}
}

func without(all []string, some ...string) []string {
	left := slices.DeleteFunc(slices.Clone(all), func(page string) bool { return slices.Contains(some, page) })
	slices.Sort(left)
	return left
}

// Whatever a client requests with the credential of a publisher, exactly the pages that the
// requests name on the publisher's own origin are erased.
func TestAttacksThroughServe(t *testing.T) {
	t.Parallel()
	mine, other := newPublisher(t, attacked...), newPublisher(t, attacked...)
	data := t.TempDir()
	visit(t, data, attacked, mine, other)
	if got := mine.holds(t, data); !slices.Equal(got, without(attacked)) {
		t.Fatalf("held: %q", got)
	}
	at, _ := url.Parse(mine.origin)
	s, end := startServe(t, data, "--log-level", "debug")
	var secrets []string
	token := func() string {
		secret := credential(t, data, mine.origin)
		secrets = append(secrets, secret)
		return secret
	}
	s.token = token()
	take := func(url string) string {
		body, err := json.Marshal(map[string]string{"action": "take-down", "url": url})
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	port := at.Port()
	for i, c := range []struct {
		url    string
		status int
	}{
		{other.origin + "/a.html", 403},
		{"https://127.0.0.1:" + port + "/a.html", 403},
		{"http://127.0.0.1/a.html", 403},
		{"http://localhost:" + port + "/a.html", 403},
		{"http://127.0.0.1.:" + port + "/a.html", 403},
		{"http://2130706433:" + port + "/a.html", 403},
		{"http://127.1:" + port + "/a.html", 403},
		{"http://[::ffff:127.0.0.1]:" + port + "/a.html", 403},
		{mine.origin + "1/a.html", 0},
		{"http://127.0.0.%31:" + port + "/a.html", 422},
		{"http://someone@127.0.0.1:" + port + "/a.html", 422},
		{mine.origin + "@" + other.Listener.Addr().String() + "/a.html", 422},
		{"http://" + other.Listener.Addr().String() + `\@127.0.0.1:` + port + "/a.html", 422},
		{"http://127.0.0.1:" + port + ":80/a.html", 422},
		{"http://127.0.0.1:-" + port + "/a.html", 422},
		{"//127.0.0.1:" + port + "/a.html", 422},
		{"/a.html", 422},
		{"file:///a.html", 422},
		{mine.origin + "/*", 422},
		{mine.origin + "/a.html$", 422},
		{mine.origin + "/a.html /q", 422},
		{mine.origin + "/a.html\n/q", 422},
		{mine.origin + "/a.html#x", 422},
		{mine.origin + "/a%zz", 422},
		{mine.origin + "/x/..%2f../%72obots.txt", 0},
		{mine.origin + "/x/%2E%2E/robots.txt", 422},
		{mine.origin + "/" + strings.Repeat("a", 8000), 422},
		{mine.origin + "/x/..%2Fa.html", 201}, // "..%2F" is not a dot segment
		{mine.origin + "/b.html", 201},
		{mine.origin + "/q?", 201},
		{mine.origin + "/q?ID=1", 201},
		{mine.origin + "/q?id=1&", 201},
		{mine.origin + "/DIR/c.html", 201},
		{mine.origin + "/dir", 201},
		{mine.origin + "/dir/", 201},
		{mine.origin + "//" + other.Listener.Addr().String() + "/a.html", 0},
		{mine.origin + "/" + other.origin + "/a.html", 0},
		{mine.origin + "/x/y.html", 201},
	} {
		if i%18 == 17 {
			s.token = token() // a new credential, because requests per credential are limited
		}
		status, got := s.ask(t, "POST", "/api/v1/requests", fmt.Sprint("bad", i), take(c.url))
		if c.status != 0 && status != c.status || c.status == 0 && status == 429 {
			t.Errorf("%q: %d, want %d: %v", c.url, status, c.status, got)
		}
	}
	nobody := s.token
	for name, bad := range map[string]string{"none": "", "of another form": "secret", "wrong": nobody[:len(nobody)-1] +
		"*", "of an unknown ID": "acap_AAAAAAAA_" + nobody[14:]} {
		s.token = bad
		if status, got := s.ask(t, "POST", "/api/v1/requests", "k", take(mine.origin+"/a.html")); status != 401 ||
			got["code"] != "credential" {
			t.Errorf("a token that is %s: %d %v", name, status, got)
		}
	}
	s.token = ended(t, s, data, mine.origin, &secrets)
	if got := mine.holds(t, data); !slices.Equal(got, without(attacked)) {
		t.Errorf("of one publisher are held: %q", got)
	}

	// The next requests use other spellings of the addresses of archived pages.
	s.token = token()
	gone := []string{}
	for i, c := range []struct{ url, page string }{
		{"HTTP://127.0.0.1:0" + port + "/x/../%61.html", "/a.html"},
		{mine.origin + "/a/%2e%2e/a%2fb.html", "/a%2Fb.html"},
		{mine.origin + "/./dir/./x/../c.html", "/dir/c.html"},
		{mine.origin + "/q?id=%31", "/q?id=1"},
		{mine.origin + "/%2a", "/%2A"},
		{mine.origin + "/x//y.html", "/x//y.html"},
	} {
		status, got := s.ask(t, "POST", "/api/v1/requests", fmt.Sprint("good", i), take(c.url))
		if status != 201 || got["url"] != mine.origin+c.page || got["state"] != "done" {
			t.Errorf("%s: %d %v", c.url, status, got)
		}
		gone = append(gone, c.page)
		if held := mine.holds(t, data); !slices.Equal(held, without(attacked, gone...)) {
			t.Errorf("%s: held are %q", c.url, held)
		}
	}
	// A repeated request has no effect, whatever the outcome of the first.
	said := call(t.Context(), data, "actions", "ls", "--json", "--url", mine.origin+"/a.html")
	var list []actions.Request
	if err := json.Unmarshal([]byte(said.stdout), &list); err != nil || len(list) != 1 {
		t.Fatal(said, err)
	}
	s.ask(t, "DELETE", fmt.Sprint("/api/v1/requests/", list[0].ID), "", "")
	if said := call(t.Context(), data, "crawl", "--delay", "0", "--refetch", "--depth", "0", mine.origin+
		"/a.html"); said.status != statusDone {
		t.Fatal(said)
	}
	if status, got := s.ask(t, "POST", "/api/v1/requests", "good0", take(mine.origin+"/a.html")); status != 200 ||
		got["standing"] != false {
		t.Errorf("replayed: %d %v", status, got)
	}
	if held := mine.holds(t, data); !slices.Contains(held, "/a.html") {
		t.Errorf("after it was withdrawn, %q are held", held)
	}
	if held := other.holds(t, data); !slices.Equal(held, without(attacked)) {
		t.Errorf("of the other publisher are held: %q", held)
	}
	if said := call(t.Context(), data, "actions", "verify"); said.status != statusDone {
		t.Error(said)
	}
	if status := end(); status != statusDone {
		t.Errorf("serve ended with %d", status)
	}
	if where := holding(t, data, secrets...); where != nil {
		t.Errorf("tokens are told: %v", where)
	}
	for _, secret := range secrets {
		if strings.Contains(s.log.String(), secret[14:]) {
			t.Error("a token is logged")
		}
	}
}

// ended tries credentials that are no longer valid, and returns the token of a credential that is
// valid.
func ended(t *testing.T, s *serving, data, origin string, secrets *[]string) (good string) {
	t.Helper()
	add := func(name string, args ...string) string {
		said := call(t.Context(), data, append([]string{"actions", "credentials", "add", "--name", name, origin},
			args...)...)
		if said.status != statusDone {
			t.Fatal(said)
		}
		*secrets = append(*secrets, strings.TrimSpace(said.stdout))
		return strings.TrimSpace(said.stdout)
	}
	short, revoked, former := add("short", "--expires", "2s"), add("revoked"), add("rotated")
	rotated := call(t.Context(), data, "actions", "credentials", "rotate", "rotated", "--grace", "0")
	if said := call(t.Context(), data, "actions", "credentials", "revoke", "revoked"); said.status != statusDone ||
		rotated.status != statusDone {
		t.Fatal(said, rotated)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for over := false; !over; {
		var list []actions.Credential
		said := call(ctx, data, "actions", "credentials", "ls", "--json")
		if err := json.Unmarshal([]byte(said.stdout), &list); err != nil {
			t.Fatal(said, err)
		}
		i := slices.IndexFunc(list, func(c actions.Credential) bool { return c.Name == "short" })
		over = !list[i].Valid(time.Now())
	}
	for name, token := range map[string]string{"expired": short, "revoked": revoked, "replaced": former} {
		s.token = token
		if status, got := s.ask(t, "POST", "/api/v1/requests", "k", fmt.Sprintf(`{"action":"take-down","url":%q}`,
			origin+"/a.html")); status != 401 || got["code"] != "credential" {
			t.Errorf("a token that is %s: %d %v", name, status, got)
		}
	}
	good = strings.TrimSpace(rotated.stdout)
	*secrets = append(*secrets, good)
	return good
}

// Many simultaneous submissions with the same idempotency key result in a single request in the
// ledger.
func TestServeSameKey(t *testing.T) {
	mine := newPublisher(t, attacked...)
	data := t.TempDir()
	visit(t, data, attacked, mine)
	s, end := startServe(t, data)
	s.token = credential(t, data, mine.origin)
	var all sync.WaitGroup
	var made atomic.Int64
	for range 16 {
		all.Go(func() {
			status, got := s.ask(t, "POST", "/api/v1/requests", "k", fmt.Sprintf(`{"action":"take-down","url":%q}`,
				mine.origin+"/a.html"))
			switch {
			case status == 201:
				made.Add(1)
			case status != 200 || got["id"] != 1.0:
				t.Errorf("%d %v", status, got)
			}
		})
	}
	all.Wait()
	var rows []actions.Request
	said := call(t.Context(), data, "actions", "ls", "--json")
	if err := json.Unmarshal([]byte(said.stdout), &rows); err != nil || len(rows) != 1 || made.Load() != 1 {
		t.Errorf("%d were made, %v", made.Load(), said)
	}
	if status := end(); status != statusDone {
		t.Errorf("serve ended with %d", status)
	}
}

// The same attacks through robots.txt: a take-down line works only for single resources of the
// publisher's own site.
func TestAttacksThroughRobots(t *testing.T) {
	t.Parallel()
	mine, other := newPublisher(t, attacked...), newPublisher(t, attacked...)
	data := t.TempDir()
	visit(t, data, attacked, mine, other)
	there := other.Listener.Addr().String()
	port := mine.Listener.Addr().String()[len("127.0.0.1:"):]
	mine.setRobots("ACAP-request-take-down: /A.html\nACAP-crawler: nobody\nACAP-request-take-down: /A.html\n" + lines(
		other.origin+"/a.html", "//"+there+"/a.html", "https://127.0.0.1:"+port+"/a.html", "http://localhost:"+port+
			"/a.html", "http://127.0.0.1./a.html", "http://2130706433:"+port+"/a.html",
		"http://someone@127.0.0.1:"+port+"/a.html", mine.origin+"@"+there+"/a.html", `\\`+there+`\a.html`, "/../../"+
			there+"/a.html", "/*", "/a.htm*", "/a.html$", "/a.html /q", "/x/..%2Fa.html",
		"/b.html", "/dir", "/dir/", "/DIR/c.html", "/q?ID=1", "/q?", "/x/y.html", "/a%zz", "the-resource",
		"/robots.txt"))
	run := func() {
		t.Helper()
		if said := call(t.Context(), data, "actions", "run"); said.status != statusDone {
			t.Fatal(said)
		}
	}
	run()
	if got := mine.holds(t, data); !slices.Equal(got, without(attacked)) {
		t.Errorf("held: %q", got)
	}
	mine.setRobots(lines("/x/../%61.html", "/a/%2e%2e/a%2fb.html", "/./dir/./x/../c.html", "/q?id=%31", "/%2a",
		"/x//y.html"))
	run()
	var rows []actions.Request
	if said := call(t.Context(), data, "actions", "ls", "--json"); json.Unmarshal([]byte(said.stdout), &rows) != nil ||
		len(rows) == 0 {
		t.Fatal(said)
	}
	for _, r := range rows {
		if digest, ok := strings.CutPrefix(r.From.Digest, "sha256:"); !ok || len(digest) != 64 {
			t.Errorf("%+v", r)
		}
	}
	want := []string{"/A.html", "/a/b.html", "/q", "/q?id=2"}
	if got := mine.holds(t, data); !slices.Equal(got, without(want)) {
		t.Errorf("held: %q, want %q", got, want)
	}
	if got := other.holds(t, data); !slices.Equal(got, without(attacked)) {
		t.Errorf("of the other publisher are held: %q", got)
	}
	if said := call(t.Context(), data, "actions", "verify"); said.status != statusDone {
		t.Error(said)
	}
}

// lines returns the text of a robots.txt that requests a take-down of each target.
func lines(targets ...string) string {
	return "ACAP-crawler: *\nACAP-request-take-down: " + strings.Join(targets, "\nACAP-request-take-down: ") + "\n"
}

// A hundred thousand take-down lines neither stop the crawler nor flood the site, and every
// archived page that they name is erased.
func TestHundredThousandLines(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("with -short it is left out: it reads 100,000 lines")
	}
	pages := []string{"/a.html", "/d00000", "/d24999", "/d49999", "/zz.html"}
	mine := newPublisher(t, pages...)
	const files, each = 8, 12_500
	robots := ""
	for f := range files {
		var b strings.Builder
		b.WriteString("ACAP-crawler: *\n")
		for n := f * each; n < (f+1)*each; n++ {
			if n%2 == 0 {
				fmt.Fprintf(&b, "ACAP-request-take-down: /d%05d\n", n/2)
			} else {
				fmt.Fprintf(&b, "ACAP-request-re-crawl: /r%05d\n", n/2)
			}
		}
		mine.files[fmt.Sprintf("/asks%d.txt", f)] = b.String()
		// P1 2.3.2 (D08): a record has only one reference
		robots += fmt.Sprintf("ACAP-crawler: *\nACAP-permissions-reference: /asks%d.txt\n", f)
	}
	data := t.TempDir()
	visit(t, data, pages, mine)
	mine.setRobots(robots)
	before := mine.pages.Load()
	for range 2 { // the second run finds nothing new
		said := call(t.Context(), data, "actions", "run", "--delay", "0")
		if said.status != statusDone {
			t.Fatal(said.status, said.stderr)
		}
	}
	if got, want := mine.holds(t, data), []string{"/a.html", "/zz.html"}; !slices.Equal(got, want) {
		t.Errorf("held: %q", got)
	}
	if n := mine.pages.Load() - before; n > 1000 {
		t.Errorf("%d pages were requested", n)
	}
	var rows []actions.Request
	said := call(t.Context(), data, "actions", "ls", "--json")
	if err := json.Unmarshal([]byte(said.stdout), &rows); err != nil || len(rows) > 3000 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if said := call(t.Context(), data, "actions", "verify"); said.status != statusDone {
		t.Error(said)
	}
}
