package holdings

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/terms"
	"github.com/acapcrawl/acapcrawl/thumbnail"
)

// drawing makes thumbnails, one at a time. All pages of a site may have to be shown by one image, so the last ones are remembered.
type drawing struct {
	mu   sync.Mutex
	made map[[sha256.Size]byte]drawn // by the image
}

type drawn struct {
	thumbnail.Image
	err error
}

const mostDrawn = 64 // thumbnails remembered

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

// picture makes the thumbnail that has to be held because no copy will give it: that of an image that is not stored, and that of another
// resource that must be used instead of the page (P1 2.5.5.3). It is nil where there is none; of says what it was made of.
func (h *Holdings) picture(t *terms.Terms, stored bool) (p *archive.Picture, of terms.Picture) {
	of, ok := t.Drawn(stored)
	if !ok || h.o.NoPreserve {
		return nil, of
	}
	img, err := h.drawing.make(of.Body)
	if err != nil {
		return nil, of
	}
	return &archive.Picture{MIME: img.MIME, Width: img.Width, Height: img.Height, Body: img.Body, Other: of.Of != nil}, of
}

// pictures adds the thumbnails that may no longer be held; left says that one is that stands for no copy. Those of copies that go, go
// with them.
func (j *judging) pictures(d *due, captures []archive.Capture) (left bool) {
	kept := d.keeps()
	for _, version := range slices.Sorted(maps.Keys(d.pictured)) {
		if slices.ContainsFunc(d.swept, func(s Swept) bool { return s.What == SweptCopy && s.Version == version }) {
			continue
		}
		usage, facts := acap.PresentThumbnail, j.facts
		if slices.ContainsFunc(captures, func(c archive.Capture) bool { return c.Version == version && !c.Current }) {
			usage, facts.Recrawled = acap.PresentOldThumbnail, true
		}
		other := d.pictured[version]
		permit, fits := terms.Held(j.ctx, j.origin, j.url, j.resource.Own, nil, j.sources, facts).FitsPicture(usage, kept, other)
		if fits {
			left = left || version == 0
			continue
		}
		if other {
			kept = kept.Unpictured()
			d.kept = &kept
		}
		why, line := grounds(permit)
		d.swept = append(d.swept, Swept{URL: j.resource.URL, What: SweptPicture, Version: version, Why: why, Line: line})
	}
	return left
}

// dropPictures ends the thumbnails of a page that were made of another resource.
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
