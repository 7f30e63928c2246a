package holdings

import (
	"cmp"
	"context"
	"errors"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/render"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Drawer draws pages, as render.Browser does.
type Drawer interface {
	Draw(ctx context.Context, p render.Page, get render.Fetch) (png []byte, err error)
}

// draw makes the thumbnail of a page that is no image, of what may be shown of it. It is nil where
// none is made; why is said where one could be.
func (h *Holdings) draw(t *terms.Terms) (p *archive.Picture, of *terms.Scene, why error) {
	if h.o.Drawer == nil || h.o.NoPreserve {
		return nil, nil, nil
	}
	scene, err := t.Scene()
	if scene == nil {
		return nil, nil, err
	}
	png, err := h.o.Drawer.Draw(t.Context(), render.Page(partOf(t.Page(), scene.Body)), func(ctx context.Context,
		rawurl string, kind render.Kind) (render.Part, error) {
		obtain := scene.Image
		if kind == render.Sheet {
			obtain = scene.Sheet
		}
		pg, err := obtain(ctx, rawurl)
		if err != nil {
			return render.Part{}, err
		}
		return partOf(pg, pg.Last().Body), nil
	})
	if err != nil {
		return nil, nil, err
	}
	img, err := h.drawing.make(png)
	if err != nil {
		return nil, nil, errors.New("its picture is broken")
	}
	return &archive.Picture{MIME: img.MIME, Width: img.Width, Height: img.Height, Body: img.Body, Other: true},
		scene, nil
}

// partOf is pg with that body, as a browser takes it.
func partOf(pg *page.Page, body []byte) render.Part {
	return render.Part{URL: pg.URL().String(), ContentType: cmp.Or(pg.Last().Header.Get("Content-Type"), pg.MIME()),
		Body: body}
}

// undraw ends the drawing held of a page that was made with the resource at part, which is another
// one by now.
func (h *Holdings) undraw(ctx context.Context, address, part string) error {
	ended := false
	_, err := h.tell(ctx, address, change{}, func(known archive.Resource) (bool, error) {
		if ended = known.Kept.DrawnWith(part); !ended {
			return false, nil
		}
		if err := h.dropPictures(ctx, address); err != nil { // first: afterwards nothing says of what it was made
			return false, err
		}
		return false, h.archive.Update(ctx, address, func(r *archive.Resource) { r.Kept = known.Kept.WithoutPicture() })
	})
	if err == nil && ended {
		h.tells(Swept{URL: address, What: SweptPicture, Why: part + " has changed"})
	}
	return err
}
