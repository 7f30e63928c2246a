package check

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
	"github.com/acapcrawl/acapcrawl/page"
)

// PageOf returns the page that a file contains.
func PageOf(name string, src []byte) *page.Page {
	kind := "text/html"
	switch strings.ToLower(filepath.Ext(name)) {
	case ".xhtml", ".xht":
		kind = "application/xhtml+xml"
	}
	at := url.URL{Scheme: "https", Host: "robots.invalid", Path: "/" + filepath.Base(name)}
	return page.New([]page.Hop{{URL: at.String(), Status: http.StatusOK, Header: http.Header{"Content-Type": {kind}},
		Body: src}})
}

// Page checks the statements of a page in META tags, class tokens and headers. name identifies the
// page in findings. robots is the parsed robots.txt of its site, or nil if it is unknown; refs are
// the files to which robots refers.
func (r *Report) Page(name string, p *page.Page, o Options, robots *acap.File, refs ...acap.Reference) {
	r.page(name, p, o, false, robots, refs)
}

// PageAlone is like Page, for a page that is checked without its site. It also checks that the page
// has the parts that its own permissions require.
func (r *Report) PageAlone(name string, p *page.Page, o Options, robots *acap.File, refs ...acap.Reference) {
	r.page(name, p, o, true, robots, refs)
}

func (r *Report) page(name string, p *page.Page, o Options, alone bool, robots *acap.File, refs []acap.Reference) {
	own := p.Own()
	var header []string
	own.Tags, header = numbered(own.Tags)
	var plain []acap.Tag
	if own.Licences = withoutUnread(own.Licences); preference.Reads(o.Vocabularies, rslName) {
		own.Licences, plain, header = numberedLinks(own.Licences, p.PlainLicences(), header)
	}
	title := headerOf(name)
	var here, above []acap.Finding
	own.Licences, here = embedded(name, own.Licences, p.URL(), o)
	for _, f := range append(r.ofOwn(name, own, o, robots, refs), withoutType(name, plain)...) {
		if f.Source == acap.Header {
			f.URL = title
			above = append(above, f)
		} else {
			f.URL = name
			here = append(here, f)
		}
	}
	answered := p.Last().Header
	for _, field := range slices.Sorted(maps.Keys(answered)) {
		if meant := meantName(field, o); meant != "" {
			for _, value := range answered[field] {
				header = append(header, field+": "+value)
				above = append(above, ofMisspelt(title, field, meant, len(header)))
			}
		}
	}
	for _, tag := range p.Strays() {
		if isCrawler(tag) || isReservation(tag, o) {
			here = append(here, stray(name, tag))
		}
	}
	t := Text{Name: name, Kind: PageKind, Lines: splitLines(p.Source())}
	if alone {
		here = append(here, partsOf(t, p, o, robots, refs)...)
	}
	r.Add(t, here...)
	if len(header) > 0 {
		r.Add(Text{Name: title, Kind: HeaderKind, Lines: header}, above...)
	}
}

// headerOf returns the name that identifies the header of a page in findings.
func headerOf(name string) string { return name + " (header)" }

// numbered returns the header lines, and the tags with the number of the header line of each tag.
func numbered(tags []acap.Tag) (out []acap.Tag, lines []string) {
	out = slices.Clone(tags)
	for i := range out {
		if t := &out[i]; t.Source == acap.Header {
			lines = append(lines, t.Name+": "+t.Content)
			t.Line = len(lines)
		}
	}
	return out, lines
}

// ofOwn returns the findings about a resource's own statements, for all crawlers that the resource
// or its robots.txt names. If robots is nil, robots.txt is not known. Then a name that robots.txt
// may define is not a finding: ofOwn adds a note.
func (r *Report) ofOwn(name string, own acap.Own, o Options, robots *acap.File, refs []acap.Reference) (
	found []acap.Finding) {
	alone := robots == nil
	if alone {
		robots = acap.Parse(somewhere, nil)
	}
	refs = new(Report).withFiles(name, robots, o, refs)
	names := append(Everyone(robots, o).Names, addressees(own.Tags)...)
	for _, c := range []acap.Crawler{{Pilot: o.Pilot}, {Names: names, Pilot: o.Pilot}} {
		c.Vocabularies = o.Vocabularies
		for _, f := range robots.Policy(c, refs...).Narrow(own).Findings() {
			switch {
			case f.Source != acap.Meta && f.Source != acap.Class && f.Source != acap.Header && f.Source != acap.Image:
			case alone && f.Code == "undefined-usage":
				r.note("%s:%d: whether robots.txt defines the usage was not checked; name it as well, before the page",
					name, f.Line)
			default:
				found = append(found, f)
			}
		}
	}
	return found
}

// addressees returns the crawlers that META tags and header lines may address by name. A META tag
// that is not for crawlers, such as keywords, is ignored: tags for crawlers contain only
// conventional rules, or an ACAP statement.
func addressees(tags []acap.Tag) []string {
	var names []string
	for _, t := range tags {
		if acap.RobotsHeader(t.Name) && t.Source == acap.Header {
			names = append(names, strings.FieldsFunc(t.Content, separates)...)
		} else if t.Source == acap.Meta && isCrawler(t) {
			for name := range strings.SplitSeq(t.Name, ",") {
				names = append(names, strings.TrimSpace(name))
			}
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "" || n == "*" })
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxTogether)]
}

func separates(r rune) bool { return r <= ' ' || strings.ContainsRune(`,;:="`, r) }

// isCrawler reports whether the name of a META tag is the name of a crawler.
func isCrawler(t acap.Tag) bool {
	name := strings.ToLower(t.Name)
	for _, part := range []string{"bot", "crawl", "spider", "slurp", "teoma", "yeti", "archiver"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(t.Content)), "acap")
}

// isReservation reports whether a META tag belongs to TDMRep, and that vocabulary is in force.
func isReservation(t acap.Tag, o Options) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(t.Name)), "tdm-") &&
		preference.Reads(o.Vocabularies, tdmrepName)
}

// splitLines splits a text into lines at CRLF, LF and CR.
func splitLines(text string) []string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// stray returns a finding about a META tag outside the head. P2 2.2 (N11): META tags in the body
// are not read.
func stray(name string, t acap.Tag) acap.Finding {
	return acap.Finding{Code: "meta-outside-head", Severity: acap.Warning, Source: acap.Meta, URL: name, Line: t.Line,
		Column: t.Column,
		Length: max(1, utf8.RuneCountInString(t.Content)), Hint: "move it up, before the first element that does not " +
			"belong into a head",
		Message: fmt.Sprintf("the head of the page ends before this META tag of the name %q: it does not count",
			t.Name)}
}

// partsOf returns findings about parts that the page's own permissions require, but that the page
// does not have (P1 2.5.3.2, P1 2.5.5.6).
func partsOf(t Text, p *page.Page, o Options, robots *acap.File, refs []acap.Reference) (found []acap.Finding) {
	if robots == nil {
		robots = acap.Parse(somewhere, nil)
	}
	placed := &Report{Texts: []Text{t}}
	refs = new(Report).withFiles(t.Name, robots, o, refs)
	own, at := p.Own(), acap.NewResource(p.URL())
	for _, c := range []acap.Crawler{{Pilot: o.Pilot}, {Names: addressees(own.Tags), Pilot: o.Pilot}} {
		policy := robots.Policy(c, refs...).Narrow(own)
		for _, u := range acap.Usages() {
			d := policy.Decide(u, at)
			for _, q := range append(d.MustUse(), d.MustInclude()...) {
				if q.Locator == "" || q.Field.Source != acap.Meta || hasPart(p, q) {
					continue
				}
				f := acap.Finding{Code: "part-not-found", Severity: acap.Error, Source: acap.Meta, URL: t.Name,
					Message: fmt.Sprintf("the page has no %s, so each usage that requires it is prohibited",
						inWords(q.Locator)),
					Hint: "mark that part, or name one that the page has"}
				field := *q.Field
				field.URL = t.Name
				_, f.Line, f.Column, f.Length = placed.place(&field, q.Value)
				found = append(found, f)
			}
		}
	}
	return found
}

func hasPart(p *page.Page, q *acap.Required) bool {
	if q.Link() {
		_, _, found := p.Link(q.Locator)
		return found
	}
	_, found := p.Extract(q.Locator, page.Cut{})
	return found
}
