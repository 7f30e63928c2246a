package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/view"
)

// TestReplayDomain checks what the server says of visitors below the replay domain: no login, the address of the
// viewer, and the pages that may frame a copy. Own pages and the addresses of the operator do not exist there.
func TestReplayDomain(t *testing.T) {
	f := newOffice(t, Options{ReplayDomain: "replay.example", Readers: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			json.NewEncoder(w).Encode(struct {
				view.Visitor
				Path string
			}{view.VisitorOf(r.Context()), r.RequestURI})
		})})
	f.main = "archive.example"
	b := f.browser(t, "https://archive.example")
	if w := b.login("operator", password); w.Code != http.StatusSeeOther {
		t.Fatal(w.Code)
	}
	get := func(host, path string) (status int, who view.Visitor, at string) {
		b.base = "https://" + host
		w := b.do("GET", path, nil)
		var got struct {
			view.Visitor
			Path string
		}
		_ = json.Unmarshal(w.Body.Bytes(), &got) // a problem document leaves it empty
		return w.Code, got.Visitor, got.Path
	}
	status, who, _ := get("archive.example", "/")
	if status != 200 || who.Replay != "https://*.replay.example" || who.Label != "" || who.Name != "operator" {
		t.Errorf("the viewer: %d %+v", status, who)
	}
	for _, path := range []string{"/", "/login", "/requests", "/api/v1/key", "/v1/requests", "/assets/x", "//a//b?c"} {
		status, who, at := get("20260105120000h-00-quay.replay.example:81", path)
		if status != 200 || at != path || who.Label != "20260105120000h-00-quay" || who.Name != "" ||
			who.Replay != "" ||
			who.Base != "https://archive.example:81" ||
			who.Ancestors != "https://archive.example:81 https://localhost:81" {
			t.Errorf("%s: %d %+v %s", path, status, who, at)
		}
	}
	for _, host := range []string{"replay.example", "a.b.replay.example", ".replay.example", "xreplay.example",
		"a.replay.example.evil.example"} {
		if status, _, _ := get(host, "/"); status != 421 {
			t.Errorf("%s: %d", host, status)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		w := httptest.NewRecorder()
		f.admin.Handler.ServeHTTP(w, httptest.NewRequest("GET", "http://a.replay.example"+path, nil))
		if w.Code != 421 {
			t.Errorf("the operator's address, %s: %d", path, w.Code)
		}
	}
}
