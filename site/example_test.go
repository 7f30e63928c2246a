package site_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/site"
)

// A program crawls a web site and searches the pages that may be shown.
func Example() {
	web, dir := newspaper(), directory() // a web site on loopback, and an empty directory
	defer web.Close()
	defer os.RemoveAll(dir)

	ctx := context.Background()
	cfg, err := config.Load(config.Input{Flags: map[string]any{"data": dir, "crawler": []string{"examplebot"},
		"delay": "0"}})
	if err != nil {
		log.Fatal(err)
	}
	s, err := site.Open(cfg, site.Options{Create: true})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	sum, err := s.Crawl(ctx, site.CrawlOptions{Seeds: []string{web.URL + "/"}})
	if err != nil {
		log.Fatal(err)
	}
	found, err := s.Search(ctx, site.Query{Text: "ferry"}, site.Reader{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum.Stored, "pages stored;", len(found.Results), "found:", found.Results[0].Title)
	// Output: 2 pages stored; 2 found: The ferry returns
}
