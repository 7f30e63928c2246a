package holdings

import (
	"context"
	"errors"
	"slices"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/terms"
)

// withdraw takes what was made of the resource at address, which is erased, out of what is held of
// other pages: their excerpts, their thumbnails and their index entries (P04), and says how many
// pages those are. They wait until that is lifted (P05).
func (h *Holdings) withdraw(ctx context.Context, address string) (derived int, err error) {
	pages, err := h.archive.MadeOf(address)
	if err != nil {
		return 0, err
	}
	err = h.changePart(ctx, address, func(known *archive.Part) ([]string, error) {
		*known = archive.Part{}
		return nil, nil
	})
	return len(pages), errors.Join(err, h.archive.Await(ctx, address, archive.ForAnswer, pages...),
		together(sweepers, pages, func(page string) error {
			return h.withdrawFrom(ctx, page, address, nil)
		}))
}

// withdrawFrom does so for one page; told, which may be nil, is told what goes.
func (h *Holdings) withdrawFrom(ctx context.Context, page, address string, told func(Swept)) error {
	var was, less terms.Kept
	changed, entry := false, false
	forgotten, err := h.tell(ctx, page, change{url: page, wait: true}, func(known archive.Resource) (bool, error) {
		was = known.Kept
		if less, changed, entry = was.Without(address); !less.Shows(was) {
			if err := h.dropPictures(ctx, page); err != nil { // first: afterwards nothing says of what they were made
				return false, err
			}
		}
		for _, names := range was.Requires() { // where address is a hop to it
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
		err = h.sweepBare(ctx, page)
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

// sweepBare ends what is known of a page of which nothing is left but that.
func (h *Holdings) sweepBare(ctx context.Context, address string) error {
	known, _, err := h.archive.Resource(address)
	if err != nil || known.Current != 0 {
		return err
	}
	_, err = h.sweepPage(ctx, known, h.settled(SweepOptions{}))
	return err
}
