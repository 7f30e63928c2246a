package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"
	"golang.org/x/net/html"

	"github.com/acapcrawl/acapcrawl/page"
)

// crawlColly follows every link from a queue in memory, as a plain user of Colly would, and returns
// the number of pages.
func crawlColly(seeds []string, connections int) (int, error) {
	var pages atomic.Int64
	c := colly.NewCollector()
	c.WithTransport(&http.Transport{MaxIdleConnsPerHost: connections})
	q, err := queue.New(connections, &queue.InMemoryQueueStorage{MaxSize: 1 << 30})
	if err != nil {
		return 0, err
	}
	c.OnResponse(func(*colly.Response) { pages.Add(1) })
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		q.AddURL(e.Request.AbsoluteURL(e.Attr("href"))) // fails only if the queue is full
	})
	for _, seed := range seeds {
		if err := q.AddURL(seed); err != nil {
			return 0, err
		}
	}
	err = q.Run(c)
	return int(pages.Load()), err
}

// crawlFloor does only what every crawler must do: it requests each address once with Go's client,
// and finds the links of each page with a tokenizer.
func crawlFloor(seeds []string, connections int) (int, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	f := &floor{client: client, seen: map[string]bool{}}
	f.wake = sync.NewCond(&f.mu)
	f.add(seeds...)
	var workers sync.WaitGroup
	for range connections {
		workers.Go(f.work)
	}
	workers.Wait()
	return f.pages, f.failed
}

type floor struct {
	client *http.Client

	mu     sync.Mutex
	wake   *sync.Cond
	seen   map[string]bool
	queue  []string
	busy   int
	pages  int
	failed error
}

func (f *floor) add(addresses ...string) {
	for _, a := range addresses {
		if !f.seen[a] {
			f.seen[a] = true
			f.queue = append(f.queue, a)
		}
	}
}

func (f *floor) work() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		for len(f.queue) == 0 && f.busy > 0 {
			f.wake.Wait()
		}
		if len(f.queue) == 0 || f.failed != nil {
			f.wake.Broadcast()
			return
		}
		address := f.queue[0]
		f.queue = f.queue[1:]
		f.busy++
		f.mu.Unlock()
		links, err := f.fetch(address)
		f.mu.Lock()
		f.busy--
		if err != nil {
			f.failed = err
		}
		f.pages++
		f.add(links...)
		f.wake.Broadcast()
	}
}

func (f *floor) fetch(address string) (links []string, err error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	resp, err := f.client.Get(address)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	for z := html.NewTokenizer(resp.Body); ; {
		switch z.Next() {
		case html.ErrorToken:
			return links, nil
		case html.StartTagToken:
			name, more := z.TagName()
			for anchor := string(name) == "a"; more && anchor; {
				var key, value []byte
				key, value, more = z.TagAttr()
				if string(key) != "href" {
					continue
				}
				if u, err := base.Parse(string(value)); err == nil {
					links = append(links, u.String())
				}
			}
		}
	}
}

// batch is the number of documents that acapcrawl adds to its index in one step.
const batch = 512

// indexBleve indexes the texts of the site with bleve alone. Its documents have the same fields as
// in package index, mapped as bleve's manual describes. It calls begin when the texts are prepared,
// before it indexes them.
func indexBleve(s site, dir string, begin func()) (n int, err error) {
	type text struct{ Title, Body, Host, Language, Day string }
	texts := make([]text, s.pages)
	for i := range texts {
		pg := page.New([]page.Hop{{URL: s.address(i), Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
			Body: s.page(i)}})
		title := pg.Title(page.Cut{})
		texts[i] = text{Title: title, Body: strings.TrimPrefix(pg.Text(page.Cut{}), title), Host: pg.URL().Host,
			Language: pg.Language(), Day: "2026-11-21"}
	}
	words := mapping.NewTextFieldMapping()
	words.Analyzer, words.Store, words.DocValues, words.IncludeInAll = en.AnalyzerName, false, false, false
	label := mapping.NewTextFieldMapping()
	label.Analyzer, label.Store, label.DocValues, label.IncludeInAll = keyword.Name, false, false, false
	label.IncludeTermVectors, label.SkipFreqNorm = false, true
	document := mapping.NewDocumentStaticMapping()
	for name, field := range map[string]*mapping.FieldMapping{"Title": words, "Body": words, "Host": label,
		"Language": label, "Day": label} {
		document.AddFieldMappingsAt(name, field)
	}
	all := bleve.NewIndexMapping()
	all.DefaultMapping = document
	path := filepath.Join(dir, "bleve")
	defer os.RemoveAll(path)
	begin()
	ix, err := bleve.New(path, all)
	if err != nil {
		return 0, err
	}
	for n < len(texts) {
		b := ix.NewBatch()
		for ; n < len(texts) && b.Size() < batch; n++ {
			if err := b.Index(s.address(n), texts[n]); err != nil {
				return n, err
			}
		}
		if err := ix.Batch(b); err != nil {
			return n, err
		}
	}
	err = ix.Close()
	if n != s.pages {
		err = fmt.Errorf("%d of %d pages indexed", n, s.pages)
	}
	return n, err
}
