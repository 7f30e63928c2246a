package main

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"
)

// crawlBare follows every link of the site from a queue in memory, as a plain user of Colly would, and prints how many
// pages came.
func crawlBare(out io.Writer, site string, connections int) error {
	var pages atomic.Int64
	c := colly.NewCollector()
	c.WithTransport(&http.Transport{MaxIdleConnsPerHost: connections})
	q, err := queue.New(connections, &queue.InMemoryQueueStorage{MaxSize: 1 << 30})
	if err != nil {
		return err
	}
	c.OnResponse(func(*colly.Response) { pages.Add(1) })
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		q.AddURL(e.Request.AbsoluteURL(e.Attr("href"))) // fails for a full queue alone
	})
	if err := q.AddURL(site + "/"); err != nil {
		return err
	}
	if err := q.Run(c); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, pages.Load())
	return err
}
