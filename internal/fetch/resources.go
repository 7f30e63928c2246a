package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

const (
	maxResourceBytes = 64 << 20    // greatest total size of cached bodies, in bytes
	maxResourceAge   = time.Hour   // how long a response is cached if its header sets no limit
	failureAge       = time.Second // how long a failure is cached

	resourceOverhead = 1 << 10 // estimated memory for each cached response in addition to its body, in bytes
)

// Resources fetches substitute pages and required resources through the gate, and caches them, because many pages of a
// site may name the same resource. It implements terms.Fetcher, and is safe for concurrent use.
type Resources struct {
	get func(ctx context.Context, rawurl string, condition http.Header, permit Permit) (*gate.Trace, error)
	now func() time.Time

	least time.Duration // minimum time for which a response is cached, whatever its header says

	mu    sync.Mutex
	known map[string]*resource
	bytes int
}

// Permit returns why an address must not be requested; nil if it may be requested.
type Permit func(*url.URL) error

// unpermitted is an error of a Permit.
type unpermitted struct{ error }

func (e unpermitted) Unwrap() error { return e.error }

// resource is the cached response for a URL. All fields except bytes are set when done is closed.
type resource struct {
	done  chan struct{}
	trace gate.Trace
	err   error
	until time.Time // when the cached response expires
	bytes int
}

// unmodified reports whether the status of the response is 304 Not Modified.
func (r *resource) unmodified() bool {
	n := len(r.trace.Hops)
	return n > 0 && r.trace.Hops[n-1].Status == http.StatusNotModified
}

// NewResources returns a fetcher of resources through the gate g. It caches each response for at least the time least.
func NewResources(g *gate.Gate, least time.Duration) *Resources {
	return &Resources{now: time.Now, least: least, known: map[string]*resource{},
		get: func(ctx context.Context, rawurl string, condition http.Header, permit Permit) (*gate.Trace, error) {
			if permit != nil {
				return g.GetPermitted(ctx, gate.Part, rawurl, permit)
			}
			return g.GetIf(ctx, gate.Part, rawurl, condition)
		}}
}

// Fetch returns the resource at a URL as a page. Callers do not share the returned page.
func (r *Resources) Fetch(ctx context.Context, rawurl string) (*page.Page, error) {
	t, err := r.Visit(ctx, rawurl, nil)
	if err != nil {
		return nil, NoAnswer(err)
	}
	return PageOf(t), nil
}

// Visit returns the HTTP exchanges that fetched a resource, from the cache or by a new request.
// condition is a header that makes a request conditional; it may be nil.
func (r *Resources) Visit(ctx context.Context, rawurl string, condition http.Header) (*gate.Trace, error) {
	return r.visit(ctx, rawurl, condition, nil)
}

// VisitPermitted is Visit with a further rule for each address, also after a redirect. It calls permit before each
// request, and for each address of a response from the cache. If permit returns an error, VisitPermitted fails with
// it. It makes no calls of permit after it has returned, and no concurrent ones.
func (r *Resources) VisitPermitted(ctx context.Context, rawurl string, permit Permit) (*gate.Trace, error) {
	return r.visit(ctx, rawurl, nil, func(u *url.URL) error {
		if err := permit(u); err != nil {
			return unpermitted{err}
		}
		return nil
	})
}

func (r *Resources) visit(ctx context.Context, rawurl string, condition http.Header, permit Permit) (*gate.Trace,
	error) {
	for {
		got, mine := r.lookUp(rawurl)
		if mine {
			r.fetch(ctx, rawurl, condition, permit, got)
		}
		select {
		case <-got.done:
		case <-ctx.Done():
			return &gate.Trace{}, ctx.Err()
		}
		_, refused := errors.AsType[unpermitted](got.err)
		switch {
		case mine:
			return &got.trace, got.err
		// try again: the result is from another caller, whose context may have ended, whose request was conditional,
		// or who may not request an address
		case refused, errors.Is(got.err, context.Canceled), condition == nil && got.unmodified():
			continue
		}
		if err := permitAll(permit, got.trace.Hops); err != nil {
			return &gate.Trace{}, err
		}
		return &got.trace, got.err
	}
}

// permitAll returns the first error of permit, which may be nil, for the addresses of hops.
func permitAll(permit Permit, hops []gate.Hop) error {
	if permit == nil {
		return nil
	}
	for _, hop := range hops {
		u, err := url.Parse(hop.URL)
		if err == nil {
			err = permit(u)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lookUp returns the cache entry for rawurl. If mine is true, the caller must fetch it.
func (r *Resources) lookUp(rawurl string) (got *resource, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if got = r.known[rawurl]; got != nil {
		select {
		case <-got.done:
			if r.now().Before(got.until) {
				return got, false
			}
			r.forget(rawurl)
		default:
			return got, false
		}
	}
	got = &resource{done: make(chan struct{})}
	r.known[rawurl] = got
	return got, true
}

func (r *Resources) forget(rawurl string) {
	r.bytes -= r.known[rawurl].bytes
	delete(r.known, rawurl)
}

func (r *Resources) fetch(ctx context.Context, rawurl string, condition http.Header, permit Permit, got *resource) {
	t, err := r.get(ctx, rawurl, condition, permit)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(got.done)
	got.bytes = resourceOverhead + len(rawurl)
	if got.err = err; t != nil {
		got.trace = *t
		for _, h := range t.Hops {
			got.bytes += len(h.Body) + len(h.Wire) + len(h.Sent) + 2*len(h.Head)
		}
	}
	age := maxAge(got)
	if !notRequested(got.err) && !got.unmodified() {
		age = max(age, r.least)
	}
	got.until = r.now().Add(age)
	r.bytes += got.bytes
	for other, o := range r.known {
		if r.bytes <= maxResourceBytes {
			break
		}
		select {
		case <-o.done:
			r.forget(other)
		default: // another caller is fetching the resource
		}
	}
}

// notRequested reports whether err says nothing about a resource, because the caller gave up or may not request an
// address, or this machine may not request the host at the moment.
func notRequested(err error) bool {
	_, refused := errors.AsType[unpermitted](err)
	return refused || errors.Is(err, context.Canceled) || errors.Is(err, gate.ErrPaused) ||
		errors.Is(err, gate.ErrForeign)
}

// maxAge returns for how long a response is cached.
func maxAge(got *resource) time.Duration {
	switch {
	case notRequested(got.err):
		return 0
	case got.err != nil:
		return failureAge
	case got.unmodified():
		return 0
	}
	age := maxResourceAge
	for _, h := range got.trace.Hops {
		if h.Status >= http.StatusInternalServerError || h.Status == http.StatusTooManyRequests {
			return failureAge
		}
		for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h.Header.Values("Cache-Control"), ",")),
			",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch n, err := strconv.Atoi(strings.Trim(value, `"`)); {
			case name == "no-store", name == "no-cache":
				return 0
			case name == "max-age" && err == nil && n >= 0 && n < int(age/time.Second):
				age = time.Duration(n) * time.Second
			}
		}
	}
	return age
}

// NoAnswer wraps err in terms.ErrNoAnswer if err says nothing about the resource itself, such as a
// network failure. If a policy refused the request, NoAnswer returns err unchanged.
func NoAnswer(err error) error {
	refusal, refused := errors.AsType[*gate.Refusal](err)
	if err == nil || refused && refusal.Rule != gate.RuleLease &&
		(refusal.Rule != "" || refusal.Decision.Reason != acap.Unavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", terms.ErrNoAnswer, err)
}
