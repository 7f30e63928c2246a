package site

import (
	"context"
	"net/url"

	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/gate"
)

// maxSitemaps is the maximum number of sitemaps that a run reads for one origin, including those
// listed in sitemap indexes.
const maxSitemaps = 50

// readSitemaps reads the sitemaps of an origin, and queues the pages listed in them as links from a
// seed, before other links. visited is the page whose visit caused the sitemaps to be read. A
// sitemap that cannot be read is logged and skipped.
func (s *session) readSitemaps(ctx context.Context, visited *url.URL, named []string) error {
	var queue []string
	for _, ref := range named {
		if u, err := visited.Parse(ref); err == nil { // some sites write relative addresses
			queue = append(queue, u.String())
		}
	}
	seen := map[string]bool{}
	for len(queue) > 0 && len(seen) < maxSitemaps {
		address := queue[0]
		queue = queue[1:]
		if seen[address] {
			continue
		}
		seen[address] = true
		more, err := s.readSitemap(ctx, visited, address)
		if err != nil {
			return err
		}
		queue = append(queue, more[:min(len(more), maxSitemaps)]...)
	}
	return nil
}

// sitemapRoom is the greatest estimate, in bytes, of the memory that the addresses of one sitemap
// use.
const sitemapRoom = 40 << 20

// readSitemap queues the pages listed in a sitemap, and returns the sitemaps that it lists.
func (s *session) readSitemap(ctx context.Context, visited *url.URL, address string) (more []string, err error) {
	ctx, lease := s.site.o.Budget.Lease(ctx)
	defer lease.Release()
	t, err := s.site.gate.Get(ctx, gate.Sitemap, address)
	if err != nil {
		s.log.Warn("a sitemap was not read", "url", address, "why", err)
		return nil, nil
	}
	last := t.Hops[len(t.Hops)-1]
	if last.Status != 200 {
		s.log.Warn("a sitemap was not read", "url", address, "status", last.Status)
		return nil, nil
	}
	if err := lease.Hold(ctx, int64(len(last.Wire)+len(last.Body))+min(sitemapRoom,
		8*int64(len(last.Body)))); err != nil {
		return nil, nil // the crawl has ended
	}
	pages, more, err := crawler.Sitemap(last.Body)
	if err != nil {
		s.log.Warn("a sitemap was read in part", "url", address, "why", err)
	}
	var links []string
	for _, raw := range pages {
		if link, err := crawler.Link(raw, s.drop); err == nil {
			links = append(links, link)
		}
	}
	_, err = s.site.frontier.AddListed(visited.String(), 1, links...)
	return more, err
}
