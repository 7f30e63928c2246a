package site

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/fetch"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
)

// ExplainOptions select what Explain explains, for which policy and page.
type ExplainOptions struct {
	Usages []acap.Usage // the usages to explain; none: all usages
	// text to use instead of the site's robots.txt, so that nothing is requested; nil: robots.txt
	// is requested
	Robots *RobotsText
	Page   *page.Page  // page to use instead of the stored page; nil: the stored page
	Fetch  bool        // request the page from its site
	AsOf   time.Time   // the time used to check time limits; zero: now
	Reader acap.Target // the reader for whom the presentation usages are decided
	All    bool        // also list the most similar fields about other crawlers and resources
}

// RobotsText is the text of a robots.txt.
type RobotsText struct{ Body []byte }

// Explain reads the policy of u's origin and explains what the crawler of cfg may do with u. It
// uses the page in o, or otherwise the page in past. Without either, it decides by the address u
// alone. If o.Fetch is set and the policy prohibits fetching the page, the error is a
// *RefusedError.
func Explain(ctx context.Context, cfg *config.Config, u *url.URL, past explain.Past, o ExplainOptions) (
	*explain.Explanation, error) {
	who, err := RecordedCrawler(cfg)
	if err != nil {
		return nil, err
	}
	q := explain.Question{URL: u, Crawler: who, Usages: o.Usages, Page: o.Page, Past: past, AsOf: o.AsOf,
		Reader: o.Reader, All: o.All}
	if o.Robots != nil {
		return explain.Pasted(ctx, q, o.Robots.Body)
	}
	own, err := RecordedCrawler(cfg.Sender())
	if err != nil {
		return nil, err
	}
	g, err := NewGate(cfg, own)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	nameHosts(g, past.Seeds)
	g.Name(u)
	policies := policy.New(policy.Through(g), who, policy.NewMemory(), policy.Options{Pace: g.Pace})
	defer policies.Close()
	g.Use(policies.For(own))
	if o.Fetch {
		if _, err := policies.Origin(ctx, u); err != nil {
			return nil, err
		}
		if err := fetchPage(ctx, g, policies, &q); err != nil {
			return nil, err
		}
	}
	return explain.Of(ctx, q, explain.Sources{Origins: policies, Fetcher: fetch.NewResources(g, 0), Licences: policies})
}

// fetchPage requests the page of q. If the policy refuses the fetch to the explained crawler, this is
// not an error, because the decisions will say so.
func fetchPage(ctx context.Context, g *gate.Gate, policies *policy.Authority, q *explain.Question) error {
	q.Past.URL, q.Past.Led = "", ""
	t, err := g.Get(ctx, gate.PageRequest, q.URL.String())
	var refused *gate.Refusal
	switch {
	case errors.As(err, &refused) && refused.Rule == "":
		u, failed := url.Parse(refused.URL)
		if failed != nil {
			return failed
		}
		p, failed := policies.Policy(ctx, u)
		if failed != nil {
			return failed
		}
		if q.Past.Led = refused.URL; !p.Decide(acap.Crawl, acap.NewResource(u)).Allowed {
			return nil
		}
		// the policy refuses the fetch to the crawler that sends the requests, which is not the
		// explained crawler
		return &RefusedError{err}
	case errors.As(err, &refused) && refused.Rule == gate.RuleTakeDown:
		return &RefusedError{err}
	case err != nil:
		return fmt.Errorf("%s could not be fetched: %w", q.URL, err)
	}
	pg := fetch.PageOf(t)
	if last := pg.Last(); !last.OK() {
		return fmt.Errorf("%s answers with status %d: there is no page to read statements from", q.URL, last.Status)
	}
	q.Page = pg
	return nil
}
