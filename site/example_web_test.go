package site_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
)

// newspaper serves three pages. Policy prohibits crawling one of them.
func newspaper() *httptest.Server {
	pages := map[string]string{
		"/": `<title>News</title><p><a href="/ferry.html">The ferry</a> ` +
			`<a href="/members.html">For members</a>`,
		"/ferry.html":   `<title>The ferry returns</title><p>The ferry sails again on Monday.`,
		"/members.html": `<title>For members</title><p>A ferry that nobody else may read about.`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "ACAP-crawler: *\nACAP-disallow-crawl: /members.html\n")
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!DOCTYPE html><html lang=en>%s", pages[r.URL.Path])
	}))
}

// directory returns the name of an empty directory.
func directory() string {
	dir, err := os.MkdirTemp("", "site-example-")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}
