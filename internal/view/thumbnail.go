package view

import (
	"errors"
	"net/http"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/thumbnail"
)

// thumbnail sends the thumbnail of a version. A page may also have a thumbnail if no copy of it may
// be archived or shown; its time is then that of the last crawl.
func (h *Handler) thumbnail(w http.ResponseWriter, r *request) error {
	at, page, err := timed(r.rest)
	if err != nil {
		return err
	}
	who := r.visitor.reader()
	listed, err := h.nearest(r, page, at, who)
	if err != nil {
		return err
	}
	which := present.Which{}
	if listed.exact {
		which.Version = listed.Version.Version
	}
	picture, err := h.o.Presenter.Thumbnail(r.Context(), page, which, who)
	refused, barred := errors.AsType[*acap.Refused](err)
	switch {
	case err == nil && (listed.exact || timedPath("", picture.Fetched, "") == timedPath("", at, "")):
		return writeThumbnail(w, r, picture)
	case listed.found() && !listed.exact:
		return redirectTo(w, timedPath("/thumbnail/", listed.Fetched, listed.URL))
	case err == nil:
		return redirectTo(w, timedPath("/thumbnail/", picture.Fetched, page))
	case errors.Is(err, thumbnail.ErrNone) && listed.found():
		return pictureless(err)
	case errors.Is(err, thumbnail.ErrNone) && listed.state.Availability == present.NotHeld:
		return h.noImage(r.Context(), page, who, err)
	case !listed.found() && (barred || errors.Is(err, present.ErrNotHeld) || errors.Is(err, thumbnail.ErrNone)):
		return h.absent(listed.state)
	case barred:
		return h.refused(refused.Decision)
	}
	return err
}

// writeThumbnail sends a thumbnail. What must be shown with it can only be shown by a page of this
// server (P1 2.5.5.6).
func writeThumbnail(w http.ResponseWriter, r *request, t present.Thumbnail) error {
	if len(t.Include) > 0 && placeOf(r) != viewer {
		return &Problem{Status: http.StatusUnavailableForLegalReasons, Code: string(acap.Unfulfillable),
			Title:  "Archived, but may not be shown here",
			Detail: "The terms of this thumbnail require a credit next to it."}
	}
	setCopyHeader(w.Header(), nil)
	writeBody(w, r, http.StatusOK, t.MIME, t.Body)
	return nil
}
