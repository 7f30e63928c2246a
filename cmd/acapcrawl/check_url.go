package main

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/check"
	"github.com/acapcrawl/acapcrawl/internal/fetch"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/site"
	"github.com/acapcrawl/acapcrawl/terms"
)

// checkURLs checks, for each site of the named pages, robots.txt, the files to which robots.txt
// refers, the pages, and the resources that the pages require.
func (c *Command) checkURLs(ctx context.Context, cfg *config.Config, report *check.Report, o check.Options,
	urls []*url.URL) error {
	if len(urls) == 0 {
		return nil
	}
	s, err := c.openLiveSite(cfg, urls)
	if err != nil {
		return err
	}
	defer s.Close()
	surfaces := map[string]*check.Surface{}
	for _, u := range urls {
		key, err := policy.Key(u)
		if err != nil {
			return err
		}
		surface := surfaces[key]
		if surface == nil {
			if surface, err = report.Surface(ctx, u, s.Site, o); err != nil {
				return err
			}
			surfaces[key] = surface
		}
		if _, err := surface.Page(ctx, u); ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
	return nil
}

// liveSite requests files and pages of publishers over the network; all requests pass one
// gate.Gate.
type liveSite struct {
	check.Site
	gate *gate.Gate
}

// openLiveSite returns a liveSite whose gate permits requests to the hosts of the named addresses.
func (c *Command) openLiveSite(cfg *config.Config, named []*url.URL) (*liveSite, error) {
	if err := c.readable(cfg.SignatureKey); err != nil {
		return nil, err
	}
	who, own := site.CrawlerOf(cfg), site.CrawlerOf(cfg.Sender())
	g, err := site.NewGate(cfg, own)
	if err != nil {
		return nil, err
	}
	for _, u := range named {
		g.Name(u)
	}
	answers := &check.Answers{Fetcher: policy.Through(g)}
	policies := policy.New(answers, who, policy.NewMemory(), policy.Options{Pace: g.Pace})
	g.Use(policies.For(own))
	resources := fetch.NewResources(g, time.Hour) // fetch a resource once for all crawlers
	return &liveSite{check.Site{Who: who, Sender: own, Policies: policies, Answers: answers,
		Fetcher: sitePages{resources, g}}, g}, nil
}

func (s *liveSite) Close() {
	s.Policies.Close() // cannot fail: the store is in memory
	s.gate.Close()
}

// sitePages fetches pages and the resources that the pages require; all requests pass the gate.
type sitePages struct {
	terms.Fetcher
	gate *gate.Gate
}

func (p sitePages) Page(ctx context.Context, rawurl string) (*page.Page, error) {
	t, err := p.gate.Get(ctx, gate.PageRequest, rawurl)
	if err != nil {
		return nil, err
	}
	return fetch.PageOf(t), nil
}
