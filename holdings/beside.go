package holdings

import (
	"context"
	"errors"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/terms"
)

// noteKept notes in r what is kept to present the page, and of what else it was made.
func noteKept(r *archive.Resource, kept terms.Kept) {
	r.Title, r.Excerpt, r.Sources = kept.Title, kept.String(), kept.Sources()
}

// beside judges what is kept to present the page: an excerpt or a title that may be presented to nobody goes, and so does what was made
// of another resource whose publisher has it, or an address that led to it, taken down (P04), the index entry too.
func (j *judging) beside(d *due) {
	kept := d.keeps()
	less := kept
	drop := func(g ground, down bool) {
		d.kept = &less
		item := Swept{URL: j.resource.URL, What: SweptExcerpt, Reason: g.reason, Why: g.why, Line: g.line,
			TakenDown: down}
		if n := len(d.swept); n == 0 || d.swept[n-1] != item { // one line can end several things
			d.swept = append(d.swept, item)
		}
	}
	for _, source := range kept.Sources() {
		if down := terms.TakenDown(j.ctx, j.sources.Policies, source); down != nil {
			var entry bool
			less, _, entry = less.Without(source)
			drop(byTakeDown(down), true)
			if entry && j.resource.Indexed && !d.forget {
				d.forget, d.document = true, nil
				d.swept = append(d.swept, Swept{URL: j.resource.URL, What: SweptEntry,
					Reason: archive.ReasonTakenDown, Why: takenDown, Line: down.String(), TakenDown: true})
			}
		}
	}
	var because []acap.Decision
	less, because = terms.Held(j.ctx, j.origin, j.url, j.resource.Own, nil, j.sources, j.facts).Fit(less)
	for _, decision := range because {
		drop(grounds(decision), false)
	}
}

// withdraw takes what was made of the resource at address, which is erased, out of what is held of other pages: their excerpts,
// their thumbnails and their index entries (P04), and says how many pages those are. They wait until that is lifted (P05).
func (h *Holdings) withdraw(ctx context.Context, address string) (derived int, err error) {
	pages, err := h.archive.MadeOf(address)
	if err != nil {
		return 0, err
	}
	err = h.changePart(ctx, address, func(known *archive.Part) ([]string, error) {
		*known = archive.Part{}
		return nil, nil
	})
	return len(pages), errors.Join(err, h.archive.Await(ctx, address, archive.ForAnswer, pages...), together(sweepers, pages, func(page string) error {
		return h.withdrawFrom(ctx, page, address, nil)
	}))
}

// withdrawFrom does so for one page; told, which may be nil, is told what goes.
func (h *Holdings) withdrawFrom(ctx context.Context, page, address string, told func(Swept)) error {
	var was, less terms.Kept
	changed, entry := false, false
	forgotten, err := h.tell(ctx, page, change{url: page, wait: true}, func(known archive.Resource) (bool, error) {
		was = terms.Recall(known.Title, known.Excerpt)
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
			noteKept(r, less)
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
