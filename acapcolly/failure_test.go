package acapcolly

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/acap"
)

// A collector that could not be attached makes no request, also if its transport is replaced later.
func TestAttachFails(t *testing.T) {
	s := newSite(t, "User-agent: *", "Disallow: /")
	a := attach(t, Options{Seeds: []string{s.URL}})
	for name, fail := range map[string]func(*colly.Collector) error{
		"a browser": func(c *colly.Collector) error {
			c.UserAgent = "Mozilla/5.0"
			_, err := Attach(c, Options{})
			return err
		},
		"a seed without scheme": func(c *colly.Collector) error {
			_, err := Attach(c, Options{Seeds: []string{"localhost:80"}})
			return err
		},
		"another User-Agent": func(c *colly.Collector) error { return a.permissions.Attach(c) },
	} {
		changes := replacements()
		changes["nothing"] = func(*colly.Collector) {}
		changes["careless transport"] = func(c *colly.Collector) { c.WithTransport(careless{}) }
		for change, replace := range changes {
			t.Run(name+", "+change, func(t *testing.T) {
				c := colly.NewCollector(colly.UserAgent("examplebot"))
				failed := fail(c)
				if failed == nil {
					t.Fatal("no error")
				}
				replace(c)
				address := ""
				c.OnError(func(r *colly.Response, _ error) { address = r.Request.URL.String() })
				err := c.Visit(s.URL + "/")
				if err == nil || len(s.Requests()) > 0 || address != s.URL+"/" {
					t.Errorf("%v for %s, and the site got %v", err, address, s.Requests())
				}
				text := strings.ReplaceAll(fmt.Sprint(err), `\"`, `"`)
				if change != "careless transport" && !has(text, failed.Error()) {
					t.Errorf("the error is %v", err)
				}
			})
		}
	}
}

// careless is a transport that does not check the header.
type careless struct{}

func (careless) RoundTrip(req *http.Request) (*http.Response, error) {
	return http.Get(req.URL.String())
}

// A seed that is no web address is an error that names the seed.
func TestSeeds(t *testing.T) {
	for _, seed := range []string{"localhost:80", "example.org/a", "", "http://", "http://a b", "ftp://example.org/"} {
		c := colly.NewCollector(colly.UserAgent("examplebot"))
		_, err := Attach(c, Options{Seeds: []string{seed}})
		if err == nil || !has(err.Error(), fmt.Sprintf("%q", seed)) {
			t.Errorf("%q: %v", seed, err)
		}
	}
}

// A second Attach of a collector is an error and changes nothing.
func TestAttachTwice(t *testing.T) {
	s := newSite(t)
	html(s, "/", "page")
	c := attach(t, Options{Seeds: []string{s.URL}})
	if err := c.permissions.Attach(c.Collector); !errors.Is(err, errAttached) {
		t.Errorf("the same permissions: %v", err)
	}
	if _, err := Attach(c.Collector, Options{}); !errors.Is(err, errAttached) {
		t.Errorf("other permissions: %v", err)
	}
	if err := c.Visit(s.URL + "/"); err != nil || len(c.pages) != 1 || !has(c.pages[0], "page") {
		t.Errorf("%v, callbacks saw %q", err, c.pages)
	}
}

// A part of a page is an error: its rest may prohibit something.
func TestPartOfPage(t *testing.T) {
	s := newSite(t)
	s.Handle("/part", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusPartialContent)
		fmt.Fprint(w, "<title>a part</title>")
	})
	c := attach(t, Options{Seeds: []string{s.URL}})
	if err := c.Visit(s.URL + "/part"); err == nil || !strings.Contains(err.Error(), "206") || len(c.pages) > 0 {
		t.Errorf("%v, callbacks saw %q", err, c.pages)
	}
}

// A body that ends early is an error, as without Attach.
func TestIncompleteBody(t *testing.T) {
	s := newSite(t)
	begin := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Length", "5000")
		fmt.Fprint(w, "<title>half a page</title>")
		w.(http.Flusher).Flush()
	}
	s.Handle("/closed", func(w http.ResponseWriter, _ *http.Request) {
		begin(w)
		panic(http.ErrAbortHandler)
	})
	s.Handle("/slow", func(w http.ResponseWriter, r *http.Request) {
		begin(w)
		<-r.Context().Done()
	})
	c := attach(t, Options{Seeds: []string{s.URL}, Timeout: 500 * time.Millisecond})
	for _, path := range []string{"/closed", "/slow"} {
		if err := c.Visit(s.URL + path); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(c.pages) > 0 {
		t.Errorf("callbacks saw %q", c.pages)
	}
}

// MaxBodySize hides neither statements nor links of a page.
func TestMaxBodySize(t *testing.T) {
	s := newSite(t)
	long := "<style>" + strings.Repeat(" ", 2000) + "</style>"
	html(s, "/off", long+`<meta name=robots content="ACAP disallow-crawl">`)
	html(s, "/closed", `<title>t</title>`+long+`<meta name=robots content="noindex,nofollow">`)
	html(s, "/long", strings.Repeat("<p>text", 1000))
	c := attach(t, Options{Seeds: []string{s.URL}}, colly.MaxBodySize(1000))
	c.OnResponse(func(r *colly.Response) {
		terms, err := c.permissions.Terms(r)
		if err != nil {
			t.Fatal(err)
		}
		if want := r.Request.URL.Path == "/long"; terms.Decide(acap.Index).Allowed != want {
			t.Errorf("%s: indexing is permitted: %t", r.Request.URL.Path, !want)
		}
		if len(r.Body) != 1000 {
			t.Errorf("%s: %d bytes", r.Request.URL.Path, len(r.Body))
		}
	})
	if err := c.Visit(s.URL + "/off"); err == nil {
		t.Error("no error")
	}
	for _, path := range []string{"/closed", "/long"} {
		if err := c.Visit(s.URL + path); err != nil {
			t.Error(err)
		}
	}
	if len(c.pages) != 2 {
		t.Errorf("callbacks saw %d pages", len(c.pages))
	}
}

// Of a page that is longer than the limit, the first part is judged and shown, and PageOf says so.
func TestBodyLimit(t *testing.T) {
	s := newSite(t)
	s.Handle("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(make([]byte, leastBody+1))
	})
	c := attach(t, Options{Seeds: []string{s.URL}}, colly.MaxBodySize(0))
	c.OnResponse(func(r *colly.Response) {
		if len(r.Body) != leastBody || !c.permissions.PageOf(r).Last().Truncated {
			t.Errorf("%d bytes, truncated: %t", len(r.Body), c.permissions.PageOf(r).Last().Truncated)
		}
	})
	if err := c.Visit(s.URL + "/"); err != nil || len(c.pages) != 1 {
		t.Errorf("%v, callbacks saw %d pages", err, len(c.pages))
	}
}

// If Colly requests robots.txt itself, the error names this reason.
func TestIgnoreRobotsTxtUnset(t *testing.T) {
	s := newSite(t)
	c := attach(t, Options{Seeds: []string{s.URL}})
	c.IgnoreRobotsTxt = false
	if err := c.Visit(s.URL + "/"); err == nil || !has(err.Error(), "IgnoreRobotsTxt", "clone") {
		t.Errorf("the error is %v", err)
	}
}

// The context of the program still ends requests, although Attach adds a value to it.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := attach(t, Options{AllowPrivate: true}, colly.StdlibContext(ctx))
	if err := c.Visit("http://127.0.0.1/"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
