package holdings

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// startRemaking starts checking the pages that wait for a response of the resource at address.
// Pages without a sufficient copy are crawled again soon; the others are checked in the background.
func (h *Holdings) startRemaking(ctx context.Context, address string) error {
	known, err := h.archive.Part(address)
	if err != nil {
		return err
	}
	if known.Why == "" {
		if h.storesLess() {
			return nil
		}
		pages, _, err := h.archive.Awaiting(address)
		if err != nil {
			return err
		}
		pages = slices.DeleteFunc(pages, func(page string) bool {
			_, ok := h.current(page)
			return ok
		})
		if err := h.crawlSoon(ctx, address, pages...); err != nil {
			return err
		}
	}
	h.background.add(h, task{part: address})
	return nil
}

const (
	// greatest number of pages made again at the same time: pages that wait for the disk share a
	// write
	remakers     = 64
	remakeBodies = 8 // greatest number of these pages that have a body in memory
)

// forEachPage calls fn for each page, n at a time, and returns all errors joined.
func forEachPage(n int, pages []string, fn func(page string) error) error {
	var wg sync.WaitGroup
	slots := make(chan struct{}, n)
	failed := make([]error, len(pages))
	for i, page := range pages {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			failed[i] = fn(page)
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

// remakeAll checks again the pages that require the resource at address, because the response of
// the resource has changed or because the pages wait for a response.
func (h *Holdings) remakeAll(ctx context.Context, address string) error {
	known, err := h.archive.Part(address)
	switch {
	case err != nil || known.Pending == archive.Nobody:
		return err
	case known.Why != "":
		damaged, err := h.finishEnd(ctx, address, known)
		h.background.recordError(damaged)
		return err
	}
	if h.storesLess() {
		return nil
	}
	sources := terms.Sources{Policies: h.sources.Policies, Fetcher: &remembered{Fetcher: h.sources.Fetcher,
		got: map[string]reply{}}}
	p := terms.Obtain(h.o.Budget.Require(ctx), sources, address)
	switch {
	case p.Failed: // the resource stays pending until it is requested again
		return ctx.Err()
	case p.Err != nil:
		_, err := h.endPart(ctx, address, p.Err)
		return err
	}
	is, _, err := h.renewPart(ctx, address, p.Page)
	if err != nil {
		return err
	}
	pages, _, err := h.archive.Awaiting(address)
	if err != nil {
		return err
	}
	err = forEachPage(remakers, pages, func(page string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return h.remake(ctx, page, address, sources)
	})
	if err != nil {
		return err
	}
	return h.changePart(ctx, address, func(now *archive.Part) ([]string, error) {
		if now.Fetched.Equal(is.Fetched) { // if a later response has been recorded, it has a task of its own
			now.Pending = archive.Nobody
		}
		return nil, nil
	})
}

// remake checks a page again from its copy, as if it had been received once more. part is the
// address of the changed resource that the page requires. sources supply required resources. If the
// copy is not sufficient, the page is crawled again soon. If no copy is stored, the new crawl has
// already been requested.
func (h *Holdings) remake(ctx context.Context, address, part string, sources terms.Sources) (err error) {
	defer defect.Catch(&err, address, h.o.Defect)
	if err := h.eraseDrawing(ctx, address, part); err != nil {
		return err
	}
	for range sweepTries {
		g, ok, err := h.assessCopy(ctx, address, sources)
		if err != nil || !ok && g.from == nil {
			return err
		}
		if !ok {
			break
		}
		err = h.writePage(ctx, &g)
		switch {
		case errors.Is(err, errMoved), errors.Is(err, archive.ErrNotHeld):
			continue
		case err != nil:
			return err
		}
		h.reportLostEntry(&g)
		return h.o.Parts(ctx, g.Parts, g.Missing)
	}
	return h.crawlSoon(ctx, part, address)
}

// reportLostEntry reports an index entry that could not be made again.
func (h *Holdings) reportLostEntry(g *assessment) {
	if !g.from.Indexed || g.Indexed {
		return
	}
	s := Swept{URL: g.from.URL, What: SweptEntry, Why: "it holds no text"}
	for _, d := range g.Refused {
		if d.Usage == acap.Index {
			g := grounds(d)
			s.Reason, s.Why, s.Line = g.reason, g.why, g.line
		}
	}
	h.reportSwept(s)
}

// crawlSoon requests a new crawl of those pages for which anything is stored. Afterwards none of
// the pages waits for the resource at part.
func (h *Holdings) crawlSoon(ctx context.Context, part string, pages ...string) error {
	var held []string
	for _, page := range pages {
		known, _, err := h.archive.Resource(page)
		if err != nil {
			return err
		}
		if !known.LastCrawled.IsZero() {
			held = append(held, page)
		}
	}
	if len(held) > 0 {
		if err := h.o.Hasten(ctx, held); err != nil {
			return err
		}
	}
	return h.archive.Awaited(ctx, part, pages...)
}

// assessCopy decides about a page again from its stored copy. ok is false if the page must be
// fetched for that.
func (h *Holdings) assessCopy(ctx context.Context, address string, sources terms.Sources) (g assessment, ok bool,
	err error) {
	h.remaking <- struct{}{}
	defer func() { <-h.remaking }()
	c, ok := h.current(address)
	if !ok {
		return g, false, nil
	}
	g.from = &c.known
	release, err := h.o.Budget.Room(ctx, page.WeightOf(c.Bytes+c.RenderedBytes, c.MIME))
	if err != nil {
		return g, false, err
	}
	defer release()
	if !h.readBody(&c) {
		return g, false, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return g, false, err
	}
	origin, err := h.o.Known.Policy(ctx, u)
	if err != nil {
		return g, false, ctx.Err()
	}
	facts := h.factsNow(c.known)
	pg := c.Page(c.body, c.rendered)
	g = h.assessPage(terms.Held(ctx, origin, u, c.known.Own, pg, sources, facts), pg, terms.TakeDown(origin, u),
		c.known,
		false)
	g.from, g.deposit.Fetched, g.deposit.Replace = &c.known, c.known.LastCrawled, false
	ok = g.Stored && g.confirmCopy(c)
	g.deposit.Body, g.deposit.Wire, g.deposit.Rendered = nil, nil, nil // the stored copy stays unchanged
	return g, ok, nil
}

// remembered is a Fetcher that requests each resource once, while its memory limit permits.
type remembered struct {
	terms.Fetcher
	mu    sync.Mutex
	got   map[string]reply
	bytes int
}

const rememberedBytes = 32 << 20

func (r *remembered) Fetch(ctx context.Context, address string) (*page.Page, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, known := r.got[address]
	if known {
		return a.page, a.err
	}
	if a.page, a.err = r.Fetcher.Fetch(ctx, address); a.err == nil {
		for _, hop := range a.page.Hops() {
			r.bytes += len(hop.Body) + len(hop.Wire)
		}
	}
	if r.bytes > rememberedBytes {
		clear(r.got)
		r.bytes = 0
	}
	r.got[address] = a
	return a.page, a.err
}
