package holdings

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
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

// save finds the thumbnail of the current copy, where that goes, and has one made of it where none is held, if one can be: what may be shown is
// not lost with what may not be kept. Whether it may stay pictures judges.
func (j *judging) save(d *due, captures []archive.Capture) error {
	at := slices.IndexFunc(captures, func(c archive.Capture) bool { return c.Current })
	if at < 0 || j.o.NoPreserve || !slices.ContainsFunc(d.swept, func(s Swept) bool { return s.capture == captures[at].ID }) {
		return nil
	}
	if _, instead := d.pictured[0]; instead {
		return nil
	}
	c := captures[at]
	p, held, err := j.archive.Picture(c.URL, c.Version)
	if held {
		d.saved = &p
	} else if err == nil {
		err = j.read(c, func(pg *page.Page) {
			t := terms.Held(j.ctx, j.origin, j.url, j.resource.Own, pg, j.sources, j.facts)
			d.saved, _ = j.picture(t.Keeping(terms.Recall(j.resource.Title, j.resource.Excerpt)), false)
		})
	}
	if d.saved != nil {
		d.pictured[0] = d.saved.Other
	}
	return err
}

// depicted gives the thumbnail held of the current version of a page; nil where none is.
func (h *Holdings) depicted(known archive.Resource) *archive.Picture {
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
		if version == 0 && d.saved != nil {
			d.saved = nil
			continue
		}
		g := grounds(permit)
		d.swept = append(d.swept, Swept{URL: j.resource.URL, What: SweptPicture, Version: version, Reason: g.reason,
			Why: g.why, Line: g.line})
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
