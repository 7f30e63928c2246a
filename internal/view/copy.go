package view

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// longestSource is the maximum number of bytes of a source text that the viewer shows.
const longestSource = 256 << 10

// viewerPage is a page with a copy in a frame, and a banner outside the frame.
type viewerPage struct {
	present.Version
	Host     string
	Address  string // of this page
	Title    string
	Language string // of the copy; "": unknown
	Form     viewerForm
	Frame    string // address of the copy in the frame
	Site     string // origin of Frame below the replay domain; "" for this server
	Place    string // of the deciding line, in short; "" if no line decided
	File     string // address of its document
	Line     string // text of the deciding line
	Read     time.Time
	Until    time.Time // end of the permission; zero for none
	Terms    []string  // the other limits, in words
	Reduced  []string  // sentences that say why less is shown than was archived
	Include  []snippet.Include
	Target   string // of an archived redirect
	Source   string // text of a page that browsers may not show
	Cut      bool   // Source is only the beginning
	Alone    bool   // the terms permit showing the copy by itself
	Compare  bool   // the terms permit comparing its text

	// Times of other versions; zero for none.
	First, Previous, Next, Last time.Time
}

// Permission returns a sentence that says why the copy may be shown.
func (p viewerPage) Permission() string {
	return display.Sentence(permission(p.Decision))
}

// viewerForm says how the viewer shows a copy.
type viewerForm string

const (
	inFrame    viewerForm = "frame"
	asImage    viewerForm = "image"
	asRedirect viewerForm = "redirect"
	aloneOnly  viewerForm = "alone"
	toSave     viewerForm = "save"
)

// viewer shows a copy in a frame, with its terms. The copy is shown within a frame of this service
// (P1 2.5.5.7). If the terms permit showing it only by itself, the viewer has a link to it instead.
func (h *Handler) viewer(w http.ResponseWriter, r *request) error {
	at, page, err := timed(r.rest)
	if err != nil {
		return err
	}
	chosen, who, err := h.forViewer(r, page, at)
	if err != nil {
		return err
	}
	if !chosen.exact {
		return redirectTo(w, timedPath("/copy/", chosen.Fetched, chosen.URL))
	}
	out, err := h.viewed(r, page, chosen, who)
	if err != nil {
		return err
	}
	setUnstored(w.Header())
	if out.Site != "" {
		w.Header().Set("Content-Security-Policy", strings.Replace(ownPolicy, "frame-src 'self'", "frame-src "+out.Site,
			1))
	}
	return h.show(w, r, "copy.html", cmp.Or(out.Title, chosen.URL)+", copy of "+moment(chosen.Fetched), out)
}

// viewed returns what the viewer shows of a version.
func (h *Handler) viewed(r *request, page string, chosen choice, who present.Reader) (viewerPage, error) {
	out := viewerPage{Version: chosen.Version, Host: hostOf(chosen.URL), Target: targetOf(chosen.Version),
		Address: r.visitor.Base + timedPath("/copy/", chosen.Fetched, chosen.URL)}
	out.neighbours(chosen)
	out.Alone = len(chosen.Limits.RequiredContext) == 0
	out.Compare = chosen.index > 0 && mayCompare(chosen.Version) && mayCompare(chosen.list[chosen.index-1])
	done, err := h.takeHeavy(r, chosen.Bytes)
	if err != nil {
		return out, err
	}
	defer done()
	c, err := h.o.Presenter.Open(r.Context(), page, chosen.Version, who)
	if err != nil {
		return out, err
	}
	if d := chosen.Decision; d.Because != nil {
		out.Place, out.File = display.Line(explain.Place(d.Because, chosen.URL)), display.Line(d.Because.URL)
		out.Line = display.Line(d.Because.Text)
		if h.o.PolicyRead != nil {
			out.Read = h.o.PolicyRead(d.Because.URL)
		}
	}
	limits := c.Limits
	out.Until, limits.Until = limits.Until, time.Time{}
	if len(c.Include) > 0 { // the page shows what the terms demand
		limits.MustInclude = nil
	}
	for _, words := range explain.LimitWords(limits, longDate) {
		out.Terms = append(out.Terms, display.Line(words))
	}
	out.Include = c.Include
	out.reduce(c)
	out.chooseForm(c, who, r.visitor)
	return out, nil
}

// chooseForm decides how the copy is shown to a visitor.
func (out *viewerPage) chooseForm(c present.Copy, who present.Reader, v Visitor) {
	p := pageOf(c)
	how := sentOf(p, c)
	out.Title, out.Language = display.Line(p.Title(page.Cut{})), p.Language()
	switch {
	case c.Status/100 == 3:
		out.Form = asRedirect
	case !who.Framed:
		out.Form = aloneOnly
	case how.inline:
		out.Form = inFrame
		out.chooseFrame(!how.change && p.HTML(), v)
	case p.MIME() == "image/svg+xml":
		out.Form = asImage
	default:
		out.Form = toSave
		out.Reduced = append(out.Reduced, "The copy is not shown here, only offered to save. "+how.why)
		out.Source = p.Source()
		if out.Cut = len(out.Source) > longestSource; out.Cut {
			out.Source = strings.ToValidUTF8(out.Source[:longestSource], "")
		}
		out.Source = display.Text(out.Source)
	}
}

// chooseFrame sets the address of the copy in the frame. An unmodified page has it below the replay domain, if
// there is one and the name of its host has room there.
func (out *viewerPage) chooseFrame(unmodified bool, v Visitor) {
	out.Frame = timedPath("/raw/", out.Fetched, out.URL)
	if !unmodified {
		return
	}
	lost := "whose address begins with a slash or names a host"
	if at, origin := replayAddress(v, out.Version); at != "" {
		out.Frame, out.Site, lost = at, origin, "whose address names a host"
	}
	out.Reduced = append(out.Reduced, "The terms prohibit modifications, so the copy is shown exactly as it was sent: "+
		"links and images "+lost+" do not lead to archived copies. If you click on a link that names a host, your "+
		"browser may connect to that host.")
}

// reduce records why the copy is not all that the publisher sent.
func (out *viewerPage) reduce(c present.Copy) {
	if c.Cut {
		out.Reduced = append(out.Reduced, "Parts that may not be archived or shown were removed.")
	}
	if c.Rendered {
		out.Reduced = append(out.Reduced, "This is the page after its scripts ran while it was archived. The page as "+
			"it was sent is archived, too.")
	}
	if c.Truncated {
		out.Reduced = append(out.Reduced, "The end of the page is not archived.")
	}
	for _, clause := range c.Cuts {
		out.Reduced = append(out.Reduced, sentence(display.Line(clause)))
	}
}

// neighbours sets the times of the other versions.
func (out *viewerPage) neighbours(c choice) {
	last := len(c.list) - 1
	if c.index > 0 {
		out.First, out.Previous = c.list[0].Fetched, c.list[c.index-1].Fetched
	}
	if c.index < last {
		out.Next, out.Last = c.list[c.index+1].Fetched, c.list[last].Fetched
	}
}

// hostOf returns the host of an address.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Host
}
