package acapcolly

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gocolly/colly/v2"
)

// Links that may not be followed are not requested: a whole page with nofollow, a link with rel=nofollow, and an
// element with a prohibition, whether callbacks use Request.Visit or Collector.Visit.
func TestLinks(t *testing.T) {
	s := newSite(t)
	html(s, "/", `<p class="the-acap:disallow-follow"><a href=/element>e</a></p><a rel=nofollow href=/marked>m</a>
		<a href=/closed>c</a>`)
	html(s, "/closed", `<meta name=robots content=nofollow><a href=/hidden>h</a><img src=/picture.png>`)
	c := attach(t, Options{Seeds: []string{s.URL}})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = c.Visit(e.Request.AbsoluteURL(e.Attr("href"))) })
	c.OnHTML("img[src]", func(e *colly.HTMLElement) { _ = c.Visit(e.Request.AbsoluteURL(e.Attr("src"))) })
	if err := c.Visit(s.URL + "/"); err != nil {
		t.Fatal(err)
	}
	if got := paths(s); got != "GET /, GET /closed" {
		t.Errorf("the site was asked for %s", got)
	}
	if got := c.refusals(); !has(got, "/element is not requested", "the-acap:disallow-follow",
		"/marked is not requested", "rel=nofollow", "/hidden is not requested", "/picture.png is not requested") {
		t.Errorf("the refusals are\n%s", got)
	}
	for _, err := range c.errors {
		if _, is := errors.AsType[*LinkRefusal](err); !is {
			t.Errorf("not a LinkRefusal: %v", err)
		}
	}
}

// A link that one page refuses and another one permits is requested once, in whichever order the pages are received.
func TestLinkPermittedElsewhere(t *testing.T) {
	for _, first := range []string{"/refuses", "/permits"} {
		t.Run(first, func(t *testing.T) {
			s := newSite(t)
			html(s, "/refuses", `<meta name=robots content=nofollow><a href=/page>p</a>`)
			html(s, "/permits", `<a href=/page>p</a>`)
			html(s, "/page", `page`)
			c := attach(t, Options{Seeds: []string{s.URL}})
			second := map[string]string{"/refuses": "/permits", "/permits": "/refuses"}[first]
			for _, path := range []string{first, second} {
				if err := c.Visit(s.URL + path); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.Asked("/page"); got != 1 {
				t.Errorf("the page was requested %d times: %s", got, c.refusals())
			}
		})
	}
}

// Links that may not be followed are not requested however they are spelt. Colly spells addresses as browsers do.
func TestLinkSpelling(t *testing.T) {
	s := newSite(t)
	html(s, "/", `<meta name=robots content=nofollow><a href="/a\b">1</a><a href="/q?a'b">2</a><a href="http:rel">3</a>
		<a href=" /blank ">4</a><a href="/%7euser">5</a><link rel=next href=/next><form action=/form></form>
		<button formaction=/send>s</button><a ping="/ping /pong" href=/>p</a><q cite=/cite>q</q>
		<img longdesc=/long data-src=lazy.png data-srcset="/one.png 1x, /two.png 2x"><p data-href=next.html data-url=/u>
		<meta property=og:image content=/og.png>`)
	c := attach(t, Options{Seeds: []string{s.URL}})
	for _, name := range []string{"ping", "data-srcset"} {
		c.OnHTML("["+name+"]", func(e *colly.HTMLElement) {
			for _, one := range strings.Split(e.Attr(name), " ") {
				if strings.HasPrefix(one, "/") {
					_ = e.Request.Visit(one)
				}
			}
		})
	}
	for _, name := range []string{"href", "action", "formaction", "cite", "longdesc", "data-src", "data-href",
		"data-url", "content"} {
		c.OnHTML("["+name+"]", func(e *colly.HTMLElement) { _ = e.Request.Visit(e.Attr(name)) })
	}
	if err := c.Visit(s.URL + "/"); err != nil {
		t.Fatal(err)
	}
	if got := paths(s); got != "GET /" {
		t.Errorf("the site was asked for %s", got)
	}
}

// Links of a page that permits following are permitted however they are spelt, except those with rel=nofollow.
func TestPermittedSpelling(t *testing.T) {
	s := newSite(t)
	text := `<a href="/a\b">1</a><a href="http:rel">2</a><a href="/..//c">3</a><q cite=/cite>4</q>`
	html(s, "/refuses", `<meta name=robots content=nofollow>`+text+`<a href="/d\d">5</a>`)
	html(s, "/permits", text+`<a rel=nofollow href="/d\d">5</a>`)
	c := attach(t, Options{Seeds: []string{s.URL}})
	c.OnHTML("[cite]", func(e *colly.HTMLElement) { _ = e.Request.Visit(e.Attr("cite")) })
	_ = c.Visit(s.URL + "/refuses")
	if got := paths(s); got != "GET /refuses" {
		t.Errorf("the site was asked for %s", got)
	}
	_ = c.Visit(s.URL + "/permits")
	if got := paths(s); got != "GET //c, GET /a/b, GET /cite, GET /permits, GET /refuses, GET /rel" {
		t.Errorf("the site was asked for %s", got)
	}
}

// A page has more links than are read of it: all of them are refused.
func TestManyLinks(t *testing.T) {
	s := newSite(t)
	html(s, "/", `<meta name=robots content=nofollow>`+strings.Repeat("<a href=/x>x</a>", 10)+
		func() string {
			var b strings.Builder
			for i := range 50_001 {
				fmt.Fprintf(&b, "<a href=/%d>l</a>", i)
			}
			return b.String()
		}())
	c := colly.NewCollector(colly.UserAgent("examplebot/1.0"))
	p, err := Attach(c, Options{Seeds: []string{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c.OnHTML("a:last-child", func(e *colly.HTMLElement) { _ = e.Request.Visit(e.Attr("href")) })
	if err := c.Visit(s.URL + "/"); err != nil {
		t.Fatal(err)
	}
	if got := paths(s); got != "GET /" {
		t.Errorf("the site was asked for %s", got)
	}
}

// A link that a page permits which answers 404 is requested, too.
func TestLinkPermittedByErrorPage(t *testing.T) {
	s := newSite(t)
	html(s, "/refuses", `<meta name=robots content=nofollow><a href=/page>p</a>`)
	s.Handle("/gone", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `<a href=/page>p</a>`)
	})
	html(s, "/page", `page`)
	c := attach(t, Options{Seeds: []string{s.URL}})
	_ = c.Visit(s.URL + "/refuses")
	_ = c.Visit(s.URL + "/gone")
	if s.Asked("/page") != 1 {
		t.Errorf("the site was asked for %s", paths(s))
	}
}

// A redirect that is not followed shows nothing to callbacks, because it was not judged.
func TestRedirectNotFollowed(t *testing.T) {
	s := newSite(t)
	s.Handle("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Location", "/there")
		w.WriteHeader(http.StatusFound)
		fmt.Fprint(w, `<meta name=robots content="ACAP disallow-crawl">secret <a href=/next>n</a>`)
	})
	c := attach(t, Options{Seeds: []string{s.URL}}, colly.ParseHTTPErrorResponse())
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })
	if err := c.Visit(s.URL + "/"); err != nil {
		t.Fatal(err)
	}
	if len(c.pages) != 1 || c.pages[0] != "/ " || paths(s) != "GET /" {
		t.Errorf("callbacks saw %q, and the site was asked for %s", c.pages, paths(s))
	}
}

// A seed is requested although a page does not permit following the link to it.
func TestSeedIsAlsoLink(t *testing.T) {
	s := newSite(t)
	html(s, "/", `<meta name=robots content=nofollow><a href=/second>s</a>`)
	html(s, "/second", `second`)
	c := attach(t, Options{Seeds: []string{s.URL + "/", s.URL + "/second"}})
	for _, path := range []string{"/", "/second"} {
		_ = c.Visit(s.URL + path)
	}
	if got := paths(s); got != "GET /, GET /second" {
		t.Errorf("the site was asked for %s", got)
	}
}
