package view

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// fixed is a Presenter with fixed answers.
type fixed struct {
	found    present.Found
	versions map[string][]present.Version
	states   map[string]present.State
	err      error
	asked    []present.Reader
}

func (f *fixed) Search(_ context.Context, q present.Query, who present.Reader) (present.Found, error) {
	f.asked = append(f.asked, who)
	return f.found, f.err
}

func (f *fixed) Around(ctx context.Context, address string, _ time.Time, who present.Reader) ([]present.Version,
	present.State, error) {
	return f.Versions(ctx, address, who)
}

func (f *fixed) Versions(_ context.Context, address string, _ present.Reader) (
	[]present.Version, present.State, error) {
	return f.versions[address], f.states[address], f.err
}

func (f *fixed) Open(context.Context, string, present.Version, present.Reader) (present.Copy, error) {
	return present.Copy{}, present.ErrNotHeld
}

func (f *fixed) Thumbnail(context.Context, string, present.Which, present.Reader) (present.Thumbnail, error) {
	return present.Thumbnail{}, present.ErrNotHeld
}

func (f *fixed) Copy(context.Context, string, present.Which, present.Reader) (present.Copy, error) {
	return present.Copy{}, present.ErrNotHeld
}

func (f *fixed) SentCopy(context.Context, string, present.Which, present.Reader) (present.Copy, error) {
	return present.Copy{}, present.ErrNotHeld
}

func (f *fixed) Snippet(context.Context, string, string, present.Which, present.Reader) (present.Passage, error) {
	return present.Passage{}, present.ErrNotHeld
}

func (f *fixed) Original(context.Context, string, present.Reader) (present.Lead, error) {
	return present.Lead{}, present.ErrNotHeld
}

func (f *fixed) List(context.Context, present.Listing, present.Reader) iter.Seq2[present.Version, error] {
	return func(yield func(present.Version, error) bool) {
		if f.err != nil {
			yield(present.Version{}, f.err)
		}
	}
}

func (f *fixed) Listed(context.Context, string, present.Reader) (bool, time.Time, error) {
	return true, time.Time{}, f.err
}

func (f *fixed) State(_ context.Context, address string, _ acap.Decision, _ present.Reader) (present.State, error) {
	return f.states[address], f.err
}

func handler(t *testing.T, f *fixed) *Handler {
	t.Helper()
	h, err := New(Options{Presenter: f})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// get sends a request with a target exactly as written.
func get(h *Handler, method, sent string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", nil)
	r.RequestURI = sent
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// gone returns the state of a page that was erased at noon.
func gone(by acap.Decision, why string) present.State {
	s := present.State{Availability: present.Erased, Decision: by}
	s.Erased.When, s.Erased.Why = noon, why
	return s
}

// TestStatus checks the status of each case of a page that cannot be shown.
func TestStatus(t *testing.T) {
	line := &acap.Field{URL: "http://quay.example/robots.txt", Line: 3, Text: "ACAP-disallow-present: /p<b>"}
	swept := gone(acap.Decision{}, "prohibited by http://quay.example/robots.txt:5: ACAP-disallow-preserve: /sw")
	swept.Erased.Line = "http://quay.example/robots.txt:5: ACAP-disallow-preserve: /sw"
	f := &fixed{states: map[string]present.State{
		"http://quay.example/withheld": {Availability: present.Withheld,
			Decision: acap.Decision{Usage: acap.PresentCurrentCopy, Reason: acap.ByProhibition, Because: line}},
		"http://quay.example/unread": {Availability: present.Unavailable,
			Decision: acap.Decision{Usage: acap.PresentCurrentCopy, Reason: acap.Unavailable, Note: "HTTP status 503"}},
		"http://quay.example/erased": gone(acap.Decision{}, "the time limit of 2 days has ended"),
		"http://quay.example/swept":  swept,
		"http://quay.example/down": gone(acap.Decision{Because: &acap.Field{URL: "http://quay.example/robots.txt",
			Line: 4, Text: "ACAP-request-take-down: /down"}}, ""),
		"http://quay.example/asked": gone(acap.Decision{Because: &acap.Field{Source: acap.Request,
			URL: "http://quay.example", Line: 7, Text: "take-down, requested by the operator"}}, ""),
		"http://quay.example/sent": gone(acap.Decision{Because: &acap.Field{Source: acap.Request,
			URL: "http://quay.example", Line: 8, Text: `take-down, requested with the credential "newsdesk"`}}, ""),
		"http://quay.example/withdrawn": gone(acap.Decision{}, "taken down at the publisher's request"),
		"http://quay.example/dialled": {Availability: present.Unavailable,
			Decision: acap.Decision{Usage: acap.PresentCurrentCopy,
				Reason: acap.Unavailable, Note: "robots.txt could not be read: dial tcp 10.1.2.3:80: refused"}},
	}}
	withdrawn := f.states["http://quay.example/withdrawn"]
	withdrawn.Erased.Line = `request 9 of http://quay.example: take-down, requested with the credential "newsdesk"`
	f.states["http://quay.example/withdrawn"] = withdrawn
	h := handler(t, f)
	for _, c := range []struct {
		sent   string
		status int
		header string
		want   string
	}{
		{sent: "/versions/http://quay.example/never", status: 404},
		{sent: "/versions/http://quay.example/withheld", status: 451, header: "Link",
			want: `<http://quay.example>; rel="blocked-by"`},
		{sent: "/versions/http://quay.example/unread", status: 503, header: "Retry-After", want: "60"},
		{sent: "/versions/http://quay.example/erased", status: 410},
		{sent: "/versions/quay.example/", status: 400},
		{sent: "/versions/ftp://quay.example/", status: 400},
		{sent: "/versions/http://", status: 400},
		{sent: "/nowhere", status: 404},
		{sent: "/search?page=x&q=a", status: 400},
		{sent: "/search?q=%zz", status: 400},
		{sent: "/explain?url=a;b", status: 400},
		{sent: "/feed.atom?q=%", status: 400},
		{sent: "/versions?url=%zz", status: 400},
	} {
		w := get(h, "GET", c.sent)
		if w.Code != c.status || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get(c.header) != c.want {
			t.Errorf("%s: %d %v", c.sent, w.Code, w.Header())
		}
		if strings.Contains(w.Body.String(), "<b>") {
			t.Errorf("%s: the publisher's text is not escaped", c.sent)
		}
	}
	w := get(h, "GET", "/versions/http://quay.example/withheld")
	for _, part := range []string{"http://quay.example/robots.txt", "line 3", "ACAP-disallow-present"} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("the refusal does not contain %s", part)
		}
	}
	for path, parts := range map[string][]string{ // who asked or which limit, and when
		"erased": {"the time limit of 2 days has ended", "on 5 January 2026 at 12:00 UTC"},
		"down": {"The publisher asked", "on 5 January 2026 at 12:00 UTC", "robots.txt, line 4",
			"ACAP-request-take-down: /down"},
		"swept":     {"robots.txt, line 5", "<code>ACAP-disallow-preserve: /sw</code>", "/sw</p>"},
		"asked":     {"taken down by the operator (request 7)", "on 5 January 2026 at 12:00 UTC"},
		"sent":      {"taken down by the publisher (request 8)", "on 5 January 2026 at 12:00 UTC"},
		"withdrawn": {"taken down at the publisher&#39;s request (request 9 of http://quay.example)"},
		"dialled":   {"robots.txt could not be read: it could not be reached"},
	} {
		w := get(h, "GET", "/versions/http://quay.example/"+path)
		for _, part := range parts {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s: the answer does not contain %s", path, part)
			}
		}
		for _, secret := range []string{"line 7", "newsdesk", "10.1.2.3"} {
			if strings.Contains(w.Body.String(), secret) {
				t.Errorf("%s: the answer contains %s", path, secret)
			}
		}
	}
	never, hidden := get(h, "GET", "/versions/http://quay.example/a").Body.String(),
		get(h, "GET", "/versions/http://quay.example/b").Body.String()
	if !strings.Contains(never, ">http://quay.example/a<") ||
		hidden != strings.ReplaceAll(never, "example/a", "example/b") {
		t.Error("pages never held and hidden differ in more than the address")
	}
}

// TestMethods checks that reading is possible only with GET and HEAD.
func TestMethods(t *testing.T) {
	h := handler(t, &fixed{})
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "TRACE"} {
		if w := get(h, method, "/"); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
	if w := get(h, "HEAD", "/"); w.Code != 200 || w.Body.Len() > 0 || w.Header().Get("Content-Length") == "0" {
		t.Errorf("HEAD: %d, %d bytes", w.Code, w.Body.Len())
	}
}

// TestTagged checks conditional requests, for pages and files.
func TestTagged(t *testing.T) {
	h := handler(t, &fixed{})
	for _, sent := range []string{"/", h.assetPath("style.css"), h.assetPath("script.js")} {
		first := get(h, "GET", sent)
		tag := first.Header().Get("ETag")
		if first.Code != 200 || tag == "" {
			t.Fatalf("%s: %d %v", sent, first.Code, first.Header())
		}
		if w := get(h, "GET", sent, "If-None-Match", `"other", `+strings.TrimPrefix(tag, "W/")); w.Code != 304 ||
			w.Body.Len() > 0 {
			t.Errorf("%s: %d, %d bytes", sent, w.Code, w.Body.Len())
		}
		r := httptest.NewRequest("GET", sent, nil)
		r.Header["If-None-Match"] = []string{`"other"`, tag} // two lines are one list (RFC 9110 5.3)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != 304 {
			t.Errorf("%s, two lines: %d", sent, w.Code)
		}
		if w := get(h, "GET", sent, "If-None-Match", `"other"`); w.Code != 200 {
			t.Errorf("%s: %d", sent, w.Code)
		}
	}
	if w := get(h, "GET", "/assets/../style.css"); w.Code != 404 {
		t.Error(w.Code)
	}
}

// TestSearchAsReader checks that the search decides for the visitor, and escapes what it shows.
func TestSearchAsReader(t *testing.T) {
	f := &fixed{found: present.Found{Count: 1, Results: []present.Result{{URL: "http://quay.example/<i>", Link: true,
		Title: "<script>", Href: "javascript:alert(1)"}}}}
	h := handler(t, f)
	r := httptest.NewRequest("GET", "/", nil)
	r.RequestURI = "/search?q=ferry"
	who := acap.Target{Country: "FR", IP: netip.MustParseAddr("192.0.2.1")}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(WithVisitor(r.Context(), Visitor{Reader: who})))
	if len(f.asked) != 1 || f.asked[0].Target.Country != "FR" {
		t.Errorf("%+v", f.asked)
	}
	for _, bad := range []string{"<script>\n", "<i>", `href="javascript`} {
		if strings.Contains(w.Body.String(), bad) {
			t.Errorf("the page contains %s", bad)
		}
	}
}

// TestFailed checks that the text of an error of the archive reaches the operator and not the reader.
func TestFailed(t *testing.T) {
	f, told := &fixed{err: errors.New("secret path")}, error(nil)
	h, err := New(Options{Presenter: f, Failed: func(err error) { told = err }})
	if err != nil {
		t.Fatal(err)
	}
	w := get(h, "GET", "/versions/http://quay.example/a")
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "secret") || told == nil {
		t.Errorf("%d %s, %v", w.Code, w.Body, told)
	}
}
