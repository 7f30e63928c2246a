package view

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/check"
)

// sitePage is what is known of a host.
type sitePage struct {
	Host    string
	Origins []siteOrigin
	Crawl   *Crawl
	Full    bool
}

// siteOrigin is one origin of a host, with the current robots.txt and one of its versions.
type siteOrigin struct {
	SiteDetail
	ID       string       // prefix of the anchors of this origin
	Visit    dueTime      // when the next address is due to be visited
	Lines    []shownLine  // of the robots.txt in force
	Found    []findingSum // the findings next to the lines
	MoreLine int          // number of lines that are not shown
	Others   []fileFinding
	Notes    []string
	Shown    *SiteVersion // the version whose changes are shown; nil: there is only one
	Before   *SiteVersion
	Change   *PolicyChange
}

// fileFinding is a finding about a file that robots.txt refers to.
type fileFinding struct {
	URL  string
	Line int
	findingRow
}

// skippedRow is a skipped address with what its row needs of the origin.
type skippedRow struct {
	SkippedAddress
	Origin, ID string
}

// Rows returns the rows of the skipped addresses.
func (o siteOrigin) Rows() (list []skippedRow) {
	for _, one := range o.Skipped {
		list = append(list, skippedRow{one, o.Origin, o.ID})
	}
	return list
}

// dueTime is a time at which something is due; the zero time: never.
type dueTime struct {
	At   time.Time
	Past bool
}

// nextVisit returns when the next address of a site is due, in the queue or to be visited again.
func (s Site) nextVisit(now time.Time) (next dueTime) {
	if s.Pace != nil {
		next.At = s.Pace.Due
	}
	if s.Counts != nil && !s.Counts.Again.IsZero() && (next.At.IsZero() || s.Counts.Again.Before(next.At)) {
		next.At = s.Counts.Again
	}
	next.Past = next.At.Before(now)
	return next
}

// site shows what is known of a host.
func (h *Handler) site(w http.ResponseWriter, r *request) error {
	if h.o.Sites == nil {
		return noPage()
	}
	host, query, err := hostAndQuery(r.rest)
	if err != nil {
		return err
	}
	full := r.visitor.Role == Operator
	list, err := h.o.Sites.Host(r.Context(), host, full)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return noSite()
	}
	out := sitePage{Host: host, Crawl: h.o.Sites.Crawl(), Full: full}
	for _, d := range list {
		one, err := h.siteOrigin(r, d, query)
		if err != nil {
			return err
		}
		out.Origins = append(out.Origins, one)
	}
	return h.show(w, r, "site.html", host, out)
}

// hostAndQuery reads the end of the path /sites/HOST. The error is a *Problem.
func hostAndQuery(rest string) (host string, query url.Values, err error) {
	raw, sent, _ := strings.Cut(rest, "?")
	if query, err = url.ParseQuery(sent); err != nil {
		return "", nil, badRequest("The parameters in the address cannot be read.")
	}
	if raw, err = url.PathUnescape(raw); err != nil {
		raw = ""
	}
	host, err = normalHost(raw)
	return host, query, err
}

// normalHost returns the normal form of the name of a host, with a port or without. The error is a
// *Problem.
func normalHost(raw string) (host string, err error) {
	if raw == "" || len(raw) > maxKey || strings.ContainsAny(raw, "/?#@\\") {
		return "", badRequest("This needs the name of a host, such as example.org.")
	}
	normal, err := address.Normal("http://" + raw + "/")
	if err == nil {
		host, err = address.Host(normal)
	}
	if err != nil {
		return "", badRequest("This is not the name of a host: " + err.Error() + ".")
	}
	return host, nil
}

// noSite returns the problem for a host of which nothing is known.
func noSite() *Problem {
	return &Problem{Status: http.StatusNotFound, Code: "no-site", Title: "Nothing is known of this site",
		Detail: "This archive has never read a robots.txt of this host."}
}

// siteOrigin prepares an origin for its page. The parameters origin and version choose the version whose
// changes are shown; default: the latest.
func (h *Handler) siteOrigin(r *request, d SiteDetail, query url.Values) (out siteOrigin, err error) {
	scheme, _, _ := strings.Cut(d.Origin, ":")
	out = siteOrigin{SiteDetail: d, ID: scheme, Visit: d.nextVisit(h.o.Now())}
	n := len(d.Versions)
	if n == 0 {
		return out, nil
	}
	if err := h.addSource(&out, r.visitor); err != nil {
		return out, err
	}
	chosen := n - 1
	if at := query.Get("version"); at != "" && query.Get("origin") == d.Origin {
		t, err := time.Parse(time.RFC3339Nano, at)
		chosen = -1
		for i, v := range d.Versions {
			if err == nil && v.Since.Equal(t) {
				chosen = i
			}
		}
		if chosen < 0 {
			return out, badRequest("The parameter version must be the time of a version that this page lists.")
		}
	}
	if chosen == 0 {
		return out, nil
	}
	out.Before, out.Shown = &d.Versions[chosen-1], &d.Versions[chosen]
	out.Change, err = h.changes.compare(r.Context(), d.Origin, *out.Before, *out.Shown, h.o.Now(), h.o.Vocabularies)
	return out, err
}

// addSource adds the robots.txt in force, with findings next to its lines.
func (h *Handler) addSource(out *siteOrigin, who Visitor) error {
	last := out.Versions[len(out.Versions)-1]
	report, err := h.report(out.Origin, last)
	if err != nil {
		return err
	}
	name, lines := out.Origin+"/robots.txt", report.Texts[0].Lines
	text := newSource(name, name, lines)
	var about []acap.Finding
	for _, f := range report.Findings {
		if f.URL == name {
			about = append(about, f)
		} else {
			out.Others = append(out.Others, fileFinding{f.URL, f.Line, newFindingRow(f, who)})
		}
	}
	text.note(about)
	out.Notes = slices.Concat(report.Notes, text.notes)
	for n := 1; n <= min(len(lines), mostLines); n++ {
		line := text.line(n, who)
		line.ID = fmt.Sprintf("%s-%d", out.ID, n)
		out.Lines, text.hrefs[n] = append(out.Lines, line), "#"+line.ID
	}
	out.MoreLine = len(lines) - len(out.Lines)
	out.Found = sumFindings(text.findings, text.hrefs)
	return nil
}

// report returns the findings about the robots.txt of a version. Its first text is the robots.txt.
func (h *Handler) report(origin string, v SiteVersion) (*check.Report, error) {
	now := h.o.Now()
	key := fmt.Sprintf("%s %d on %s", origin, v.Since.UnixNano(), now.UTC().Format(time.DateOnly))
	return once(&h.changes, key, func() (*check.Report, error) {
		d := check.NewStored(origin, v.Version, h.o.Vocabularies)
		o := check.Options{Now: now, Vocabularies: h.o.Vocabularies}
		r := &check.Report{}
		r.Robots(d.File.URL, d.Source, o, d.References(check.Everyone(d.File, o))...)
		return r, nil
	})
}
