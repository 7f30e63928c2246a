// Command careless is a plain Colly crawler for tests of the judge. It requests every address that
// a page names, on all hosts. With -robots, Colly obeys robots.txt.
//
//	careless [-robots] [-agent USER-AGENT] URL…
package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/gocolly/colly/v2"
)

func main() {
	robots := flag.Bool("robots", false, "obey robots.txt, as Colly reads it")
	agent := flag.String("agent", "", "send this User-Agent instead of Colly's own")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: careless [-robots] [-agent USER-AGENT] URL…")
		os.Exit(2)
	}
	crawl(*robots, *agent, flag.Args())
}

// crawl visits each address once. It ignores errors of single addresses.
func crawl(robots bool, agent string, seeds []string) {
	c := colly.NewCollector(colly.MaxDepth(6))
	c.IgnoreRobotsTxt = !robots
	if agent != "" {
		c.UserAgent = agent
	}
	c.OnHTML("[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
	c.OnHTML("[src]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("src")) })
	c.OnHTML("meta[http-equiv=refresh]", func(e *colly.HTMLElement) {
		if _, to, ok := strings.Cut(e.Attr("content"), "url="); ok {
			e.Request.Visit(to)
		}
	})
	c.OnXML("//loc | //item/link", func(e *colly.XMLElement) { e.Request.Visit(e.Text) })
	c.OnResponse(func(r *colly.Response) {
		if to, _, ok := strings.Cut(strings.TrimPrefix(r.Headers.Get("Link"), "<"), ">"); ok {
			r.Request.Visit(to)
		}
	})
	for _, seed := range seeds {
		c.Visit(seed)
		if u, err := url.Parse(seed); err == nil {
			c.Visit(u.JoinPath("/sitemap.xml").String())
		}
	}
}
