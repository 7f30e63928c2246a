package site

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/view"
	"github.com/acapcrawl/acapcrawl/policy"
)

// Sites reports what is known of the sites of a data directory; it implements view.Sites. Counting the
// addresses of a site takes a walk over them. It runs in the background, one site at a time. A report that
// needs new counts waits for them only for a short time.
type Sites struct {
	site  *Site
	tally tallies
}

// Sites returns the reports about sites. Closing the site ends their work in the background.
func (s *Site) Sites() *Sites {
	o := &Sites{site: s}
	o.tally.site = s
	o.tally.begin()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports = append(s.reports, o)
	return o
}

// Sites implements view.Sites.
func (o *Sites) Sites(ctx context.Context, after string, limit int, full bool) (list []view.Site, more bool,
	err error) {
	seeded, err := o.seeded(full)
	if err != nil {
		return nil, false, err
	}
	soon, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	for {
		batch, err := o.attempts(after, limit+1)
		if err != nil {
			return nil, false, err
		}
		for _, a := range batch {
			one, _, err := o.report(soon, a, full)
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return nil, false, err
			}
			if after = a.Origin; !known(one, seeded) {
				continue
			}
			if len(list) == limit {
				return list, true, nil
			}
			list = append(list, one)
		}
		if len(batch) <= limit {
			return list, false, nil
		}
	}
}

// attempts returns at most n origins after one, in order.
func (o *Sites) attempts(after string, n int) (list []policy.Attempt, err error) {
	err = o.site.policy.Attempts(after, func(a policy.Attempt) error {
		if list = append(list, a); len(list) == n {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return list, err
}

// seeded returns the origins of all seeds; nil for the operator, who may see all origins.
func (o *Sites) seeded(full bool) (map[string]bool, error) {
	if full {
		return nil, nil
	}
	out := map[string]bool{}
	err := o.site.withFrontier(func(f *crawler.Frontier) error {
		seeds, err := f.Seeds()
		for _, seed := range seeds {
			if u, err := url.Parse(seed); err == nil {
				out[u.Scheme+"://"+u.Host] = true
			}
		}
		return err
	})
	return out, err
}

// known reports whether a reader may know an origin: the operator named it, or a page of it may be listed. Other
// origins are known only from links, perhaps in pages that the reader may not see.
func known(s view.Site, seeded map[string]bool) bool {
	return seeded == nil || seeded[s.Origin] || s.Counts != nil && s.Counts.Pages > 0
}

// errEnough ends a walk over origins.
var errEnough = errors.New("enough origins")

// countWithin is how long a report waits for counts.
const countWithin = 300 * time.Millisecond

// Host implements view.Sites.
func (o *Sites) Host(ctx context.Context, host string, full bool) (list []view.SiteDetail, err error) {
	seeded, err := o.seeded(full)
	if err != nil {
		return nil, err
	}
	soon, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	for _, key := range []string{"https://" + host, "http://" + host} {
		a, tried, err := o.site.policy.Attempt(key)
		if err != nil {
			return nil, err
		}
		if !tried {
			continue
		}
		d := view.SiteDetail{Versions: []view.SiteVersion{}, Requests: []view.SiteRequest{},
			Skipped: []view.SkippedAddress{}}
		var counted *tally
		if d.Site, counted, err = o.report(soon, a, full); err != nil {
			return nil, err
		}
		if !known(d.Site, seeded) {
			continue
		}
		versions, err := o.versions(key)
		if err != nil {
			return nil, err
		}
		d.Versions = append(d.Versions, versions...)
		if d.Requests, err = o.requests(key); err != nil {
			return nil, err
		}
		if counted != nil {
			side := counted.of(full)
			d.Skipped, d.More = append(append(d.Skipped, side.skipped...), side.links...), side.more
		}
		list = append(list, d)
	}
	return list, ctx.Err()
}

// report returns what is known of an origin, with its tally; nil if it is not counted yet.
func (o *Sites) report(ctx context.Context, a policy.Attempt, full bool) (s view.Site, counted *tally, err error) {
	s = view.Site{Origin: a.Origin, Host: a.Origin[strings.Index(a.Origin, "://")+len("://"):],
		Policy: view.SitePolicy{Status: a.Status, Tried: a.At, Read: a.Read, Since: a.Since, Next: a.Expires}}
	if held, known := o.site.policy.HeldOf(a.Origin); known {
		if s.Policy.Why = held.Why; !full {
			s.Policy.Why = policy.PublicWhy(held.Why)
		}
	}
	counted, err = o.tally.of(ctx, a.Origin)
	if err != nil || counted == nil {
		return s, nil, err
	}
	s.Counts = &counted.of(full).counts
	if h := counted.host; h != nil {
		s.Pace = &view.SitePace{CrawlDelay: h.Delay.Seconds(), Observed: h.Pace.Seconds(), Failures: h.Failures}
		if full || s.Counts.Queued > 0 {
			s.Pace.Due = h.Due
		}
	}
	return s, counted, nil
}

// versions returns the stored versions of a policy.
func (o *Sites) versions(key string) (list []view.SiteVersion, err error) {
	u, err := url.Parse(key)
	if err != nil {
		return nil, err
	}
	history, err := o.site.policy.History(u)
	for _, v := range history {
		list = append(list, view.SiteVersion{Since: v.Since, Status: v.Robots.Status(), Digest: v.Robots.Digest,
			Bytes: int64(len(v.Robots.Text)), Version: v})
	}
	return list, err
}

// requests returns the requests in the policy in force. Requests that a publisher submitted in another
// way are not public.
func (o *Sites) requests(key string) (list []view.SiteRequest, err error) {
	list = []view.SiteRequest{}
	held, known := o.site.policy.HeldOf(key)
	if !known {
		return list, nil
	}
	recorded := map[place]actions.Request{}
	err = o.site.ledger.Each(actions.Filter{Origins: []string{key}, Standing: true}, func(r actions.Request) error {
		if r.From.File != "" {
			recorded[place{r.Action, r.URL}] = r
		}
		return nil
	})
	bound, bindErr := o.site.ledger.Bind(key, held.Policy)
	if err = errors.Join(err, bindErr); err != nil {
		return nil, err
	}
	for _, a := range bound.Actions() {
		if a.Field == nil || a.Field.Source != acap.Robots && a.Field.Source != acap.Referred {
			continue
		}
		r := recorded[place{a.Action, a.URL}]
		list = append(list, view.SiteRequest{Action: a.Action, URL: a.URL, File: a.Field.URL, Line: a.Field.Line,
			Text: a.Field.Text, State: string(r.State), ID: r.ID, Why: a.Why})
	}
	return list, nil
}

// place identifies a request of an origin.
type place struct{ action, url string }

// Totals implements view.Sites.
func (o *Sites) Totals() (t view.Totals, err error) {
	held, err := o.site.archive.Stats()
	if err != nil {
		return t, err
	}
	t = view.Totals{Pages: held.Resources, Versions: held.Captures, Bytes: held.Bytes}
	err = o.site.withFrontier(func(f *crawler.Frontier) error {
		c := f.Counts()
		t.Queued, t.Hosts, t.Refused, t.Failed, t.Trapped = c.Queued, c.Hosts, c.Refused, c.Failed, c.Trapped
		return nil
	})
	return t, err
}

// Crawl implements view.Sites.
func (o *Sites) Crawl() *view.Crawl {
	p := o.site.progress.last.Load()
	if p == nil {
		return nil
	}
	s := p.SoFar
	return &view.Crawl{Began: p.began, Done: p.Done, Fetched: p.Fetched,
		Stored: s.Stored, Indexed: s.Indexed, Refused: p.Refused, Errors: p.Errors, UnderWay: p.UnderWay,
		Queued: p.Queued, Hosts: p.Hosts, Bytes: s.Bytes, Recent: p.Rate, NextDue: p.NextDue}
}
