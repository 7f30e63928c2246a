package terms

import (
	"context"
	"net/url"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
)

// Policies tells the policy in force for the origin of a URL.
type Policies interface {
	Policy(ctx context.Context, u *url.URL) (*acap.Policy, error)
}

// Fetcher obtains another resource that a permission names, every hop through the gate. The error says why it cannot be had.
type Fetcher interface {
	Fetch(ctx context.Context, rawurl string) (*page.Page, error)
}

// Sources is where Terms obtains what a page refers to. A nil field makes every such requirement unfulfillable.
type Sources struct {
	Policies Policies
	Fetcher  Fetcher
}

// Terms answers for one resource. It is not safe for concurrent use.
type Terms struct {
	policy   *acap.Policy // the origin's, met by the page's statements
	resource acap.Resource
	page     *page.Page // nil: not known
	sources  Sources
	facts    acap.Facts
	ctx      context.Context // of the call that made it: one Terms serves one request
	fetched  map[string]obtained
}

// Of gives the terms of u under the policy of its origin. pg is the page as it was fetched just now, nil where it was not: its
// own statements count, unless the origin prohibits crawl, when nothing of it is read (X02).
func Of(ctx context.Context, origin *acap.Policy, u *url.URL, pg *page.Page, s Sources, f acap.Facts) *Terms {
	t := &Terms{policy: origin, resource: acap.NewResource(u), sources: s, facts: f, ctx: ctx, fetched: map[string]obtained{}}
	if pg == nil || !t.policy.Decide(acap.Crawl, t.resource).Allowed {
		return t
	}
	return t.with(pg, pg.Own())
}

// Held gives the terms of what is held of u: today's policy of its origin, narrowed by the statements of the last lawful fetch
// (H11, X02). pg is the page held, nil where no copy is.
func Held(ctx context.Context, origin *acap.Policy, u *url.URL, own acap.Own, pg *page.Page, s Sources, f acap.Facts) *Terms {
	t := &Terms{policy: origin, resource: acap.NewResource(u), sources: s, facts: f, ctx: ctx, fetched: map[string]obtained{}}
	return t.with(pg, own)
}

func (t *Terms) with(pg *page.Page, own acap.Own) *Terms {
	t.page = pg
	t.policy = t.policy.Narrow(own)
	return t
}

// Policy is the origin's policy as the page's statements have narrowed it.
func (t *Terms) Policy() *acap.Policy { return t.policy }

// Facts are what the terms are judged under.
func (t *Terms) Facts() acap.Facts { return t.facts }

// Page is the page the terms speak of; nil where it is not known.
func (t *Terms) Page() *page.Page { return t.page }

// For gives the same terms under another policy, that of one purpose for instance.
func (t *Terms) For(p *acap.Policy) *Terms {
	c := *t
	c.policy = p
	return &c
}

// Decide answers for one usage under the facts. Once the page is known, a permission whose required resources cannot be had is a
// refusal too (X05).
func (t *Terms) Decide(u acap.Usage) acap.Decision {
	d := t.policy.Decide(u, t.resource).At(t.facts)
	if !d.Allowed || t.page == nil {
		return d
	}
	return t.fulfil(d)
}

// cut leaves out the parts of the page that u may not see; a part under no mark is as the page.
func (t *Terms) cut(u acap.Usage, whole bool) page.Cut {
	if !t.policy.Marked() {
		if whole {
			return page.Cut{}
		}
		return page.Cut{Keep: func([]acap.Mark) bool { return false }}
	}
	return page.Cut{Keep: func(chain []acap.Mark) bool {
		if len(chain) == 0 {
			return whole
		}
		d := t.policy.Part(u, t.resource, chain).At(t.facts)
		return d.Allowed && (whole || len(d.MustUse()) == 0 && len(d.MustInclude()) == 0)
	}}
}
