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

// Needed reports whether the resource at address is still needed: something stored was made from
// it, or pages wait for it. If it is not needed, Needed deletes its record.
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
// wait for any answer from it, and pages that wait for a changed answer.
func (h *Holdings) pagesOf(address string) (made, answer, change []string, err error) {
	if made, err = h.archive.MadeOf(address); err != nil {
		return nil, nil, nil, err
	}
	answer, change, err = h.archive.Awaiting(address)
	return made, answer, change, err
}

// PartCondition returns headers that request a required resource only if it has changed since pages
// were made from it (RFC 9110 13.1.2, 13.1.3); nil if it should be requested unconditionally.
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

// ReceivePart processes the answer for a required resource that was requested on its own: a page,
// or failure. If the resource is gone or prohibited, everything made from it is erased at once
// (I10). If it has changed, its pages are checked again in the background. A temporary failure
// changes nothing (H05). unchanged reports that the answer equals the last one. The result is
// durable when ReceivePart returns.
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

// renewPart records the current answer of a required resource, and which pages must be checked
// again: all pages if the answer changed, otherwise those that wait for any answer.
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

// reply is a Fetcher that returns an answer already received.
type reply struct {
	page *page.Page
	err  error
}

func (a reply) Fetch(context.Context, string) (*page.Page, error) { return a.page, a.err }

// answerOf returns the record of a required resource with the answer pg. Its digest covers
// everything that could change the pages that require it.
func answerOf(pg *page.Page) archive.Part {
	last := pg.Last()
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%q\n", pg.URL(), last.Header.Get("Content-Type"), last.Header.Values("X-Robots-Tag"))
	sum.Write(last.Body)
	p := archive.Part{Fetched: last.Start, Digest: base64.RawURLEncoding.EncodeToString(sum.Sum(nil))}
	if len(pg.Hops()) == 1 { // after a redirect, the validators would be sent to another address
		p.ETag, p.LastModified = last.Header.Get("ETag"), last.Header.Get("Last-Modified")
	}
	return p
}

// changePart changes the record of a required resource, under the lock of address. fn returns the
// pages that wait for its next answer.
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

// endPart removes everything made from a resource that may no longer be used, for the reason
// because. Its pages then wait for it. knew reports that this was already recorded.
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
// skips pages whose records are damaged and returns them as damaged; the resource then stays
// pending.
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
		more, err := left() // pages received in the meantime
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
		_, err := h.finishEnd(ctx, address, ended) // Verify reports damaged pages
		return err
	})
}

// unfinishedEnds calls fn for each resource that is no longer available but from which something
// may still be stored.
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

// endParts calls endPart for each required resource among the addresses of pg, a page that is gone.
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

// noteParts brings the records of required resources up to date with the answers that g was made
// from. It fills in g.Parts and g.Missing: missing ones should be requested soon. The page then
// waits only for resources that nothing was made from.
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
	if h.storesLess() || h.sources.Fetcher == nil { // this run does not request every required resource
		return nil
	}
	return h.stopAwaiting(ctx, g.deposit.Resource.URL, func(part string) bool {
		return !slices.ContainsFunc(g.parts, func(p terms.Part) bool { return p.URL == part })
	})
}

// notePart brings the record of one required resource up to date with the answer p that g was made
// from. missing reports that the resource should be requested soon.
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
			// pages are made from two different answers: forget the validators, so that the next
			// answer checks all
			case known.Digest != is.Digest && !known.Fetched.After(is.Fetched):
				known.Digest, known.ETag, known.LastModified = "", "", ""
			}
			return nil, nil
		})
	}
	if err == nil {
		// another answer may have come while the page was checked
		missing, err = h.archive.AwaitAfter(ctx, p.URL, is, wait, address)
	}
	if err == nil && missing {
		// a concurrent removal may have missed this page
		if known, err = h.archive.Part(p.URL); err == nil && known.Why != "" {
			err = h.withdrawFrom(ctx, address, p.URL, nil)
		}
	}
	return missing, err
}

// stopAwaiting records that a page no longer waits for the resources that which selects.
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

// storesLess reports whether this run stores less than others do. Checking pages again would then
// erase copies or index entries.
func (h *Holdings) storesLess() bool { return h.o.NoIndex || h.o.NoPreserve }
