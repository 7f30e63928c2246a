package gate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/hop"
)

// MaxRedirects is how many redirects Get follows.
const MaxRedirects = 5

// Kind is what a request is for.
type Kind int

// The kinds of request. The zero value is the strictest.
const (
	PageRequest Kind = iota // a page: counts against the page budget
	Part                    // a substitute or required resource of a page
	Sitemap                 // a sitemap
	PolicyFile              // robots.txt or a reference: policy is not asked (F23)
)

// Hop is one request and its response.
type Hop = hop.Hop

// Trace collects what the requests made under one context led to. It belongs to one sequence of
// requests and is not safe for concurrent use.
type Trace struct {
	Hops    []Hop
	Refused *Refusal // the hop that was not sent, if any

	// Confirms is the URL of which a re-crawl is asked for: it is requested also while a take-down
	// of it stands, to confirm that it is gone (P11). TakeDown is the request that stood then.
	Confirms string
	TakeDown *acap.Field
}

type purpose struct {
	kind  Kind
	trace *Trace
}

type purposeKey struct{}

// With says what the requests made under the context are for; t, which may be nil, collects them.
func With(ctx context.Context, kind Kind, t *Trace) context.Context {
	return context.WithValue(ctx, purposeKey{}, purpose{kind, t})
}

func purposeOf(ctx context.Context) purpose {
	p, _ := ctx.Value(purposeKey{}).(purpose)
	return p
}

// permits returns the refusal of u by the policy or a take-down, nil where the request may be sent
// now.
func (p purpose) permits(policy *acap.Policy, u *url.URL) error {
	r := acap.NewResource(u)
	if d := policy.Decide(acap.Crawl, r).At(acap.Facts{Now: time.Now()}); !d.Allowed {
		return &Refusal{Decision: d}
	}
	if down := policy.TakeDown(r); down != nil {
		return p.barred(u, down)
	}
	return nil
}

// barred is the refusal of u while a take-down of it stands (P05, X64), unless that is to be
// confirmed.
func (p purpose) barred(u *url.URL, down *acap.Field) error {
	address := u.String()
	if p.trace != nil && p.trace.Confirms == address {
		p.trace.TakeDown = down
		return nil
	}
	return &Refusal{Rule: RuleTakeDown, TakeDown: down,
		Why: "its publisher asks that it be taken down: " + down.String()}
}

func (p purpose) add(h Hop) {
	if p.trace != nil {
		p.trace.Hops = append(p.trace.Hops, h)
	}
}

func (p purpose) refused(err error) {
	var r *Refusal
	if p.trace != nil && errors.As(err, &r) {
		p.trace.Refused = r
	}
}

// Get fetches rawurl and follows up to MaxRedirects redirects, each hop through the gate. The trace
// holds what was fetched also where there is an error; a redirect without Location ends it.
func (g *Gate) Get(ctx context.Context, kind Kind, rawurl string) (*Trace, error) {
	return g.GetIf(ctx, kind, rawurl, nil)
}

// GetIf is Get with a condition for rawurl itself, nil for none.
func (g *Gate) GetIf(ctx context.Context, kind Kind, rawurl string, condition http.Header) (*Trace, error) {
	t := &Trace{}
	ctx = With(ctx, kind, t)
	for next, n := rawurl, 0; ; n++ {
		if n > MaxRedirects {
			return t, fmt.Errorf("%s: more than %d redirects", rawurl, MaxRedirects)
		}
		hop, err := g.get(ctx, next, condition)
		if err != nil {
			return t, err
		}
		condition = nil
		if next, err = location(hop); err != nil || next == "" {
			return t, err
		}
	}
}

// Fetch fetches one hop of a policy file. Redirects are left to the caller.
func (g *Gate) Fetch(ctx context.Context, rawurl string) (Hop, error) {
	return g.FetchIf(ctx, rawurl, nil)
}

// FetchIf is Fetch with a condition, nil for none.
func (g *Gate) FetchIf(ctx context.Context, rawurl string, condition http.Header) (Hop, error) {
	return g.get(With(ctx, PolicyFile, nil), rawurl, condition)
}

func (g *Gate) get(ctx context.Context, rawurl string, condition http.Header) (Hop, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, rawurl, nil)
	if err != nil {
		return Hop{}, fmt.Errorf("%q is not a URL: %w", rawurl, err)
	}
	for name, values := range condition {
		req.Header[name] = values
	}
	p := purposeOf(ctx)
	hop, _, err := g.visit(req, p)
	if err != nil {
		p.refused(err)
		return Hop{}, err
	}
	p.add(hop)
	return hop, nil
}

// location is where a redirect leads, "" for other answers.
func location(h Hop) (string, error) {
	switch h.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return "", nil
	}
	to := h.Header.Get("Location")
	if to == "" {
		return "", nil
	}
	base, err := url.Parse(h.URL)
	if err != nil {
		return "", fmt.Errorf("%q is not a URL: %w", h.URL, err)
	}
	u, err := base.Parse(to)
	if err != nil {
		return "", fmt.Errorf("%s redirects to %q, which is not a URL", h.URL, to)
	}
	return u.String(), nil
}
