package view

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// partWords names what a usage shows of a page in a result.
func partWords(u acap.Usage) string {
	switch u {
	case acap.PresentLink:
		return "a link"
	case acap.PresentSnippet:
		return "a snippet"
	case acap.PresentThumbnail:
		return "a thumbnail"
	case acap.PresentCurrentCopy:
		return "a copy"
	}
	return "a title"
}

// shortReason says in a few words why a part of a result is not shown.
func shortReason(r acap.Reason) string {
	words := map[acap.Reason]string{
		acap.ByConflict:    "permissions and prohibitions both match, and none is more specific",
		acap.ByFallback:    "a statement of the publisher is partly unsupported",
		acap.ByExpiry:      "a time limit has ended",
		acap.ByLocation:    "the permission is for another address",
		acap.ByTarget:      "the permission is for other readers",
		acap.Conventional:  "robots.txt prohibits it",
		acap.ByHeader:      "a header prohibits it",
		acap.ByMeta:        "a tag in the page prohibits it",
		acap.Unavailable:   "the publisher's terms could not be read",
		acap.Unfulfillable: "something that must be shown with it is missing",
		acap.ByPreference:  "a preference of the publisher prohibits it",
		acap.ByAgreement:   "the publisher asks for an agreement",
	}[r]
	if words == "" {
		return "the publisher prohibits it"
	}
	return words
}

// resultView is a result as the page shows it.
type resultView struct {
	present.Result
	Target   string  // to which the heading leads; "" for nowhere
	Original string  // address of the page at its publisher's site, for a link of its own; "" for none
	Listed   bool    // the versions of the page can be seen
	Heading  []piece // the title, or the address
	Text     []piece // the snippet
	Credits  []snippet.Include
	Labels   []label
	Language string // of title and snippet
	Parts    []partView
	Others   []otherAddress
}

// otherAddress is the address of another page that would look the same as a result.
type otherAddress struct {
	URL    string
	Listed bool
}

// piece is a part of a text; marked pieces are words of the query.
type piece struct {
	Text   string
	Marked bool
}

// label is a property of a page, with the address of a search for pages that share it.
type label struct{ Text, Href, Hint string }

// partView explains a part of a result.
type partView struct {
	Name   string // what it is: "Link"
	Answer string
	Class  string // yes or no
	Reason string
	Limits []string
	Place  string // of the deciding line, or ""
	Line   string
}

// newResultView returns a result as the page with the results of form shows it.
func (h *Handler) newResultView(r *request, one present.Result, form searchForm) (resultView, error) {
	out := resultView{Result: one, Heading: pieces(one.Title, one.TitleMarks)}
	if one.Title == "" {
		out.Heading = []piece{{Text: snippet.Plain(one.URL)}}
	}
	out.Credits = append(out.Credits, one.Include...)
	if one.Snippet != nil {
		out.Text = pieces(one.Snippet.Text, one.Snippet.Marks)
		for _, in := range one.Snippet.Include {
			if in.Role != "extract" { // an extract is part of the snippet
				out.Credits = append(out.Credits, in)
			}
		}
	}
	out.describe(form)
	return out, h.locate(r, &out)
}

// locate decides where a result leads: its heading to the archived copy, otherwise to the versions, otherwise to the
// page at its publisher's site. Nothing leads to a refusal.
func (h *Handler) locate(r *request, v *resultView) (err error) {
	copied := v.Details != nil && v.Details.Copy
	if v.Listed = copied; !copied {
		if v.Listed, err = h.archived(r, v.URL); err != nil {
			return err
		}
	}
	for _, address := range v.Also {
		listed, err := h.archived(r, address)
		if err != nil {
			return err
		}
		v.Others = append(v.Others, otherAddress{address, listed})
	}
	switch {
	case v.Link && v.made(): // P1 2.5.3.2: the title is the text that the link must have
		v.Target = cmp.Or(v.Href, v.URL)
		return nil
	case copied:
		v.Target = timedPath("/copy/", v.Details.Captured, v.URL)
	case v.Listed:
		v.Target = "/versions/" + escapeTarget(v.URL)
	case v.Link:
		v.Target = v.URL
	}
	if v.Link {
		v.Original = v.URL
	}
	return nil
}

// made reports whether the link to the page must be made from something other than the page.
func (v resultView) made() bool {
	return v.Href != "" || v.Details != nil && slices.ContainsFunc(v.Details.Parts, func(p present.Part) bool {
		return p.Decision.Usage == acap.PresentLink && len(p.Limits.MustUse) > 0
	})
}

// Leaves reports whether the heading leads out of this archive.
func (v resultView) Leaves() bool { return !strings.HasPrefix(v.Target, "/") }

// archived reports whether this visitor can see a version of a page in the viewer.
func (h *Handler) archived(r *request, page string) (bool, error) {
	_, _, err := h.forViewer(r, page, farFuture)
	if _, absent := errors.AsType[*Problem](err); absent {
		return false, nil
	}
	return err == nil, err
}

// describe adds what is known about the page besides its text.
func (v *resultView) describe(form searchForm) {
	if u, err := url.Parse(v.URL); err == nil && u.Host != "" {
		v.Labels = append(v.Labels, label{u.Host, form.linkWith((*searchForm).siteField, u.Host), "Only this site"})
	}
	d := v.Details
	if d == nil {
		return
	}
	if kind := kindOf(d.MIME); kind != "" {
		v.Labels = append(v.Labels, label{kind, form.linkWith((*searchForm).typeField, kind), "Only this type"})
	}
	if d.Language != "" {
		primary, _, _ := strings.Cut(d.Language, "-")
		v.Language = d.Language
		v.Labels = append(v.Labels, label{d.Language, form.linkWith((*searchForm).languageField, primary),
			"Only this language"})
	}
	for _, p := range d.Parts {
		v.Parts = append(v.Parts, newPartView(p, v.URL))
	}
}

// kindOf returns the short name of a media type in a search, or the media type.
func kindOf(media string) string {
	switch {
	case media == "text/html" || media == "application/xhtml+xml":
		return "html"
	case media == "text/plain":
		return "text"
	case media == "application/pdf":
		return "pdf"
	case strings.HasPrefix(media, "image/"):
		return "image"
	}
	return media
}

func newPartView(p present.Part, page string) partView {
	d := p.Decision.AboutFor()
	_, name, _ := strings.Cut(partWords(p.Decision.Usage), " ")
	out := partView{Name: strings.ToUpper(name[:1]) + name[1:], Class: "yes",
		Limits: explain.LimitWords(p.Limits, longDate), Reason: explain.Reason(d)}
	switch {
	case !d.Allowed:
		out.Answer, out.Class = "may not be shown", "no"
	case p.Shown:
		out.Answer = "shown"
	case d.Usage == acap.PresentCurrentCopy:
		out.Answer = "may be shown"
	default:
		out.Answer = "may be shown, but none is stored"
	}
	if f := d.Because; f != nil {
		out.Place, out.Line = explain.PlaceWords(f, page), explain.Written(f)
	}
	return out
}

// pieces divides text at marks, which are ranges of code points.
func pieces(text string, marks [][2]int) (list []piece) {
	runes, at := []rune(text), 0
	add := func(to int, marked bool) {
		if to > at {
			list = append(list, piece{string(runes[at:to]), marked})
			at = to
		}
	}
	for _, m := range marks {
		if m[0] < at || m[1] < m[0] || m[1] > len(runes) {
			break
		}
		add(m[0], false)
		add(m[1], true)
	}
	add(len(runes), false)
	return list
}
