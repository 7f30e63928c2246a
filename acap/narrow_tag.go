package acap

import (
	"slices"
	"strings"
)

func (n *narrowing) read(page Own) {
	for i := range page.Tags { // P2 2.2.7 (B12): versions are read first, because the order of META tags has no meaning
		t := &page.Tags[i]
		if t.Source != Meta {
			continue
		}
		if addressed, _, _ := n.addressee(t.Name); !addressed {
			continue
		}
		if value, _, ok := versionTag(words(t.Content)); ok {
			n.version = n.version.read(&n.reporter, n.field(t), value)
		}
	}
	n.define(page.Tags)
	for i := range page.Tags {
		t := &page.Tags[i]
		switch {
		case t.Source == Meta:
			n.meta(t)
		case RobotsHeader(t.Name):
			n.header(t)
		}
	}
	n.matchFragments(page.Marks)
	for i := range page.Marks {
		n.mark(&page.Marks[i])
	}
	if m := page.Tangled; m != nil {
		n.tooComplex(n.classField(m))
	}
	if page.Unread != "" {
		n.report(&Field{Source: Meta, URL: page.URL, Line: 1, Column: 1, Scripted: n.scripted}, "too-complex", Error,
			"make the page smaller", "%s: nothing is permitted", page.Unread)
		n.own.discard = &Decision{Reason: ByConflict, Note: page.Unread + ": what it says of itself is not known"}
	}
}

func (n *narrowing) field(t *Tag) *Field {
	text := strings.Join(strings.Fields(t.Content), " ")
	if t.Source == Header {
		text = t.Name + ": " + text
	}
	f := &Field{Source: t.Source, URL: n.url, Line: t.Line, Column: t.Column, Text: text,
		Scripted: n.scripted && t.Source == Meta}
	if n.tags == nil {
		n.tags = map[*Field]*Tag{}
	}
	n.tags[f] = t
	return f
}

func (n *narrowing) classField(m *Mark) *Field {
	return &Field{Source: Class, URL: n.url, Line: m.Line, Column: m.Column, Text: m.Token, Scripted: n.scripted}
}

// addressee reports whether a META name addresses the crawler, whether it names this crawler, and
// whether it is a list of names (P2 2.2.1, N01, X20; P1 2.3.1, C05).
func (n *narrowing) addressee(name string) (addressed, named, list bool) {
	name = strings.TrimSpace(uncurl(name))
	items := strings.Split(name, ",")
	for _, it := range items {
		it = strings.TrimSpace(it)
		switch {
		case strings.EqualFold(it, "robots"):
			addressed = true
		case n.crawler.addresses(it):
			addressed, named = true, true
		}
	}
	return addressed, named, len(items) > 1
}

// uncurl removes typographic quotation marks around a value without blanks (P2 2.1, N14).
func uncurl(s string) string {
	t := strings.Trim(s, "\u201c\u201d\u201e")
	if strings.ContainsAny(t, " \t\r\n") {
		return s
	}
	return t
}

func words(content string) []string { return strings.Fields(uncurl(content)) }

// ours reports whether the content of a META tag is an ACAP statement. It accepts a colon after
// ACAP: "ACAP: disallow-index".
func ours(tokens []string) bool {
	return len(tokens) > 0 && strings.EqualFold(strings.TrimRight(tokens[0], ",:;"), "ACAP")
}

// versionTag reads "ACAP version n.m" and returns the words after it. If a statement follows
// "version" directly, "version" is a purpose (P2 3, B13). Any other word after "version" is a
// malformed version (P1 2.8, B07).
func versionTag(tokens []string) (value string, rest []string, ok bool) {
	if !ours(tokens) || len(tokens) < 2 {
		return "", nil, false
	}
	attempt, ok := cutFold(tokens[1], "version")
	switch {
	case !ok:
		return "", nil, false
	case attempt == "" && len(tokens) > 2 && !isStatement(tokens[2]):
		return strings.TrimRight(tokens[2], ",;"), tokens[3:], true
	case attempt != "" && (attempt[0] == ':' || attempt[0] == '='):
		return attempt, tokens[2:], true
	}
	return "", nil, false
}

func isStatement(token string) bool {
	t := strings.ToLower(token)
	return strings.HasPrefix(t, "allow-") || strings.HasPrefix(t, "disallow-")
}

// meta reads one META tag. The tag contains an ACAP statement or conventional rules.
func (n *narrowing) meta(t *Tag) {
	addressed, named, list := n.addressee(t.Name)
	if !addressed || n.words > maxOwn {
		return
	}
	field := n.field(t)
	content := uncurl(t.Content)
	tokens := strings.Fields(content)
	if n.words += 1 + len(tokens); n.words > maxOwn {
		n.tooComplex(field)
		return
	}
	if content == t.Content && strings.ContainsAny(t.Content, "\u201c\u201d") {
		n.report(field, "typographic-quotes", Error, "use straight quotation marks",
			"typographic quotation marks are part of the value")
	}
	if ours(tokens) {
		if _, rest, ok := versionTag(tokens); !ok {
			n.statement(field, tokens[1:], named, list)
		} else if len(rest) > 0 { // P2 3 (N15): in a statement after a version, only prohibitions have effect
			n.report(field, "mixed-dialects", Error, "write a META tag for each",
				"other words follow the version: only prohibitions in them count")
			n.statement(field, rest, named, true)
		}
		return
	}
	// P2 2.2.1 (X19): if a value mixes ACAP and conventional rules, the prohibitions of both are
	// obeyed
	if i := acapWord(content); i >= 0 {
		n.report(field, "mixed-dialects", Error, "write a META tag for each",
			"ACAP statements and conventional rules are in one tag: only their prohibitions count")
		n.statement(field, strings.FieldsFunc(content[i+len("ACAP"):], separates), named, true)
		content = content[:i]
	}
	n.rules(field, content, false)
}

func separates(r rune) bool { return r == ',' || r == ';' || Blank(r) }

// acapWord returns the offset of the word ACAP in s, or -1 if there is none.
func acapWord(s string) int {
	for i := 1; i+len("ACAP") < len(s); i++ {
		if strings.EqualFold(s[i:i+len("ACAP")], "ACAP") && separates(rune(s[i-1])) &&
			separates(rune(s[i+len("ACAP")])) {
			return i
		}
	}
	return -1
}

// statement reads the tokens after "ACAP" in a META tag (P2 3). Every allow- or disallow- token
// that prohibits makes a separate statement. A permission followed by words that are not qualifiers
// cannot be interpreted (P2 3, N15, X17).
func (n *narrowing) statement(field *Field, tokens []string, named, prohibitionsOnly bool) {
	tokens, ids, listed := cutFragments(tokens)
	first := slices.IndexFunc(tokens, isStatement)
	if first < 0 {
		n.report(field, "unknown-statement", Error, n.nearStatement(tokens), "the tag makes no ACAP statement")
		n.strayRules(field, tokens)
		return
	}
	sub := n.purposes(field, tokens[:first])
	to := audience{sub: sub, allow: sub.reaches(true, n.crawler), deny: sub.reaches(false, n.crawler)}
	for i := first; i < len(tokens); i++ {
		if !isStatement(tokens[i]) {
			continue
		}
		e := n.tagEntry(field, tokens[i:], i > first || prohibitionsOnly)
		if e == nil {
			continue
		}
		e.sub = sub
		var of []string
		if listed {
			of = n.fragments(e, ids)
		}
		n.addStatements(e, named, &to, of)
		if next := i + 1; !e.allow && next < len(tokens) && strings.Contains(tokens[next], "=") {
			n.report(field.at(tokens[next]), "qualified-prohibition", Error, "leave it out",
				"a prohibition takes no qualifiers: it holds without %q", tokens[next])
		}
	}
	n.strayRules(field, tokens[first+1:])
}

// purposes reads the words before the statement in a META tag as usage purposes (P2 2.2.2). It
// returns nil if there are none.
func (n *narrowing) purposes(field *Field, words []string) *subRecord {
	if len(words) == 0 {
		return nil
	}
	sub := &subRecord{}
	for _, w := range words {
		w = strings.TrimSuffix(w, ",")
		sub.purposes = append(sub.purposes, n.pattern(field, w))
		// P2 2.2.1 (X19): a conventional prohibition is obeyed at any place in a META tag
		if conventionalRules[strings.ToLower(w)] != 0 {
			n.rules(field, w, false)
		}
	}
	if len(words) > 1 {
		n.report(field.at(words[1]), "several-purposes", Warning, "write a META tag for each purpose",
			"the statement names more than one purpose: it is made for each")
	}
	return sub
}

// tagEntry reads the statement at the beginning of tokens. It returns nil for a permission that has
// no effect. If prohibitionsOnly is true, no permission has effect.
func (n *narrowing) tagEntry(field *Field, tokens []string, prohibitionsOnly bool) *entry {
	token, rest := strings.ToLower(strings.TrimSuffix(tokens[0], ",")), tokens[1:]
	e := &entry{field: field}
	e.name(token)
	n.local(e)
	switch {
	case !e.allow:
		return e
	// P2 3 (N15), P2 2.2.1 (X20): a permission after another statement, or for a list of crawlers,
	// has no effect
	case prohibitionsOnly:
		n.report(field.at(token), "stray-permission", Error, "write a META tag for each statement",
			"the permission %q does not count", token)
		return nil
	case strings.HasSuffix(tokens[0], ","):
		n.report(field.at(token), "stray-comma", Error, "leave the comma out",
			"a comma follows %q: the permission counts as a prohibition", token)
		e.broken = true
	}
	// P2 2.2.2 (N16): the words after an unknown usage are the qualifiers of the usage, unless the
	// words contain another statement
	if Usage(e.usage).kind() != noKind || e.local || !slices.ContainsFunc(rest, isStatement) {
		e.value = strings.Join(rest, " ")
	}
	return e
}

// nearStatement returns a hint for words that are not a statement: the most similar statement, or
// how to write one.
func (n *narrowing) nearStatement(words []string) string {
	if n.muted || n.reporter.full() {
		return ""
	}
	for _, w := range words[:min(len(words), 8)] {
		if best := Nearest(strings.ToLower(w), statementWords()); best != "" {
			return "did you mean " + best + "?"
		}
	}
	return "write allow- or disallow- and a usage type, such as disallow-index"
}

func statementWords() []string {
	words := make([]string, 0, 2*kinds)
	for _, u := range usageNames {
		words = append(words, "allow-"+string(u), "disallow-"+string(u))
	}
	return words
}

// strayRules obeys conventional prohibitions within an ACAP statement (P2 3, N15; P2 2.2.1, X19).
func (n *narrowing) strayRules(field *Field, tokens []string) {
	var stray []string
	for _, t := range tokens {
		if !strings.Contains(t, "=") && !isStatement(t) {
			stray = append(stray, t)
		}
	}
	n.rules(field, strings.Join(stray, " "), false)
}
