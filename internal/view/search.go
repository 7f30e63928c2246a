package view

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/snippet"
)

const (
	perPage      = 10  // results on a page
	countFurther = 100 // number of hits after the page that are examined, only to count results
	lastPage     = 100 // the last page of results that can be requested
)

// searchPage is a page of results.
type searchPage struct {
	searchForm
	Asked   bool     // a search was made
	Error   string   // why the search cannot be made
	Counted string   // how many results there are
	Limited int      // number of results that are not shown in full
	Partial []string // by part and reason
	Results []resultView
	None    noResults // Results is empty
	Hurried bool      // some results lack a title and a snippet
	Absent  int       // machines of the archive that did not answer
	First   int       // number of the first result
	Back    string    // address of the page before, or ""
	Next    string    // address of the next page, or ""

	Operator bool
	Withheld []present.Result // for the operator: pages that match and are not shown to anybody
}

// feed returns the path of the feed of new results, or "" if no search was made.
func (p searchPage) feed() string {
	q, err := p.query()
	if err != nil || !p.Asked || len(q.For) > 0 { // a feed has no restriction to uses
		return ""
	}
	return feedPath("q", q.Text)
}

// search shows the pages that match a query and may be shown to this reader.
func (h *Handler) search(w http.ResponseWriter, r *request) error {
	form, err := readSearch(r)
	if err != nil {
		return h.searchError(w, r, form, err)
	}
	if page := form.address(); page != "" && !form.Filtered() {
		return redirectTo(w, "/versions/"+escapeTarget(page))
	}
	out := searchPage{searchForm: form, Asked: !form.empty(), First: (form.Page-1)*perPage + 1,
		Operator: r.visitor.Role == Operator}
	if !out.Asked {
		out.Open = true
		return h.show(w, r, "search.html", "Search", out)
	}
	q, err := form.query()
	if err != nil {
		return h.searchError(w, r, form, err)
	}
	q.Skip, q.Limit, q.Further, q.Details, q.Why = out.First-1, perPage, countFurther, true, out.Operator
	found, err := h.o.Presenter.Search(r.Context(), q, r.visitor.reader())
	if errors.Is(err, present.ErrQuery) {
		return h.searchError(w, r, form, err)
	}
	if err != nil {
		return err
	}
	if err := h.fill(r, &out, found); err != nil {
		return err
	}
	if found.Count == 0 {
		if out.None, err = h.whyNone(r.Context(), form, r.visitor.reader()); err != nil {
			return err
		}
	}
	return h.show(w, r, "search.html", form.title(), out)
}

// searchError shows the form again, with the reason why the search cannot be made, with status 400.
func (h *Handler) searchError(w http.ResponseWriter, r *request, form searchForm, err error) error {
	p := h.problemOf(err)
	if errors.Is(err, present.ErrQuery) {
		form.Wrong, p.Detail = form.explain(err)
	}
	form.Open = form.Filtered() || form.Wrong == "for"
	return h.showOnce(w, r, p.Status, "search.html", "Search", searchPage{searchForm: form, Error: p.Detail})
}

// fill sets what the page shows of the results.
func (h *Handler) fill(r *request, p *searchPage, found present.Found) error {
	p.Hurried, p.Absent = found.Hurried, found.Absent
	for _, one := range found.Results {
		if !one.Shown() {
			p.Withheld = append(p.Withheld, one)
			continue
		}
		v, err := h.newResultView(r, one, p.searchForm)
		if err != nil {
			return err
		}
		p.Results = append(p.Results, v)
		if one.Details != nil && len(one.Details.Missing()) > 0 {
			p.Limited++
		}
	}
	p.Counted, p.Partial = counted(found, p.First, len(p.Results)), partial(found)
	if p.Page > 1 {
		p.Back = p.link(p.Page - 1)
	}
	if (found.Count > p.First-1+perPage || found.More && len(p.Results) > 0) && p.Page < lastPage {
		p.Next = p.link(p.Page + 1)
	}
	return nil
}

// counted says which results are shown, and of how many. If there are more than were counted, it names a round number,
// because the next page of results counts further.
func counted(found present.Found, first, shown int) string {
	total := count(found.Count, "result")
	switch {
	case found.Count == 0:
		return ""
	case shown == 0:
		return fmt.Sprintf("There are no more than %s.", total)
	case found.More:
		total = "more than " + count(max(found.Count/10*10, first+shown-1), "result")
	case shown == found.Count:
		return total
	}
	return fmt.Sprintf("%d to %d of %s", first, first+shown-1, total)
}

// partial says of how many results a part is missing, by part and reason.
func partial(found present.Found) (list []string) {
	for _, one := range found.Partial {
		list = append(list, fmt.Sprintf("%d without %s: %s", one.Results, partWords(one.Usage),
			shortReason(one.Reason)))
	}
	return list
}

// noResults says why a search has no results. It depends only on pages that this reader may see.
type noResults struct {
	Unknown []string // words of the query that no such page contains
	Apart   bool     // each word is on some page, but no page has all
	Others  string   // the number of results without the filters, or ""
	Drop    []chip   // filters without which there are results
	Without string   // address of the search without filters
}

// mostWords is the greatest number of words that are looked up alone.
const mostWords = 6

// whyNone finds out why a search has no results. It makes at most mostWords+6 searches, each of which ends
// at its first result, and one search without filters.
func (h *Handler) whyNone(ctx context.Context, form searchForm, who present.Reader) (out noResults, err error) {
	chips := form.chips()
	if len(chips) > 0 && form.Query != "" {
		found, err := h.o.Presenter.Search(ctx, present.Query{Text: form.Query, Limit: 1}, who)
		if errors.Is(err, present.ErrQuery) { // only the filters make the query complete
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if found.Count > 0 {
			out.Others, out.Without = count(found.Count, "result"), searchForm{Query: form.Query}.link(1)
			if found.More {
				out.Others = "more than " + out.Others
			}
			out.Drop, err = h.whichFilters(ctx, chips, who)
			return out, err
		}
	}
	words := present.Words(form.Query)
	if len(words) < 2 || len(words) > mostWords {
		return out, nil
	}
	for _, word := range words {
		has, err := h.finds(ctx, present.Query{Text: word}, who)
		if err != nil {
			return out, err
		}
		if !has {
			out.Unknown = append(out.Unknown, strings.Trim(snippet.Plain(word), `"`))
		}
	}
	out.Apart = len(out.Unknown) == 0
	return out, nil
}

// whichFilters returns the filters without which the search has results.
func (h *Handler) whichFilters(ctx context.Context, chips []chip, who present.Reader) (list []chip, err error) {
	if len(chips) == 1 {
		return nil, nil
	}
	for _, one := range chips {
		q, err := one.without.query()
		if err != nil {
			continue // what remains is not a query
		}
		has, err := h.finds(ctx, q, who)
		if err != nil {
			return nil, err
		}
		if has {
			list = append(list, one)
		}
	}
	return list, nil
}

// finds reports whether q has a result that may be shown.
func (h *Handler) finds(ctx context.Context, q present.Query, who present.Reader) (bool, error) {
	q.Limit, q.Further = 1, -1
	found, err := h.o.Presenter.Search(ctx, q, who)
	if errors.Is(err, present.ErrQuery) {
		return false, nil
	}
	return found.Count > 0, err
}
