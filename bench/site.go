package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// children is the number of links of a page to child pages: the site is a tree of this width.
const children = 10

// crossing is a number of bytes: for each of so many, a page has a link to a random page of the site.
const crossing = 768

// mostMade is the largest number of pages that are made before the first request. Pages of a larger
// site are made for each request.
const mostMade = 50_000

const robots = `ACAP-crawler: *
ACAP-disallow-crawl: /private/
ACAP-allow-index: /p/
ACAP-allow-preserve: /p/ time-limit=365-days
ACAP-disallow-present-oldcopy: /p/
`

// site is a site of many pages that are distributed over a few hosts in turn.
type site struct {
	pages int
	bytes int      // size of a page
	hosts []string // addresses without a path
}

// address returns the address of page i. No page links to page 0, the front page, so the site has
// as many addresses as pages.
func (s site) address(i int) string {
	if i == 0 {
		return s.hosts[0] + "/"
	}
	return fmt.Sprintf("%s/p/%d.html", s.hosts[i%len(s.hosts)], i)
}

// seeds returns the first pages, one of each host.
func (s site) seeds() []string {
	var seeds []string
	for i := range min(len(s.hosts), s.pages) {
		seeds = append(seeds, s.address(i))
	}
	return seeds
}

// serve serves the site on free ports of 127.0.0.1, one for each of its hosts, until ctx ends. It
// waits for latency before each answer. It first prints a line with the addresses of the hosts to
// out.
func (s site) serve(ctx context.Context, out io.Writer, hosts int, latency time.Duration) error {
	var listeners []net.Listener
	for range hosts {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		listeners = append(listeners, l)
		s.hosts = append(s.hosts, "http://"+l.Addr().String())
	}
	body := s.page
	if s.pages <= mostMade {
		bodies := make([][]byte, s.pages)
		for i := range bodies {
			bodies[i] = s.page(i)
		}
		body = func(i int) []byte { return bodies[i] }
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if latency > 0 {
			time.Sleep(latency)
		}
		number := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/p/"), ".html")
		switch r.URL.Path {
		case "/robots.txt":
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, robots)
			return
		case "/":
			number = "0"
		}
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= s.pages {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(body(i))
	})}
	context.AfterFunc(ctx, func() { server.Close() })
	fmt.Fprintln(out, strings.Join(s.hosts, " "))
	var serving sync.WaitGroup
	failed := make(chan error, hosts)
	for _, l := range listeners {
		serving.Go(func() {
			if err := server.Serve(l); err != http.ErrServerClosed {
				failed <- err
				server.Close()
			}
		})
	}
	serving.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// page returns page i: a title, links and paragraphs of artificial words. For the same i the page
// is always the same.
func (s site) page(i int) []byte {
	rnd := rand.New(rand.NewPCG(1, uint64(i)))
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "+
		"charset=\"utf-8\"><title>%s</title></head>\n<body>\n<ul>\n",
		phrase(rnd, 6))
	link := func(to int) {
		if to > 0 && to < s.pages {
			href := s.address(to)
			if to%len(s.hosts) == i%len(s.hosts) {
				href = fmt.Sprintf("/p/%d.html", to)
			}
			fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a></li>\n", href, phrase(rnd, 4))
		}
	}
	for k := 1; k <= children; k++ {
		link(i*children + k)
	}
	for range s.bytes / crossing {
		link(rnd.IntN(s.pages))
	}
	b.WriteString("</ul>\n")
	for b.Len() < s.bytes {
		fmt.Fprintf(&b, "<p>%s.</p>\n", phrase(rnd, 60))
	}
	b.WriteString("</body></html>\n")
	return []byte(b.String())
}

// phrase returns n artificial words of one to four syllables. Frequent words are far more likely
// than rare ones.
func phrase(rnd *rand.Rand, n int) string {
	syllables := []string{"ba", "den", "fo", "gri", "hal", "ka", "lor", "mi", "nus", "pa", "qui", "ro", "sta", "tem",
		"vo", "wen"}
	var b strings.Builder
	for w := range n {
		if w > 0 {
			b.WriteByte(' ')
		}
		for rank := int(40000 * rnd.Float64() * rnd.Float64() * rnd.Float64()); ; rank /= len(syllables) {
			b.WriteString(syllables[rank%len(syllables)])
			if rank < len(syllables) {
				break
			}
		}
	}
	return b.String()
}
