package site

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/terms"
)

// TestExplainHeld checks that stored policies and pages are explained without a request, and that a page
// of which the reader may not see a link is explained like one that was never stored.
func TestExplainHeld(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "ACAP-crawler: *\nACAP-disallow-present: /hidden\nACAP-disallow-present-link: /hidden\n"+
				"ACAP-crawler: owlbot\nACAP-disallow-follow: /\n")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<html lang=en><meta name=robots content="ACAP disallow-present-thumbnail"><title>x</title>`+
			`<p>Secret words.`)
	}))
	defer server.Close()
	s := open(t, t.TempDir())
	crawl(t, s, server.URL+"/shown", server.URL+"/hidden")
	server.Close()
	ask := func(path string, q explain.Question) *explain.Explanation {
		t.Helper()
		var err error
		if q.URL, err = url.Parse(server.URL + path); err != nil {
			t.Fatal(err)
		}
		if q.Crawler.Names == nil {
			q.Crawler = s.Crawler()
		}
		e, err := s.Explain(t.Context(), q, present.Reader{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	shown := ask("/shown", explain.Question{})
	if d := shown.Decide(acap.PresentThumbnail); d.Allowed || d.Because.Source != acap.Meta || shown.Past.URL == "" {
		t.Errorf("the stored page does not count: %+v", d)
	}
	for _, path := range []string{"/hidden", "/never"} {
		e := ask(path, explain.Question{})
		d := e.Decide(acap.PresentThumbnail)
		if d.Because != nil && d.Because.Source == acap.Meta || e.Past.URL != "" || !e.Past.FirstCrawled.IsZero() ||
			e.Page != nil {
			t.Errorf("%s: what is stored shows through: %+v %+v", path, d, e.Past)
		}
	}
	if d := ask("/hidden", explain.Question{}).Decide(acap.PresentLink); d.Allowed || d.Because.Line != 3 {
		t.Errorf("%+v", d)
	}
	owl := ask("/never", explain.Question{Crawler: acap.Crawler{Names: []string{"owlbot"}}})
	if owl.Decide(acap.Follow).Allowed || !ask("/never", explain.Question{}).Decide(acap.Follow).Allowed {
		t.Error("the answers are not those for the crawler of the question")
	}
	for _, path := range []string{"/shown", "/hidden", "/never"} {
		call := actions.Call{As: actions.AsOperator, Do: actions.DoSubmit, Key: path, Action: acap.TakeDown,
			URL: server.URL + path}
		if a := s.ledger.Answer(call); a.Code != "" {
			t.Fatal(a)
		}
	}
	for path, public := range map[string]bool{"/shown": true, "/hidden": false, "/never": false} {
		for _, who := range []present.Reader{{}, {Public: true}} {
			u, _ := url.Parse(server.URL + path)
			e, err := s.Explain(t.Context(), explain.Question{URL: u, Crawler: s.Crawler()}, who)
			if err != nil {
				t.Fatal(err)
			}
			if down := terms.TakeDown(e.Origin.Policy, u); (down != nil) != (public || !who.Public) {
				t.Errorf("%s for %+v: take-down %v", path, who, down)
			}
		}
	}
	never, _ := url.Parse("http://never.example/")
	if _, err := s.Explain(t.Context(), explain.Question{URL: never, Crawler: s.Crawler()},
		present.Reader{}); !errors.Is(err, explain.ErrNeverRead) {
		t.Errorf("never read: %v", err)
	}
}
