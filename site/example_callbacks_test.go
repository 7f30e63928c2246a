package site_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/gocolly/colly/v2"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/site"
)

// A program registers Colly callbacks. They are called for pages that may be crawled, with the
// terms of each page.
func ExampleCrawlOptions() {
	web, dir := newspaper(), directory()
	defer web.Close()
	defer os.RemoveAll(dir)

	cfg, err := config.Load(config.Input{Flags: map[string]any{"data": dir, "delay": "0"}})
	if err != nil {
		log.Fatal(err)
	}
	s, err := site.Open(cfg, site.Options{Create: true})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	_, err = s.Crawl(context.Background(), site.CrawlOptions{
		Seeds: []string{web.URL + "/ferry.html"},
		Collect: func(c *colly.Collector) {
			c.OnHTML("title", func(e *colly.HTMLElement) {
				_, terms, _ := crawler.PageOf(e.Request)
				fmt.Printf("%s: snippets permitted: %t\n", e.Text, terms.Decide(acap.PresentSnippet).Allowed)
			})
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: The ferry returns: snippets permitted: true
}
