package holdings

import (
	"cmp"
	"context"
	"errors"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/render"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Drawer draws pages as render.Browser does.
type Drawer interface {
	Draw(ctx context.Context, p render.Page, get render.Fetch) (png []byte, err error)
}

// draw draws the thumbnail of a page from the parts that may be shown. p is nil if no thumbnail is
// made; why is the reason if the policy would permit a thumbnail.
func (h *Holdings) draw(t *terms.Terms) (p *archive.Picture, of *terms.Scene, why error) {
	if h.o.Drawer == nil || h.o.NoPreserve {
		return nil, nil, nil
	}
	scene, err := t.Scene()
	if scene == nil {
		return nil, nil, err
	}
	png, err := h.o.Drawer.Draw(t.Context(), drawablePage(t.Page(), scene.Body), func(ctx context.Context,
		rawurl string, kind render.Kind) (render.Part, error) {
		obtain := scene.Image
		if kind == render.Sheet {
			obtain = scene.Sheet
		}
		pg, err := obtain(ctx, rawurl)
		if err != nil {
			return render.Part{}, err
		}
		return render.Part{Page: drawablePage(pg, pg.Last().Body)}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	img, err := h.drawing.make(png)
	if err != nil {
		return nil, nil, errors.New("the rendered image cannot be decoded")
	}
	return &archive.Picture{MIME: img.MIME, Width: img.Width, Height: img.Height, Body: img.Body, Other: true},
		scene, nil
}

// drawablePage returns a page or a part of a drawing with the address and type of pg and with the given body.
func drawablePage(pg *page.Page, body []byte) render.Page {
	return render.Page{URL: pg.URL().String(), ContentType: cmp.Or(pg.DocumentType(), pg.MIME()), Body: body}
}

// eraseDrawing deletes the drawing of the page at address if it was made with the resource at part.
// The caller calls eraseDrawing because that resource has changed.
func (h *Holdings) eraseDrawing(ctx context.Context, address, part string) error {
	ended := false
	_, err := h.applyChange(ctx, address, change{}, func(known archive.Resource) (bool, error) {
		if ended = known.Kept.DrawnWith(part); !ended {
			return false, nil
		}
		// this comes first, because the update below deletes the record of the resources that the
		// thumbnail was made from
		if err := h.dropPictures(ctx, address); err != nil {
			return false, err
		}
		return false, h.archive.Update(ctx, address, func(r *archive.Resource) { r.Kept = known.Kept.WithoutPicture() })
	})
	if err == nil && ended {
		h.reportSwept(Swept{URL: address, What: SweptPicture, Why: part + " has changed"})
	}
	return err
}
