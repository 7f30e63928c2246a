package view

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/thumbnail"
)

// apiRoutes returns the routes of the API and of its description.
func (h *Handler) apiRoutes() map[string]route {
	return map[string]route{
		"/docs":                 {get: h.apiPage},
		"/openapi.json":         {get: h.apiDocument, api: true},
		"/api/v1/search":        {get: h.checked(h.apiSearch), api: true},
		"/api/v1/show":          {get: h.checked(h.apiShow), api: true},
		"/api/v1/decide":        {post: h.checked(h.apiDecide), api: true},
		"/api/v1/sites":         {get: h.checked(h.apiSites), api: true},
		"/api/v1/explain":       {get: h.checked(h.apiExplain), api: true},
		"/api/v1/archive/ls":    {get: h.checked(h.apiList), api: true},
		"/api/v1/archive/stats": {get: h.checked(h.apiStats), api: true},
	}
}

// checked returns the answer that calls fn with the parameters of a request if they pass the checks.
func (h *Handler) checked(fn func(http.ResponseWriter, *request, values) error) answer {
	return func(w http.ResponseWriter, r *request) error {
		v, err := h.parameters(r)
		if err != nil {
			return err
		}
		return fn(w, r, v)
	}
}

// encode returns a value as the command line prints it with --json.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	err := display.Encoder(&out).Encode(value)
	return out.Bytes(), err
}

// writeJSON answers with a value and an ETag.
func writeJSON(w http.ResponseWriter, r *request, value any) error {
	body, err := encode(value)
	if err != nil {
		return err
	}
	return writeTagged(w, r, "application/json", body)
}

// apiSearch answers like the verb search with --json.
func (h *Handler) apiSearch(w http.ResponseWriter, r *request, v values) error {
	who, err := h.reader(r, v)
	if err != nil {
		return err
	}
	q := present.Query{Text: strings.TrimSpace(v.text("q")), Skip: v.number("skip"), Limit: v.number("limit"),
		Why: v.is("why")}
	for _, use := range v.given["for"] {
		q.For = append(q.For, acap.Usage(use))
	}
	found, err := h.o.Presenter.Search(r.Context(), q, who)
	if err != nil {
		return err
	}
	if next := q.Skip + q.Limit; found.Count > next || found.More {
		v.given.Set("skip", fmt.Sprint(next))
		if v.op.find("skip").Schema.demand(v.text("skip")) == "" {
			w.Header().Set("Link", "</api/v1/search?"+v.given.Encode()+`>; rel="next"`)
		}
	}
	if found.Results == nil {
		found.Results = []present.Result{}
	}
	return writeJSON(w, r, found.Results)
}

// apiShow answers like the verb show with --json.
func (h *Handler) apiShow(w http.ResponseWriter, r *request, v values) error {
	if err := contradiction(v); err != nil {
		return err
	}
	who, err := h.reader(r, v)
	if err != nil {
		return err
	}
	who.Framed = v.is("framed")
	done, err := h.heavy.take(r.Context(), r.visitor.Reader.IP) // the size is known only after the copy was read
	if err != nil {
		return err
	}
	defer done()
	page, which := v.url(), present.Which{At: v.time("at"), Version: v.number("version")}
	shown, err := h.showAs(r.Context(), v, page, which, who)
	if err != nil {
		return h.unshown(r.Context(), page, which, who, err)
	}
	body, err := encode(shown)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "private, no-store") // its terms can change at any time
	w.Header().Set("X-Robots-Tag", "noindex, noarchive")
	writeBody(w, r, http.StatusOK, "application/json", body)
	return nil
}

// contradiction returns a *Problem if parameters of show contradict each other.
func contradiction(v values) error {
	var forms []string
	for _, name := range []string{"headers", "snippet", "thumbnail", "original"} {
		if v.is(name) {
			forms = append(forms, name)
		}
	}
	switch {
	case len(forms) > 1:
		return badRequest("The parameters " + strings.Join(forms, " and ") +
			" select different content; give one of them.")
	case v.given.Has("query") && !v.is("snippet"):
		return badRequest("The parameter query needs snippet=true.")
	case v.given.Has("version") && v.given.Has("at"):
		return badRequest("The parameters at and version both select a version; give one of them.")
	case v.is("original") && (v.given.Has("version") || v.given.Has("at")):
		return badRequest("The original has no versions: give original without at and version.")
	case v.is("sent") && len(forms) > 0 && !v.is("headers"):
		return badRequest("The parameter sent applies to copies only.")
	case v.is("framed") && (v.is("snippet") || v.is("thumbnail")): // P1 2.5.5.7 (K04): only copies and originals
		return badRequest("The parameter framed applies to copies and originals only.") // depend on their context
	}
	return nil
}

// showAs returns a page in the form that the parameters select.
func (h *Handler) showAs(ctx context.Context, v values, page string, which present.Which, who present.Reader) (any,
	error) {
	switch p := h.o.Presenter; {
	case v.is("thumbnail"):
		return p.Thumbnail(ctx, page, which, who)
	case v.is("snippet"):
		return p.Snippet(ctx, page, v.text("query"), which, who)
	case v.is("original"):
		lead, err := p.Original(ctx, page, who)
		if err == nil {
			var known bool
			if known, err = h.mayKnow(ctx, page, acap.PresentOriginal, who); err == nil && !known {
				err = present.ErrNotHeld
			}
		}
		return lead, err
	case v.is("sent"):
		return p.SentCopy(ctx, page, which, who)
	default:
		return p.Copy(ctx, page, which, who)
	}
}

// unshown returns the problem for a page that is not shown. If this reader may not see a link to the page
// either, it is the same as for a page that was never archived.
func (h *Handler) unshown(ctx context.Context, page string, which present.Which, who present.Reader, err error) error {
	var refused acap.Decision
	if barred, is := errors.AsType[*acap.Refused](err); is {
		refused = barred.Decision
	} else if errors.Is(err, thumbnail.ErrNone) {
		return h.noImage(ctx, page, who, err)
	} else if !errors.Is(err, present.ErrNotHeld) {
		return err
	}
	state, err := h.o.Presenter.State(ctx, page, refused, who)
	if err != nil {
		return err
	}
	if state.Availability == present.Erased && which.Version != 0 &&
		cmp.Or(state.Erased.Version, which.Version) != which.Version {
		return notFound() // another version was erased
	}
	if state.Availability == present.NotHeld && which != (present.Which{}) {
		return h.noVersion(ctx, page, who)
	}
	return h.absent(state)
}

// noVersion returns the problem for a version that does not exist, of a page that may have others.
func (h *Handler) noVersion(ctx context.Context, page string, who present.Reader) error {
	known, err := h.mayKnow(ctx, page, acap.PresentLink, who)
	if err != nil {
		return err
	}
	p := notFound()
	if known {
		p.Code, p.Detail = "no-version", "This page has no such version that you may see."
	}
	return p
}

// noImage returns the problem for a page of which no thumbnail can be made: err says why. If the reader may not know
// that the page is archived, it is the same as for a page that was never archived.
func (h *Handler) noImage(ctx context.Context, page string, who present.Reader, err error) error {
	known, failed := h.mayKnow(ctx, page, acap.PresentThumbnail, who)
	switch {
	case failed != nil:
		return failed
	case !known:
		return notFound()
	}
	return pictureless(err)
}

// pictureless returns the problem for a page of which no thumbnail can be made: err says why.
func pictureless(err error) *Problem {
	return &Problem{Status: http.StatusNotFound, Code: "no-image", Title: "There is no thumbnail of this page",
		Detail: display.Sentence(err.Error())}
}

// mayKnow reports whether the reader may learn that a page is archived although the usage u shows
// nothing archived of it: a link to the page may be shown.
func (h *Handler) mayKnow(ctx context.Context, page string, u acap.Usage, who present.Reader) (bool, error) {
	state, err := h.o.Presenter.State(ctx, page, acap.Decision{Usage: u}, who)
	return state.Availability != present.NotHeld, err
}

// apiList answers like the verb archive ls with --json, with the versions that this reader may see.
func (h *Handler) apiList(w http.ResponseWriter, r *request, v values) error {
	who, err := h.reader(r, v)
	if err != nil {
		return err
	}
	list, limit := []present.Entry{}, v.number("limit")
	for version, err := range h.o.Presenter.List(r.Context(), listingAfter(v.text("after")), who) {
		if err != nil {
			return err
		}
		if n := len(list); n >= limit && list[n-1].URL != version.URL {
			v.given.Set("after", list[n-1].URL)
			w.Header().Set("Link", "</api/v1/archive/ls?"+v.given.Encode()+`>; rel="next"`)
			break
		}
		list = append(list, version.Entry)
	}
	return writeJSON(w, r, list)
}

// apiStats answers like the verb archive stats with --json.
func (h *Handler) apiStats(w http.ResponseWriter, r *request, _ values) error {
	if h.o.Totals == nil {
		return notFound()
	}
	totals, err := h.o.Totals(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, r, totals)
}

// apiDocument answers with the OpenAPI document.
func (h *Handler) apiDocument(w http.ResponseWriter, r *request) error {
	return writeTagged(w, r, "application/json", documentText)
}
