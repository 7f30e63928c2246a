package check

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Header checks the robots headers of a recorded response: lines "Name: value", optionally after a
// status line. An empty line ends the header; another may follow.
func (r *Report) Header(name string, src []byte, o Options, robots *acap.File, refs ...acap.Reference) {
	lines := splitLines(strings.ToValidUTF8(strings.TrimPrefix(string(src), "\ufeff"), "\ufffd"))
	var found []acap.Finding
	own := acap.Own{URL: somewhere}
	values := map[int]int{} // the offset of each line's value, by line number
	end := func() {
		for _, f := range r.ofOwn(name, own, o, robots, refs) {
			// columns are counted as if one blank followed the colon
			if at := utf8.RuneCountInString(headerName(lines[f.Line-1])) + len(": "); f.Column > at {
				f.Column += values[f.Line] - at
			}
			f.URL = name
			found = append(found, f)
		}
		own.Tags = nil
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
		if misspelt(field) {
			found = append(found, ofMisspelt(name, field, i+1))
		}
		if !carries(field) {
			continue
		}
		content := strings.TrimSpace(value)
		values[i+1] = utf8.RuneCountInString(line) - utf8.RuneCountInString(strings.TrimLeft(value, " \t"))
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

// carries reports whether the header field with this name contains rules for crawlers.
func carries(field string) bool {
	return strings.EqualFold(field, "X-Robots-Tag") || strings.EqualFold(field, "Robots-Tag")
}

// misspelt reports whether the name of a header field looks like the name of one with rules for
// crawlers, but is not such a name.
func misspelt(field string) bool {
	return strings.Contains(strings.ToLower(field), "robot") && !carries(field)
}

func ofMisspelt(name, field string, line int) acap.Finding {
	return acap.Finding{Code: "misspelt-header", Severity: acap.Warning, Source: acap.Header, URL: name, Line: line,
		Column: 1, Length: utf8.RuneCountInString(field),
		Message: fmt.Sprintf("crawlers know no header %s: it does not count", field), Hint: "write X-Robots-Tag"}
}
