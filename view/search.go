package view

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/acapcrawl/acapcrawl/present"
)

const (
	perPage  = 10  // results on a page
	lastPage = 100 // the last page of results that can be requested
)

// searchPage is a page of results.
type searchPage struct {
	Query   string
	Results []present.Result
	Count   int
	More    bool
	Page    int // from 1
	Before  int // the page before, or 0
	Next    int // the next page, or 0
}

// search shows the pages that match a query and may be shown to this reader.
func (h *Handler) search(w http.ResponseWriter, r *request) error {
	out := searchPage{Query: strings.TrimSpace(r.query.Get("q")), Page: 1}
	if text := r.query.Get("page"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > lastPage {
			return badRequest("The parameter page must be a number from 1 to " + strconv.Itoa(lastPage) + ".")
		}
		out.Page = n
	}
	if out.Query == "" {
		return h.show(w, r, "home.html", "", nil)
	}
	skip := (out.Page - 1) * perPage
	found, err := h.o.Presenter.Search(r.Context(), present.Query{Text: out.Query, Skip: skip, Limit: perPage},
		r.visitor.reader())
	if err != nil {
		return err
	}
	out.Results, out.Count, out.More = found.Results, found.Count, found.More
	if out.Page > 1 {
		out.Before = out.Page - 1
	}
	if (found.Count > skip+perPage || found.More) && out.Page < lastPage {
		out.Next = out.Page + 1
	}
	return h.show(w, r, "search.html", out.Query, out)
}
