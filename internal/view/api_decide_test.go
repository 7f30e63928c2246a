package view

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// caseLine returns a case about a page that robots.txt prohibits.
func caseLine(id string) string {
	return fmt.Sprintf(`{"id":%q,"web":{"http://quay.example/robots.txt":{"body":`+
		`"ACAP-crawler: *\nACAP-disallow-index: /a\n"},"http://quay.example/a":{"body":"<title>A</title>"}},`+
		`"url":"http://quay.example/a","want":["decision","text","links","policy","actions","snippet","by_purpose"],`+
		`"purposes":["news"],"facts":{"now":"2026-01-05T12:00:00Z"}}`+"\n", id)
}

// TestAPIDecide checks answers and errors of single lines, and the length of the body.
func TestAPIDecide(t *testing.T) {
	a := newAPI(t)
	post := func(sent, body string, status int) *httptest.ResponseRecorder {
		t.Helper()
		return a.send(Visitor{}, httptest.NewRequest("POST", "/", strings.NewReader(body)), sent, status)
	}
	w := post("/api/v1/decide", caseLine("one")+"{\"id\":\"two\"}\n\n"+caseLine("three"), 200)
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], `{"id":"two","error":"the case is malformed`) {
		t.Fatalf("%s", w.Body)
	}
	var got struct {
		ID        string
		Decisions map[string]struct {
			Allowed bool
			Because struct{ Line int }
		}
	}
	if err := json.Unmarshal([]byte(lines[2]), &got); err != nil || got.ID != "three" ||
		got.Decisions["index"].Allowed || got.Decisions["index"].Because.Line != 2 || !got.Decisions["crawl"].Allowed {
		t.Errorf("%+v, %v", got, err)
	}
	if w := post("/api/v1/decide?dialect=pilot", "", 200); w.Body.Len() > 0 {
		t.Errorf("an empty body is answered with %s", w.Body)
	}
	post("/api/v1/decide?dialect=2.0", caseLine("one"), 400)
	post("/api/v1/decide?verbose=true", caseLine("one"), 400)
	if p := problem(t, post("/api/v1/decide", strings.Repeat("x", maxBody+1), 413)); p.Code != "too-large" {
		t.Errorf("%+v", p)
	}
	w = post("/api/v1/decide", caseLine("one")+strings.Repeat(" ", 1<<17)+"\n"+strings.Repeat("x", maxBody), 200)
	if !strings.HasPrefix(w.Body.String(), `{"id":"one","decisions"`) ||
		!strings.Contains(w.Body.String(), `{"error":"The body is longer than`) {
		t.Errorf("%.100s … %s", w.Body, w.Body.String()[max(0, w.Body.Len()-200):])
	}
	for _, early := range []string{"", caseLine("one")} {
		body := io.MultiReader(strings.NewReader(early), iotest.ErrReader(errors.New("the client is gone")))
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/", body)
		r.RequestURI = "/api/v1/decide"
		a.ServeHTTP(w, r)
		want := `"detail":"The body is incomplete`
		if early != "" {
			want = `"findings":[]}` + "\n" + `{"error":"The body is incomplete`
		}
		if (w.Code == 200) != (early != "") || !strings.Contains(w.Body.String(), want) {
			t.Errorf("a body that breaks off: %d %s", w.Code, w.Body)
		}
	}
	if w := get(a.Handler, "GET", "/api/v1/decide"); w.Code != 405 || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET: %d %v", w.Code, w.Header())
	}
}

// TestAPIDecideStreams checks that each answer arrives before the next case is sent, and that the handler
// ends when the client is gone.
func TestAPIDecideStreams(t *testing.T) {
	h, err := New(Options{Presenter: &fixed{}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	body, cases := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/api/v1/decide", body)
	if err != nil {
		t.Fatal(err)
	}
	go io.WriteString(cases, caseLine("first"))
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answers := bufio.NewReader(resp.Body)
	for _, id := range []string{"first", "second", "third"} {
		if id != "first" {
			if _, err := io.WriteString(cases, caseLine(id)); err != nil {
				t.Fatal(err)
			}
		}
		line, err := answers.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, fmt.Sprintf(`{"id":%q,"decisions"`, id)) {
			t.Fatalf("%s: %s, %v", id, line, err)
		}
	}
	cancel()
	<-ended
}
