package check

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
	"github.com/acapcrawl/acapcrawl/page"
)

// The names of the vocabularies whose files are checked.
const (
	tdmrepName = "tdmrep"
	rslName    = "rsl"
)

// TDMRep checks a tdmrep.json, unless that vocabulary is not in force.
func (r *Report) TDMRep(name string, src []byte, o Options) {
	if !preference.Reads(o.Vocabularies, tdmrepName) {
		r.note("%s: not checked, because the vocabulary %s is not in force", name, tdmrepName)
	}
	locations, found := preference.CheckTDMRep(name, src, o.Vocabularies)
	r.Add(Text{Name: name, Kind: TDMRepKind, Lines: rawLines(src), Source: src},
		append(found, shadowed(locations)...)...)
}

// Licence checks a licence document of RSL, unless that vocabulary is not in force.
func (r *Report) Licence(t preference.LicenceText, o Options) {
	if !preference.Reads(o.Vocabularies, rslName) {
		r.note("%s: not checked, because the vocabulary %s is not in force", t.Name, rslName)
	}
	r.Add(Text{Name: t.Name, Kind: RSLKind, Lines: rawLines(t.Text), Source: t.Text},
		preference.CheckLicence(t, o.Vocabularies)...)
}

// rawLines returns the lines of a file in UTF-8 with one character for each invalid byte.
func rawLines(src []byte) []string {
	return splitLines(string([]rune(strings.TrimPrefix(string(src), "\ufeff"))))
}

// shadowed reports locations that never decide, because an earlier one matches everything that they
// match: the first location that matches counts.
func shadowed(locations []preference.Location) []acap.Finding {
	patterns := make([]string, len(locations))
	for i, l := range locations {
		patterns[i] = l.Pattern
	}
	paths := acap.NewPaths(patterns)
	var c acap.Collector
	work := 0
	for i, l := range locations {
		if work += (i + 1) * (1 + strings.Count(l.Pattern, "*")); work > maxShadowing {
			c.Report(l.Field, "lints-cut", acap.Notice, "shorten the file",
				"the file is too complex: further locations that have no effect may not be reported")
			break
		}
		at := witness(l.Pattern)
		if first := paths.First(&at); first >= 0 && first < i {
			c.Report(l.Field, "shadowed-entry", acap.Warning, "put it before the broader location",
				"the location "+locations[first].Pattern+" before it matches all that this matches: this says nothing")
		}
	}
	return c.Findings()
}

// maxShadowing limits the work to compare the locations of a tdmrep.json with earlier ones. The
// unit is about one comparison of a part between asterisks; 3,000 locations with one asterisk need
// less.
const maxShadowing = 10_000_000

// preferenceHeader reports whether the header field with this name contains preferences.
func preferenceHeader(field string) bool {
	return slices.ContainsFunc(preferenceHeaders(), func(name string) bool { return strings.EqualFold(name, field) })
}

func preferenceHeaders() []string {
	return []string{"Content-Usage", "Content-Signal", "TDM-Reservation", "TDM-Policy"}
}

// meantHeader returns the name of a header with preferences that a field name misspells, or "".
func meantHeader(field string) string {
	for _, name := range preferenceHeaders() {
		if slipped(field, name, true) && !strings.EqualFold(field, name) {
			return name
		}
	}
	return ""
}

// linksOf returns the associations with licence documents that Link headers make. lines holds the
// numbers of the header lines with the given values.
func linksOf(values []string, lines []int) (list []acap.Licence, plain []acap.Tag) {
	if len(values) == 0 {
		return nil, nil
	}
	p := page.New([]page.Hop{{URL: "https://robots.invalid/", Status: http.StatusOK,
		Header: http.Header{"Link": values}}})
	list, plain = p.Own().Licences, p.PlainLicences()
	for i := range list {
		list[i].Line = lines[list[i].Line-1]
	}
	for i := range plain {
		plain[i].Line = lines[plain[i].Line-1]
	}
	return list, plain
}

// withoutUnread returns the associations without those whose document is not known.
func withoutUnread(list []acap.Licence) []acap.Licence {
	return slices.DeleteFunc(slices.Clone(list), func(l acap.Licence) bool {
		return l.URL != "" && l.Err == acap.LicenceNotRead
	})
}

// embedded checks the licence documents that a page contains. It returns the associations without
// those that have findings, and the findings.
func embedded(name string, list []acap.Licence, at *url.URL, o Options) (others []acap.Licence, found []acap.Finding) {
	for _, l := range list {
		if l.URL != "" || l.Text == nil {
			others = append(others, l)
			continue
		}
		of := preference.CheckLicence(preference.LicenceText{Name: name, Text: l.Text, Line: l.Line, Column: l.Column,
			Naming: preference.InPage, Root: at}, o.Vocabularies)
		if found = append(found, of...); len(of) == 0 {
			others = append(others, l)
		}
	}
	return others, found
}

// numberedLinks gives the associations by Link headers the numbers that their lines have when they
// follow the given header lines.
func numberedLinks(list []acap.Licence, plain []acap.Tag, lines []string) ([]acap.Licence, []acap.Tag, []string) {
	list, plain = slices.Clone(list), slices.Clone(plain)
	number := map[int]int{}
	renumber := func(t *acap.Tag) {
		if t.Source != acap.Header {
			return
		}
		if number[t.Line] == 0 {
			lines = append(lines, t.Name+": "+t.Content)
			number[t.Line] = len(lines)
		}
		t.Line = number[t.Line]
	}
	for i := range list {
		renumber(&list[i].Tag)
	}
	for i := range plain {
		renumber(&plain[i])
	}
	return list, plain, lines
}

// withoutType reports associations with licences that look like those of RSL, but have not its
// media type. Other licences, such as those of Creative Commons, are not meant.
func withoutType(name string, plain []acap.Tag) (found []acap.Finding) {
	for _, t := range plain {
		length := utf8.RuneCountInString(t.Content)
		if t.Source == acap.Header {
			length += len(t.Name) + len(": ")
		}
		found = append(found, acap.Finding{Code: "licence-without-type", Severity: acap.Warning, Source: t.Source,
			URL: name, Line: t.Line, Column: t.Column, Length: max(1, length),
			Message: "without the type application/rsl+xml a licence is not read as one of RSL",
			Hint:    `add type="application/rsl+xml"`})
	}
	return found
}
