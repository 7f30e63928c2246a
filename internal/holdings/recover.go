package holdings

import (
	"context"
	"slices"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/terms"
)

// recover makes the index agree with the archive for every URL whose change a crash interrupted,
// and for all URLs if the index is new. A page whose copy can be read is indexed again under the
// last known policy. Any other page is deleted from the index. Receive never confirmed this page,
// so it will be fetched again.
func (h *Holdings) recover(ctx context.Context, ix Index) error {
	urls, err := h.pendingURLs(ix)
	if err != nil {
		return err
	}
	h.behind = len(urls)
	if h.o.Scarce != nil && h.o.Scarce() {
		return nil // the next process that opens the store with enough disk space does this work
	}
	for group := range slices.Chunk(urls, groupSize/2) {
		if err := h.updateIndex(ctx, ix, group); err != nil {
			return err
		}
		h.behind -= len(group)
	}
	return h.renewIndex(ctx, ix)
}

// renewIndex makes the entries again if the index was made by another version of package index.
// Entries that cannot be made without a request stay unchanged.
func (h *Holdings) renewIndex(ctx context.Context, ix Index) error {
	if version, err := ix.MadeBy(); err != nil || version == index.Version {
		return err
	}
	var urls []string
	err := h.archive.Each(func(r archive.Resource) error {
		if r.Indexed && r.Current != 0 {
			urls = append(urls, r.URL)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for group := range slices.Chunk(urls, groupSize/2) {
		if _, err := h.rebuilt(ctx, ix, group); err != nil {
			return err
		}
	}
	return ix.SetMadeBy(index.Version)
}

func (h *Holdings) pendingURLs(ix Index) ([]string, error) {
	urls, err := h.archive.Intents()
	if err != nil {
		return nil, err
	}
	if n, err := ix.Count(); err != nil || n > 0 {
		return urls, err
	}
	err = h.archive.Each(func(r archive.Resource) error {
		if r.Indexed {
			urls = append(urls, r.URL)
		}
		return nil
	})
	slices.Sort(urls)
	return slices.Compact(urls), err
}

// updateIndex brings the index up to date for a group of URLs.
func (h *Holdings) updateIndex(ctx context.Context, ix Index, urls []string) error {
	gone, err := h.rebuilt(ctx, ix, urls)
	if err != nil {
		return err
	}
	if err := ix.Delete(gone...); err != nil {
		return err
	}
	for _, address := range gone {
		if r, _, err := h.archive.Resource(address); err != nil {
			return err
		} else if !r.Indexed {
			continue
		}
		if err := h.archive.Update(ctx, address, func(r *archive.Resource) { r.Indexed = false }); err != nil {
			return err
		}
	}
	h.archive.Done(urls...)
	return nil
}

// rebuiltBytes is how many bytes of text are collected before they are written to the index.
const rebuiltBytes = 16 << 20

// rebuilt writes to the index the documents made from the stored copies of urls, and returns the
// URLs for which no document can be made.
func (h *Holdings) rebuilt(ctx context.Context, ix Index, urls []string) (gone []string, err error) {
	var docs []index.Document
	bytes := 0
	for _, address := range urls {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, _, err := h.archive.Resource(address)
		if err != nil {
			return nil, err
		}
		before := r.Kept.Digest()
		doc, err := h.rebuild(ctx, &r)
		switch {
		case err != nil:
			return nil, err
		case doc == nil:
			gone = append(gone, address)
			continue
		case r.Kept.Digest() != before:
			if err := h.archive.Update(ctx, address, func(x *archive.Resource) { x.Kept = r.Kept }); err != nil {
				return nil, err
			}
		}
		docs = append(docs, *doc)
		if bytes += len(doc.Text); bytes > rebuiltBytes {
			if err := ix.Put(docs...); err != nil {
				return nil, err
			}
			docs, bytes = nil, 0
		}
	}
	return gone, ix.Put(docs...)
}

// rebuild makes an index document from the current copy of r, and records in r the source of the
// document. doc is nil if there is no copy, if the copy lacks some of the indexed text, or if the
// page may not be indexed.
func (h *Holdings) rebuild(ctx context.Context, r *archive.Resource) (doc *index.Document, err error) {
	defer func() {
		if isPanic(err) { // if a panic occurred, the page is removed from the index
			doc, err = nil, nil
		}
	}()
	defer defect.Catch(&err, r.URL, h.o.Defect)
	if !r.Indexed || r.Current == 0 {
		return nil, nil
	}
	c, err := h.archive.Capture(r.Current)
	if err != nil {
		return nil, err
	}
	body, rendered, err := h.archive.Documents(r.Current)
	if err != nil {
		return nil, err
	}
	pg := c.Page(body, rendered)
	origin, err := h.o.Known.Policy(ctx, pg.URL())
	if err != nil {
		return nil, ctx.Err() // without a policy nothing may be indexed
	}
	if terms.TakeDown(origin, pg.URL()) != nil {
		return nil, nil
	}
	t := terms.Held(ctx, origin, pg.URL(), r.Own, pg, terms.Sources{Policies: h.o.Known}, h.factsNow(*r))
	holding := t.HoldingEntry()
	if decide(&evidence{received: &holding}).entry.action != toStore {
		return nil, nil
	}
	t.Entry(&r.Kept, holding.Content)
	d, _ := document(pg, holding.Content, r.Language, c.Fetched, true)
	return d, nil
}
