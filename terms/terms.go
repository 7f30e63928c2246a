package terms

import (
	"context"
	"net/url"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
)

// Policies tells the policy in force for the origin of a URL.
type Policies interface {
	Policy(ctx context.Context, u *url.URL) (*acap.Policy, error)
}

// Fetcher obtains another resource that a permission names, every hop through the gate. The error
// says why it cannot be had.
type Fetcher interface {
	Fetch(ctx context.Context, rawurl string) (*page.Page, error)
}

// Sources is where Terms obtains what a page refers to. A nil field makes every such requirement
// unfulfillable.
type Sources struct {
	Policies Policies
	Fetcher  Fetcher
}

// Terms answers for one resource. It is not safe for concurrent use.
type Terms struct {
	policy   *acap.Policy // the origin's, met by the page's statements
	resource acap.Resource
	page     *page.Page  // nil: not known
	kept     *Kept       // of what is held; nil where the page was fetched just now
	marks    []acap.Mark // on elements of the page
	sources  Sources
	facts    acap.Facts
	ctx      context.Context // of the call that made it: one Terms serves one request
	fetched  map[string]Part
	around   acap.Context // what stands around a copy that is shown
	anybody  bool         // target conditions are left to be judged when a reader asks
	unread   bool         // an answer hung on the policy of another origin, which could not be read
}

// Of gives the terms of u under the policy of its origin. pg is the page as it was fetched just
// now, nil where it was not: its own statements count, unless the origin prohibits crawl, when
// nothing of it is read (X02).
func Of(ctx context.Context, origin *acap.Policy, u *url.URL, pg *page.Page, s Sources, f acap.Facts) *Terms {
	t := &Terms{policy: origin, resource: acap.NewResource(u), sources: s, facts: f, ctx: ctx,
		fetched: map[string]Part{}}
	if pg == nil || !t.policy.Decide(acap.Crawl, t.resource).Allowed {
		return t
	}
	return t.with(pg, pg.Own())
}

// Held gives the terms of what is held of u: today's policy of its origin, narrowed by the
// statements of the last lawful fetch (H11, X02). pg is the page held, nil where no copy is.
func Held(ctx context.Context, origin *acap.Policy, u *url.URL, own acap.Own, pg *page.Page, s Sources,
	f acap.Facts) *Terms {
	t := &Terms{policy: origin, resource: acap.NewResource(u), sources: s, facts: f, ctx: ctx,
		fetched: map[string]Part{}}
	return t.with(pg, own)
}

func (t *Terms) with(pg *page.Page, own acap.Own) *Terms {
	t.page, t.marks = pg, own.Marks
	t.policy = t.policy.Narrow(own)
	return t
}

// TakeDown gives the request for u that stands in its origin's robots.txt; nil where none does.
// While it stands nothing is kept, indexed or shown of u (P04, P05); it changes no decision (X64).
func TakeDown(origin *acap.Policy, u *url.URL) *acap.Field {
	return origin.TakeDown(acap.NewResource(u))
}

// In lets t answer for a reader to whom the page is shown with that around it: parts of it may ask
// for something else.
func (t *Terms) In(c acap.Context) *Terms {
	t.around = c
	return t
}

// TakenDown is TakeDown for an address of any origin. It is nil, too, where no policy can be read
// that would tell.
func TakenDown(ctx context.Context, policies Policies, rawurl string) *acap.Field {
	u, err := url.Parse(rawurl)
	if err != nil {
		return nil
	}
	origin, err := policies.Policy(ctx, u)
	if err != nil {
		return nil
	}
	return TakeDown(origin, u)
}

// Policy is the origin's policy as the page's statements have narrowed it.
func (t *Terms) Policy() *acap.Policy { return t.policy }

// Resource is what the policy is asked about.
func (t *Terms) Resource() acap.Resource { return t.resource }

// Facts are what the terms are judged under.
func (t *Terms) Facts() acap.Facts { return t.facts }

// Context is that of the call for which the terms were made.
func (t *Terms) Context() context.Context { return t.ctx }

// Page is the page the terms speak of; nil where it is not known.
func (t *Terms) Page() *page.Page { return t.page }

// For gives the same terms under another policy, that of one purpose for instance.
func (t *Terms) For(p *acap.Policy) *Terms {
	c := *t
	c.policy = p
	return &c
}

// Decide answers for one usage under the facts. Once the page is known, a permission whose required
// resources cannot be had is a refusal too (X05).
func (t *Terms) Decide(u acap.Usage) acap.Decision {
	d := t.decide(u)
	if !d.Allowed || t.page == nil && t.kept == nil {
		return d
	}
	return t.fulfil(d)
}

// Unread reports whether any answer so far was a refusal because the policy of another origin, that
// of a resource required, could not be read. What is held is not ended for that (X63).
func (t *Terms) Unread() bool { return t.unread }

// crawl decides whether another resource may be crawled.
func (t *Terms) crawl(u *url.URL, own acap.Own) (acap.Decision, error) {
	p, err := t.sources.Policies.Policy(t.ctx, u)
	if err != nil {
		t.unread = true
		return acap.Decision{}, err
	}
	d := p.Narrow(own).Decide(acap.Crawl, acap.NewResource(u))
	t.unread = t.unread || d.Reason == acap.Unavailable
	return d, nil
}

// decide leaves out whether required resources can be had.
func (t *Terms) decide(u acap.Usage) acap.Decision {
	return t.at(t.policy.Decide(u, t.resource))
}

// at is d under the facts.
func (t *Terms) at(d acap.Decision) acap.Decision {
	now := d.At(t.facts)
	if now.Reason == acap.ByTarget && t.anybody {
		return d
	}
	return now
}

// anyone gives the same terms for a reader who meets every condition on the target.
func (t *Terms) anyone() *Terms {
	c := *t
	c.anybody = true
	return &c
}

// substitutes are the resources or parts that d demands instead of the page; the page itself is
// none (I03).
func (t *Terms) substitutes(d acap.Decision) []*acap.Required {
	if !d.Allowed {
		return nil
	}
	return slices.DeleteFunc(d.MustUse(), t.itself)
}

// itself reports whether r is the page.
func (t *Terms) itself(r *acap.Required) bool { return r.URL != "" && t.self(r.URL) }

// cut leaves out the parts of the page that may not be seen where d is the decision for the page. A
// part under no mark is as the page; one that demands what the page does not is left out. The
// limits of the parts that stay are added to l.
func (t *Terms) cut(d acap.Decision, l *acap.Limits) page.Cut {
	if !t.policy.Marked() {
		if d.Allowed {
			return page.Cut{}
		}
		return page.Cut{Keep: func([]acap.Mark) bool { return false }}
	}
	var uses, includes []*acap.Required
	if d.Allowed {
		uses, includes = d.MustUse(), d.MustInclude()
	}
	judge := func(chain []acap.Mark) bool {
		part := t.at(t.policy.Part(d.Usage, t.resource, chain))
		limits := part.Limits(t.facts)
		if d.Allowed && d.Within(t.around).Allowed && !part.Within(t.around).Allowed { // P1 2.5.5.7, 2.5.5.8
			return false
		}
		if !part.Allowed || more(part.MustUse(), uses) || more(part.MustInclude(), includes) || nothing(limits) {
			return false
		}
		l.MaxChars, l.MaxWords = smaller(l.MaxChars, limits.MaxChars), smaller(l.MaxWords, limits.MaxWords)
		return true
	}
	judged := map[string]bool{} // by what the marks say: each chain that says the same is judged once
	return page.Cut{Keep: func(chain []acap.Mark) bool {
		if len(chain) == 0 {
			return d.Allowed
		}
		saying := t.policy.Saying(chain)
		kept, known := judged[saying]
		if !known {
			kept = judge(chain)
			judged[saying] = kept
		}
		return kept
	}}
}

// more reports whether part demands what the page does not.
func more(part, page []*acap.Required) bool {
	return slices.ContainsFunc(part, func(r *acap.Required) bool {
		return !slices.ContainsFunc(page, func(have *acap.Required) bool { return have.Value == r.Value })
	})
}

// nothing reports whether a length is limited to nothing (J05).
func nothing(l acap.Limits) bool {
	return l.MaxChars != nil && *l.MaxChars == 0 || l.MaxWords != nil && *l.MaxWords == 0
}

// limited reports whether a length is limited at all.
func limited(l acap.Limits) bool { return l.MaxChars != nil || l.MaxWords != nil }

func smaller(a, b *int) *int {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}
