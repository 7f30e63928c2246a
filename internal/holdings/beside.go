package holdings

import (
	"context"
	"errors"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// withdraw removes from the stored data of other pages the excerpts, thumbnails and index entries that were made
// from the resource at address, which is erased on the ground g (P1 2.6, P04). It records that these pages wait until
// the take-down ends (P1 2.6.1, P05: nothing is fetched again before). If scripted is set, withdraw also erases the
// pages that scripts made from the resource. n is the number of all pages from which something is removed.
func (h *Holdings) withdraw(ctx context.Context, address string, g ground, scripted bool) (n int, err error) {
	var whole, others []string
	pages, err := h.archive.MadeOf(address)
	if err != nil {
		return 0, err
	}
	for _, page := range pages {
		known, _, err := h.archive.Resource(page)
		_, more, _ := known.Kept.Without(address)
		switch {
		case scripted && page != address && known.Kept.MadeByScripts(address):
			whole = append(whole, page)
		case err != nil || more:
			others = append(others, page)
		}
	}
	err = h.changePart(ctx, address, func(known *archive.Part) ([]string, error) {
		*known = archive.Part{}
		return nil, nil
	})
	return len(whole) + len(others), errors.Join(err, h.archive.Await(ctx, address, archive.ForAnswer, others...),
		forEachPage(sweepers, others, func(page string) error {
			return h.withdrawFrom(ctx, page, address, nil)
		}),
		forEachPage(sweepers, whole, func(page string) error {
			return h.eraseDerived(ctx, page, g.of(address), func(known archive.Resource) bool {
				return known.Kept.MadeByScripts(address)
			})
		}))
}

// withdrawFrom removes what was made from the erased resource at address from the stored data of
// one page. It calls told, which may be nil, for each removed item.
func (h *Holdings) withdrawFrom(ctx context.Context, page, address string, told func(Swept)) error {
	var was, less terms.Kept
	changed, entry := false, false
	forgotten, err := h.applyChange(ctx, page, change{url: page, wait: true},
		func(known archive.Resource) (bool, error) {
			was = known.Kept
			if less, changed, entry = was.Without(address); !less.Shows(was) {
				// this comes first, because the update below deletes the record of the resources
				// that the thumbnails were made from
				if err := h.dropPictures(ctx, page); err != nil {
					return false, err
				}
			}
			// the page must also wait for resources whose address redirects to address
			for _, names := range was.Requires() {
				if names[0] != address && slices.Contains(names, address) {
					if err := h.archive.Await(ctx, names[0], archive.ForAnswer, page); err != nil {
						return false, err
					}
				}
			}
			entry = entry && known.Indexed
			return entry, h.archive.Update(ctx, page, func(r *archive.Resource) {
				r.Indexed = r.Indexed && !entry
				r.Kept = less
			})
		})
	if err == nil {
		err = forgotten()
	}
	if err == nil && entry {
		err = h.sweepIfBare(ctx, page)
	}
	if err != nil || told == nil || !changed {
		return err
	}
	if entry {
		told(Swept{URL: page, What: SweptEntry})
	}
	if !less.Shows(was) {
		told(Swept{URL: page, What: SweptPicture})
	}
	if len(less.Texts) < len(was.Texts) || len(less.Parts) < len(was.Parts) {
		told(Swept{URL: page, What: SweptExcerpt})
	}
	return nil
}

// eraseDerived erases a page that scripts made from a resource that was erased or may not be used: what they made of it
// cannot be separated from the rest. It erases nothing if made is false for the current record of the page. Other pages
// that were made from this page stay.
func (h *Holdings) eraseDerived(ctx context.Context, page string, g ground, made func(archive.Resource) bool) error {
	if down := terms.TakenDown(ctx, h.o.Known, page); down != nil {
		g = byTakeDown(down)
	}
	t := g.tombstone()
	t.URL = page
	erased := false
	_, err := h.eraseOnly(ctx, t, func(known archive.Resource) bool {
		erased = made(known)
		return erased
	})
	if err == nil && erased && g.again {
		h.o.Again(page)
	}
	return err
}

// eraseMadeOf erases the pages that scripts made from pg, if its text may no longer be used for them. These pages are
// crawled again soon.
func (h *Holdings) eraseMadeOf(ctx context.Context, origin *acap.Policy, pg *page.Page) error {
	address := pg.URL().String()
	pages, err := h.archive.MadeOf(address)
	if err != nil || len(pages) == 0 {
		return err
	}
	refused := terms.Of(ctx, origin, pg.URL(), pg, h.sources, h.factsNow(archive.Resource{})).RefusedText()
	if refused == nil || refused.Reason == acap.Unavailable {
		return nil
	}
	made := func(known archive.Resource) bool { return slices.Contains(known.Kept.Of[terms.Data], address) }
	g := grounds(*refused).of(address)
	return forEachPage(sweepers, pages, func(page string) error {
		return h.eraseDerived(ctx, page, g, made)
	})
}

// sweepIfBare runs a sweep for the page at address if no copy of it is stored. The sweep removes
// the page's record if nothing else is left.
func (h *Holdings) sweepIfBare(ctx context.Context, address string) error {
	known, _, err := h.archive.Resource(address)
	if err != nil || known.Current != 0 {
		return err
	}
	_, err = h.sweepPage(ctx, known, h.withDefaults(SweepOptions{}))
	return err
}
