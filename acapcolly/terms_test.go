package acapcolly

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// OnHTML shows each usage only what it may read.
func TestOnHTML(t *testing.T) {
	for _, test := range []struct {
		name, robots, page string
		usage              acap.Usage
		want               string
	}{
		{"everything is permitted", "", `<p>one<p>two`, acap.Index, "one|two"},
		{"N05: an element is prohibited", "", `<p>one<p class="the-acap:disallow-index">two`, acap.Index, "one"},
		{"N05: it is for another usage", "", `<p>one<p class="the-acap:disallow-index">two`, acap.Preserve, "one|two"},
		{"the page is prohibited", "ACAP-disallow-index: /", `<p>one`, acap.Index, ""},
		{"N05: only an element is permitted", "ACAP-disallow-index: /",
			`<p>one<p class="the-acap:allow-index">two`, acap.Index, "two"},
		{"N28: whole when nothing is to be cut", "", `<p>one<p data-nosnippet>two`, acap.Preserve, "one|two"},
		{"data-nosnippet", "", `<p>one<div data-nosnippet><p>two</div>`, acap.PresentSnippet, "one"},
		{"P1 2.5.3.2: another text must be used", "ACAP-allow-index: / must-use-resource=the-acap:#lead",
			`<p id=lead>one<p>two`, acap.Index, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t, "ACAP-crawler: *", test.robots)
			html(s, "/", test.page)
			c := attach(t, Options{Seeds: []string{s.URL}})
			var got []string
			c.permissions.OnHTML(c.Collector, test.usage, "p", func(e *colly.HTMLElement) { got = append(got, e.Text) })
			if err := c.Visit(s.URL + "/"); err != nil {
				t.Fatal(err)
			}
			if strings.Join(got, "|") != test.want {
				t.Errorf("the callback saw %q", got)
			}
		})
	}
}

// OnHTMLDetach with a common selector does not remove callbacks of Permissions.OnHTML.
func TestOnHTMLDetach(t *testing.T) {
	s := newSite(t)
	html(s, "/", `<p>one`)
	c := attach(t, Options{Seeds: []string{s.URL}})
	calls := 0
	c.permissions.OnHTML(c.Collector, acap.Index, "p", func(*colly.HTMLElement) { calls++ })
	c.OnHTMLDetach("html")
	if err := c.Visit(s.URL + "/"); err != nil || calls != 1 {
		t.Errorf("%v, %d calls", err, calls)
	}
}

// A page in another encoding is read correctly, also if only a part of it may be read and the META tag that names the
// encoding is not in that part.
func TestOnHTMLEncoding(t *testing.T) {
	s := newSite(t, "ACAP-crawler: *", "ACAP-disallow-index: /")
	s.Handle("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><meta charset=iso-8859-1><p>one<p class=the-acap:allow-index>caf\xe9")
	})
	c := attach(t, Options{Seeds: []string{s.URL}})
	var got []string
	c.permissions.OnHTML(c.Collector, acap.Index, "p", func(e *colly.HTMLElement) { got = append(got, e.Text) })
	if err := c.Visit(s.URL + "/"); err != nil || !slices.Equal(got, []string{"café"}) {
		t.Errorf("%v, the callback saw %q", err, got)
	}
}

// Relative links in a permitted part are resolved against the BASE element of the page.
func TestOnHTMLBase(t *testing.T) {
	s := newSite(t)
	html(s, "/", `<base href=/deep/><a href=page>p</a>`)
	html(s, "/deep/page", `page`)
	c := attach(t, Options{Seeds: []string{s.URL}})
	c.permissions.OnHTML(c.Collector, acap.Index, "a", func(e *colly.HTMLElement) {
		_ = e.Request.Visit(e.Attr("href"))
	})
	if err := c.Visit(s.URL + "/"); err != nil || s.Asked("/deep/page") != 1 {
		t.Errorf("%v, the site was asked for %s", err, paths(s))
	}
}

// Terms has the decisions on all usages, with the lines, and what may be shown.
func TestTerms(t *testing.T) {
	s := newSite(t, "ACAP-crawler: *", "ACAP-disallow-preserve: /", "ACAP-allow-present-snippet: / max-length=2-words")
	html(s, "/", `<title>Tide</title><p>The water is low today`)
	s.Redirect("/moved", "/")
	c := attach(t, Options{Seeds: []string{s.URL}})
	called := false
	c.OnResponse(func(r *colly.Response) {
		called = true
		terms, err := c.permissions.Terms(r)
		if err != nil {
			t.Fatal(err)
		}
		if d := terms.Decide(acap.Preserve); d.Allowed || d.Because == nil || d.Because.Line != 2 {
			t.Errorf("preserve: %+v", d)
		}
		if d := terms.Decide(acap.Index); !d.Allowed {
			t.Errorf("index: %+v", d)
		}
		if s, ok := terms.Snippet(acap.PresentSnippet, snippet.Wanted{}); !ok || len(strings.Fields(s.Text)) > 2 {
			t.Errorf("the snippet is %q, %t", s.Text, ok)
		}
		if pg := c.permissions.PageOf(r); pg == nil || !strings.HasSuffix(pg.URL().Path, "/") {
			t.Error("there is no page")
		}
	})
	if err := c.Visit(s.URL + "/moved"); err != nil || !called {
		t.Errorf("%v; called: %t", err, called)
	}
}

// Terms has an error for a response that is not from the collector.
func TestTermsOfForeignResponse(t *testing.T) {
	c := attach(t, Options{})
	for _, r := range []*colly.Response{{}, {Request: &colly.Request{}}} {
		if _, err := c.permissions.Terms(r); err == nil {
			t.Error("no error")
		}
		if c.permissions.PageOf(r) != nil {
			t.Error("there is a page")
		}
	}
}

// Pages and policy files are requested through the proxy.
func TestProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nDisallow: /off\n")
		}
	}))
	defer proxy.Close()
	c := attach(t, Options{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }})
	c.OnResponse(func(r *colly.Response) {
		if r.Request.ProxyURL != proxy.URL {
			t.Errorf("ProxyURL is %q", r.Request.ProxyURL)
		}
	})
	if err := c.Visit("http://paper.example/"); err != nil {
		t.Fatal(err)
	}
	if err := c.Visit("http://paper.example/off"); err == nil {
		t.Error("no error")
	}
	if len(asked) < 2 || asked[0] != "http://paper.example/robots.txt" ||
		asked[len(asked)-1] != "http://paper.example/" {
		t.Errorf("the proxy was asked for %s", asked)
	}
}
