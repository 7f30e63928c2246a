package view

import (
	"maps"
	"net/http"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// copyPolicy is the Content-Security-Policy of archived copies: no scripts, frames, forms or
// connections, and nothing from other hosts. The sandbox gives a copy an origin of its own.
const copyPolicy = "sandbox; default-src 'none'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; " +
	"font-src 'self' data:; media-src 'self'; script-src 'none'; connect-src 'none'; frame-src 'none'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'self'"

// passed are the archived header fields that are passed on: the language, and statements about the
// use of the page, which a copy must keep.
var passed = []string{"Content-Language", "Content-Usage", "Tdm-Reservation", "Tdm-Policy"}

// longestPassed is the maximum length of a field that is passed on, in bytes.
const longestPassed = 1 << 10

// raw sends an archived copy as it was sent, or with rewritten addresses if the terms permit every
// modification.
//
// The terms may depend on the place (P1 2.5.5.7). In the viewer, the copy is shown within this
// service; after a click in its frame, follow answers. Otherwise, and if the browser does not say
// where it puts the copy, it is shown by itself. A part of another copy must be permitted in both
// ways.
func (h *Handler) raw(w http.ResponseWriter, r *request) error {
	at, page, err := timed(r.rest)
	if err != nil {
		return err
	}
	where := placeOf(r)
	if where == framed {
		return h.follow(w, r, page, at)
	}
	chosen, err := h.nearest(r, page, at, r.readerAt(where))
	if err != nil {
		return err
	}
	if !chosen.found() {
		return h.absent(chosen.state)
	}
	links := h.mementoPage(r.visitor, page)
	if !chosen.exact {
		maps.Copy(w.Header(), links.RedirectHeader(chosen.all, chosen.index))
		return redirectTo(w, w.Header().Get("Location"))
	}
	done, err := h.takeHeavy(r, chosen.Bytes)
	if err != nil {
		return err
	}
	defer done()
	c, err := h.openAt(r, page, chosen.Version, where)
	if err != nil {
		return err
	}
	if len(c.Include) > 0 && where != viewer {
		return requireViewer(w, chosen.Version, where)
	}
	head := w.Header()
	maps.Copy(head, links.VersionHeader(chosen.all, chosen.index))
	setCopyHeader(head, c.Header)
	return writeCopy(w, r, c, chosen.Version, func(to string) string {
		return timedPath("/raw/", chosen.Fetched, to)
	})
}

// openAt returns the copy for a place.
func (h *Handler) openAt(r *request, page string, v present.Version, where place) (present.Copy, error) {
	c, err := h.o.Presenter.Open(r.Context(), page, v, r.readerAt(where))
	if err == nil && where == part && len(c.Limits.ProhibitedContext) > 0 {
		_, err = h.o.Presenter.Open(r.Context(), page, v, r.readerAt(framed))
	}
	return c, err
}

// requireViewer answers for a copy that may be shown only together with something else, such as a
// credit, which only the viewer shows (P1 2.5.5.6).
func requireViewer(w http.ResponseWriter, v present.Version, where place) error {
	path := timedPath("/copy/", v.Fetched, v.URL)
	if where == alone {
		return redirectTo(w, path)
	}
	return &Problem{Status: http.StatusUnavailableForLegalReasons, Code: string(acap.Unfulfillable),
		Title:  "Archived, but may not be shown here",
		Detail: "Its terms require a credit next to it, which the page at " + path + " shows."}
}

// setCopyHeader sets the header fields of an archived copy. Of the archived header it passes on
// only what cannot change what the browser does.
func setCopyHeader(head, archived http.Header) {
	head.Set("Content-Security-Policy", copyPolicy)
	setUnstored(head)
	for _, name := range passed {
		value := strings.Join(archived.Values(name), ", ")
		if value != "" && len(value) <= longestPassed && printable(value) {
			head.Set(name, value)
		}
	}
}

// setUnstored sets the header fields of answers that contain parts of a copy, whose terms can
// change at any time.
func setUnstored(head http.Header) {
	head.Set("Cache-Control", "private, no-store")
	head.Set("X-Robots-Tag", "noindex, noarchive")
}

// printable reports whether s has only printable ASCII characters and blanks.
func printable(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) < 0
}

// writeCopy writes status, content and the fields that describe the content. An archived redirect
// leads to the copy of its target, whose path locate returns ("": none); an archived error keeps its
// status (RFC 7089 4.5.4, 4.5.5).
func writeCopy(w http.ResponseWriter, r *request, c present.Copy, v present.Version,
	locate func(string) string) error {
	p := pageOf(c)
	how := sentOf(p, c)
	body, err := how.body(r.Context(), p, c, v.Fetched)
	if err != nil {
		return err
	}
	head, status := w.Header(), c.Status
	if to := targetOf(v); to != "" && locate(to) != "" {
		head.Set("Location", locate(to))
	}
	if status < 200 || status > 599 || status == http.StatusNoContent || status == http.StatusResetContent ||
		status == http.StatusNotModified { // these have no content
		status = http.StatusOK
	}
	if !how.inline {
		head.Set("Content-Disposition", "attachment")
	}
	if strings.HasPrefix(how.kind, "font/") && r.Header.Get("Sec-Fetch-Dest") == "font" {
		// A copy has an origin of its own, and fonts need permission across origins.
		head.Set("Access-Control-Allow-Origin", "*")
	}
	if c.Status/100 == 3 { // it has no body
		how.kind = "text/plain; charset=utf-8"
		head.Del("Content-Disposition")
	}
	writeBody(w, r, status, how.kind, body)
	return nil
}
