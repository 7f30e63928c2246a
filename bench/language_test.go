package main

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/temoto/robotstxt"

	"github.com/acapcrawl/acapcrawl/acap"
)

// file returns head followed by numbered lines, up to about size bytes.
func file(head, format string, size int) []byte {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return []byte(b.String())
}

const (
	conventional = "User-agent: *\nCrawl-delay: 1\nDisallow: /private/\nDisallow: /*.cgi$\nAllow: /private/open/\n"
	both         = "ACAP-version: 1.1\nACAP-crawler: *\nACAP-disallow-crawl: /private/\nACAP-allow-crawl: " +
		"/private/open/\nACAP-disallow-index: /drafts/\n"
)

// texts are files for both parsers. temoto ignores the ACAP fields.
var texts = []struct {
	name string
	text []byte
}{
	{"small", []byte(conventional)},
	{"10KB", file(conventional, "Disallow: /section-%d/page.html\n", 10_000)},
	{"10KB-wildcards", file(conventional, "Disallow: /*/section-%d/*.html\n", 10_000)},
	{"10KB-ACAP", file(conventional+both, "ACAP-disallow-crawl: /section-%d/page.html\n", 10_000)},
	{"400KB", file(conventional, "Disallow: /section-%d/page.html\n", 400_000)},
	{"5000-wildcards", file(conventional, "Disallow: /*/section-%d/*.html\n", 5_000*31)},
}

const robotsURL = "http://example.com/robots.txt"

// BenchmarkParse parses a robots.txt with package acap and with temoto/robotstxt.
func BenchmarkParse(b *testing.B) {
	for _, t := range texts {
		b.Run(t.name+"/acap", func(b *testing.B) {
			b.SetBytes(int64(len(t.text)))
			b.ReportAllocs()
			for b.Loop() {
				acap.Parse(robotsURL, t.text)
			}
		})
		b.Run(t.name+"/temoto", func(b *testing.B) {
			b.SetBytes(int64(len(t.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := robotstxt.FromBytes(t.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecide decides whether one page may be crawled, with package acap and with
// temoto/robotstxt.
func BenchmarkDecide(b *testing.B) {
	const path = "/news/section-77/page-of-today.html"
	u, err := url.Parse("http://example.com" + path)
	if err != nil {
		b.Fatal(err)
	}
	r := acap.NewResource(u)
	for _, t := range texts {
		p := acap.Parse(robotsURL, t.text).Policy(acap.Crawler{Names: []string{"searchbot"}})
		b.Run(t.name+"/acap", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(acap.Crawl, r)
			}
		})
		data, err := robotstxt.FromBytes(t.text)
		if err != nil {
			b.Fatal(err)
		}
		group := data.FindGroup("searchbot")
		b.Run(t.name+"/temoto", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				group.Test(path)
			}
		})
	}
}
