package explain

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Question selects what is explained, and for which crawler, page and reader.
type Question struct {
	URL     *url.URL
	Crawler acap.Crawler
	Usages  []acap.Usage // the usages to explain; none: all usages
	Page    *page.Page   // page to use instead of the stored page; nil: the stored page
	Past    Past         // what is stored about URL; zero: nothing
	AsOf    time.Time    // the time used to check time limits; zero: now
	Reader  acap.Target  // the reader for whom the presentation usages are decided
	All     bool         // also list the most similar fields about other crawlers and resources
}

// Past is the data that earlier crawls stored about a URL.
type Past struct {
	archive.Resource
	Way  []string   // the redirect chain from the URL to its page, the page's address last
	Page *page.Page // the current copy of the page; nil: none is stored
	Led  string     // target of a redirect that a crawl refused to follow; "": none

	// Then is the policy that was in force when the page was fetched last; nil if it is not known
	Then *acap.Policy

	// seeds of the data directory; their hosts may be requested even if the hosts have private IP
	// addresses
	Seeds []string
}

// ErrNeverRead means that the policy of an origin was never requested, so nothing can be said about its
// pages.
var ErrNeverRead = errors.New("its robots.txt was never read")

// Origins returns the state of the origin of a URL, with its policy. If it makes no request,
// its error wraps ErrNeverRead for an origin that was never requested.
type Origins interface {
	Origin(ctx context.Context, u *url.URL) (*policy.Origin, error)
}

// Sources supplies what an explanation reads. Fetcher and Licences mean the same as in terms.Sources.
type Sources struct {
	Origins  Origins
	Fetcher  terms.Fetcher
	Licences terms.Licences
}

// Explanation says what one crawler may do with one URL, and why. It is not safe for concurrent use.
type Explanation struct {
	*terms.Reached
	Crawler acap.Crawler
	URL     *url.URL
	Origin  *policy.Origin // the origin of URL
	Past    Past
	Page    *page.Page  // the page of the question, or the stored page; nil: none
	Answers []Explained // decisions in the order of Question.Usages

	led      *refusedRedirect
	origins  []*policy.Origin // all origins whose policies were read; source lines are looked up in them
	source   []string         // lines of the page; nil until first used
	rendered []string         // lines of the rendered document; nil until first used
}

// Explained is the decision on one usage, with all policy fields that contribute to the decision.
type Explained struct {
	Usage     acap.Usage
	Decision  acap.Decision
	Bounds    []acap.Bound // limits in force, each with the field that sets the limit
	Rivals    []acap.Rival // other fields about the same usage
	Opinions  []acap.Said  // what ACAP and the newer vocabularies say; empty if no newer vocabulary says anything
	Elsewhere []acap.Rival // the most similar fields about other crawlers or resources
	More      int          // number of fields left out of Elsewhere
}

// nearest is the maximum number of fields listed in Explained.Elsewhere.
const nearest = 8

// refusedRedirect is a redirect whose target must not be crawled by policy.
type refusedRedirect struct {
	url      *url.URL
	origin   *policy.Origin
	decision acap.Decision
}

// explainer holds the state of one call of Of.
type explainer struct {
	*Explanation
	q Question
	s Sources
}

// Of answers a question. It uses the page of q, otherwise the page in q.Past; without either, it
// decides by the address alone. The errors are those of s.Origins, and of ctx.
func Of(ctx context.Context, q Question, s Sources) (*Explanation, error) {
	x := &explainer{Explanation: &Explanation{Crawler: q.Crawler, URL: q.URL, Past: q.Past, Page: q.Page}, q: q, s: s}
	var err error
	if x.Origin, err = x.originOf(ctx, x.URL); err != nil {
		return nil, err
	}
	if err := x.findTerms(ctx); err != nil {
		return nil, err
	}
	usages := q.Usages
	if len(usages) == 0 {
		usages = append(acap.Usages(), acap.NewerUsages()...)
	}
	for _, u := range usages {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		a, err := x.explain(ctx, u)
		if err != nil {
			return nil, err
		}
		x.Answers = append(x.Answers, a)
	}
	return x.Explanation, nil
}

func (x *explainer) originOf(ctx context.Context, u *url.URL) (*policy.Origin, error) {
	o, err := x.s.Origins.Origin(ctx, u)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(x.origins, func(known *policy.Origin) bool { return known.Key == o.Key }) {
		x.origins = append(x.origins, o)
	}
	return o, nil
}

// Policy implements terms.Policies.
func (s Sources) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	o, err := s.Origins.Origin(ctx, u)
	if err != nil {
		return nil, err
	}
	return o.Policy, nil
}

// findTerms finds the terms used for the decisions: those of the page of the question, otherwise those
// of the stored page, otherwise those of the address.
func (x *explainer) findTerms(ctx context.Context) (err error) {
	past := x.Past
	facts := acap.Facts{Now: x.q.AsOf, FirstCrawled: past.FirstCrawled, FirstIndexed: past.FirstIndexed,
		FirstPreserved: past.FirstPreserved, FirstPresented: past.FirstPresented, Target: x.q.Reader}
	if facts.Now.IsZero() {
		facts.Now = time.Now().UTC()
	}
	sources := terms.Sources{Policies: x.s, Fetcher: x.s.Fetcher, Licences: x.s.Licences}
	switch {
	case x.Page != nil:
	case past.URL != "":
		sources.Policies, facts.Fetched = heldPolicies{x.s, past}, past.LastCrawled
		x.Reached, err = terms.ReachHeld(ctx, past.Way, past.Own, past.Page, past.Kept, sources, facts)
		return err
	case past.Led != "":
		if err := x.checkRedirect(ctx, past.Led); err != nil {
			return err
		}
	}
	x.Reached, err = terms.Reach(ctx, x.Origin.Policy, x.URL, x.Page, sources, facts)
	return err
}

// heldPolicies returns today's policies, and for the page itself also the policy that was in force
// when it was fetched.
type heldPolicies struct {
	terms.Policies
	past Past
}

// At implements terms.Past.
func (p heldPolicies) At(u *url.URL, _ time.Time) *acap.Policy {
	if acap.NewResource(u).URL != p.past.URL {
		return nil
	}
	return p.past.Then
}

// redirects is the beginning of the note of a decision about the target of a redirect.
const redirects = "it redirects to "

// checkRedirect records that the redirect target address is refused, if its policy now prohibits
// crawling it.
func (x *explainer) checkRedirect(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	o, err := x.originOf(ctx, u)
	if err != nil {
		return err
	}
	if d := o.Policy.Decide(acap.Crawl, acap.NewResource(u)); !d.Allowed {
		d.Note = redirects + address
		x.led = &refusedRedirect{u, o, d}
	}
	return nil
}

// explain returns the decision on one usage, with the fields that contribute to it.
func (x *explainer) explain(ctx context.Context, u acap.Usage) (Explained, error) {
	d := x.Decide(u)
	a := Explained{Usage: u, Decision: d, Bounds: d.Bounds(x.Facts())}
	s, err := x.subjectOf(ctx, u, d)
	if err != nil {
		return a, err
	}
	for _, v := range markUnfulfillable(s.policy.Trace(u, s.resource, x.Facts(), s.origin.References...), d) {
		if v.Outcome != acap.Decides {
			a.Rivals = append(a.Rivals, v)
		}
	}
	if said := s.policy.Opinions(u, s.resource); len(said) > 1 || len(said) == 1 && said[0].Vocabulary != "acap" {
		a.Opinions = said
	}
	if x.q.All {
		a.Elsewhere, a.More = s.policy.Elsewhere(u, s.resource, nearest, s.origin.References...)
	}
	return a, nil
}

// Decide returns the decision on a usage. It also refuses crawl if the page redirects to an address
// that must not be crawled, and crawl and follow while robots.txt cannot be read.
func (e *Explanation) Decide(u acap.Usage) acap.Decision {
	d := e.Reached.Decide(u)
	switch {
	case !d.Allowed:
		return d
	// RFC 9309 2.3.1.4 (X63): a policy that was read earlier does not permit new requests
	case e.Origin.Status == policy.Unreachable && (u == acap.Crawl || u == acap.Follow):
		return acap.Unreachable(e.Origin.Key+"/robots.txt", e.Origin.Why).Decide(u, e.Resource())
	case u == acap.Crawl && e.led != nil:
		return e.led.decision
	}
	return d
}

// subject is a policy and a resource that a decision is about.
type subject struct {
	origin   *policy.Origin
	policy   *acap.Policy
	resource acap.Resource
}

// subjectOf returns what the decision d is about. This may be the page that the URL redirects to,
// an address of the redirect chain, or a redirect target that must not be followed. If the page and
// an address of the chain have the same decision, subjectOf returns the page.
func (x *explainer) subjectOf(ctx context.Context, u acap.Usage, d acap.Decision) (subject, error) {
	t, by := x.By(u)
	if u == acap.Crawl && x.led != nil && by.Allowed {
		return subject{x.led.origin, x.led.origin.Policy, acap.NewResource(x.led.url)}, nil
	}
	if final := x.Reached.Terms.Decide(u); final.Allowed == d.Allowed && final.Because == d.Because {
		t = x.Reached.Terms
	}
	at, err := url.Parse(t.Resource().URL)
	if err != nil {
		return subject{}, err
	}
	o, err := x.originOf(ctx, at)
	return subject{o, t.Policy(), t.Resource()}, err
}

// markUnfulfillable marks permissions in list as unfulfillable if all policy fields permit d, but
// the terms of the page refuse d. The terms refuse d if a permission requires something that is not
// available (X05).
func markUnfulfillable(list []acap.Rival, d acap.Decision) []acap.Rival {
	if d.Because == nil || d.Reason != acap.Unfulfillable {
		return list
	}
	for i := range list {
		v := &list[i]
		switch {
		case v.Outcome != acap.Decides && v.Outcome != acap.Binds:
		case v.Field.URL == d.Because.URL && v.Field.Line == d.Because.Line:
			v.Outcome = acap.Decides
		default:
			v.Outcome, v.Why, v.Rule, v.Over = acap.Loses, "it permits, but what the other requires is not available",
				"X05", d.Because
		}
	}
	return list
}
