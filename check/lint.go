package check

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Bounds on what lint does with a hostile file. Work is counted in looks at one field, rule or question; an honest file of acap.MaxSize
// makes less than half of it.
const (
	maxWork    = 1_000_000
	maxTold    = 50 // findings of one code
	maxPlaced  = 16 << 10
	maxQuoted  = 120
	maxAskedOf = 20 // crawlers that a statement about any crawler is tried with
)

// lint finds what is written as it is meant to be and still does not do what its author may expect. It never works out by itself which
// field prevails: it asks the engine about a URL that all fields cover which could matter, and claims something only where the answer
// must be the same for every other URL of the field.
func lint(f *acap.File, o Options) *linter {
	l := newLinter(f, o)
	l.fields()
	l.rules()
	l.permissions()
	l.heads()
	l.texts()
	l.drifting()
	if l.cut {
		top := &acap.Field{Source: l.source, URL: f.URL, Line: 1, Column: 1}
		l.put(top, "", "lints-cut", acap.Notice, "shorten the file", "there is too much to look at: not all is told about fields that have no effect or contradict each other")
	}
	return l
}

// wholeFile are the codes of errors that concern a file as a whole and are placed at its first
// line.
var wholeFile = []string{"not-text", "too-complex", "too-long", "too-many-findings", "wrong-encoding"}

// beside returns the findings of l without those that may be caused by a mistake in found: if one
// of the compared fields is not read as it is written, correcting that field may be enough.
func (l *linter) beside(found []acap.Finding) []acap.Finding {
	misread, nobody := map[int]bool{}, map[int]bool{}
	for _, f := range found {
		if f.URL == l.file.URL && f.Code == "agent-name" && f.Severity == acap.Warning {
			nobody[f.Line] = true
		}
		if f.URL == l.file.URL && (f.Severity == acap.Error || f.Code == "hash-in-value") &&
			!slices.Contains(wholeFile, f.Code) {
			misread[f.Line] = true
		}
	}
	var out []acap.Finding
	for i, f := range l.findings {
		compared := l.compared[i]
		if f.Code == "empty-group" && nobody[f.Line] { // it says what the crawler of that name may do
			continue
		}
		if len(compared) == 0 || !misread[f.Line] &&
			!slices.ContainsFunc(compared, func(line int) bool { return misread[line] }) {
			out = append(out, f)
		}
	}
	return out
}

type linter struct {
	file       *acap.File
	options    Options
	source     acap.Source
	statements []acap.Statement
	at         map[*acap.Field]int // of statements, once somebody asks
	audiences  []*audience         // beside statements; nil for those that are addressed to nobody
	records    []acap.Record
	groups     []acap.Group
	lines      []string
	policies   map[string]*acap.Policy
	permits    map[acap.Usage][]permit // what permits, by family
	twins      map[string]bool         // patterns of conventional rules: a field of crawl may cancel one, or keep it from being cancelled (O04, X72)
	first      map[string]*acap.Field  // of the User-agent lines with a name
	refused    map[string]bool         // patterns that ACAP fields refuse to crawl: they cancel an Allow (O04)
	refusals   openings                // of what prohibits crawling
	ended      map[string]bool         // names of fields that permit a local usage and were looked at
	starred    int                     // patterns with asterisks
	marked     bool                    // a pattern holds the mark of witness

	findings []acap.Finding
	compared [][]int // beside findings: the lines of the fields that a finding compares its own with
	told     map[string]int
	work     int
	cut      bool
}

func newLinter(f *acap.File, o Options) *linter {
	l := &linter{
		file: f, options: o, source: acap.Robots, statements: f.Statements(), records: f.Records(), groups: f.Groups(), lines: f.Lines(),
		policies: map[string]*acap.Policy{}, permits: map[acap.Usage][]permit{}, twins: map[string]bool{}, refused: map[string]bool{},
		first: map[string]*acap.Field{}, ended: map[string]bool{}, told: map[string]int{},
	}
	switch {
	case len(l.records) > 0:
		l.source = l.records[0].Heads[0].Source
	case len(l.groups) > 0:
		l.source = l.groups[0].Heads[0].Source
	}
	l.address()
	l.permitted()
	return l
}

// index is the place of the statement of f, -1 where it has none.
func (l *linter) index(f *acap.Field) int {
	if l.at == nil {
		l.at = make(map[*acap.Field]int, len(l.statements))
		for i := range l.statements {
			l.at[l.statements[i].Field] = i
		}
	}
	if i, ok := l.at[f]; ok {
		return i
	}
	return -1
}

// looks counts work; without ok there has been enough.
func (l *linter) looks(n int) (ok bool) {
	l.work += n
	if l.work > maxWork {
		l.cut = true
	}
	return l.work <= maxWork
}

// tell notes a finding about a token of a field, or about all of it. An argument that is a field is
// written as its line, and the finding is taken to compare the two.
func (l *linter) tell(f *acap.Field, token, code string, severity acap.Severity, hint, format string, args ...any) {
	if l.told[code]++; l.told[code] > maxTold {
		l.cut = true
		return
	}
	l.put(f, token, code, severity, hint, format, args...)
}

func (l *linter) put(f *acap.Field, token, code string, severity acap.Severity, hint, format string, args ...any) {
	var compared []int
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = shortened(a)
		case *acap.Field:
			args[i], compared = a.Line, append(compared, a.Line)
		}
	}
	fi := acap.Finding{Code: code, Severity: severity, Source: f.Source, URL: f.URL, Line: f.Line, Message: fmt.Sprintf(format, args...), Hint: hint}
	text := f.Text[:min(len(f.Text), maxPlaced)]
	from := 0
	if i := strings.LastIndex(text, token); i > 0 && token != "" {
		from, text = i, token
	}
	fi.Column = f.Column + utf8.RuneCountInString(f.Text[:from])
	fi.Length = max(1, utf8.RuneCountInString(text))
	l.findings = append(l.findings, fi)
	l.compared = append(l.compared, compared)
}

// shortened cuts a long word at a whole character.
func shortened(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	end := maxQuoted
	for end > maxQuoted-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// firstWord is the first word behind the colon of a field: what it names.
func firstWord(f *acap.Field) string {
	if _, behind, ok := strings.Cut(f.Text, ":"); ok {
		if words := strings.Fields(behind); len(words) > 0 {
			return words[0]
		}
	}
	return ""
}

// audience is to whom a record or sub-record speaks.
type audience struct {
	key      string
	any      bool
	names    []string
	purposes []string
}

// address finds the audience of every statement.
func (l *linter) address() {
	l.audiences = make([]*audience, len(l.statements))
	known := map[string]*audience{}
	for i, s := range l.statements {
		switch {
		case len(s.Crawlers) == 0 || len(s.Usages) == 0:
			continue
		case i > 0 && l.audiences[i-1] != nil && same(s.Crawlers, l.statements[i-1].Crawlers) && same(s.Purposes, l.statements[i-1].Purposes):
			l.audiences[i] = l.audiences[i-1]
			continue
		}
		if !l.looks(len(s.Crawlers) + len(s.Purposes)) {
			return
		}
		key := keyOf(s.Crawlers) + "\x00" + keyOf(s.Purposes)
		a := known[key]
		if a == nil {
			a = &audience{key: key, purposes: s.Purposes}
			for _, n := range s.Crawlers {
				if n == "*" {
					a.any = true
				} else {
					a.names = append(a.names, n)
				}
			}
			known[key] = a
		}
		l.audiences[i] = a
	}
}

// same reports whether two lists are one and the same, or look so.
func same(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || len(a) < 4 && slices.Equal(a, b))
}

func keyOf(words []string) string {
	if len(words) == 1 {
		return strings.ToLower(words[0])
	}
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = strings.ToLower(w)
	}
	slices.Sort(lower)
	return strings.Join(slices.Compact(lower), "\n")
}

// crawler is one that the audience means: by its first name, or any other; declaring a purpose that its first purpose covers, or that it
// has none.
func (a *audience) crawler() acap.Crawler {
	c := acap.Crawler{Purposes: []string{}}
	if !a.any {
		c = named(a.names[0])
		c.Purposes = []string{}
	}
	if len(a.purposes) > 0 {
		c.Purposes = []string{strings.TrimSuffix(strings.ReplaceAll(a.purposes[0], "*", "x"), "$")}
	}
	return c
}

// named is the crawler that a name means; a version behind it is no part of it (C05).
func named(name string) acap.Crawler {
	token, _, _ := strings.Cut(name, "/")
	return acap.Crawler{Names: []string{strings.TrimSpace(token)}}
}

// policy is what the file says to c, asked for once. Nil: there has been enough work.
func (l *linter) policy(c acap.Crawler) *acap.Policy {
	key := keyOf(c.Names) + "\x00" + keyOf(c.Purposes)
	if p, ok := l.policies[key]; ok {
		return p
	}
	if !l.looks(len(l.records) + len(l.groups)) {
		return nil
	}
	part := l.file.For(c)
	if !l.looks(12 * part.Size()) {
		return nil
	}
	p := part.Policy(c)
	l.policies[key] = p
	return p
}
