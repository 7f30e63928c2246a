package second

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// restriction is what conventional META, Robots-Tag and X-Robots-Tag prohibit. No other statement
// can permit what a restriction prohibits. P2 2.1 (N12), RTAG 3.1.1 (N19).
type restriction struct {
	noindex, nofollow, nosnippet, noarchive bool
	chars                                   *int
	ends                                    *time.Time // the earliest unavailable_after date

	noai, noimageai []because // where these rules are
	at              because   // the place of the rules that are being read
}

// apply applies one rule with its value, if any. Unknown rules have no effect.
func (r *restriction) apply(name, value string) {
	switch strings.ToLower(name) {
	case "none":
		r.noindex, r.nofollow = true, true
	case "noindex":
		r.noindex = true
	case "nofollow":
		r.nofollow = true
	case "nosnippet":
		r.nosnippet = true
	case "noarchive", "nocache":
		r.noarchive = true
	case "noai":
		r.noai = append(r.noai, r.at)
	case "noimageai":
		r.noimageai = append(r.noimageai, r.at)
	case "max-snippet":
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err == nil && n >= 0 && (r.chars == nil || n < *r.chars) {
			r.chars = &n
		}
	case "unavailable_after":
		t := readEnd(value)
		if r.ends == nil || t.Before(*r.ends) {
			r.ends = &t
		}
	}
}

// readEnd reads the date of unavailable_after. An unreadable date counts as passed (X24).
func readEnd(s string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02", time.RFC1123, time.RFC850} {
		if t, err := time.Parse(layout, strings.TrimSpace(s)); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

func isRule(s string) bool {
	switch strings.ToLower(s) {
	case "all", "none", "index", "follow", "noindex", "nofollow", "nosnippet", "noarchive", "nocache", "noodp",
		"noimageindex", "noai", "noimageai":
		return true
	}
	return hasValue(s)
}

func hasValue(s string) bool {
	return strings.EqualFold(s, "max-snippet") || strings.EqualFold(s, "unavailable_after")
}

var ruleName = regexp.MustCompile(`^[A-Za-z][-_A-Za-z]*([ \t]*:.*)?$`)

// legacy reads a list of rules, of META or of a header. In a header, a name with a colon addresses
// the rules after it to one crawler.
func (r *restriction) legacy(s string, tokens []string, header bool) {
	ours := true
	pieces := strings.Split(s, ",")
	for i := 0; i < len(pieces); i++ {
		piece := strings.Trim(strings.TrimSpace(pieces[i]), `"`)
		name, value, colon := strings.Cut(piece, ":")
		name = strings.TrimSpace(name)
		if header && colon && !hasValue(name) {
			ours = namesUs(name, tokens) || name == "*"
			pieces[i] = value
			i--
			continue
		}
		if strings.EqualFold(name, "unavailable_after") {
			// X91: the date ends at the next comma before a rule name.
			for i+1 < len(pieces) && !ruleName.MatchString(strings.TrimSpace(pieces[i+1])) {
				i++
				value += "," + pieces[i]
			}
		}
		if !ours {
			continue
		}
		if colon {
			r.apply(name, value)
			continue
		}
		for _, rule := range strings.Fields(piece) { // P2 (N13): blanks also separate rules
			r.apply(rule, "")
		}
	}
}

// structured reads a list of product tokens with rules as parameters (RTAG 3.1.1).
func (r *restriction) structured(s string, tokens []string) {
	for _, member := range splitQuoted(s, ',') {
		parts := splitQuoted(member, ';')
		name := strings.Trim(strings.TrimSpace(parts[0]), `"`)
		if isRule(name) && len(parts) == 1 { // RTAG 3.1.1 (N20): this is a rule without a product token
			r.apply(name, "")
			continue
		}
		if name != "*" && !namesUs(name, tokens) {
			continue
		}
		for _, p := range parts[1:] {
			key, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			if value == "?0" { // RTAG 3.1.1 (X23): ?0 means that the rule is not set
				continue
			}
			r.apply(strings.TrimSpace(key), strings.Trim(value, `"`))
		}
	}
}

// splitQuoted splits at a separator outside quotation marks.
func splitQuoted(s string, separator byte) []string {
	out := []string{""}
	quoted := false
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			quoted = !quoted
		}
		if s[i] == separator && !quoted {
			out = append(out, "")
			continue
		}
		out[len(out)-1] += string(s[i])
	}
	return out
}

// restrictions returns all conventional restrictions for this crawler.
func (e *engine) restrictions(p *page) restriction {
	var r restriction
	for _, t := range e.tags(p) {
		r.at = t.at
		r.legacy(t.content, e.tokens, false) // X19: conventional rules count before and after an ACAP statement
	}
	for _, name := range []string{"Robots-Tag", "X-Robots-Tag"} {
		for i, v := range p.header[name] {
			r.at = p.headerAt(i)
			// RTAG (X22): the syntax is recognised by the semicolon, whatever the header's name
			if strings.Contains(v, ";") {
				r.structured(v, e.tokens)
			} else {
				r.legacy(v, e.tokens, true)
			}
		}
	}
	return r
}

// prohibits reports whether the tags prohibit a usage now, and the time from which they prohibit
// it.
func (r restriction) prohibits(usage string, now time.Time) (bool, *time.Time) {
	snippet := usage == "present-snippet" || usage == "present-oldsnippet"
	copies := usage == "present-currentcopy" || usage == "present-oldcopy"
	switch {
	case usage == "index" && r.noindex, usage == "follow" && r.nofollow, snippet && r.nosnippet, copies &&
		r.noarchive,
		snippet && r.chars != nil && *r.chars == 0:
		return true, nil
	}
	if r.ends == nil || usage != "index" && !strings.HasPrefix(usage, "present") {
		return false, nil
	}
	return !now.Before(*r.ends), r.ends
}
