package view

import (
	"net/http"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/present"
)

// framedPage is a page of this server in the frame of the viewer, where a copy was.
type framedPage struct {
	*Problem        // what the page says
	Followed bool   // it is the answer to a click in the frame
	Copy     string // path of the viewer with the copy to which a link leads; "" if it cannot be shown
}

// follow answers a click on a link in the frame of the viewer. The banner outside the frame describes the
// copy with the link, and says nothing about the target, on whose terms the target may be shown. So the
// answer is not the target, but a page with a link to the viewer of the target. The frame lets the reader
// follow this link in the whole window. Copies cannot do that, because their header forbids it.
func (h *Handler) follow(w http.ResponseWriter, r *request, page string, at time.Time) error {
	chosen, _, err := h.forViewer(r, page, at)
	if err != nil {
		p := h.problemOf(err)
		p.Address = page
		return p
	}
	setUnstored(w.Header())
	w.Header().Set("Content-Security-Policy", framedPolicyFor(r.visitor))
	text, err := h.executeFramed(r, framedPage{Followed: true, Copy: viewerOf(r.visitor, chosen.Version),
		Problem: &Problem{Title: "This link leads to another copy", Address: page,
			Detail: "The copy of " + chosen.URL + " of " + moment(chosen.Fetched) + " has terms of its own."}})
	if err == nil {
		writeBody(w, r, http.StatusOK, "text/html; charset=utf-8", text)
	}
	return err
}

// viewerOf returns the path of the viewer with a version; below the replay domain, its whole address.
func viewerOf(v Visitor, one present.Version) string {
	path := timedPath("/copy/", one.Fetched, one.URL)
	if v.Label != "" {
		return v.Base + path
	}
	return path
}

// forViewer returns the version of a page that the viewer shows for a time, and the reader for whom it decided:
// in the frame, or if the terms of that version permit only that, by itself. The error says why there is none.
func (h *Handler) forViewer(r *request, page string, at time.Time) (chosen choice, who present.Reader, err error) {
	who = r.readerAt(viewer)
	chosen, err = h.nearest(r, page, at, who)
	if err != nil {
		return chosen, who, err
	}
	if !chosen.exact {
		unframed, err := h.nearest(r, page, at, r.visitor.reader())
		if err != nil {
			return chosen, who, err
		}
		if unframed.exact || unframed.found() && (!chosen.found() || nearer(unframed, chosen, at)) {
			chosen, who = unframed, r.visitor.reader()
		}
	}
	if !chosen.found() {
		return chosen, who, h.absent(chosen.state)
	}
	return chosen, who, nil
}

// nearer reports whether a answers the time at better than b: a version that is not later than at is better than a
// later one, and otherwise the nearest one.
func nearer(a, b choice, at time.Time) bool {
	x, y := a.all.At(a.index).Time, b.all.At(b.index).Time
	switch {
	case x.After(at) != y.After(at):
		return y.After(at)
	case x.After(at):
		return x.Before(y)
	}
	return x.After(y)
}
