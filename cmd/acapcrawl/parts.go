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
	"github.com/acapcrawl/acapcrawl/crawler"
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
	get func(ctx context.Context, rawurl string, condition http.Header) (*gate.Trace, error)
	now func() time.Time

	least time.Duration // for which an answer is good, whatever it says

	mu    sync.Mutex
	known map[string]*part
	bytes int
}

// part is what a URL gave, or will give once done is closed.
type part struct {
	done  chan struct{}
	trace gate.Trace
	err   error
	until time.Time // when it is to be asked for again
	bytes int
}

// unmodified reports whether it is what it was when somebody had it who asked only for another one.
func (p *part) unmodified() bool {
	n := len(p.trace.Hops)
	return n > 0 && p.trace.Hops[n-1].Status == http.StatusNotModified
}

func newParts(g *gate.Gate) *parts {
	return &parts{now: time.Now, known: map[string]*part{},
		get: func(ctx context.Context, rawurl string, condition http.Header) (*gate.Trace, error) {
			return g.GetIf(ctx, gate.Part, rawurl, condition)
		}}
}

// Fetch gives a page of its own to everybody who asks.
func (p *parts) Fetch(ctx context.Context, rawurl string) (*page.Page, error) {
	t, err := p.visit(ctx, rawurl, nil)
	if err != nil {
		return nil, noAnswer(err)
	}
	return pageOf(t), nil
}

// visit gives the exchanges that lead to a resource. Where they are not known it is asked for, under that condition if there is one.
func (p *parts) visit(ctx context.Context, rawurl string, condition http.Header) (*gate.Trace, error) {
	for {
		got, mine := p.take(rawurl)
		if mine {
			p.fetch(ctx, rawurl, condition, got)
		}
		select {
		case <-got.done:
		case <-ctx.Done():
			return &gate.Trace{}, ctx.Err()
		}
		if mine || !errors.Is(got.err, context.Canceled) && (condition != nil || !got.unmodified()) { // whoever asked may have had no time
			return &got.trace, got.err
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

func (p *parts) fetch(ctx context.Context, rawurl string, condition http.Header, got *part) {
	t, err := p.get(ctx, rawurl, condition)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(got.done)
	got.bytes = partOverhead + len(rawurl)
	if got.err = err; t != nil {
		got.trace = *t
		for _, h := range t.Hops {
			got.bytes += len(h.Body) + len(h.Wire) + len(h.Sent) + 2*len(h.Head)
		}
	}
	age := good(got)
	if !errors.Is(got.err, context.Canceled) && !got.unmodified() {
		age = max(age, p.least)
	}
	got.until = p.now().Add(age)
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
	case got.unmodified():
		return 0
	}
	age := partAge
	for _, h := range got.trace.Hops {
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

// Part asks for a resource that pages require, for its own sake.
func (h *handler) Part(ctx context.Context, address string) (crawler.Part, error) {
	needed, err := h.holdings.Needed(ctx, address)
	if err != nil || !needed {
		return crawler.Part{Needless: true}, err
	}
	condition := h.holdings.PartCondition(address)
	if h.refetch { // its pages are visited in this run, and need it whole
		condition = nil
	}
	t, failed := h.parts.visit(ctx, address, condition)
	if ctx.Err() != nil {
		return crawler.Part{}, nil
	}
	got := crawler.Part{Hops: t.Hops, Err: failed}
	got.Unchanged, err = h.holdings.ReceivePart(context.WithoutCancel(ctx), address, pageOf(t), noAnswer(failed))
	return got, err
}

// noAnswer tells a failure that says nothing of a resource from a refusal, which does.
func noAnswer(err error) error {
	refusal, refused := errors.AsType[*gate.Refusal](err)
	if err == nil || refused && (refusal.Rule != "" || refusal.Decision.Reason != acap.Unavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", terms.ErrNoAnswer, err)
}
