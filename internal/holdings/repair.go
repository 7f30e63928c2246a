package holdings

import (
	"context"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Repair repairs what it can of the problems that Verify finds, and returns the other problems. It
// repairs the archive first (archive.Repair), then makes the index agree with the archive. An index
// entry is made again from the stored copy if the last known policy permits, otherwise deleted.
// Items due for a sweep are left to Sweep. Others may read and write at the same time. Repair calls
// told for each completed repair.
func (h *Holdings) Repair(ctx context.Context, told func(archive.Repaired)) ([]archive.Problem, error) {
	left, err := h.archive.Repair(ctx, told)
	if err != nil {
		return left, err
	}
	err = h.reconcile(ctx, told)
	if err == nil {
		err = h.listLacking(ctx, told)
	}
	if err != nil {
		return left, err
	}
	rest, err := h.verifyRest(ctx)
	return append(left, rest...), err
}

// reconcile makes the index agree with the archive.
func (h *Holdings) reconcile(ctx context.Context, told func(archive.Repaired)) error {
	differ, err := h.compare(ctx)
	if err != nil {
		return nil // this error is ignored here, because verifyRest reports it
	}
	said := map[string]string{}
	for _, d := range differ {
		said[d.url] = d.what
	}
	urls, err := h.archive.Intents()
	if err != nil {
		return err
	}
	for _, d := range differ {
		urls = append(urls, d.url)
	}
	slices.Sort(urls)
	for _, address := range slices.Compact(urls) {
		if err := ctx.Err(); err != nil {
			return err
		}
		did, err := h.align(ctx, address)
		if err != nil {
			return err
		}
		what := said[address]
		if what == "" {
			what = "was changed in the archive but not in the index"
		}
		if did != "" && told != nil {
			told(archive.Repaired{Problem: archive.Problem{Where: address, What: what, Repairable: true}, Done: did})
		}
	}
	return nil
}

// align makes the index agree with the archive about one URL. did says what align changed; "" if
// archive and index agreed.
func (h *Holdings) align(ctx context.Context, address string) (did string, err error) {
	mu := h.lock(address)
	mu.Lock()
	defer mu.Unlock()
	if err := h.indexer.drain(); err != nil { // changes in progress complete on their own
		return "", err
	}
	r, _, err := h.archive.Resource(address)
	if err != nil {
		return "", err
	}
	has, err := h.indexer.index.Has(address)
	if err != nil {
		return "", err
	}
	pending, err := h.archive.Unsettled(address)
	if err != nil || !pending && has == r.Indexed {
		return "", err
	}
	before := r.Kept.Digest()
	doc, err := h.rebuild(ctx, &r)
	if err != nil {
		return "", err
	}
	did = "indexed again from its copy"
	switch {
	case doc != nil && r.Kept.Digest() != before:
		err = h.archive.Update(ctx, address, func(x *archive.Resource) { x.Kept = r.Kept })
	case doc == nil && r.Indexed:
		did = "deleted from the index, because no copy is stored that may be indexed"
		err = h.unmarkIndexed(ctx, address)
	case doc == nil && has:
		did = "deleted from the index"
	case doc == nil:
		did = ""
	}
	if err != nil {
		return "", err
	}
	written, err := h.indexer.send(change{doc: doc, url: address, wait: true})
	if err != nil {
		return "", err
	}
	return did, written()
}

// unmarkIndexed records that a page is no longer in the index. If no copy of the page is stored
// either, the record of the page is cleared except for the dates.
func (h *Holdings) unmarkIndexed(ctx context.Context, address string) error {
	copies, err := h.archive.Captures(address)
	copies = slices.DeleteFunc(copies, archive.Capture.Redirect)
	if err != nil {
		return err
	}
	if len(copies) == 0 { // without the statements of the page, nothing says whether its thumbnail may be shown
		if err := h.archive.ErasePicture(ctx, address, 0); err != nil {
			return err
		}
	}
	return h.archive.Update(ctx, address, func(r *archive.Resource) {
		r.Indexed = false
		if len(copies) == 0 {
			r.Kept, r.Language, r.MIME, r.ETag, r.LastModified, r.Own = terms.Kept{}, "", "", "", "", acap.Own{}
		}
	})
}
