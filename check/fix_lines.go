package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// move gives the repair of a finding that a line stands in the wrong place, or is missing.
func (t *source) move(f acap.Finding, found []acap.Finding) []Edit {
	told := func(code string) bool {
		return slices.ContainsFunc(found, func(g acap.Finding) bool { return g.Code == code })
	}
	switch f.Code {
	case "late-version": // B03
		if first := t.first(acapField); first > 0 && first < f.Line && t.count(versionField) == 1 {
			return []Edit{t.insert(first, t.body(f.Line)), {t.starts[f.Line-1], t.starts[f.Line], ""}}
		}
	case "late-definition": // E04; where names are defined twice, order says which counts
		if first := t.first(crawlerField); first > 0 && first < f.Line && !told("duplicate-definition") && !told("too-many-findings") {
			return []Edit{t.insert(first, t.body(f.Line)), {t.starts[f.Line-1], t.starts[f.Line], ""}}
		}
	case "version-comment": // B09
		if f.Hint != addVersion {
			return nil
		}
		at := f.Line + 1
		if first := t.first(acapField); first > 0 {
			at = min(at, first)
		}
		return []Edit{t.insert(at, "ACAP-version: 1.1")}
	}
	return nil
}

// addVersion is the hint where a comment claims a version and no field declares one.
const addVersion = "add ACAP-version: 1.1"

const margin = `(?i)^[\pZ\s\x00\x{feff}\x{200b}]*`

var (
	acapField    = regexp.MustCompile(margin + `acap-`)
	versionField = regexp.MustCompile(margin + `acap-version[\pZ\s:\x00\x{feff}\x{200b}]`)
	crawlerField = regexp.MustCompile(margin + `acap-crawler[\pZ\s:\x00\x{feff}\x{200b}]`)
)

// first gives the first line like that, 0 for none.
func (t *source) first(like *regexp.Regexp) int {
	for n := 1; n < len(t.starts); n++ {
		if like.MatchString(t.line(n)) {
			return n
		}
	}
	return 0
}

func (t *source) count(like *regexp.Regexp) (n int) {
	for i := 1; i < len(t.starts); i++ {
		if like.MatchString(t.line(i)) {
			n++
		}
	}
	return n
}

// insert puts a line before line n, or behind the last.
func (t *source) insert(n int, line string) Edit {
	end := "\n"
	if n > 1 || n < len(t.starts) {
		if e := t.line(min(n, len(t.starts)-1)); strings.TrimRight(e, "\r\n") != e {
			end = e[len(strings.TrimRight(e, "\r\n")):]
		}
	}
	at := t.starts[min(n, len(t.starts))-1]
	if n >= len(t.starts) && t.body(n-1) == t.line(n-1) { // the last line has no end
		return Edit{at, at, end + line}
	}
	return Edit{at, at, line + end}
}
