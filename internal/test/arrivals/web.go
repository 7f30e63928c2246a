package arrivals

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"
)

// web is what can be computed without a request: hosts, pages, links and answers.
type web struct {
	o      Options
	hosts  []string       // address:port
	index  map[string]int // of hosts
	markup string
}

func newWeb(o Options, port string) web {
	w := web{o: o, index: map[string]int{}, markup: nested(o.Markup)}
	for i := range o.Hosts {
		w.hosts = append(w.hosts, net.JoinHostPort(address(i), port))
		w.index[w.hosts[i]] = i
	}
	return w
}

// Of ten hosts, these have a peculiarity.
const (
	crediting    = 2 // robots.txt requires a credit that the next host has
	tooMany      = 3 // page 1 answers once with 429 and Retry-After
	slow         = 4 // pages take Options.Slow
	unavailable  = 6 // page 1 answers once with 503 and Retry-After
	redirecting  = 7 // has pages that redirect to the next host
	robotsMoved  = 8 // robots.txt redirects to that of the host 8 before
	slowDelaying = 9 // robots.txt has a Crawl-delay
)

// is reports whether host i has a peculiarity, which the options must enable.
func (w *web) is(i, peculiarity int) bool {
	enabled := map[int]bool{
		tooMany: w.o.RetryAfter > 0, unavailable: w.o.RetryAfter > 0, slow: w.o.Slow > 0,
		redirecting: w.o.Redirects, robotsMoved: w.o.Redirects, slowDelaying: w.o.CrawlDelay > 0,
		crediting: w.o.Credits,
	}
	return i%10 == peculiarity && enabled[peculiarity]
}

// Hosts returns address:port of all hosts.
func (w *web) Hosts() []string { return append([]string(nil), w.hosts...) }

// Home returns the home page of the first host. All pages can be reached from it.
func (w *web) Home() string { return w.url(0, "/") }

// Pages returns the URLs that a crawl must request exactly once, in a fixed order: all pages, and
// what redirects to pages. Policy files are not pages.
func (w *web) Pages() (urls []string) {
	for i := range w.hosts {
		for k := range w.o.Pages {
			urls = append(urls, w.url(i, path(k)))
		}
		if w.is(i, redirecting) {
			urls = append(urls, w.url(i, movedTo), w.url(i, movedShut), w.url(w.next(i), arrivedFrom(i)))
		}
	}
	return urls
}

// credits returns the URLs of the required credits.
func (w *web) credits() (urls []string) {
	for i := range w.hosts {
		if w.is(i, crediting) {
			urls = append(urls, w.url(w.next(i), creditPath))
		}
	}
	return urls
}

// Forbidden reports whether robots.txt forbids to request a path. It does so on every host.
func Forbidden(path string) bool {
	return strings.HasPrefix(path, shut) || strings.HasPrefix(path, closed)
}

// Redirects reports whether a text contains the path of a page that redirects to another host, or of a forbidden page
// that can be reached only through such a redirect.
func Redirects(text string) bool {
	return strings.Contains(text, movedTo) || strings.Contains(text, movedShut) ||
		strings.Contains(text, closed+"moved")
}

const (
	robotsPath = "/robots.txt"
	creditPath = "/credit.txt"
	shut       = "/shut/"
	closed     = "/closed/"
	movedTo    = "/to/page" // redirects to a page of the next host that nothing else links to
	movedShut  = "/to/shut" // redirects to a forbidden page of the next host
)

func (w *web) url(i int, path string) string { return "http://" + w.hosts[i] + path }
func (w *web) next(i int) int                { return (i + 1) % len(w.hosts) }

// path returns the path of page k of any host.
func path(k int) string {
	if k == 0 {
		return "/"
	}
	return fmt.Sprintf("/page/%d", k)
}

// arrivedFrom is the path of the page to which host i redirects.
func arrivedFrom(i int) string { return fmt.Sprintf("/from/%d", i) }

// robots returns the robots.txt of host i. Half of the hosts use ACAP, half RFC 9309.
func (w *web) robots(i int) string {
	if i%2 == 0 {
		text := "ACAP-version: 1.1\nACAP-crawler: *\nACAP-disallow-crawl: " + shut + "\nACAP-disallow-crawl: " +
			closed + "\n"
		if w.is(i, crediting) {
			text += "ACAP-allow-present-snippet: / must-include-resource=the-acap:credit:" +
				w.url(w.next(i), creditPath) + "\n"
		}
		return text
	}
	text := "User-agent: *\nDisallow: " + shut + "\nDisallow: " + closed + "\n"
	if d := w.crawlDelay(i); d > 0 {
		text += fmt.Sprintf("Crawl-delay: %d\n", d/time.Second)
	}
	return text
}

func (w *web) crawlDelay(i int) time.Duration {
	if w.is(i, slowDelaying) {
		return w.o.CrawlDelay
	}
	return 0
}

// fan is the number of other home pages that a home page links to.
const fan = 8

// links returns the links of page k of host i: a tree of all pages, shortcuts, and forbidden pages.
func (w *web) links(i, k int) (list []string) {
	random := rand.New(rand.NewPCG(w.o.Seed, uint64(i*w.o.Pages+k)))
	for _, child := range []int{2*k + 1, 2*k + 2} {
		if child < w.o.Pages {
			list = append(list, path(child))
		}
	}
	if k == 0 {
		for other := fan*i + 1; other <= fan*i+fan && other < len(w.hosts); other++ {
			list = append(list, w.url(other, "/"))
		}
		if w.is(i, redirecting) {
			list = append(list, movedTo, movedShut)
		}
	}
	return append(list,
		w.url(random.IntN(len(w.hosts)), path(random.IntN(w.o.Pages))),
		path(random.IntN(w.o.Pages)),
		shut+fmt.Sprint(k), w.url(random.IntN(len(w.hosts)), closed+fmt.Sprint(k)))
}

// page returns the HTML of a page.
func (w *web) page(title string, links []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><html lang=en><title>%s</title><h1>%[1]s</h1>\n", title)
	for _, l := range links {
		fmt.Fprintf(&b, "<p>See <a href=%q>another page</a>.\n", l)
	}
	b.WriteString(w.markup)
	return b.String()
}

// nested returns about n bytes of markup that is deep and has little text.
func nested(n int) string {
	const depth = 100
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		for d := range depth {
			fmt.Fprintf(&b, `<div class="level-%d"><span title="tide %d">`, d, i)
		}
		fmt.Fprintf(&b, "Ferry %d leaves the harbour at high water.", i)
		b.WriteString(strings.Repeat("</span></div>", depth) + "\n")
	}
	return b.String()
}
