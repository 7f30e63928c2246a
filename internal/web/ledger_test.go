package web

import (
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/view"
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
	if body := b.do("GET", "/requests?url=https://quay.example/x",
		nil).Body.String(); strings.Contains(body, "checked") {
		t.Errorf("an action is chosen: %s", body)
	}
	form.Del("confirmed")
	w := b.do("POST", "/requests", form)
	for _, part := range []string{"5 versions of this page, 27 February 2026, 00:00 UTC to 1 March 2026, 00:00 UTC, " +
		"will",
		`name="confirmed" value="yes"`, `name="key" value="k"`,
		`name="url" value="https://quay.example/x"`, "Erase them"} {
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

// TestMachines checks names and positions of the requests of several machines, in the API, on the pages and in the
// audit log.
func TestMachines(t *testing.T) {
	f := newOffice(t, Options{})
	one := actions.Request{Node: "a", ID: 17, Action: "take-down", URL: "https://quay.example/x", Standing: true,
		State: actions.Done, Done: f.clock.now(), From: actions.Source{Kind: actions.Operator}}
	f.answer = func(c actions.Call) (actions.Answer, error) {
		if c.Do == actions.DoList {
			return actions.Answer{Requests: []actions.Request{one}, NextAt: actions.Positions{"a": 17, "b": 0},
				Shards: &actions.Shards{Answered: 2, Total: 3}}, nil
		}
		return actions.Answer{Request: &one, Receipt: []byte(`{}`)}, nil
	}
	last := func() actions.Call { return f.calls[len(f.calls)-1] }
	operator := f.browser(t, "http://localhost")
	operator.login("operator", password)
	token := operator.formToken()
	w := operator.do("GET", "/api/v1/requests?after=a:3,b:9", nil)
	if w.Code != 200 || w.Header().Get("Link") != `</api/v1/requests?after=a%3A17%2Cb%3A0>; rel="next"` ||
		w.Header().Get(view.ShardsHeader) != "2/3" || !strings.Contains(w.Body.String(), `"node":"a","id":17`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if c := last(); c.At.String() != "a:3,b:9" || c.Filter.After != 0 {
		t.Errorf("%+v", c)
	}
	if w := operator.do("GET", "/requests?before=a:3", nil); w.Code != 200 || last().At.String() != "a:3" ||
		!strings.Contains(w.Body.String(), `<a href="/requests/a:17">a:17</a>`) ||
		!strings.Contains(w.Body.String(), `href="/requests?before=a%3A17%2Cb%3A0"`) ||
		!strings.Contains(w.Body.String(), "1 machine of this archive did not answer") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := operator.do("GET", "/requests/a:17", nil); w.Code != 200 || last().Node != "a" || last().ID != 17 ||
		!strings.Contains(w.Body.String(), `action="/requests/a:17/withdraw"`) {
		t.Errorf("%d %+v %s", w.Code, last(), w.Body)
	}
	if w := operator.do("GET", "/requests/a:17/receipt", nil); w.Code != 200 ||
		w.Header().Get("Content-Disposition") != `attachment; filename="receipt-a-17.json"` {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	w = operator.do("POST", "/requests/a:17/withdraw", submission7(token))
	if w.Header().Get("Location") != "/requests/a:17" || last().Do != actions.DoWithdraw || last().Node != "a" {
		t.Errorf("%d %v %+v", w.Code, w.Header(), last())
	}
	if w := operator.do("GET", "/audit", nil); !strings.Contains(w.Body.String(), `<a href="/requests/a:17">a:17</a>`) {
		t.Errorf("%s", w.Body)
	}
	for _, path := range []string{"/api/v1/requests?after=a:1,x", "/requests?before=a", "/requests?before=a:1,17"} {
		if w := operator.do("GET", path, nil); w.Code != 400 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	for _, path := range []string{"/requests/a:017", "/requests/:17", "/api/v1/requests/a:"} {
		if w := operator.do("GET", path, nil); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
