package acapcolly

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
)

// refusing returns a site with a page /page, and one page that refuses and one that permits the link to it.
func refusing(t *testing.T) *testweb.Pages {
	s := newSite(t)
	html(s, "/refuses", `<meta name=robots content=nofollow><a href=/page>p</a>`)
	html(s, "/permits", `<a href=/page>p</a>`)
	html(s, "/page", `page <a href=/next>n</a>`)
	return s
}

// A page cannot refuse that it is requested again, whatever it says about links to itself.
func TestLinkToItself(t *testing.T) {
	s := newSite(t)
	html(s, "/a", `<meta name=robots content=nofollow><form action=/a></form>`)
	s.Handle("/busy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `<meta name=robots content=nofollow><form action=""></form>`)
	})
	s.Redirect("/moved", "/busy")
	c := attach(t, Options{Seeds: []string{s.URL}}, colly.AllowURLRevisit())
	retried := false
	c.OnError(func(r *colly.Response, _ error) {
		if !retried {
			retried = true
			_ = r.Request.Retry()
		}
	})
	for _, path := range []string{"/a", "/a", "/moved"} {
		_ = c.Visit(s.URL + path)
	}
	if got := paths(s); got != "GET /a, GET /a, GET /busy, GET /busy, GET /moved" {
		t.Errorf("the site was asked for %s: %s", got, c.refusals())
	}
}

// All requests for a link wait: those of each method, and those of each collector.
func TestAllWait(t *testing.T) {
	s := refusing(t)
	a := attach(t, Options{Seeds: []string{s.URL}}, colly.CheckHead(), colly.Async())
	a.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = a.Visit(e.Request.AbsoluteURL(e.Attr("href"))) })
	second := colly.NewCollector(colly.UserAgent("examplebot/1.0"), colly.Async())
	if err := a.permissions.Attach(second); err != nil {
		t.Fatal(err)
	}
	a.watch(second)
	for _, path := range []string{"/refuses", "/permits"} {
		_ = a.Visit(s.URL + path)
		if path == "/refuses" {
			_ = second.Visit(s.URL + path)
		}
		a.permissions.Wait()
	}
	got := 0
	for _, p := range a.pages {
		if has(p, "/page <") {
			got++
		}
	}
	if got != 2 || s.Asked("/next") != 2+1 { // the first collector asks with HEAD, too
		t.Errorf("/page arrived %d times; the site was asked for %s", got, paths(s))
	}
}

// Requests for a link that differ in method or spelling wait next to each other.
func TestOtherRequestsWait(t *testing.T) {
	s := refusing(t)
	c := attach(t, Options{Seeds: []string{s.URL}})
	_ = c.Visit(s.URL + "/refuses")
	_ = c.Visit(s.URL + "/%70age")
	_ = c.Head(s.URL + "/page")
	_ = c.Visit(s.URL + "/permits")
	if got := paths(s); got != "GET /%70age, GET /next, GET /page, GET /permits, GET /refuses, HEAD /page" {
		t.Errorf("the site was asked for %s", got)
	}
}

// Permissions.Wait begins a waiting request of a collector that was done before. A callback of another collector does
// not: the program may be returning from Wait of the first one.
func TestWait(t *testing.T) {
	s := refusing(t)
	a := attach(t, Options{Seeds: []string{s.URL}}, colly.Async())
	clone := a.Collector.Clone()
	if err := a.permissions.Attach(clone); err != nil {
		t.Fatal(err)
	}
	clone.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = e.Request.Visit(e.Attr("href")) })
	_ = a.Visit(s.URL + "/refuses")
	a.permissions.Wait()
	_ = clone.Visit(s.URL + "/permits")
	clone.Wait()
	if due := a.permissions.links.due; len(due) != 1 || due[0].collector != a.Collector {
		t.Errorf("due are %v", due)
	}
	a.permissions.Wait()
	if !slices.ContainsFunc(a.pages, func(p string) bool { return has(p, "/page <") }) || s.Asked("/page") != 1 {
		t.Errorf("callbacks saw %q; the site was asked for %s", a.pages, paths(s))
	}
}

// A request that waited has the Depth that the permitting page gives it.
func TestDepth(t *testing.T) {
	s := refusing(t)
	html(s, "/deep", `<a href=/refuses>x</a>`)
	html(s, "/next", `next`)
	c := attach(t, Options{Seeds: []string{s.URL}}, colly.MaxDepth(3))
	for _, path := range []string{"/deep", "/permits"} { // /page is first requested with Depth 3
		_ = c.Visit(s.URL + path)
	}
	if s.Asked("/next") != 1 {
		t.Errorf("the site was asked for %s", paths(s))
	}
}

// A redirect to an address whose request waits releases that request.
func TestRedirectReleases(t *testing.T) {
	s := refusing(t)
	s.Redirect("/moved", "/page")
	c := attach(t, Options{Seeds: []string{s.URL}})
	for _, path := range []string{"/refuses", "/moved"} {
		_ = c.Visit(s.URL + path)
	}
	if s.Asked("/page") != 1 {
		t.Errorf("the site was asked for %s", paths(s))
	}
}

// The header of a refused request does not change while a callback reads it, even if the request begins again.
func TestHeaderOfRefusedRequest(t *testing.T) {
	s := refusing(t)
	refused, asked := make(chan struct{}), make(chan struct{})
	s.Handle("/page", func(http.ResponseWriter, *http.Request) { close(asked) })
	c := attach(t, Options{Seeds: []string{s.URL}}, colly.Async())
	c.OnError(func(r *colly.Response, err error) {
		if _, is := errors.AsType[*LinkRefusal](err); !is {
			return
		}
		before := (*r.Request.Headers)[ticket][0]
		close(refused)
		for {
			if got := (*r.Request.Headers)[ticket][0]; got != before {
				t.Errorf("the ticket %s became %s", before, got)
			}
			select {
			case <-asked:
				return
			default:
			}
		}
	})
	_ = c.Visit(s.URL + "/refuses")
	<-refused
	_ = c.Visit(s.URL + "/permits")
	c.Wait()
}
