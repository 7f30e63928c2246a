package holdings

import (
	"context"
	"crypto/sha256"
	"sync"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/thumbnail"
	"github.com/acapcrawl/acapcrawl/terms"
)

// drawing makes thumbnails, one at a time. It caches the latest thumbnails, because one image may
// be the thumbnail of all pages of a site.
type drawing struct {
	mu   sync.Mutex
	made map[[sha256.Size]byte]drawn // results by digest of the source image
}

type drawn struct {
	thumbnail.Image
	err error
}

const mostDrawn = 64 // greatest number of thumbnails in the cache

func (d *drawing) make(src []byte) (thumbnail.Image, error) {
	sum := sha256.Sum256(src)
	d.mu.Lock()
	defer d.mu.Unlock()
	is, known := d.made[sum]
	if known {
		return is.Image, is.err
	}
	if is.Image, is.err = thumbnail.Make(src, thumbnail.Options{}); d.made == nil || len(d.made) >= mostDrawn {
		d.made = map[[sha256.Size]byte]drawn{}
	}
	d.made[sum] = is
	return is.Image, is.err
}

// picture makes the thumbnail that must be stored because it cannot be made from a copy. This is
// the thumbnail of an image that is not stored, or of another resource that must be used instead of
// the page (P1 2.5.5.3). p is nil if there is no such thumbnail; of is the source that it was made
// from.
func (h *Holdings) picture(t *terms.Terms, stored bool) (p *archive.Picture, of terms.Picture) {
	of, ok := t.Drawn(stored)
	if !ok || h.o.NoPreserve {
		return nil, of
	}
	img, err := h.drawing.make(of.Body)
	if err != nil {
		return nil, of
	}
	return &archive.Picture{MIME: img.MIME, Width: img.Width, Height: img.Height, Body: img.Body,
		Other: of.Of != nil}, of
}

// storedPicture returns the stored thumbnail of the current version of a page; nil if none.
func (h *Holdings) storedPicture(known archive.Resource) *archive.Picture {
	version := 0
	if c, err := h.archive.Capture(known.Current); err == nil {
		version = c.Version
	}
	p, held, err := h.archive.Picture(known.URL, version)
	if err != nil || !held {
		return nil
	}
	return &p
}

// dropPictures erases the thumbnails of a page that were made from another resource.
func (h *Holdings) dropPictures(ctx context.Context, address string) error {
	pictured, err := h.archive.Pictured(address)
	if err != nil {
		return err
	}
	for version, other := range pictured {
		if !other {
			continue
		}
		if err := h.archive.ErasePicture(ctx, address, version); err != nil {
			return err
		}
	}
	return nil
}
