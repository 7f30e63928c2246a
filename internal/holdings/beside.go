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
// from the resource at address, which is erased on the ground g (P1 2.6, P04). It erases pages whose scripts used the
// resource, unless it was only kept for its time. derived is the number of these pages. withdraw also records that
// these pages wait until the take-down ends (P1 2.6.1, P05: nothing is fetched again before).
func (h *Holdings) withdraw(ctx context.Context, address string, g ground) (derived int, err error) {
	pages, err := h.archive.MadeOf(address)
	if err != nil {
		return 0, err
	}
	err = h.changePart(ctx, address, func(known *archive.Part) ([]string, error) {
		*known = archive.Part{}
		return nil, nil
	})
	return len(pages), errors.Join(err, h.archive.Await(ctx, address, archive.ForAnswer, pages...),
		forEachPage(sweepers, pages, func(page string) error {
			known, _, err := h.archive.Resource(page)
			switch {
			case err != nil || !known.Kept.MadeByScripts(address):
				return errors.Join(err, h.withdrawFrom(ctx, page, address, nil))
			case page == address || g.reason == archive.ReasonKept: // erased by the caller; has its own time
				return nil
			}
			return h.eraseDerived(ctx, known, g.of(address))
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

// eraseDerived erases a page that scripts made from an erased resource, or from one that may not be used: what they
// made of it cannot be separated from the rest.
func (h *Holdings) eraseDerived(ctx context.Context, known archive.Resource, g ground) error {
	_, err := h.sweepPage(ctx, known, h.withDefaults(SweepOptions{barred: &g}))
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
	g := grounds(*refused).of(address)
	return forEachPage(sweepers, pages, func(made string) error {
		known, _, err := h.archive.Resource(made)
		if err != nil || !slices.Contains(known.Kept.Of[terms.Data], address) {
			return err
		}
		return h.eraseDerived(ctx, known, g)
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
