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
)

// The shape of a page.
const (
	pageBytes = 15 << 10
	children  = 10 // links down: the site is a tree of this width
	crossing  = 20 // links to pages anywhere
)

const robots = `ACAP-crawler: *
ACAP-disallow-crawl: /private/
ACAP-allow-index: /p/
ACAP-allow-preserve: /p/ time-limit=365-days
ACAP-disallow-present-oldcopy: /p/
`

// serve answers on a free port of loopback until ctx ends. Its address is the first line of out.
func serve(ctx context.Context, out io.Writer, pages int) error {
	site := make([][]byte, pages)
	for i := range site {
		site[i] = page(i, pages)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, robots)
			return
		}
		number := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/p/"), ".html")
		if r.URL.Path == "/" {
			number = "0"
		}
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= pages {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(site[i])
	})}
	context.AfterFunc(ctx, func() { server.Close() })
	fmt.Fprintf(out, "http://%s\n", l.Addr())
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// page writes page i, always the same: a title, links and paragraphs of made-up words. Page 0 is the front page, which no
// link leads to, so that the site has as many addresses as pages.
func page(i, pages int) []byte {
	rnd := rand.New(rand.NewPCG(1, uint64(i)))
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title></head>\n<body>\n<ul>\n", words(rnd, 6))
	link := func(to int) {
		if to > 0 && to < pages {
			fmt.Fprintf(&b, "<li><a href=\"/p/%d.html\">%s</a></li>\n", to, words(rnd, 4))
		}
	}
	for k := 1; k <= children; k++ {
		link(i*children + k)
	}
	for range crossing {
		link(rnd.IntN(pages))
	}
	b.WriteString("</ul>\n")
	for b.Len() < pageBytes {
		fmt.Fprintf(&b, "<p>%s.</p>\n", words(rnd, 60))
	}
	b.WriteString("</body></html>\n")
	return []byte(b.String())
}

// words makes n words of one to four syllables, frequent ones far more often than rare ones.
func words(rnd *rand.Rand, n int) string {
	syllables := []string{"ba", "den", "fo", "gri", "hal", "ka", "lor", "mi", "nus", "pa", "qui", "ro", "sta", "tem", "vo", "wen"}
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
