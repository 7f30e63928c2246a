package acap

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// conventionalNames maps the names of conventional lines, and common misspellings, to the correct
// names.
var conventionalNames = map[string]string{
	"user-agent": "user-agent", "useragent": "user-agent", "user agent": "user-agent",
	"allow": "allow", "disallow": "disallow", "dissallow": "disallow", "dissalow": "disallow", "disalow": "disallow",
	"diasllow": "disallow", "disallaw": "disallow",
	"crawl-delay": "crawl-delay", "crawldelay": "crawl-delay", "sitemap": "sitemap", "site-map": "sitemap",
}

// statement returns a line without comment, outer blanks and version mark. at is the offset of the
// result in the line; cut is the offset of the comment.
func (p *parser) statement(n int, line string) (trimmed string, at, cut int) {
	text := line
	hash := strings.IndexByte(line, '#')
	if hash >= 0 { // P1 2.2.1 (A02): a comment may begin anywhere in a line
		text = line[:hash]
		p.claim(n, line[hash:])
	}
	trimmed = trimLeft(text)
	at = len(text) - len(trimmed)
	trimmed = trimRight(trimmed)
	if rest, ok := cutFold(trimmed, "[V1.1]"); ok { // P1 2.5.3.1 (A08): the mark [V1.1] before a field is ignored
		f := p.fieldAt(n, line, at)
		f.Text = trimmed[:len(trimmed)-len(rest)]
		p.report(&f, "version-marker", Warning, "leave the mark out",
			"[V1.1] is a mark of the specification's text, not part of a field")
		rest = trimLeft(rest)
		at += len(trimmed) - len(rest)
		trimmed = rest
	}
	return trimmed, at, len(text)
}

// preferenceLine reports whether a line with this name, in lower case, belongs to a newer
// vocabulary.
func preferenceLine(name string) bool {
	return name == "content-usage" || name == "content-signal" || name == "content-signals" || name == "license"
}

// meantPreference returns the name of a line of a newer vocabulary that differs from name by at
// most two characters, or "".
func meantPreference(name string) string {
	for _, known := range []string{"Content-Usage", "Content-Signal", "License"} {
		if editDistance(name, strings.ToLower(known), 3) < 3 {
			return known
		}
	}
	return ""
}

// Blank reports whether r separates words: white space, or an invisible mark that some editors
// insert (P1 3, A17).
func Blank(r rune) bool {
	return unicode.IsSpace(r) || r == '\ufeff' || r == '\u200b' || r == 0
}

// SpeaksACAP reports whether a line begins like an ACAP field. Blanks (P1 3, A17) and a version
// marker (P1 2.5.3.1, A08) may come before it.
func SpeaksACAP(line string) bool {
	line = strings.TrimLeftFunc(line, Blank)
	if len(line) > 6 && strings.EqualFold(line[:6], "[V1.1]") {
		line = strings.TrimLeftFunc(line[6:], Blank)
	}
	return len(line) > 5 && strings.EqualFold(line[:5], "ACAP-")
}

// trimLeft and trimRight remove blanks. They are fast for the usual cases: no blanks, or ASCII
// blanks.
func trimLeft(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	if s == "" || s[0] > ' ' && s[0] < utf8.RuneSelf {
		return s
	}
	return strings.TrimLeftFunc(s, Blank)
}

func trimRight(s string) string {
	if s == "" || s[len(s)-1] > ' ' && s[len(s)-1] < utf8.RuneSelf {
		return s
	}
	return strings.TrimRightFunc(s, Blank)
}

// split splits a line into name and value. It is fast if the name is the same as on the line
// before, which is usual.
func (p *parser) split(s string) (name, value string, colon bool) {
	if n := len(p.name); n > 0 && n < len(s) && s[n] == ':' && s[:n] == p.name {
		return s[:n], trimLeft(s[n+1:]), true
	}
	name, value, colon = splitField(s)
	p.name = name
	p.lower, p.plain = lowerName(name)
	return name, value, colon
}

// splitField splits a line at its colon, or else at the first blank.
func splitField(s string) (name, value string, colon bool) {
	i := 0
	for i < len(s) && s[i] != ':' && s[i] > ' ' && s[i] < utf8.RuneSelf {
		i++
	}
	if i < len(s) && s[i] != ':' {
		i = strings.IndexFunc(s, func(r rune) bool { return r == ':' || Blank(r) })
	}
	if i < 0 || i == len(s) {
		return s, "", false
	}
	rest := trimLeft(s[i:])
	if after, ok := strings.CutPrefix(rest, ":"); ok {
		return s[:i], trimLeft(after), true
	}
	if agent, ok := cutFold(s, "user agent"); ok {
		if after, ok := strings.CutPrefix(trimLeft(agent), ":"); ok {
			return s[:len("user agent")], trimLeft(after), true
		}
	}
	return s[:i], rest, false
}

// startsWithQualifier reports whether a line starts like a qualifier: a name, then "=".
func startsWithQualifier(s string) bool {
	i := strings.IndexByte(s, '=')
	if i <= 0 {
		return false
	}
	name := strings.TrimRight(s[:i], " \t")
	return name != "" && isName(name)
}

// isName reports whether s is a name: name-start-char *name-char (P1 3).
func isName(s string) bool {
	if s == "" || !(s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z') {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !nameChar(s[i]) {
			return false
		}
	}
	return true
}

// recordFields are the ACAP fields that do not name a usage.
var recordFields = []string{"acap-version", "acap-crawler", "acap-permissions-reference", "acap-usage-purpose",

	"acap-qualified-usage",
	"acap-composite-usage", "acap-resource-set", "acap-request-take-down", "acap-request-re-crawl", ignoreDirective}

// known reports whether a word that is not followed by a colon is a complete ACAP field name (P1
// 2.5.3.2, A05, X54).
func known(lower string) bool {
	for _, verb := range []string{"acap-allow-", "acap-disallow-"} {
		if usage, ok := strings.CutPrefix(lower, verb); ok {
			return Usage(usage).Standard() || len(usage) > 2 && usage[0] == '(' && usage[len(usage)-1] == ')'
		}
	}
	return contains(recordFields, lower)
}

// conventionalFields returns the conventional fields that have an effect.
func conventionalFields() []string {
	return []string{"User-agent", "Allow", "Disallow", "Crawl-delay", "Sitemap"}
}

func fieldNames() []string {
	names := append([]string(nil), recordFields...)
	for _, u := range usageNames {
		names = append(names, "acap-allow-"+string(u), "acap-disallow-"+string(u))
	}
	return names
}
