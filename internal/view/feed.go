package view

import (
	"cmp"
	"context"
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/memento"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/snippet"
)

const (
	atomType = "application/atom+xml"
	inFeed   = 50 // entries of a feed
)

const feedParameters = "A feed needs one parameter: q for the words of a search, or url for the address of a page."

// atomFeed is a feed (RFC 4287 4.1.1).
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

// atomEntry is an entry of a feed (RFC 4287 4.1.2).
type atomEntry struct {
	ID      string     `xml:"id"`
	Title   string     `xml:"title"`
	Updated string     `xml:"updated"`
	Links   []atomLink `xml:"link"`
	Content string     `xml:"content"` // plain text
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

// feed answers with the newest versions of a page, or the newest pages that match a query. It
// contains only versions and pages that this reader may see, and no page to which this reader may
// not see a link.
func (h *Handler) feed(w http.ResponseWriter, r *request) error {
	words, address := strings.TrimSpace(r.query.Get("q")), strings.TrimSpace(r.query.Get("url"))
	for name, values := range r.query {
		if name != "q" && name != "url" || len(values) > 1 {
			return badRequest(feedParameters)
		}
	}
	var out atomFeed
	var err error
	switch {
	case (words == "") == (address == ""):
		return badRequest(feedParameters)
	case words != "":
		out, err = h.matchFeed(r, words)
	default:
		out, err = h.versionFeed(r, address)
	}
	if err != nil {
		return err
	}
	out.Author = "acapcrawl"
	out.setUpdated()
	return writeXML(w, r, atomType+"; charset=utf-8", out)
}

func (f *atomFeed) setUpdated() {
	f.Updated = time.Unix(0, 0).UTC().Format(time.RFC3339) // of a feed without entries
	if len(f.Entries) > 0 {
		f.Updated = f.Entries[0].Updated
	}
}

// MergeFeeds returns one feed of the versions in the feeds that several machines have made about one page. It leaves
// out feeds that are damaged; used is the number of the others. If all are damaged, it returns an error.
func MergeFeeds(feeds [][]byte) (text []byte, used int, err error) {
	var out atomFeed
	known := map[string]bool{}
	for _, feed := range feeds {
		var one atomFeed
		if err = xml.Unmarshal(feed, &one); err != nil {
			continue
		}
		used++
		entries := out.Entries
		for _, e := range one.Entries {
			if !known[e.ID] {
				known[e.ID] = true
				entries = append(entries, e)
			}
		}
		out, out.Entries = one, entries
	}
	if used == 0 {
		return nil, 0, err
	}
	slices.SortStableFunc(out.Entries, func(a, b atomEntry) int { return cmp.Compare(b.Updated, a.Updated) })
	out.Entries = out.Entries[:min(len(out.Entries), inFeed)]
	out.setUpdated()
	text, err = textOfXML(out)
	return text, used, err
}

// feedPath returns the path of a feed with a parameter.
func feedPath(name, value string) string { return "/feed.atom?" + url.Values{name: {value}}.Encode() }

// tag returns an identifier that never changes (RFC 4151): the host of this server and what it identifies.
func (r *request) tag(kind, of string) string {
	name := "localhost"
	if u, err := url.Parse(r.visitor.Base); err == nil && u.Hostname() != "" && !strings.Contains(u.Hostname(), ":") {
		name = u.Hostname()
	}
	return "tag:" + name + ",2026:" + kind + ":" + url.QueryEscape(of)
}

// versionFeed returns the newest versions of a page.
func (h *Handler) versionFeed(r *request, address string) (out atomFeed, err error) {
	page, err := target(address)
	if err != nil {
		return out, badRequest(badURL)
	}
	held, err := h.history(r.Context(), page, r.visitor)
	if err != nil {
		return out, err
	}
	switch listed, _, err := h.o.Presenter.Listed(r.Context(), page, r.visitor.reader()); {
	case err != nil:
		return out, err
	case !listed:
		return out, notFound()
	}
	base := r.visitor.Base
	out = atomFeed{ID: r.tag("versions", page), Title: "Versions of " + page, Links: []atomLink{
		{"self", atomType, base + feedPath("url", page)},
		{"alternate", "text/html", base + "/versions/" + escapeTarget(page)}}}
	for _, v := range slices.Backward(held.list) {
		if len(out.Entries) == inFeed {
			break
		}
		text := "Status " + strconv.Itoa(v.Status)
		if v.MIME != "" {
			text += ", " + v.MIME
		}
		text += ". " + sentence("Terms: "+strings.Join(termsOf(v), "; "))
		out.Entries = append(out.Entries, atomEntry{ID: r.tag("version:"+memento.Timestamp(v.Fetched), v.URL),
			Title: "Version of " + v.Fetched.UTC().Format("2 January 2006, 15:04 UTC"), Updated: atomTime(v.Fetched),
			Links:   []atomLink{{"alternate", "text/html", base + timedPath("/copy/", v.Fetched, v.URL)}},
			Content: text})
	}
	return out, nil
}

func atomTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// matchFeed returns the newest pages that match a query.
func (h *Handler) matchFeed(r *request, words string) (out atomFeed, err error) {
	results, err := h.newest(r.Context(), words, r.visitor.reader())
	if err != nil {
		return out, err
	}
	base := r.visitor.Base
	out = atomFeed{ID: r.tag("matches", words), Title: "New pages for " + words, Links: []atomLink{
		{"self", atomType, base + feedPath("q", words)},
		{"alternate", "text/html", base + "/search?" + url.Values{"q": {words}}.Encode()}}}
	for _, one := range results {
		e := atomEntry{ID: r.tag("match", one.URL), Title: cmp.Or(one.Title, one.URL), Updated: atomTime(changed(one)),
			Content: resultText(one)}
		if to := cmp.Or(one.Href, one.URL); one.Link && isWeb(to) {
			e.Links = []atomLink{{"alternate", "", to}}
		}
		out.Entries = append(out.Entries, e)
	}
	return out, nil
}

// isWeb reports whether address is an http or https address, which cannot run a script.
func isWeb(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// newest returns results of the last week, month or year, or of all times if these have none, the newest first.
func (h *Handler) newest(ctx context.Context, words string, who present.Reader) ([]present.Result, error) {
	for _, days := range []int{7, 31, 366, 0} {
		filter := present.Filter{}
		if days > 0 {
			filter.After = h.o.Now().UTC().AddDate(0, 0, -days).Format(time.DateOnly)
		}
		text, err := filter.Narrow(words)
		if err != nil {
			return nil, err
		}
		found, err := h.o.Presenter.Search(ctx, present.Query{Text: text, Limit: inFeed, Details: true}, who)
		if err != nil {
			return nil, err
		}
		list := slices.DeleteFunc(found.Results, func(one present.Result) bool { return !one.Shown() })
		if len(list) > 0 || days == 0 {
			slices.SortStableFunc(list, func(a, b present.Result) int { return changed(b).Compare(changed(a)) })
			return list, nil
		}
	}
	return nil, nil
}

// changed returns when the archived content of a result was fetched.
func changed(one present.Result) time.Time {
	if one.Details != nil && !one.Details.Captured.IsZero() {
		return one.Details.Captured
	}
	return one.Fetched
}

// resultText returns what may be shown of a result, with everything that must be shown with it.
func resultText(one present.Result) string {
	lines := []string{one.URL}
	include := one.Include
	if one.Snippet != nil {
		lines = append(lines, one.Snippet.Text)
		include = slices.Concat(include, one.Snippet.Include)
	}
	for _, in := range include {
		lines = append(lines, strings.Join(strings.Fields(roleLabel(in.Role)+": "+in.Text+" "+in.Href), " "))
	}
	for i := range lines {
		lines[i] = snippet.Plain(lines[i])
	}
	return strings.Join(lines, "\n")
}
