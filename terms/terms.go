package terms

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
)

// Policies returns the policy in force for the origin of a URL.
type Policies interface {
	Policy(ctx context.Context, u *url.URL) (*acap.Policy, error)
}

// Fetcher fetches another resource that a permission names. Every redirect passes the gate. The
// error says why the resource is not available.
type Fetcher interface {
	Fetch(ctx context.Context, rawurl string) (*page.Page, error)
}

// Sources supplies the policies and resources of other addresses to Terms. If a field is nil,
// requirements that need this field cannot be met.
type Sources struct {
	Policies Policies
	Fetcher  Fetcher
	Licences Licences // nil: the licence documents that a page names are not read
}

// Licences reads the licence documents that a page names. Its error comes from ctx; a document that
// cannot be read has an Err.
type Licences interface {
	Licences(ctx context.Context, list []acap.Licence) ([]acap.Licence, error)
}

// Terms decides what one resource may be used for. It is not safe for concurrent use.
type Terms struct {
	policy   *acap.Policy // the origin's policy, narrowed by the statements of the page
	resource acap.Resource
	page     *page.Page  // nil if the page is not known
	kept     *Kept       // stored data to answer from; nil if the page was just fetched
	marks    []acap.Mark // marks on elements of the page
	sources  Sources
	facts    acap.Facts
	ctx      context.Context // context of the call that created the Terms: a Terms is used for one request only
	fetched  map[string]Part
	around   acap.Context        // the frame or page in which a copy is shown
	anybody  bool                // ignore conditions on the reader; these are checked when the data is shown
	revealed map[acap.Usage]bool // results of reveals, kept
	unread   bool                // some result depended on the policy of another origin that could not be read
}

// Of returns the terms of u. origin is the policy of the origin of u. pg is the page just fetched,
// or nil. The statements in the page apply too, unless origin prohibits crawl: then nothing in the
// page is read (X02).
func Of(ctx context.Context, origin *acap.Policy, u *url.URL, pg *page.Page, s Sources, f acap.Facts) *Terms {
	t := &Terms{policy: origin, resource: acap.NewResource(u), sources: s, facts: f, ctx: ctx,
		fetched: map[string]Part{}}
	if pg == nil || !t.policy.Decide(acap.Crawl, t.resource).Allowed {
		return t
	}
	t.readLicences(pg)
	return t.with(pg, pg.Own())
}

// readLicences reads the licence documents that pg names, if there is a source for them. If ctx
// ends, they remain unread.
func (t *Terms) readLicences(pg *page.Page) {
	own := pg.Own()
	list := own.Licences
	if own.Scripted != nil {
		list = slices.Concat(list, own.Scripted.Licences)
	}
	if len(list) == 0 || t.sources.Licences == nil {
		return
	}
	if read, err := t.sources.Licences.Licences(t.ctx, list); err == nil {
		pg.SetLicences(read)
	}
}

// Held returns the terms of the stored page at u. These are today's policy of its origin, with the
// preferences of newer vocabularies that the origin and the page stated at the time f.Fetched,
// restricted further by own, the statements in the page at the last lawful fetch (H11, X02).
// s.Policies tells what the origin stated then if it implements Past. pg is the stored page, or nil
// if no copy is stored.
func Held(ctx context.Context, origin *acap.Policy, u *url.URL, own acap.Own, pg *page.Page, s Sources,
	f acap.Facts) *Terms {
	origin = origin.Since(stated(origin, u, own, s, f))
	t := &Terms{policy: origin, resource: acap.NewResource(u), sources: s, facts: f, ctx: ctx,
		fetched: map[string]Part{}}
	return t.with(pg, own)
}

// stated returns the policy at the time f.Fetched, with the statements of the page at that time. It
// returns nil if nothing was different then.
func stated(origin *acap.Policy, u *url.URL, own acap.Own, s Sources, f acap.Facts) (then *acap.Policy) {
	if past, ok := s.Policies.(Past); ok && !f.Fetched.IsZero() {
		then = past.At(u, f.Fetched)
	}
	switch {
	case own.Then != nil && then == nil:
		return origin.Narrow(*own.Then)
	case own.Then != nil:
		return then.Narrow(*own.Then)
	}
	return then.Narrow(own)
}

// Past is implemented by Policies that know earlier policies.
type Past interface {
	// At returns the policy of u's origin that was in force at a time, or nil if it is the one in force
	// today, or if it is not known.
	At(u *url.URL, t time.Time) *acap.Policy
}

func (t *Terms) with(pg *page.Page, own acap.Own) *Terms {
	t.page, t.marks = pg, own.Marks
	if own.Scripted != nil { // the elements of the page are those that its scripts made
		t.marks = own.Scripted.Marks
	}
	t.policy = t.policy.Narrow(own)
	return t
}

// TakeDown returns the take-down request for u in its origin's robots.txt, or nil. While robots.txt
// contains the request, nothing is stored, indexed or shown for u (P04, P05); decisions do not
// change (X64).
func TakeDown(origin *acap.Policy, u *url.URL) *acap.Field {
	return origin.TakeDown(acap.NewResource(u))
}

// In makes t decide for a reader who sees the page inside the context c. In that context, parts of
// the page may have other requirements than the page. In changes and returns t.
func (t *Terms) In(c acap.Context) *Terms {
	t.around = c
	return t
}

// TakenDown returns the take-down request for an address of any origin, or nil, as TakeDown does.
// It also returns nil if the policy cannot be read.
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

// Policy returns the origin's policy, narrowed by the statements of the page.
func (t *Terms) Policy() *acap.Policy { return t.policy }

// Resource returns the resource that the terms are about.
func (t *Terms) Resource() acap.Resource { return t.resource }

// Facts returns the facts under which the terms decide.
func (t *Terms) Facts() acap.Facts { return t.facts }

// Context returns the context of the call that created the terms.
func (t *Terms) Context() context.Context { return t.ctx }

// Page returns the page, or nil if it is not known.
func (t *Terms) Page() *page.Page { return t.page }

// For returns a copy of t under the policy p, for instance the policy for one purpose.
func (t *Terms) For(p *acap.Policy) *Terms {
	c := *t
	c.policy, c.revealed = p, nil
	return &c
}

// Decide returns the decision about u. Once the page is known, a permission becomes a refusal if a
// required resource is not available (X05).
func (t *Terms) Decide(u acap.Usage) acap.Decision {
	d := t.decide(u)
	if !d.Allowed || t.page == nil && t.kept == nil {
		return d
	}
	if t.reveals(d) {
		return t.revealing(d)
	}
	return t.fulfil(d)
}

// reveals reports whether scripts moved text out of a part that may not be used under d, or moved marks of such a
// part (see page.Reveals). Then no part of the page may be used so.
func (t *Terms) reveals(d acap.Decision) bool {
	if t.page == nil || !t.page.Rendered() {
		return false
	}
	reveals, known := t.revealed[d.Usage]
	if !known {
		reveals = t.page.Reveals(t.readable(t.marked(d, &acap.Limits{}), d.Usage))
		if t.revealed == nil {
			t.revealed = map[acap.Usage]bool{}
		}
		t.revealed[d.Usage] = reveals
	}
	return reveals
}

// revealing returns d as a refusal, because reveals is true. The refusal cites a statement on an element that
// prohibits the usage, if there is one.
func (t *Terms) revealing(d acap.Decision) acap.Decision {
	for _, m := range t.page.Sent().Own().Marks {
		if part := t.underFacts(t.policy.Part(d.Usage, t.resource, []acap.Mark{m})); !part.Allowed {
			d = part
			break
		}
	}
	return d.Refuse(acap.ByProhibition, "its scripts moved text or marks of a part that may not be used")
}

// Preferences returns what ACAP and the newer vocabularies say about each newer usage, without usages
// of which nothing is said.
func (t *Terms) Preferences() map[acap.Usage][]acap.Said {
	out := map[acap.Usage][]acap.Said{}
	for _, u := range acap.NewerUsages() {
		if said := t.policy.Opinions(u, t.resource); len(said) > 0 {
			out[u] = said
		}
	}
	return out
}

// Unread reports whether any earlier result was a refusal because the policy of a required
// resource's origin could not be read. Such a refusal does not erase stored data (X63).
func (t *Terms) Unread() bool { return t.unread }

// decideCrawl decides whether another resource may be crawled.
func (t *Terms) decideCrawl(u *url.URL, own acap.Own) (acap.Decision, error) {
	p, err := t.sources.Policies.Policy(t.ctx, u)
	if err != nil {
		t.unread = true
		return acap.Decision{}, err
	}
	d := p.Narrow(own).Decide(acap.Crawl, acap.NewResource(u))
	t.unread = t.unread || d.Reason == acap.Unavailable
	return d, nil
}

// decide returns the decision about u without checking that required resources are available.
func (t *Terms) decide(u acap.Usage) acap.Decision {
	return t.underFacts(t.policy.Decide(u, t.resource))
}

// underFacts returns d with its conditions and time limits applied to the facts of t.
func (t *Terms) underFacts(d acap.Decision) acap.Decision {
	now := d.At(t.facts)
	if now.Reason == acap.ByTarget && t.anybody {
		return d
	}
	return now
}

// forAnyReader returns a copy of t for a reader who meets all conditions on the reader.
func (t *Terms) forAnyReader() *Terms {
	c := *t
	c.anybody, c.revealed = true, nil
	return &c
}

// substitutes returns the resources or parts that d requires instead of the page. The page itself
// does not count as a substitute (I03).
func (t *Terms) substitutes(d acap.Decision) []*acap.Required {
	if !d.Allowed {
		return nil
	}
	return slices.DeleteFunc(d.MustUse(), t.namesPage)
}

// namesPage reports whether r names the page itself.
func (t *Terms) namesPage(r *acap.Required) bool { return r.URL != "" && t.isPage(r.URL) }

// cut returns which parts of the page may be used under d, the decision about the page: none if the rendered
// document reveals what may not be used, otherwise those of marked.
func (t *Terms) cut(d acap.Decision, l *acap.Limits) page.Cut {
	if t.reveals(d) {
		return page.Cut{Keep: func([]acap.Mark) bool { return false }}
	}
	return t.marked(d, l)
}

// marked returns which parts of the page may be used under d, the decision about the page. Text
// outside all marks is treated like the page. An element is left out if the policy for this element
// has requirements that the policy for the page does not have. marked adds the length limits of the
// remaining elements to l.
func (t *Terms) marked(d acap.Decision, l *acap.Limits) page.Cut {
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
		part := t.underFacts(t.policy.Part(d.Usage, t.resource, chain))
		limits := part.Limits(t.facts)
		// P1 2.5.5.7, 2.5.5.8: restrictions on what surrounds a copy
		if d.Allowed && d.Within(t.around).Allowed && !part.Within(t.around).Allowed {
			return false
		}
		if !part.Allowed || requiresMore(part.MustUse(), uses) || requiresMore(part.MustInclude(), includes) ||
			isZero(limits) {
			return false
		}
		l.MaxChars, l.MaxWords = smaller(l.MaxChars, limits.MaxChars), smaller(l.MaxWords, limits.MaxWords)
		return true
	}
	// judged caches the result for each distinct statement, so that equal marks are decided only
	// once.
	judged := map[string]bool{}
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

// requiresMore reports whether part requires a resource that page does not require.
func requiresMore(part, page []*acap.Required) bool {
	return slices.ContainsFunc(part, func(r *acap.Required) bool {
		return !slices.ContainsFunc(page, func(have *acap.Required) bool { return have.Value == r.Value })
	})
}

// isZero reports whether a length is limited to zero (J05).
func isZero(l acap.Limits) bool {
	return l.MaxChars != nil && *l.MaxChars == 0 || l.MaxWords != nil && *l.MaxWords == 0
}

// isLimited reports whether any length limit is set.
func isLimited(l acap.Limits) bool { return l.MaxChars != nil || l.MaxWords != nil }

func smaller(a, b *int) *int {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}
