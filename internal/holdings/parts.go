package holdings

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Needed reports whether the resource at address is still needed. It is needed if stored data was
// made from the resource, or if pages wait for it. If the resource is not needed, Needed deletes
// its record.
func (h *Holdings) Needed(ctx context.Context, address string) (needed bool, err error) {
	err = h.changePart(ctx, address, func(known *archive.Part) ([]string, error) {
		made, answer, change, err := h.pagesOf(address)
		if needed = len(made)+len(answer)+len(change) > 0; err == nil && !needed {
			*known = archive.Part{}
		}
		return nil, err
	})
	return needed, err
}

// pagesOf lists three kinds of pages: pages with data made from the resource at address, pages that
// wait for any response from the resource, and pages that wait for a changed response.
func (h *Holdings) pagesOf(address string) (made, answer, change []string, err error) {
	if made, err = h.archive.MadeOf(address); err != nil {
		return nil, nil, nil, err
	}
	answer, change, err = h.archive.Awaiting(address)
	return made, answer, change, err
}

// PartCondition returns headers that request a required resource only if it has changed since pages
// were made from it (RFC 9110 13.1.2, 13.1.3); nil if the resource should be requested
// unconditionally.
func (h *Holdings) PartCondition(address string) http.Header {
	known, err := h.archive.Part(address)
	if err != nil || known.Pending != archive.Nobody || known.Digest == "" {
		return nil
	}
	if waiting, _, err := h.archive.Awaiting(address); err != nil || len(waiting) > 0 {
		return nil
	}
	return validators(known.ETag, known.LastModified)
}

// ReceivePart processes the response for a required resource that was requested on its own. The
// response is in pg, or failure says why there is none. If the resource is gone or prohibited,
// everything made from the resource is erased at once (I10). If it has changed, the pages that
// require it are checked again in the background. A temporary failure changes nothing (H05).
// unchanged reports that the response equals the last response. The result is durable when
// ReceivePart returns.
func (h *Holdings) ReceivePart(ctx context.Context, address string, pg *page.Page, failure error) (unchanged bool,
	err error) {
	if failure == nil && pg.Last().Status == http.StatusNotModified {
		return true, nil
	}
	p := terms.Obtain(ctx, terms.Sources{Policies: h.sources.Policies, Fetcher: reply{pg, failure}}, address)
	switch {
	case p.Failed:
		return false, nil
	case p.Err != nil:
		return h.endPart(ctx, address, p.Err)
	}
	is, unchanged, err := h.renewPart(ctx, address, p.Page)
	if err == nil && is.Pending != archive.Nobody {
		err = h.startRemaking(ctx, address)
	}
	return unchanged, err
}

// renewPart records the current response of a required resource, and which pages must be checked
// again. These are all its pages if the response has changed, otherwise the pages that wait for any
// response.
func (h *Holdings) renewPart(ctx context.Context, address string, pg *page.Page) (is archive.Part, unchanged bool,
	err error) {
	is = answerOf(pg)
	err = h.changePart(ctx, address, func(known *archive.Part) ([]string, error) {
		made, waiting, others, err := h.pagesOf(address)
		is.Pending = known.Pending
		if unchanged = known.Digest == is.Digest; !unchanged {
			waiting = slices.Concat(waiting, made, others)
		}
		if len(waiting) > 0 {
			is.Pending = archive.Waiting
		}
		*known = is
		return waiting, err
	})
	return is, unchanged, err
}

// reply is a Fetcher that returns a response already received.
type reply struct {
	page *page.Page
	err  error
}

func (a reply) Fetch(context.Context, string) (*page.Page, error) { return a.page, a.err }

// answerOf returns the record of a required resource whose response is pg. The digest in the record
// covers everything that could change the pages that require the resource.
func answerOf(pg *page.Page) archive.Part {
	last := pg.Last()
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%q\n", pg.URL(), last.Header.Get("Content-Type"), last.Header.Values("X-Robots-Tag"))
	sum.Write(last.Body)
	p := archive.Part{Fetched: last.Start, Digest: base64.RawURLEncoding.EncodeToString(sum.Sum(nil))}
	// after a redirect, no validators are stored, because they would be sent to the address that
	// redirects
	if len(pg.Hops()) == 1 {
		p.ETag, p.LastModified = last.Header.Get("ETag"), last.Header.Get("Last-Modified")
	}
	return p
}

// changePart changes the record of a required resource, under the lock of address. fn returns the
// pages that must wait for the next response of the resource.
func (h *Holdings) changePart(ctx context.Context, address string, fn func(*archive.Part) (wait []string,
	err error)) error {
	mu := h.lock(address)
	mu.Lock()
	defer mu.Unlock()
	known, err := h.archive.Part(address)
	if err != nil {
		return err
	}
	was := known
	wait, err := fn(&known)
	if err != nil || known == was {
		return err
	}
	return h.archive.SetPart(ctx, address, known, wait...)
}

// endPart removes everything made from the resource at address, which may no longer be used. The
// parameter because is the error that says why. The pages that lose data then wait for the
// resource. knew reports that the end of the resource was already recorded.
func (h *Holdings) endPart(ctx context.Context, address string, because error) (knew bool, err error) {
	ended := archive.Part{Fetched: h.o.Now(), Why: address + ": " + because.Error(), Pending: archive.Everybody}
	if refused, ok := errors.AsType[*acap.Refused](because); ok {
		g := grounds(refused.Decision)
		ended.Why, ended.Line = g.why, g.line
	}
	err = h.changePart(ctx, address, func(known *archive.Part) ([]string, error) {
		if knew = known.Why != "" && known.Pending == archive.Nobody; !knew {
			*known = ended
		}
		return nil, nil
	})
	if err != nil {
		return knew, err
	}
	damaged, err := h.finishEnd(ctx, address, ended)
	h.background.recordError(damaged)
	return knew, err
}

// finishEnd removes from all pages what was made from a resource that is no longer available. It
// skips pages whose records are damaged, and returns the error damaged that names these pages. The
// resource then stays pending.
func (h *Holdings) finishEnd(ctx context.Context, address string, ended archive.Part) (damaged, err error) {
	var mu sync.Mutex
	passed := map[string]error{}
	left := func() ([]string, error) {
		pages, err := h.archive.MadeOf(address)
		return slices.DeleteFunc(pages, func(page string) bool { return passed[page] != nil }), err
	}
	pages, err := left()
	if err == nil {
		err = h.archive.Await(ctx, address, archive.ForAnswer, pages...)
	}
	if err != nil {
		return nil, err
	}
	err = forEachPage(sweepers, pages, func(page string) error {
		err := h.withdrawFrom(ctx, page, address, func(s Swept) {
			s.Why, s.Line = ended.Why, ended.Line
			h.reportSwept(s)
		})
		if ctx.Err() != nil || !errors.Is(err, archive.ErrCorrupt) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		passed[page] = fmt.Errorf("data made from %s could not be erased from %s: %w", address, page, err)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = h.changePart(ctx, address, func(known *archive.Part) ([]string, error) {
		more, err := left() // the next pages are those received while this loop was running
		if known.Why != "" && len(more)+len(passed) == 0 && err == nil {
			known.Pending = archive.Nobody
		}
		return nil, err
	})
	return errors.Join(slices.Collect(maps.Values(passed))...), err
}

// finishEnds completes removals that were interrupted.
func (h *Holdings) finishEnds(ctx context.Context) error {
	return h.unfinishedEnds(func(address string, ended archive.Part) error {
		_, err := h.finishEnd(ctx, address, ended) // damaged pages are ignored here, because Verify reports them
		return err
	})
}

// unfinishedEnds calls fn for each resource that is no longer available if data made from the
// resource may still be stored.
func (h *Holdings) unfinishedEnds(fn func(address string, ended archive.Part) error) error {
	list, err := h.archive.PendingParts()
	for _, address := range list {
		var known archive.Part
		if err == nil {
			known, err = h.archive.Part(address)
		}
		if err == nil && known.Why != "" {
			err = fn(address, known)
		}
	}
	return err
}

func (h *Holdings) reportSwept(s Swept) {
	if h.o.Swept != nil {
		h.o.Swept(s)
	}
}

// endParts calls endPart for each required resource whose address is one of the addresses of pg, a
// page that is gone.
func (h *Holdings) endParts(ctx context.Context, pg *page.Page) error {
	for _, hop := range pg.Hops() {
		known, err := h.archive.Part(hop.URL)
		if err == nil && !known.Fetched.IsZero() {
			_, err = h.endPart(ctx, hop.URL, fmt.Errorf("it answers with status %d", pg.Last().Status))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noteParts brings the records of required resources up to date with the responses that g was made
// from. It sets g.Missing to the resources that should be requested again soon, and g.Parts to the
// others. The page then no longer waits for resources that were not requested for g.
func (h *Holdings) noteParts(ctx context.Context, g *assessment) error {
	for _, p := range g.parts {
		missing, err := h.notePart(ctx, g, p)
		if err != nil {
			return err
		}
		if missing {
			g.Missing = append(g.Missing, p.URL)
		} else {
			g.Parts = append(g.Parts, p.URL)
		}
	}
	if h.storesLess() || h.sources.Fetcher == nil { // this run does not request all required resources
		return nil
	}
	return h.stopAwaiting(ctx, g.deposit.Resource.URL, func(part string) bool {
		return !slices.ContainsFunc(g.parts, func(p terms.Part) bool { return p.URL == part })
	})
}

// notePart brings the record of one required resource up to date with the response p that g was
// made from. missing reports that the resource should be requested soon.
func (h *Holdings) notePart(ctx context.Context, g *assessment, p terms.Part) (missing bool, err error) {
	address := g.deposit.Resource.URL
	if !p.Failed && p.Err != nil {
		if _, err := h.endPart(ctx, p.URL, p.Err); err != nil {
			return false, err
		}
	}
	wait := archive.Wait(0)
	if !slices.Contains(g.deposit.Resource.Kept.Sources(), p.URL) {
		wait = archive.ForChange
	}
	switch {
	case p.Failed:
		return true, h.archive.Await(ctx, p.URL, archive.ForAnswer, address)
	case p.Err != nil:
		return false, h.archive.Await(ctx, p.URL, archive.ForChange, address)
	}
	is := answerOf(p.Page)
	known, err := h.archive.Part(p.URL)
	if err == nil && known.Digest != is.Digest {
		err = h.changePart(ctx, p.URL, func(known *archive.Part) ([]string, error) {
			switch {
			case known.Fetched.IsZero():
				*known = is
			// some pages are made from this response and others from another one: delete the
			// validators, so that the next response causes all pages to be checked
			case known.Digest != is.Digest && !known.Fetched.After(is.Fetched):
				known.Digest, known.ETag, known.LastModified = "", "", ""
			}
			return nil, nil
		})
	}
	if err == nil {
		// another response may have arrived while the page was checked
		missing, err = h.archive.AwaitAfter(ctx, p.URL, is, wait, address)
	}
	if err == nil && missing {
		// if the data of this resource was removed meanwhile, this page may have been missed
		if known, err = h.archive.Part(p.URL); err == nil && known.Why != "" {
			err = h.withdrawFrom(ctx, address, p.URL, nil)
		}
	}
	return missing, err
}

// stopAwaiting records that the page at address no longer waits for certain resources. These are
// the resources for whose addresses the function in the parameter which returns true.
func (h *Holdings) stopAwaiting(ctx context.Context, address string, which func(part string) bool) error {
	parts, err := h.archive.Awaits(address)
	for _, part := range parts {
		if err == nil && which(part) {
			err = h.archive.Awaited(ctx, part, address)
		}
	}
	return err
}

func everyPart(string) bool { return true }

// storesLess reports whether the options of this run exclude copies or index entries. Checking
// pages again would then erase copies or index entries.
func (h *Holdings) storesLess() bool { return h.o.NoIndex || h.o.NoPreserve }
