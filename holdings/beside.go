package holdings

import (
	"context"
	"errors"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/terms"
)

// describe notes in r what is kept to present the page, and of what else it was made.
func describe(r *archive.Resource, kept terms.Kept) {
	r.Title, r.Excerpt, r.Sources = kept.Title, kept.String(), kept.Sources()
}

// beside judges what is kept to present the page: an excerpt or a title that may be presented to nobody goes, and so does what was made
// of another resource whose publisher has it taken down (P04).
func (j *judging) beside(d *due) {
	kept := d.keeps()
	less := kept
	drop := func(why, line string, down bool) {
		d.kept = &less
		item := Swept{URL: j.resource.URL, What: SweptExcerpt, Why: why, Line: line, TakenDown: down}
		if n := len(d.swept); n == 0 || d.swept[n-1] != item { // one line can end several things
			d.swept = append(d.swept, item)
		}
	}
	for _, source := range kept.Sources() {
		if down := terms.TakenDown(j.ctx, j.sources.Policies, source); down != nil {
			less, _, _ = less.Without(source)
			drop(takenDown, down.String(), true)
		}
	}
	var because []acap.Decision
	less, because = terms.Held(j.ctx, j.origin, j.url, j.resource.Own, nil, j.sources, j.facts).Fit(less)
	for _, decision := range because {
		why, line := grounds(decision)
		drop(why, line, false)
	}
}

// withdraw takes what was made of the resource at address, which is erased, out of what is held of other pages: their excerpts,
// their thumbnails and their index entries (P04).
func (h *Holdings) withdraw(ctx context.Context, address string) error {
	pages, err := h.archive.MadeOf(address)
	if err != nil {
		return err
	}
	var failed []error
	for _, page := range pages {
		entry := false
		forgotten, err := h.tell(ctx, page, change{url: page, wait: true}, func(known archive.Resource) (bool, error) {
			was := terms.Recall(known.Title, known.Excerpt)
			if less, _, _ := was.Without(address); less.Picture != was.Picture {
				if err := h.dropPictures(ctx, page); err != nil { // first: afterwards nothing says of what they were made
					return false, err
				}
			}
			err := h.archive.Update(ctx, page, func(r *archive.Resource) {
				var less terms.Kept
				less, _, entry = terms.Recall(r.Title, r.Excerpt).Without(address)
				r.Indexed = r.Indexed && !entry
				describe(r, less)
			})
			return entry, err
		})
		if err == nil {
			err = forgotten()
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
