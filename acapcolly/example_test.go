package acapcolly_test

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/acapcolly"
	"github.com/acapcrawl/acapcrawl/gate"
)

// newspaper is a web site that logs the requests for its pages.
type newspaper struct {
	*httptest.Server
	mu  sync.Mutex
	log []string
}

// open serves pages and a robots.txt.
func open(robots string, pages map[string]string) *newspaper {
	n := &newspaper{}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, found := pages[r.URL.Path]
		switch {
		case r.URL.Path == "/robots.txt":
			fmt.Fprint(w, robots)
			return
		case !found:
			http.NotFound(w, r)
			return
		}
		n.mu.Lock()
		n.log = append(n.log, r.Method+" "+r.URL.Path)
		n.mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!DOCTYPE html>", body)
	}))
	return n
}

// requests prints what the site was asked for.
func (n *newspaper) requests() {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.Sort(n.log)
	for _, line := range n.log {
		fmt.Println(line)
	}
}

// The example of Colly's own documentation, with one line added.
func Example() {
	paper := open("User-agent: *\nDisallow: /members\n", map[string]string{
		"/":        `<a href="/ferry">The ferry</a> <a href="/members">Members</a>`,
		"/ferry":   `<a href="/">Home</a>`,
		"/members": `A ferry that nobody else may read about.`,
	})
	defer paper.Close()

	c := colly.NewCollector()
	acapcolly.Attach(c, acapcolly.Options{Seeds: []string{paper.URL}}) // the added line

	// Find and visit all links
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		e.Request.Visit(e.Attr("href"))
	})

	c.Visit(paper.URL)

	paper.requests()
	// Output:
	// GET /
	// GET /ferry
}

// Why pages and links are refused. The errors name the line that decided.
func ExampleLinkRefusal() {
	paper := open("User-agent: *\nDisallow: /members\n", map[string]string{
		"/": `<a href="/members">Members</a> <a href="/partner" rel="nofollow">Our partner</a>
			<a href="/tips">Tips</a>`,
		"/tips":    `<meta name="robots" content="nofollow"><a href="/prize">A prize</a>`,
		"/members": `Not for robots.`, "/partner": `Not for robots.`, "/prize": `Not for robots.`,
	})
	defer paper.Close()

	c := colly.NewCollector()
	permissions, err := acapcolly.Attach(c, acapcolly.Options{Seeds: []string{paper.URL}})
	if err != nil {
		log.Fatal(err)
	}
	defer permissions.Close()
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
	c.OnError(func(r *colly.Response, err error) {
		var decision acap.Decision
		var page *gate.Refusal
		var link *acapcolly.LinkRefusal
		switch {
		case errors.As(err, &page): // a rule of the gate other than the policy has no decision, but page.Why
			decision = page.Decision
		case errors.As(err, &link):
			decision = link.Decision
		}
		fmt.Println(r.Request.URL.Path, "is refused")
		if line := decision.Because; line != nil {
			fmt.Printf("  by line %d of %s: %s\n", line.Line, strings.TrimPrefix(line.URL, paper.URL), line.Text)
		} else if link != nil {
			fmt.Println("  because", link.Why)
		}
	})
	if err := c.Visit(paper.URL); err != nil {
		log.Fatal(err)
	}
	// Output:
	// /members is refused
	//   by line 2 of /robots.txt: Disallow: /members
	// /partner is refused
	//   because the page marks it with rel=nofollow
	// /prize is refused
	//   by line 1 of /tips: nofollow
}

// A scraper of headlines that shows no more of a page than it may: some headlines have a class attribute that prohibits
// showing them.
func ExamplePermissions_OnHTML() {
	paper := open("ACAP-crawler: *\nACAP-disallow-crawl: /archive\n", map[string]string{
		"/": `<h2>The ferry returns</h2>
			<h2 class="the-acap:disallow-present-snippet">For subscribers: what the ferry costs</h2>
			<h2>Low water on Monday</h2> <a href="/archive">Older headlines</a>`,
		"/archive": `<h2>The ferry is lost</h2>`,
	})
	defer paper.Close()

	c := colly.NewCollector(colly.UserAgent("headlines/1.0 (+https://example.org/headlines)"))
	permissions, err := acapcolly.Attach(c, acapcolly.Options{Seeds: []string{paper.URL}})
	if err != nil {
		log.Fatal(err)
	}
	defer permissions.Close()
	permissions.OnHTML(c, acap.PresentSnippet, "h2", func(e *colly.HTMLElement) { fmt.Println(e.Text) })
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
	if err := c.Visit(paper.URL); err != nil {
		log.Fatal(err)
	}

	paper.requests()
	// Output:
	// The ferry returns
	// Low water on Monday
	// GET /
}

// An asynchronous walk through a site. It prints which pages may be archived, and why links were not followed.
func ExamplePermissions_Terms() {
	paper := open("ACAP-crawler: *\nACAP-disallow-preserve: /prices\n", map[string]string{
		"/":       `<a href="/ferry">The ferry</a> <a href="/prices">Prices</a>`,
		"/ferry":  `<a href="/partner" rel="nofollow">Our partner</a>`,
		"/prices": `Two coins.`, "/partner": `Not for robots.`,
	})
	defer paper.Close()

	c := colly.NewCollector(colly.Async(), colly.UserAgent("walker/1.0"))
	c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 2})
	permissions, err := acapcolly.Attach(c, acapcolly.Options{Seeds: []string{paper.URL}, PerHost: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer permissions.Close()
	var mu sync.Mutex
	var lines []string
	say := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, text)
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
	c.OnScraped(func(r *colly.Response) {
		if terms, err := permissions.Terms(r); err == nil {
			d := terms.Decide(acap.Preserve)
			say(fmt.Sprintf("%s may be archived: %t", r.Request.URL.Path, d.Allowed))
		}
	})
	c.OnError(func(r *colly.Response, err error) { say(r.Request.URL.Path + " is not requested") })
	c.Visit(paper.URL + "/")
	c.Wait()

	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	paper.requests()
	// Output:
	// / may be archived: true
	// /ferry may be archived: true
	// /partner is not requested
	// /prices may be archived: false
	// GET /
	// GET /ferry
	// GET /prices
}
