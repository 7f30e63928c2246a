package convert

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
)

// Limits on the work of intersecting two patterns.
const (
	maxMeet     = 32      // patterns of the intersection
	maxMeetWork = 1 << 14 // steps of the computation
	maxGlob     = 1000    // bytes of each of the two patterns
)

// inCommon returns patterns that together cover the paths that both p and q cover, ignoring letter
// case. The returned patterns have the spelling of p. ok is false if p and q are too complex.
func inCommon(p, q string) (both []string, ok bool) {
	return inCommonOf(p, q, newGlobText(p), newGlobText(q))
}

// inCommonSpelt is like inCommon, but distinguishes letter case.
func inCommonSpelt(p, q string) (both []string, ok bool) {
	a, b := newGlobText(p), newGlobText(q)
	a.folded, b.folded = a.own, b.own
	return inCommonOf(p, q, a, b)
}

func inCommonOf(p, q string, a, b globText) (both []string, ok bool) {
	if apart(a.folded, b.folded) {
		return nil, true
	}
	if len(p) > maxGlob || len(q) > maxGlob {
		return nil, false
	}
	m := meeting{a: a, b: b, known: map[[2]int][]string{}}
	found := slices.Clone(m.from(0, 0))
	if m.over {
		return nil, false
	}
	for i, x := range found {
		found[i] = plainGlob(x)
	}
	for _, x := range found {
		if !slices.ContainsFunc(found, func(y string) bool { return withinSpelt(x, y) && !withinSpelt(y, x) }) &&
			!slices.ContainsFunc(both, func(y string) bool { return withinSpelt(x, y) }) {
			both = append(both, x)
		}
	}
	return both, true
}

// toil estimates how many steps are needed to intersect two patterns.
func toil(p, q string) int {
	if !strings.Contains(p, "*") && !strings.Contains(q, "*") {
		return len(p) + len(q)
	}
	return min(len(p)*len(q), maxMeetWork)
}

// globText is a pattern whose wildcards are all explicit: it ends in "*" unless the pattern ended
// in "$".
type globText struct{ own, folded string }

func newGlobText(p string) globText {
	own, anchored := strings.CutSuffix(p, "$")
	for strings.Contains(own, "**") {
		own = strings.ReplaceAll(own, "**", "*")
	}
	folded := acap.Folded(own)
	if len(folded) != len(own) {
		own = folded
	}
	if !anchored && !strings.HasSuffix(own, "*") {
		own, folded = own+"*", folded+"*"
	}
	return globText{own, folded}
}

// plainGlob is the inverse of newGlobText. It joins asterisks in a row. It drops a final asterisk,
// or adds "$" if the text does not end in an asterisk.
func plainGlob(s string) string {
	for strings.Contains(s, "**") {
		s = strings.ReplaceAll(s, "**", "*")
	}
	if rest, open := strings.CutSuffix(s, "*"); open {
		return rest
	}
	return s + "$"
}

// meeting computes the intersection of two patterns. For each pair of positions in them, it
// computes the intersection of the parts after these positions.
type meeting struct {
	a, b  globText
	known map[[2]int][]string
	over  bool
}

func (m *meeting) from(i, j int) []string {
	if m.over {
		return nil
	}
	if have, done := m.known[[2]int{i, j}]; done {
		return have
	}
	if len(m.known) > maxMeetWork {
		m.over = true
		return nil
	}
	var out []string
	add := func(head string, tails []string) {
		for _, t := range tails {
			if s := head + t; !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	endA, endB := i == len(m.a.folded), j == len(m.b.folded)
	starA, starB := !endA && m.a.folded[i] == '*', !endB && m.b.folded[j] == '*'
	switch {
	case endA && endB:
		out = []string{""}
	case starA && starB:
		add("*", m.from(i+1, j))
		add("*", m.from(i, j+1))
	case starA:
		add("", m.from(i+1, j))
		if !endB {
			add(m.b.own[j:j+1], m.from(i, j+1))
		}
	case starB:
		add("", m.from(i, j+1))
		if !endA {
			add(m.a.own[i:i+1], m.from(i+1, j))
		}
	case !endA && !endB && m.a.folded[i] == m.b.folded[j]:
		add(m.a.own[i:i+1], m.from(i+1, j+1))
	}
	m.over = m.over || len(out) > maxMeet
	m.known[[2]int{i, j}] = out
	return out
}

// apart reports whether two patterns in lower case differ before any wildcard.
func apart(p, q string) bool {
	for i := 0; i < len(p) && i < len(q) && !wildcard(p[i]) && !wildcard(q[i]); i++ {
		if p[i] != q[i] {
			return true
		}
	}
	return false
}

func wildcard(c byte) bool { return c == '*' || c == '$' }

// sharedPath returns a path that both p and q cover. ok is false if the patterns are too complex.
func sharedPath(p, q string) (path string, ok bool) {
	both, ok := inCommon(p, q)
	for _, m := range both {
		if all := examplesOf(m); len(all) > 0 {
			return all[0], true
		}
	}
	return "", ok && len(both) == 0
}

// within reports whether y covers everything that x covers, ignoring letter case. It also returns
// false if it cannot decide this.
func within(x, y string) bool { return withinSpelt(acap.Folded(x), acap.Folded(y)) }

// withinSpelt is like within, but distinguishes letter case.
func withinSpelt(x, y string) bool {
	xText, xEnds := strings.CutSuffix(x, "$")
	yText, yEnds := strings.CutSuffix(y, "$")
	if yEnds && !xEnds {
		return false
	}
	if yEnds {
		yText += "$"
	}
	// an asterisk in x matches any text, so only an asterisk in y covers the same paths
	return acap.NewGlob(yText).Matches(xText)
}

// covers reports whether a pattern covers a path, ignoring letter case.
func covers(pattern, path string) bool {
	return acap.NewGlob(acap.Folded(pattern)).Matches(acap.Folded(path))
}

// resourceAt returns the resource at a path of the converted site, and the path in normal form. The
// last result reports whether the path is valid.
func resourceAt(path string) (acap.Resource, string, bool) {
	u, err := url.Parse(convertedSite + path)
	if err != nil {
		return acap.Resource{}, "", false
	}
	r := acap.NewResource(u)
	return r, strings.TrimPrefix(r.URL, convertedSite), true
}

// examplesOf returns examples of paths that a pattern covers, in normal form. It leaves out
// /robots.txt, which may always be read.
func examplesOf(pattern string) []string {
	var out []string
	for _, path := range acap.Examples(pattern) {
		if _, normal, ok := resourceAt(path); ok && covers(pattern, normal) && normal != "/robots.txt" {
			out = append(out, path)
		}
	}
	return out
}

// examplePath returns a path that the pattern covers, as an example in a message.
func examplePath(pattern string) string {
	all := examplesOf(pattern)
	if i := slices.IndexFunc(all, func(p string) bool { return !strings.Contains(p, "//") }); i >= 0 {
		return all[i]
	}
	return pattern
}

// cased reports whether s contains letters that have upper and lower case.
func cased(s string) bool { return swapCase(s) != s }

// swapCase returns s with the case of its letters swapped. In escapes it swaps only the case of
// whole characters beyond ASCII.
func swapCase(s string) string {
	swap := func(r rune) rune {
		switch {
		case unicode.IsUpper(r):
			return unicode.ToLower(r)
		case unicode.IsLower(r):
			return unicode.ToUpper(r)
		}
		return r
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		end := i
		for end+2 < len(s) && s[end] == '%' {
			end += 3
		}
		text, err := url.PathUnescape(s[i:end])
		if end == i || err != nil {
			b.WriteRune(swap(rune(s[i])))
			i++
			continue
		}
		for text != "" {
			r, n := utf8.DecodeRuneInString(text)
			if text = text[n:]; r < utf8.RuneSelf || r == utf8.RuneError || swap(r) == r {
				b.WriteString(s[i : i+3*n])
			} else {
				b.WriteString(url.PathEscape(string(swap(r))))
			}
			i += 3 * n
		}
	}
	return b.String()
}

// widensCase reports whether the pattern a contains letters after the part that it has in common
// with d. If there are such letters and letter case is ignored, the pattern a covers paths that d
// prohibits and that a does not cover as it is written.
func widensCase(a, d string) bool {
	i := 0
	// an asterisk ends the common part, because the text after it may be anywhere in a path
	for i < len(a) && i < len(d) && a[i] == d[i] && a[i] != '*' {
		i++
	}
	for i > 0 && strings.Contains(a[max(0, i-3):i], "%") { // go back to the beginning of an escape
		i--
	}
	return cased(a[i:])
}
