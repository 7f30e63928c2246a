package second

import (
	"regexp"
	"strings"
)

// line is one field of a robots.txt file: the name in lower case, the value, and the number of the
// line.
type line struct {
	name, value string
	number      int
	bare        bool // the line has no colon
	continued   bool // the next line begins with a qualifier and continues this field (P1 2.4.1.2, A07)
}

// readLines splits a file into its fields. Lines end at CRLF, LF or CR, a byte-order mark is
// ignored, and a hash starts a comment anywhere. P1 3 (A01, A17), P1 2.2.1 (A02).
func readLines(body string) []line {
	body = strings.TrimPrefix(body, "\ufeff")
	body = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body)
	var out []line
	for i, s := range strings.Split(body, "\n") {
		s, _, _ = strings.Cut(s, "#")
		s = strings.Trim(s, " \t")
		// A08: the marker [V1.1] of the specification's own examples is removed
		if rest, ok := cutFold(s, "[v1.1]"); ok {
			s = strings.Trim(rest, " \t")
		}
		if s == "" {
			continue
		}
		if startsWithQualifier(s) {
			if len(out) > 0 {
				out[len(out)-1].continued = true
			}
			continue
		}
		if f, ok := readField(s); ok {
			f.number = i + 1
			out = append(out, f)
		}
	}
	return out
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

var qualifierStart = regexp.MustCompile(`^[A-Za-z][-A-Za-z]*[ \t]*=`)

func startsWithQualifier(s string) bool {
	return qualifierStart.MatchString(s)
}

// readField splits a line at its colon. A known ACAP field name followed by a blank counts as a
// field without its colon. P1 2.5.3.2 (A05, X54).
func readField(s string) (line, bool) {
	end := strings.IndexAny(s, ": \t")
	if end < 0 {
		name := strings.ToLower(s)
		// P1 3 (A10): a line with only a known field name has an empty value
		return line{name: name, bare: !knownField(name)}, true
	}
	name := strings.ToLower(s[:end])
	rest := strings.TrimLeft(s[end:], " \t")
	if after, ok := strings.CutPrefix(rest, ":"); ok {
		return line{name: name, value: strings.Trim(after, " \t")}, true
	}
	if knownField(name) {
		return line{name: name, value: rest}, true
	}
	return line{}, false
}

func knownField(name string) bool {
	switch name {
	case "acap-crawler", "acap-version", "acap-qualified-usage", "acap-composite-usage", "acap-resource-set",
		"acap-usage-purpose", "acap-permissions-reference", "acap-request-take-down", "acap-request-re-crawl":
		return true
	}
	usage, ok := strings.CutPrefix(name, "acap-allow-")
	if !ok {
		usage, ok = strings.CutPrefix(name, "acap-disallow-")
	}
	return ok && (isUsage(usage) || strings.HasPrefix(usage, "(") && strings.HasSuffix(usage, ")"))
}

func isUsage(s string) bool {
	for _, u := range usages() {
		if s == u {
			return true
		}
	}
	return false
}
