package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/page"
)

// document is one page.
type document struct {
	name     string
	page     *page.Page
	title    string
	text     string // text without the title
	passages []string
	plain    string // title and text, folded for comparisons
}

// crawled is the time at which the pages were fetched, according to the archive.
var crawled = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// load reads the pages of a directory in the order of their names.
func load(dir string) (docs []document, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for i, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		hop := page.Hop{URL: fmt.Sprintf("http://pages.example/%d", i), Method: http.MethodGet, Status: http.StatusOK,
			Body: body, Start: crawled,
			Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}}
		pg := page.New([]page.Hop{hop})
		d := document{name: filepath.Base(name), page: pg, title: pg.Title(page.Cut{})}
		text, blocks := pg.Blocks(page.Cut{})
		for _, b := range blocks {
			if b.Kind == page.Prose {
				d.passages = append(d.passages, text[b.Start:b.End])
			}
		}
		d.text = strings.TrimSpace(strings.TrimPrefix(text, d.title))
		d.plain = fold(d.title + "\n" + d.text)
		docs = append(docs, d)
	}
	dropShared(docs)
	return docs, nil
}

// dropShared removes the passages that are on more than one page, such as navigation, because
// nobody searches for a page with the words of such a passage.
func dropShared(docs []document) {
	pages := map[string]int{}
	for _, d := range docs {
		seen := map[string]bool{}
		for _, p := range d.passages {
			if !seen[p] {
				seen[p] = true
				pages[p]++
			}
		}
	}
	for i := range docs {
		docs[i].passages = slices.DeleteFunc(docs[i].passages, func(p string) bool { return pages[p] > 1 })
	}
}
