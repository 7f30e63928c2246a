package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
	partBytes = 64 << 20    // of bodies that are remembered
	partAge   = time.Hour   // for which an answer is good where it says nothing
	failedAge = time.Second // for which a failure is

	partOverhead = 1 << 10 // bytes that any of them takes
)

// parts fetches substitutes and required resources through the gate, each once for all pages that need it: whole sites name the same
// one. It is safe for concurrent use.
type parts struct {
	get func(ctx context.Context, rawurl string) (*gate.Trace, error)
	now func() time.Time

	mu    sync.Mutex
	known map[string]*part
	bytes int
}

// part is what a URL gave, or will give once done is closed.
type part struct {
	done  chan struct{}
	hops  []page.Hop
	err   error
	until time.Time // when it is to be asked for again
	bytes int
}

func newParts(g *gate.Gate) *parts {
	return &parts{now: time.Now, known: map[string]*part{},
		get: func(ctx context.Context, rawurl string) (*gate.Trace, error) { return g.Get(ctx, gate.Part, rawurl) }}
}

// Fetch gives a page of its own to everybody who asks.
func (p *parts) Fetch(ctx context.Context, rawurl string) (*page.Page, error) {
	for {
		got, mine := p.take(rawurl)
		if mine {
			p.fetch(ctx, rawurl, got)
		}
		select {
		case <-got.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		switch {
		case got.err == nil:
			return page.New(got.hops), nil
		case mine || !errors.Is(got.err, context.Canceled): // whoever asked may have had no time
			return nil, got.err
		}
	}
}

// take gives what is known of rawurl; mine says that the caller is to fetch it.
func (p *parts) take(rawurl string) (got *part, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if got = p.known[rawurl]; got != nil {
		select {
		case <-got.done:
			if p.now().Before(got.until) {
				return got, false
			}
			p.forget(rawurl)
		default:
			return got, false
		}
	}
	got = &part{done: make(chan struct{})}
	p.known[rawurl] = got
	return got, true
}

func (p *parts) forget(rawurl string) {
	p.bytes -= p.known[rawurl].bytes
	delete(p.known, rawurl)
}

func (p *parts) fetch(ctx context.Context, rawurl string, got *part) {
	t, err := p.get(ctx, rawurl)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(got.done)
	got.bytes = partOverhead + len(rawurl)
	if got.err = noAnswer(err); err == nil {
		for _, h := range t.Hops {
			got.hops = append(got.hops, page.Hop(h))
			got.bytes += len(h.Body) + len(h.Wire) + len(h.Sent) + 2*len(h.Head)
		}
	}
	got.until = p.now().Add(good(got))
	p.bytes += got.bytes
	for other, o := range p.known {
		if p.bytes <= partBytes {
			break
		}
		select {
		case <-o.done:
			p.forget(other)
		default: // under way
		}
	}
}

// good is for how long an answer is.
func good(got *part) time.Duration {
	switch {
	case errors.Is(got.err, context.Canceled):
		return 0
	case got.err != nil:
		return failedAge
	}
	age := partAge
	for _, h := range got.hops {
		if h.Status >= http.StatusInternalServerError || h.Status == http.StatusTooManyRequests {
			return failedAge
		}
		for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h.Header.Values("Cache-Control"), ",")), ",") {
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

// noAnswer tells a failure that says nothing of a resource from a refusal, which does.
func noAnswer(err error) error {
	refusal, refused := errors.AsType[*gate.Refusal](err)
	if err == nil || refused && (refusal.Rule != "" || refusal.Decision.Reason != acap.Unavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", terms.ErrNoAnswer, err)
}
