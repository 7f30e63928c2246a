package web

import (
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/actions"
)

// TestConfirm checks that a take-down is submitted only after the page that says what it erases, and that no action
// is chosen before the visitor chooses one.
func TestConfirm(t *testing.T) {
	f := newOffice(t, Options{Contact: "https://archive.example/contact"})
	b := f.browser(t, "http://localhost")
	if body := b.do("GET", "/requests", nil).Body.String(); !strings.Contains(body, "ACAP-request-take-down: /page") ||
		!strings.Contains(body, `href="https://archive.example/contact"`) ||
		!strings.Contains(body, `href="/login?next=%2frequests"`) {
		t.Errorf("how to ask: %s", body)
	}
	b.login("publisher", good)
	form := submission7(b.formToken())
	if body := b.do("GET", "/requests?url=https://quay.example/x", nil).Body.String(); strings.Contains(body, "checked") {
		t.Errorf("an action is chosen: %s", body)
	}
	form.Del("confirmed")
	w := b.do("POST", "/requests", form)
	for _, part := range []string{"5 versions of this page, 27 February 2026, 00:00 UTC to 1 March 2026, 00:00 UTC, will",
		`name="confirmed" value="yes"`, `name="key" value="k"`, `name="url" value="https://quay.example/x"`, "Erase them"} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("no %q in %s", part, w.Body)
		}
	}
	if last := f.calls[len(f.calls)-1]; w.Code != 200 || f.changes() != 0 || last.Do != actions.DoPreview ||
		last.Token != good {
		t.Errorf("%d, %d changes, %+v", w.Code, f.changes(), last)
	}
	if w := b.do("POST", "/requests", submission7(form.Get("token"))); w.Code != 303 || f.changes() != 1 {
		t.Errorf("confirmed: %d, %d changes", w.Code, f.changes())
	}
	form.Set("action", "re-crawl")
	if w := b.do("POST", "/requests", form); w.Code != 303 || f.changes() != 2 {
		t.Errorf("re-crawl: %d, %d changes", w.Code, f.changes())
	}
}

// TestSessionEnded checks that a form that is sent after the end of the session shows the login, which leads back.
func TestSessionEnded(t *testing.T) {
	f := newOffice(t, Options{})
	b := f.browser(t, "http://localhost")
	b.login("operator", password)
	form := submission7(b.formToken())
	f.clock.pass(sessionTime)
	for path, next := range map[string]string{"/requests": "/requests?url=https%3A%2F%2Fquay.example%2Fx",
		"/requests/7/withdraw": "/requests/7", "/logout": "/"} {
		w := b.do("POST", path, form)
		if w.Code != 403 || !strings.Contains(w.Body.String(), `name="password"`) ||
			!strings.Contains(w.Body.String(), `name="next" value="`+next+`"`) ||
			!strings.Contains(w.Body.String(), "your session has ended") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if f.changes() != 0 {
		t.Errorf("%d changes", f.changes())
	}
}
