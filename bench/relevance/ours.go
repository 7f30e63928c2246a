package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// deepest is the last rank at which the page is searched for. snippetsOf is the number of results
// whose snippets are checked.
const (
	deepest    = 50
	snippetsOf = 10
)

// web implements policies and fetching for the engine: it permits everything and serves nothing.
type web struct{}

// Policy implements terms.Policies.
func (web) Policy(context.Context, *url.URL) (*acap.Policy, error) {
	return acap.Parse("http://pages.example/robots.txt", nil).Policy(acap.Crawler{Names: []string{"relevance"}}), nil
}

// Fetch implements terms.Fetcher. It always fails.
func (web) Fetch(context.Context, string) (*page.Page, error) {
	return nil, errors.New("not available")
}

// engine is a data directory with the pages of one language.
type engine struct {
	dir     string
	docs    []document
	byURL   map[string]int
	archive *archive.Archive
	index   *index.Index
	present *present.Presenter
}

// newEngine stores and indexes docs in a new directory, as a crawl does.
func newEngine(ctx context.Context, docs []document) (e *engine, err error) {
	e = &engine{docs: docs, byURL: map[string]int{}}
	if e.dir, err = os.MkdirTemp("", "acapcrawl-relevance-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	if e.archive, err = archive.Open(e.dir, archive.Options{}); err != nil {
		return nil, err
	}
	if e.index, err = index.Open(filepath.Join(e.dir, "index")); err != nil {
		return nil, err
	}
	h, err := holdings.Open(ctx, e.archive, e.index, terms.Sources{Policies: web{}, Fetcher: web{}}, holdings.Options{})
	if err != nil {
		return nil, err
	}
	for i, d := range docs {
		e.byURL[d.page.URL().String()] = i
		if _, err = h.Receive(ctx, d.page); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	e.present = present.New(present.Stored(e.archive, e.index), web{})
	return e, h.Close()
}

func (e *engine) close() error {
	var errs []error
	if e.index != nil {
		errs = append(errs, e.index.Close())
	}
	if e.archive != nil {
		errs = append(errs, e.archive.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(e.dir))...)
}

// answer is the result of one query.
type answer struct {
	rank    int // rank of the page; 0 if it was not found
	whole   share
	lacking []string // for each incomplete snippet, a line with the query words that the snippet lacks
}

func (e *engine) ask(ctx context.Context, q query) (a answer, err error) {
	found, err := e.present.Search(ctx, present.Query{Text: q.text(), Limit: deepest}, present.Reader{})
	if err != nil {
		return a, err
	}
	wanted := e.docs[q.page].page.URL().String()
	for i, r := range found.Results {
		if a.rank == 0 && (r.URL == wanted || slices.Contains(r.Also, wanted)) {
			a.rank = i + 1
		}
		if i >= snippetsOf || r.Snippet == nil {
			continue
		}
		lacks := e.lacking(q, e.docs[e.byURL[r.URL]], r)
		a.whole.all++
		if len(lacks) == 0 {
			a.whole.good++
			continue
		}
		a.lacking = append(a.lacking, fmt.Sprintf("%s: %s lacks %s: %s", e.docs[e.byURL[r.URL]].name, q.text(),
			strings.Join(lacks, ", "), r.Snippet.Text))
	}
	return a, nil
}

// lacking returns the words of q that the text of a page contains and its snippet does not. A form
// of a word that the rules of the language treat as equal to it counts as this word.
func (e *engine) lacking(q query, d document, r present.Result) (out []string) {
	language := d.page.LikelyLanguage()
	for _, w := range q.words {
		matches := e.index.Matcher(w, language)
		if has(d.text, w, matches) && !has(r.Snippet.Text, w, matches) {
			out = append(out, w)
		}
	}
	return out
}

// has reports whether text contains a word.
func has(text, word string, matches func(string) bool) bool {
	if strings.ContainsFunc(word, unspaced) {
		return strings.Contains(fold(text), fold(word))
	}
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return !inWord(r) }), matches)
}
