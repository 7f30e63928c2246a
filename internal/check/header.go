package check

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// Header checks the robots headers of a recorded response: lines "Name: value", optionally after a
// status line. An empty line ends the header; another may follow.
func (r *Report) Header(name string, src []byte, o Options, robots *acap.File, refs ...acap.Reference) {
	lines := splitLines(strings.ToValidUTF8(strings.TrimPrefix(string(src), "\ufeff"), "\ufffd"))
	var found []acap.Finding
	own := acap.Own{URL: somewhere}
	var links []string      // the values of Link lines
	var linkLines []int     // the numbers of these lines
	values := map[int]int{} // the offset of each line's value, by line number
	end := func() {
		list, plain := linksOf(links, linkLines)
		own.Licences = withoutUnread(list)
		for _, f := range append(r.ofOwn(name, own, o, robots, refs), withoutType(name, plain)...) {
			// columns are counted as if one blank followed the colon
			if at := utf8.RuneCountInString(headerName(lines[f.Line-1])) + len(": "); f.Column > at {
				f.Column += values[f.Line] - at
			}
			f.URL = name
			found = append(found, f)
		}
		own.Tags, own.Image, links, linkLines = nil, false, nil, nil
	}
	for i, line := range lines {
		field, value, ok := strings.Cut(line, ":")
		switch {
		case strings.TrimSpace(line) == "":
			end()
			continue
		case strings.HasPrefix(strings.ToUpper(line), "HTTP/"):
			continue
		case !ok || field == "" || strings.ContainsAny(field, " \t<"):
			r.note("%s:%d: the line is no header field and was not checked", name, i+1)
			continue
		}
		if meant := meantName(field, o); meant != "" {
			found = append(found, ofMisspelt(name, field, meant, i+1))
		}
		if strings.EqualFold(field, "Content-Type") {
			own.Image = strings.HasPrefix(strings.ToLower(strings.TrimSpace(value)), "image/")
		}
		link := strings.EqualFold(field, "Link") && preference.Reads(o.Vocabularies, rslName)
		if !carries(field, o) && !link {
			continue
		}
		content := strings.TrimSpace(value)
		values[i+1] = utf8.RuneCountInString(line) - utf8.RuneCountInString(strings.TrimLeft(value, " \t"))
		if link {
			links, linkLines = append(links, content), append(linkLines, i+1)
			continue
		}
		own.Tags = append(own.Tags, acap.Tag{Source: acap.Header, Name: field, Content: content, Line: i + 1,
			Column: 1})
	}
	end()
	r.Add(Text{Name: name, Kind: HeaderKind, Lines: lines}, found...)
}

func headerName(line string) string {
	name, _, _ := strings.Cut(line, ":")
	return name
}

// carries reports whether the header field with this name contains rules for crawlers, or
// preferences in a vocabulary that is in force.
func carries(field string, o Options) bool {
	return acap.RobotsHeader(field) || o.Vocabularies != nil && preferenceHeader(field)
}

// meantName returns the name of a header with rules for crawlers if the name of a header field
// looks like it but is another one; otherwise "".
func meantName(field string, o Options) string {
	switch {
	case acap.RobotsHeader(field):
		return ""
	case strings.Contains(strings.ToLower(field), "robot"):
		return "X-Robots-Tag"
	case o.Vocabularies == nil:
		return ""
	}
	return meantHeader(field)
}

func ofMisspelt(name, field, meant string, line int) acap.Finding {
	return acap.Finding{Code: "misspelt-header", Severity: acap.Warning, Source: acap.Header, URL: name, Line: line,
		Column: 1, Length: utf8.RuneCountInString(field),
		Message: fmt.Sprintf("crawlers know no header %s: it does not count", field), Hint: "write " + meant}
}
