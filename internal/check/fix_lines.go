package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/acap"
)

// move returns the edits that correct a finding about a line that is at the wrong place, or that is
// missing.
func (t *source) move(f acap.Finding, found []acap.Finding) []Edit {
	told := func(code string) bool {
		return slices.ContainsFunc(found, func(g acap.Finding) bool { return g.Code == code })
	}
	switch f.Code {
	case "late-version": // P1 2.8 (B03): a version field is obeyed at any place, but it should be the first field
		if first := t.first(acapField); first > 0 && first < f.Line && t.count(versionField) == 1 {
			return []Edit{t.insert(first, t.body(f.Line)), {t.starts[f.Line-1], t.starts[f.Line], ""}}
		}
	// P1 2.2.1 (E04): a definition may come after its use; two definitions of one name keep their
	// order
	case "late-definition":
		if first := t.first(crawlerField); first > 0 && first < f.Line && !told("duplicate-definition") &&
			!told("too-many-findings") {
			return []Edit{t.insert(first, t.body(f.Line)), {t.starts[f.Line-1], t.starts[f.Line], ""}}
		}
	case "version-comment": // P1 2.1 (B09): a version in a comment is not a declaration
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

// addVersion is the hint of a finding about a comment with a version that no field declares.
const addVersion = "add ACAP-version: 1.1"

const (
	margin       = `[\pZ\s\x00\x{feff}\x{200b}]`
	acapField    = `(?i)^` + margin + `*acap-`
	versionField = acapField + `version(:|` + margin + `)`
	crawlerField = acapField + `crawler(:|` + margin + `)`
)

// first returns the number of the first line that expression, a regular expression, matches; 0 if it matches none.
func (t *source) first(expression string) int {
	like := regexp.MustCompile(expression)
	for n := 1; n < len(t.starts); n++ {
		if like.MatchString(t.line(n)) {
			return n
		}
	}
	return 0
}

func (t *source) count(expression string) (n int) {
	like := regexp.MustCompile(expression)
	for i := 1; i < len(t.starts); i++ {
		if like.MatchString(t.line(i)) {
			n++
		}
	}
	return n
}

// insert returns the edit that adds a line before line n, or after the last line.
func (t *source) insert(n int, line string) Edit {
	end := "\n"
	if n > 1 || n < len(t.starts) {
		if e := t.line(min(n, len(t.starts)-1)); strings.TrimRight(e, "\r\n") != e {
			end = e[len(strings.TrimRight(e, "\r\n")):]
		}
	}
	at := t.starts[min(n, len(t.starts))-1]
	if n >= len(t.starts) && t.body(n-1) == t.line(n-1) { // the last line has no line end
		return Edit{at, at, end + line}
	}
	return Edit{at, at, line + end}
}
