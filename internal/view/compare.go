package view

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

const (
	longestCompared = 512 << 10 // maximum number of bytes of a text that is compared
	mostPassages    = 2000      // maximum number of passages that a comparison shows
)

// compareChanges are the modifications that a comparison makes: it shows the text without style and
// structure, and marks what differs (P1 2.5.5.5).
const compareChanges = acap.FormatChange | acap.StyleChange | acap.AppearanceChange | acap.ContentChange |
	acap.AnnotationChange | acap.StructureChange

// comparePage is a comparison of the text of two versions.
type comparePage struct {
	Address  string
	From     present.Version
	To       present.Version
	Include  []snippet.Include
	Summary  []string
	Passages []passage
	Language string  // of the text; "": unknown
	Previous *change // the nearest change before From; nil: none
	Next     *change // the nearest change after To; nil: none
}

// change is two consecutive versions with different bytes.
type change struct{ From, To time.Time }

// mayCompare reports whether a comparison may show the text of a version. A redirect has no text.
func mayCompare(v present.Version) bool {
	return v.Location == "" && v.Decision.Within(acap.UserFrame).Changing(compareChanges, "").Allowed
}

// findComparison redirects a form with the fields url, from and to to the comparison, the earlier version first.
func (h *Handler) findComparison(w http.ResponseWriter, r *request) error {
	page, err := target(strings.TrimSpace(r.query.Get("url")))
	if err != nil {
		return badRequest(badURL)
	}
	from, err := memento.ParseTimestamp(r.query.Get("from"))
	to, wrong := memento.ParseTimestamp(r.query.Get("to"))
	if err != nil || wrong != nil {
		return badRequest("The parameters from and to must be times of 14 digits in UTC, such as 20260131120000.")
	}
	if from.After(to) {
		from, to = to, from
	}
	return redirectTo(w, comparePath(from, to, page))
}

// comparePath returns the path of the comparison of two versions of a page.
func comparePath(from, to time.Time, page string) string {
	return "/compare/" + memento.Timestamp(from) + "/" + memento.Timestamp(to) + "/" + escapeTarget(page)
}

// compare shows how the text of a page differs between two versions, both of which this reader may
// see in a page of this service. The terms of both must permit the modifications that a comparison
// makes.
func (h *Handler) compare(w http.ResponseWriter, r *request) error {
	stamp, rest, _ := strings.Cut(r.rest, "/")
	from, err := memento.ParseTimestamp(stamp)
	if err != nil {
		return badRequest("The path needs two times of 14 digits in UTC and an address, such as " +
			"20260131120000/20260201120000/https://example.org/.")
	}
	to, address, err := timed(rest)
	if err != nil {
		return err
	}
	list, state, err := h.o.Presenter.Versions(r.Context(), address, r.readerAt(viewer))
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return h.absent(state)
	}
	first, second := choose(r.visitor, list, address, from), choose(r.visitor, list, address, to)
	if !first.exact || !second.exact {
		return redirectTo(w, comparePath(first.Fetched, second.Fetched, first.URL))
	}
	out, err := h.compared(r, address, first, second)
	if err != nil {
		return err
	}
	out.neighbours(first.list, first.index, second.index)
	setUnstored(w.Header())
	return h.show(w, r, "compare.html", "Two versions of "+out.Address+", "+moment(first.Fetched)+" and "+
		moment(second.Fetched), out)
}

// neighbours sets the nearest changes before and after list[first] and list[second] that can be compared.
func (out *comparePage) neighbours(list []present.Version, first, second int) {
	at := func(i int) *change {
		before, after := list[i-1], list[i]
		if before.Digest == after.Digest || !mayCompare(before) || !mayCompare(after) {
			return nil
		}
		return &change{before.Fetched, after.Fetched}
	}
	for i := min(first, second); i > 0 && out.Previous == nil; i-- {
		out.Previous = at(i)
	}
	for i := max(first, second) + 1; i < len(list) && out.Next == nil; i++ {
		out.Next = at(i)
	}
}

// compared returns the comparison of two versions.
func (h *Handler) compared(r *request, address string, first, second choice) (comparePage, error) {
	out := comparePage{Address: first.URL, From: first.Version, To: second.Version}
	done, err := h.takeHeavy(r, first.Bytes+second.Bytes)
	if err != nil {
		return out, err
	}
	defer done()
	var texts [2][]string
	cut := false
	for i, v := range []present.Version{first.Version, second.Version} {
		c, err := h.o.Presenter.Open(r.Context(), address, v, r.readerAt(viewer))
		if err != nil {
			return out, err
		}
		d := c.Decision.Changing(compareChanges, "a comparison shows parts of the text with marks")
		if !d.Allowed && c.Status/100 != 3 { // nothing of a redirect is shown but its target
			return out, h.refused(d)
		}
		var short bool
		texts[i], short = paragraphs(v, c)
		out.Language = cmp.Or(pageOf(c).Language(), out.Language)
		cut = cut || short
		out.include(c.Include)
	}
	passages, n := comparePassages(texts[0], texts[1])
	if out.Passages, out.Summary = passages, n.summary(first.Digest == second.Digest); cut {
		out.Summary = append(out.Summary, "Only the first "+count(longestCompared>>10, "kilobyte")+
			" of each text are compared.")
	}
	if len(passages) > mostPassages {
		out.Passages = passages[:mostPassages]
		out.Summary = append(out.Summary, "Only the first "+count(mostPassages, "passage")+" are shown.")
	}
	return out, nil
}

// include adds what must be shown with a version, once.
func (out *comparePage) include(list []snippet.Include) {
	for _, in := range list {
		known := false
		for _, other := range out.Include {
			known = known || other == in
		}
		if !known {
			out.Include = append(out.Include, in)
		}
	}
}

// paragraphs returns the text of a copy by paragraphs, its title first. cut reports that the text
// is longer than a comparison reads. The text of a redirect is its target.
func paragraphs(v present.Version, c present.Copy) (list []string, cut bool) {
	if c.Status/100 == 3 {
		return []string{"Redirect to " + display.Line(v.Location)}, false
	}
	text, blocks := pageOf(c).Blocks(page.Cut{})
	last := 0
	add := func(from, to int) {
		to = min(to, longestCompared)
		if s := strings.TrimSpace(display.Line(text[min(from, to):to])); s != "" {
			list = append(list, s)
		}
	}
	for _, b := range blocks {
		add(last, b.Start) // words outside blocks, such as those of the title
		add(b.Start, b.End)
		last = b.End
	}
	add(last, len(text))
	return list, len(text) > longestCompared
}
