package main

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/view"
	"github.com/acapcrawl/acapcrawl/site"
)

// emptyArchive answers readers as long as the data directory is empty: nothing is archived, and no policy was read.
type emptyArchive struct{ who acap.Crawler }

// newEmptyView returns the handler of readers' requests for an empty data directory.
func newEmptyView(cfg *config.Config, failed func(error)) (*view.Handler, error) {
	none := emptyArchive{site.CrawlerOf(cfg)}
	return view.New(view.Options{Presenter: none, Explainer: none, Sites: none, Failed: failed})
}

func (emptyArchive) Search(context.Context, present.Query, present.Reader) (f present.Found, err error) {
	return f, nil
}

func (emptyArchive) Versions(context.Context, string, present.Reader) (v []present.Version, s present.State,
	err error) {
	return nil, s, nil
}

func (emptyArchive) Around(context.Context, string, time.Time, present.Reader) (v []present.Version, s present.State,
	err error) {
	return nil, s, nil
}

func (emptyArchive) Open(context.Context, string, present.Version, present.Reader) (c present.Copy, err error) {
	return c, present.ErrNotHeld
}

func (emptyArchive) Thumbnail(context.Context, string, present.Which, present.Reader) (t present.Thumbnail, err error) {
	return t, present.ErrNotHeld
}

func (emptyArchive) Copy(context.Context, string, present.Which, present.Reader) (c present.Copy, err error) {
	return c, present.ErrNotHeld
}

func (emptyArchive) SentCopy(context.Context, string, present.Which, present.Reader) (c present.Copy, err error) {
	return c, present.ErrNotHeld
}

func (emptyArchive) Snippet(context.Context, string, string, present.Which, present.Reader) (p present.Passage,
	err error) {
	return p, present.ErrNotHeld
}

func (emptyArchive) Original(context.Context, string, present.Reader) (l present.Lead, err error) {
	return l, present.ErrNotHeld
}

func (emptyArchive) List(context.Context, present.Listing, present.Reader) iter.Seq2[present.Version, error] {
	return func(func(present.Version, error) bool) {}
}

func (emptyArchive) Listed(context.Context, string, present.Reader) (listed bool, until time.Time, err error) {
	return false, until, nil
}

func (emptyArchive) State(context.Context, string, acap.Decision, present.Reader) (s present.State, err error) {
	return s, nil
}

func (e emptyArchive) Crawler() acap.Crawler { return e.who }

func (emptyArchive) Explain(_ context.Context, q explain.Question, _ present.Reader) (*explain.Explanation, error) {
	return nil, fmt.Errorf("%s: %w", q.URL.Host, explain.ErrNeverRead)
}

func (emptyArchive) Sites(context.Context, string, int, bool) (list []view.Site, more bool, err error) {
	return nil, false, nil
}

func (emptyArchive) Host(context.Context, string, bool) ([]view.SiteDetail, error) { return nil, nil }

func (emptyArchive) Totals() (t view.Totals, err error) { return t, nil }

func (emptyArchive) Crawl() *view.Crawl { return nil }
