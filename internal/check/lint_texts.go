package check

import (
	"regexp"
	"strings"
	"sync"

	"github.com/acapcrawl/acapcrawl/acap"
)

var fieldNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[\s#])(?:user-agent|disallow|allow|acap-[a-z()-]+)\s*:`)
})

// texts reports fields inside comments, and patterns that no URL can match.
func (l *linter) texts() {
	claim := 0
	for i, line := range l.lines {
		hash := strings.IndexByte(line, '#')
		if hash < 0 {
			continue
		}
		comment := line[hash:min(len(line), hash+maxPlaced)]
		if bare := strings.TrimLeft(comment, "# \t"); claim == 0 && hash == 0 && len(bare) > 4 &&
			strings.EqualFold(bare[:5], "acap ") {
			claim = i + 1
		}
		if strings.Count(comment, ":") > 1 && fieldsIn(comment) > 1 {
			l.tell(l.place(i+1, line[hash:]), "", "swallowed-fields", acap.Warning,
				"write every field on a line of its own", "a comment goes on to the end of its line: the fields in "+
					"it are not read")
		}
	}
	if claim > 0 && len(l.statements) == 0 && len(l.records) == 0 && l.file.Version() == "" {
		l.tell(l.place(claim, l.lines[claim-1]), "", "claim-without-fields", acap.Notice,
			"write ACAP records, or leave the comment out", "a comment mentions ACAP, but the file has no ACAP "+
				"field")
	}
	for i := range l.statements {
		l.backslash(l.statements[i].Field)
	}
	for _, g := range l.groups {
		for _, r := range g.Rules {
			l.backslash(r.Field)
		}
	}
}

// fieldsIn returns the number of fields at the end of a comment. It returns 0 for prose about
// fields: there, further words follow a path or the name of a conventional field.
func fieldsIn(comment string) int {
	found := fieldNames().FindAllStringIndex(comment, -1)
	for i, at := range found {
		end := len(comment)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		words := strings.Fields(comment[at[1]:end])
		qualified := strings.Contains(strings.ToLower(comment[at[0]:at[1]]), "acap-")
		if len(words) > 1 && (!qualified || !strings.ContainsAny(words[len(words)-1], "/*=")) {
			return 0
		}
	}
	return len(found)
}

// backslash reports a backslash in a path. In a query, a backslash is an ordinary character.
func (l *linter) backslash(f *acap.Field) {
	if !strings.Contains(f.Text, `\`) {
		return
	}
	if path, _, _ := strings.Cut(firstWord(f), "?"); !strings.Contains(path, `\`) {
		return
	}
	l.tell(f, firstWord(f), "backslash-in-pattern", acap.Warning, `write / for \`,
		`paths have no \: browsers and crawlers ask for / where a link has one, and this matches none of them`)
}

// place returns a Field for a line that is not a field, so that a finding can point at it.
func (l *linter) place(n int, text string) *acap.Field {
	line := l.lines[n-1]
	f := acap.Field{Source: l.source, URL: l.file.URL, Line: n, Column: 1, Text: strings.TrimSpace(text)}
	if at := strings.Index(line, f.Text); at > 0 {
		f.Column = len([]rune(line[:at])) + 1
	}
	return &f
}
