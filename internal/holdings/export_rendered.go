package holdings

import (
	"net/http"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// typeRendered is the media type of a rendered document, as a conversion record names it.
const typeRendered = "text/html; charset=utf-8"

// partBarred says why a rendered document is left out.
const partBarred = "a part of it may not be preserved"

// wholeRendered returns the rendered document of c to export; nil if there is none. t are the terms
// of c, without its body. If a part of the document may not be preserved now, wholeRendered returns
// nil and the reason, because a copy is exported whole or not at all.
func (j *gatherer) wholeRendered(c archive.Capture, t *terms.Terms) (document []byte, why string, err error) {
	if c.Rendered == "" {
		return nil, "", nil
	}
	if document, err = j.archive.Rendered(c.ID); err != nil {
		return nil, "", err
	}
	if _, barred := t.FirstBarred(acap.Preserve); !barred {
		return document, "", nil
	}
	release, err := j.o.Budget.Room(j.ctx, page.WeightOf(c.RenderedBytes, "text/html"))
	if err != nil {
		return nil, "", err
	}
	defer release()
	facts, own := j.stated(c)
	held := func(own acap.Own, pg *page.Page) *terms.Terms {
		return terms.Held(j.ctx, j.origin, j.url, own, pg, j.sources, facts)
	}
	if !preservesWhole(renderedPage(c.Page(nil, document).Last()), own, held) {
		return nil, partBarred, nil
	}
	return document, "", nil
}

// renderedPage returns the rendered document of a response as a page of its own.
func renderedPage(of page.Hop) *page.Page {
	header := of.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Del("Content-Encoding")
	header.Set("Content-Type", typeRendered)
	return page.New([]page.Hop{{URL: of.URL, Method: of.Method, Status: of.Status, Header: header,
		Body: of.Rendered, Wire: of.Rendered, Start: of.Start}})
}

// preservesWhole reports whether all of the page may be preserved, under the given statements of the
// page and under those that the page contains itself. held returns the terms of the page.
func preservesWhole(pg *page.Page, own acap.Own, held func(acap.Own, *page.Page) *terms.Terms) bool {
	for _, own := range []acap.Own{own, pg.Own()} {
		if _, cut, ok := held(own, pg).Copy(acap.Preserve); !ok || cut {
			return false
		}
	}
	return true
}
