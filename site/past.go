package site

import (
	"errors"
	"net/url"
	"path/filepath"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
)

// Past returns what the data directory has stored about u.
func (s *Site) Past(u *url.URL) (explain.Past, error) {
	p, err := pastOf(s.archive, s.withFrontier, u)
	return withThen(p, s.policy), err
}

// withThen returns p with the policy at the time of the last fetch, which policies knows.
func withThen(p explain.Past, policies *policy.Authority) explain.Past {
	if u, err := url.Parse(p.URL); err == nil && p.URL != "" && !p.LastCrawled.IsZero() {
		p.Then = policies.Then(u, p.LastCrawled)
	}
	return p
}

// ReadPast returns what the data directory cfg.Data has stored about u, like Site.Past. It opens
// only archive and queue; p is zero if the directory is empty.
func ReadPast(cfg *config.Config, u *url.URL) (p explain.Past, err error) {
	if Empty(cfg.Data) {
		return p, nil
	}
	a, err := OpenArchive(cfg)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	with := func(fn func(*crawler.Frontier) error) error { return withFrontierOf(cfg, fn) }
	if p, err = pastOf(a, with, u); err != nil || p.LastCrawled.IsZero() {
		return p, err
	}
	who, err := RecordedCrawler(cfg)
	if err != nil {
		return p, err
	}
	store, err := policy.Open(filepath.Join(cfg.Data, "policy.db"))
	if err != nil {
		return p, err
	}
	policies := policy.New(nil, who, store, policy.Options{})
	return withThen(p, policies), policies.Close()
}

func pastOf(a *archive.Archive, with func(func(*crawler.Frontier) error) error, u *url.URL) (p explain.Past,
	err error) {
	address, err := address.Normal(u.String())
	if err != nil {
		return p, err
	}
	if p.Way, err = a.Way(address); err != nil {
		return p, err
	}
	if p, err = heldAt(a, p.Way); err != nil {
		return p, err
	}
	return p, with(func(f *crawler.Frontier) error {
		if p.Seeds, err = f.Seeds(); err != nil {
			return err
		}
		rec, _, err := f.Get(address)
		p.Led = rec.Led
		return err
	})
}

// heldAt returns what the archive has stored about the page at the end of a redirect chain.
func heldAt(a *archive.Archive, way []string) (p explain.Past, err error) {
	p.Way = way
	if p.Resource, _, err = a.Resource(p.Way[len(p.Way)-1]); err != nil || p.Current == 0 {
		return p, err
	}
	p.Page, err = currentCopy(a, p.Resource)
	return p, err
}

// currentCopy returns the current copy of r; nil if it was erased since r was read.
func currentCopy(a *archive.Archive, r archive.Resource) (*page.Page, error) {
	c, err := a.Capture(r.Current)
	if err != nil {
		return nil, ignoreGone(err)
	}
	body, rendered, err := a.Documents(c.ID)
	if err != nil {
		return nil, ignoreGone(err)
	}
	return c.Page(body, rendered), nil
}

func ignoreGone(err error) error {
	if errors.Is(err, archive.ErrNotHeld) {
		return nil
	}
	return err
}
