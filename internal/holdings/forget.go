package holdings

import (
	"context"
	"errors"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
)

// Forgotten is what Forget erases of a page.
type Forgotten struct {
	URL    string `json:"url"`
	Copies int    `json:"copies"` // 0: only the index entry or the record of the page
	Whole  bool   `json:"whole"`  // nothing of the page stays
}

// Forget erases what is stored for an address, because the operator wants it so: everything, or, if before is not
// zero, only what was fetched before that time. The current copy counts from the last crawl that has found it
// unchanged. If before is zero, pages that scripts made from the resource are erased, too; otherwise they have their
// own time. because is the tombstone without an address. If dry is set, Forget erases nothing. is is false if there is
// nothing to erase.
func (h *Holdings) Forget(ctx context.Context, address string, because archive.Tombstone, before time.Time,
	dry bool) (f Forgotten, is bool, err error) {
	known, found, err := h.archive.Resource(address)
	if err != nil || !found {
		return f, false, err
	}
	captures, err := h.archive.Captures(address)
	if err != nil {
		return f, false, err
	}
	f = Forgotten{URL: address, Copies: len(captures), Whole: true}
	if before.IsZero() || known.LastCrawled.Before(before) {
		held, err := h.archive.Holds(address)
		if err != nil || !held && !known.Indexed {
			return f, false, err
		}
		if !dry {
			because.URL = address
			f.Copies, err = h.erase(ctx, because, before.IsZero())
		}
		return f, true, err
	}
	f.Copies, f.Whole = 0, false
	for _, c := range captures {
		if c.ID == known.Current || !c.Fetched.Before(before) {
			continue
		}
		f.Copies++
		if dry {
			continue
		}
		err := h.archive.EraseCapture(ctx, c.ID, because)
		if err != nil && !errors.Is(err, archive.ErrNotHeld) {
			return f, true, err
		}
	}
	return f, f.Copies > 0, nil
}
