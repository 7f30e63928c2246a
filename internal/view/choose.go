package view

import (
	"net/http"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// place says where a browser puts the answer to a request.
type place int

const (
	alone  place = iota // in a window of its own; also for programs, and browsers that do not say where
	viewer              // within a page of this server, the viewer
	framed              // in the frame of the viewer, after a click in the frame
	part                // within a copy: an image, a style sheet
)

// placeOf returns where a browser puts the answer. Scripts and forms cannot set these headers, and
// a copy is sandboxed, so that only pages of this server make requests of the same origin (Fetch
// Metadata 2.1, 2.3).
func placeOf(r *request) place {
	dest := r.Header.Get("Sec-Fetch-Dest")
	switch {
	case dest == "", dest == "document", dest == "empty":
		return alone
	case r.Header.Get("Sec-Fetch-Site") == "same-origin":
		return viewer
	case dest == "iframe", dest == "frame", dest == "embed", dest == "object":
		return framed
	}
	return part
}

// readerAt returns the visitor as a reader who sees a copy at that place (P1 2.5.5.7: the frame of
// the viewer is a frame of the service that shows the page).
func (r *request) readerAt(p place) present.Reader {
	who := r.visitor.reader()
	who.Framed = p == viewer || p == framed
	return who
}

// choice is a version of a page among those that may be shown.
type choice struct {
	present.Version
	list  []present.Version // empty: there is no version
	all   memento.Versions  // their addresses
	index int               // in list and all
	exact bool              // it has exactly the requested second and address
	state present.State     // why there is no version
}

// nearest returns the version of a page to show to a reader for a time, and the versions next to it.
func (h *Handler) nearest(r *request, page string, at time.Time, who present.Reader) (choice, error) {
	list, state, err := h.o.Presenter.Around(r.Context(), page, at, who)
	if err != nil || len(list) == 0 {
		return choice{state: state}, err
	}
	return choose(r.visitor, list, page, at), nil
}

// choose returns the version of a page to show for a time. The list is not empty, and oldest first.
func choose(v Visitor, list []present.Version, page string, at time.Time) choice {
	list = distinct(list)
	c := choice{list: list, all: versionsOf(v, list)}
	c.index = c.all.Select(at)
	c.Version = list[c.index]
	c.exact = c.all.At(c.index).Time.Equal(at) && c.URL == page
	return c
}

// found reports whether there is a version.
func (c choice) found() bool { return c.all.Len() > 0 }

// redirectTo redirects to another path of this server, which the browser must not store: terms
// change.
func redirectTo(w http.ResponseWriter, path string) error {
	w.Header().Set("Location", path)
	w.Header().Set("Cache-Control", "private, no-store")
	w.WriteHeader(http.StatusFound)
	return nil
}
