package view

import (
	"net/http"
	"time"

	"github.com/acapcrawl/acapcrawl/memento"
	"github.com/acapcrawl/acapcrawl/present"
)

// place says where a browser puts the answer to a request.
type place int

const (
	alone  place = iota // in a window of its own; also a program, or a browser that does not say it
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
	all   memento.Versions
	index int  // in all
	exact bool // it is the version of exactly that second of that address
}

// choose returns the version of a page to show for a time. The list is not empty, and oldest first.
func choose(v Visitor, list []present.Version, page string, at time.Time) choice {
	all := versionsOf(v, list)
	c := choice{all: all, index: all.Nearest(at)}
	c.Version = versionAt(list, all.At(c.index).Time)
	c.exact = all.At(c.index).Time.Equal(at) && c.URL == page
	return c
}

// versionAt returns the version of that second. Of several, it is the last one, as in
// memento.NewVersions.
func versionAt(list []present.Version, at time.Time) present.Version {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Fetched.UTC().Truncate(time.Second).Equal(at) {
			return list[i]
		}
	}
	return present.Version{}
}

// redirectTo redirects to another path of this server, which the browser must not store: terms
// change.
func redirectTo(w http.ResponseWriter, path string) error {
	w.Header().Set("Location", path)
	w.Header().Set("Cache-Control", "private, no-store")
	w.WriteHeader(http.StatusFound)
	return nil
}
