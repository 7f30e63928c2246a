package check

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Limits on the work for a hostile file. The unit is one examination of a field, rule or question.
// A normal file of acap.MaxSize bytes needs less than half of the maximum work.
const (
	maxWork    = 1_000_000
	maxTold    = 50 // findings reported for one code
	maxPlaced  = 16 << 10
	maxQuoted  = 120
	maxAskedOf = 20 // crawlers for which a statement about any crawler is tested
)

// lint returns findings about text that is correct but does not do what its author may expect. It
// never decides itself which field wins: it asks package acap about a URL that all relevant fields
// cover. It reports a finding only if the same must be true for every other URL that the field
// covers.
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
		l.put(top, "", "lints-cut", acap.Notice, "shorten the file",
			"the file is too complex: some fields that have no effect or contradict each other may not be reported")
	}
	return l
}

// wholeFile holds the codes of errors that concern a file as a whole and are reported at its first
// line.
var wholeFile = []string{"not-text", "too-complex", "too-long", "too-many-findings", "wrong-encoding"}

// independentOf returns the findings of the linter that do not follow from a mistake reported in
// found. If a field is not read as its author wrote it, findings that compare it with other fields
// are left out: it may be enough to correct this field.
func (l *linter) independentOf(found []acap.Finding) []acap.Finding {
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
		// the group applies to the crawler with the empty name, so the finding would be misleading
		if f.Code == "empty-group" && nobody[f.Line] {
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
	at         map[*acap.Field]int // index of each field's statement in statements; computed when it is needed
	// the audience of each statement, in the order of statements; nil for a statement without
	// crawlers
	audiences []*audience
	records   []acap.Record
	groups    []acap.Group
	lines     []string
	policies  map[string]*acap.Policy
	permits   map[acap.Usage][]permit // all permissions, by family of usages
	// twins holds the patterns of conventional rules. P1 2.10.2 (O04, X72): a field about crawl
	// with the same pattern as a rule may cancel the rule, or prevent another field from cancelling
	// it.
	twins map[string]bool
	first map[string]*acap.Field // the first User-agent line for each crawler name
	// refused holds the patterns of ACAP prohibitions of crawl. P1 2.10.2 (O04): they cancel an
	// Allow rule with the same pattern.
	refused  map[string]bool
	refusals openings        // the beginnings of patterns that prohibit crawl
	ended    map[string]bool // local usages whose permissions were already checked by limited
	starred  int             // number of patterns with asterisks
	marked   bool            // a pattern contains the placeholder (constant mark) of example paths; see witness

	findings []acap.Finding
	compared [][]int // for each of findings, the numbers of the other lines in the comparison
	told     map[string]int
	work     int
	cut      bool
}

func newLinter(f *acap.File, o Options) *linter {
	l := &linter{
		file: f, options: o, source: acap.Robots, statements: f.Statements(), records: f.Records(), groups: f.Groups(),
		lines:    f.Lines(),
		policies: map[string]*acap.Policy{}, permits: map[acap.Usage][]permit{}, twins: map[string]bool{},
		refused: map[string]bool{},
		first:   map[string]*acap.Field{}, ended: map[string]bool{}, told: map[string]int{},
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

// index returns the index of the statement of f in statements, or -1 if f has none.
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

// looks adds n to the work done, and returns false if the limit is reached.
func (l *linter) looks(n int) (ok bool) {
	l.work += n
	if l.work > maxWork {
		l.cut = true
	}
	return l.work <= maxWork
}

// tell adds a finding about a token of a field, or about the whole field if token is "". A field in
// args is written as its line number, and is stored as one of the compared lines.
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
	fi := acap.Finding{Code: code, Severity: severity, Source: f.Source, URL: f.URL, Line: f.Line,
		Message: fmt.Sprintf(format, args...), Hint: hint}
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

// shortened cuts a long word without splitting a character.
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

// firstWord returns the first word after the colon of a field.
func firstWord(f *acap.Field) string {
	if _, behind, ok := strings.Cut(f.Text, ":"); ok {
		if words := strings.Fields(behind); len(words) > 0 {
			return words[0]
		}
	}
	return ""
}

// audience is the set of crawlers and purposes that a record or sub-record addresses.
type audience struct {
	key      string
	any      bool
	names    []string
	purposes []string
}

// address computes the audience of every statement.
func (l *linter) address() {
	l.audiences = make([]*audience, len(l.statements))
	known := map[string]*audience{}
	for i, s := range l.statements {
		switch {
		case len(s.Crawlers) == 0 || len(s.Usages) == 0:
			continue
		case i > 0 && l.audiences[i-1] != nil && same(s.Crawlers, l.statements[i-1].Crawlers) &&
			same(s.Purposes, l.statements[i-1].Purposes):
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

// same reports whether two lists are equal.
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

// crawler returns one crawler of the audience. It has the first name of the audience, or no name if
// the audience is any crawler. It has the first purpose, if there are purposes.
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

// named returns the crawler with the given name. P1 2.3.1 (C05): a version after a crawler name is
// not part of the name.
func named(name string) acap.Crawler {
	token, _, _ := strings.Cut(name, "/")
	return acap.Crawler{Names: []string{strings.TrimSpace(token)}}
}

// policy returns the policy of the file for the crawler c, and stores it for later calls. It
// returns nil if the limit on work is reached.
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
