package gate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/hop"
)

// MaxRedirects is the maximal number of redirects that Get follows.
const MaxRedirects = 5

// Kind is the purpose of a request.
type Kind int

// The kinds of request. The zero value is the strictest.
const (
	PageRequest Kind = iota // request for a page, which counts against the page budget
	Part                    // request for a substitute of a page, or for a resource that a page requires
	Sitemap                 // a sitemap of an origin
	PolicyFile              // robots.txt or a file that it refers to; always permitted (REP 1, F23)
)

// Hop is one request and its response.
type Hop = hop.Hop

// Trace collects the exchanges of the requests that are made under one context. It belongs to one
// sequence of requests and is not safe for concurrent use.
type Trace struct {
	Hops    []Hop
	Refused *Refusal // why the last request was refused; nil: it was not refused

	// Confirms is a URL for which the publisher requests a re-crawl. It is requested even while a
	// take-down of it is in force, to confirm that the page is gone (P1 2.2.1, P11). TakeDown is
	// then set to that request of the publisher.
	Confirms string
	TakeDown *acap.Field
}

type purpose struct {
	kind   Kind
	trace  *Trace
	errand *Errand // the request is made for another machine; nil: it is not
}

type purposeKey struct{}

// With returns a context for requests of this kind. Their exchanges are added to t, which may be
// nil.
func With(ctx context.Context, kind Kind, t *Trace) context.Context {
	return context.WithValue(ctx, purposeKey{}, purpose{kind: kind, trace: t})
}

func purposeOf(ctx context.Context) purpose {
	p, _ := ctx.Value(purposeKey{}).(purpose)
	return p
}

// permits returns the refusal of u by the policy or by a take-down. If the request may be sent now,
// permits returns nil.
func (p purpose) permits(policy *acap.Policy, u *url.URL) error {
	refused := RefusedBy(policy, u)
	switch {
	case refused == nil:
		return nil
	case refused.Rule == RuleTakeDown && p.trace != nil && p.trace.Confirms == refused.URL:
		// the request is sent to confirm that the page is gone
		p.trace.TakeDown = refused.TakeDown
		return nil
	}
	return refused
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

// Get fetches rawurl and follows up to MaxRedirects redirects. Each hop passes through the gate. If
// Get fails, the trace contains the hops before the error. A redirect without Location ends the
// chain.
func (g *Gate) Get(ctx context.Context, kind Kind, rawurl string) (*Trace, error) {
	return g.GetIf(ctx, kind, rawurl, nil)
}

// GetIf is Get with header fields that make the request for rawurl conditional; nil for none.
// Requests after a redirect do not contain them.
func (g *Gate) GetIf(ctx context.Context, kind Kind, rawurl string, condition http.Header) (*Trace, error) {
	return g.follow(ctx, kind, rawurl, condition, func(*url.URL) error { return nil })
}

// GetPermitted is Get with a further rule. It calls permit before each request, also after a redirect. If permit
// returns an error, it does not make the request and fails with this error.
func (g *Gate) GetPermitted(ctx context.Context, kind Kind, rawurl string, permit func(*url.URL) error) (*Trace,
	error) {
	return g.follow(ctx, kind, rawurl, nil, permit)
}

func (g *Gate) follow(ctx context.Context, kind Kind, rawurl string, condition http.Header,
	permit func(*url.URL) error) (*Trace, error) {
	t := &Trace{}
	ctx = With(ctx, kind, t)
	for next, n := rawurl, 0; ; n++ {
		if n > MaxRedirects {
			return t, fmt.Errorf("%s: more than %d redirects", rawurl, MaxRedirects)
		}
		u, err := url.Parse(next)
		if err != nil {
			return t, fmt.Errorf("%q is not a URL: %w", next, err)
		}
		if err := permit(u); err != nil {
			return t, err
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

// Fetch fetches a policy file. It does not follow redirects.
func (g *Gate) Fetch(ctx context.Context, rawurl string) (Hop, error) {
	return g.FetchIf(ctx, rawurl, nil)
}

// FetchIf is Fetch with header fields that make the request conditional; nil for none.
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
	hop, _, err := g.checkAndSend(req, p)
	if err != nil {
		p.refused(err)
		return Hop{}, err
	}
	p.add(hop)
	return hop, nil
}

// location returns the target of a redirect, or "" if the answer is not a redirect or has no
// Location.
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
