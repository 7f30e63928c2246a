package second

import (
	"regexp"
	"strings"
)

// A line is one field of a robots.txt file: its name in lower case, its value, its number.
type line struct {
	name, value string
	number      int
	bare        bool // without a colon
	continued   bool // the next line starts with a qualifier (A07)
}

// readLines splits a file into its fields. Lines end at CRLF, LF or CR (A01), a byte-order mark
// does not count (A17), and a hash ends a line anywhere (A02).
func readLines(body string) []line {
	body = strings.TrimPrefix(body, "\ufeff")
	body = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body)
	var out []line
	for i, s := range strings.Split(body, "\n") {
		s, _, _ = strings.Cut(s, "#")
		s = strings.Trim(s, " \t")
		if rest, ok := cutFold(s, "[v1.1]"); ok { // A08: the document's own marker is taken off
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

// readField splits a line at its colon. A known ACAP field name followed by a blank is a field
// without its colon (A05, X54).
func readField(s string) (line, bool) {
	end := strings.IndexAny(s, ": \t")
	if end < 0 {
		name := strings.ToLower(s)
		return line{name: name, bare: !knownField(name)}, true // a known field without a value has an empty one (A10)
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
