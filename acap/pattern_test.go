package acap

import (
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// naive implements the matching of P1 2.9 literally, by trying all possibilities.
func naive(pattern, path string) bool {
	switch {
	case pattern == "":
		return true
	case pattern == "$":
		return path == ""
	case pattern[0] == '*':
		for i := 0; i <= len(path); i++ {
			if naive(pattern[1:], path[i:]) {
				return true
			}
		}
		return false
	}
	return path != "" && path[0] == pattern[0] && naive(pattern[1:], path[1:])
}

// wordsOver returns all words of letters from alphabet, up to a length.
func wordsOver(alphabet string, length int) []string {
	all, last := []string{""}, []string{""}
	for range length {
		var next []string
		for _, w := range last {
			for _, c := range alphabet {
				next = append(next, w+string(c))
			}
		}
		all, last = append(all, next...), next
	}
	return all
}

// P1 2.9 (F14): a pattern matches the beginning of a path, or the whole path if the pattern ends in
// "$"
func TestPatternMatchesAsTheReference(t *testing.T) {
	paths := wordsOver("ab", 5)
	for _, tail := range wordsOver("ab*", 4) {
		for _, end := range []string{"", "$"} {
			raw := "/" + tail + end
			p := newPattern(raw)
			for _, path := range paths {
				if got, want := p.matches("/"+path), naive(raw, "/"+path); got != want {
					t.Fatalf("%s on /%s: %v, want %v", raw, path, got, want)
				}
			}
		}
	}
}

func TestPatternForms(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
		reading       string
	}{
		{"private/", "/private/x", true, "F04"},
		{"*.gif", "/a/b.gif", true, "P1 2.7.3"},
		{"*$", "/anything", true, "F13"},
		{"/Doc", "/dOC/x", true, "F10"},
		{"/%7Ejoe", "/~joe", true, "F11"},
		{"/a%2fb", "/a%2Fb", true, "F11"},
		{"/a%2Fb", "/a/b", false, "F11: an encoded slash is not a slash"},
		{"/caf\u00e9", "/caf%C3%A9", true, "A18"},
		{"/CAF\u00c9", "/caf%c3%a9", true, "A18, F10"},
		{"/a%24", "/a$", true, "X33"},
		{"/a%2A", "/a*", true, "X33"},
		{"/a*b", "/a%2Ab", true, "X33: the wildcard matches the character too"},
		{"/*sid=", "/p?sid=1", true, "A11"},
		{"*.gif$", "/a.gif?v=1", false, "A11"},
		{"/p/", "/a/../p/x", true, "F12"},
		{"//a", "//a/b", true, "A12"},
	} {
		if got := newPattern(c.pattern).matches(resource(t, c.path).path); got != c.want {
			t.Errorf("%s on %s: %v, want %v (%s)", c.pattern, c.path, got, c.want, c.reading)
		}
	}
}

// TestScopeIsAStrictPartialOrder compares all patterns of a slash and up to four characters (P1
// 2.4.6, F07).
func TestScopeIsAStrictPartialOrder(t *testing.T) {
	seen := map[string]bool{}
	var all []string
	for _, tail := range wordsOver("ab*", 3) {
		for _, end := range []string{"", "$"} {
			if p := newPattern("/" + tail + end); !seen[p.raw] {
				seen[p.raw] = true
				all = append(all, p.raw)
			}
		}
	}
	for _, strict := range []bool{false, true} {
		for _, a := range all {
			for _, b := range all {
				ab, ba := compareScope(a, b, strict), compareScope(b, a, strict)
				switch {
				case (ab == identical) != (a == b):
					t.Fatalf("%s, %s: %v", a, b, ab)
				case (ab == narrower) != (ba == broader), (ab == undetermined) != (ba == undetermined):
					t.Fatalf("%s, %s: %v and %v", a, b, ab, ba)
				case ab == narrower && compareBreadth(a, b) <= 0:
					t.Fatalf("%s is narrower than %s and does not stand behind it", a, b)
				}
				if ab != narrower {
					continue
				}
				for _, c := range all {
					if compareScope(b, c, strict) == narrower && compareScope(a, c, strict) != narrower {
						t.Fatalf("%s < %s < %s is not transitive (strict %v)", a, b, c, strict)
					}
				}
			}
		}
	}
}

func TestScope(t *testing.T) {
	for _, c := range []struct {
		a, b    string
		want    scope
		reading string
	}{
		{"/a*", "/a$", narrower, "F01"},
		{"/*bc", "/*a", undetermined, "F02"},
		{"/a/", "/", narrower, "P1 2.4.6"},
		{"/p/", "/*/secret/x", narrower, "F08"},
		{"/a*", "/a", narrower, "F06"},
		{"/a**", "/a*", identical, "F06"},
		{"/X", "/x", identical, "F05"},
		{"/a$", "/a", narrower, "P1 2.4.6: the other has run out"},
	} {
		if got := compareScope(newPattern(c.a).raw, newPattern(c.b).raw, false); got != c.want {
			t.Errorf("%s against %s: %v, want %v (%s)", c.a, c.b, got, c.want, c.reading)
		}
	}
	if got := compareScope("/a*", "/a$", true); got != undetermined {
		t.Errorf("strict: %v, want undetermined (F01)", got)
	}
}

func TestPercentNormal(t *testing.T) {
	for in, want := range map[string]string{
		"/a%7e":    "/a~",
		"/%2e%2E/": "/../",
		"/%e4":     "/%E4",
		"/%":       "/%25",
		"/%4":      "/%254",
		"/%zz":     "/%25zz",
		"/a b":     "/a%20b",
		"/\u00fc":  "/%C3%BC",
		"/\x00":    "/%00",
		"/a|b":     "/a%7Cb",
		"/%2A%24":  "/%2A%24",
	} {
		got := percentNormal(in, false)
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if again := percentNormal(got, false); again != got {
			t.Errorf("%q is not normal: %q", got, again)
		}
	}
	if got := percentNormal("/a*$", true); got != "/a%2A%24" {
		t.Errorf("literal: %q", got)
	}
}

// dotless implements RFC 3986 5.2.4 literally.
func dotless(in string) (out string) {
	for in != "" {
		switch {
		case strings.HasPrefix(in, "/./"):
			in = in[2:]
		case in == "/.":
			in = "/"
		case strings.HasPrefix(in, "/../"), in == "/..":
			in = "/" + strings.TrimPrefix(in[3:], "/")
			out = out[:max(0, strings.LastIndexByte(out, '/'))]
		default:
			n := strings.IndexByte(in[1:], '/') + 1
			if n == 0 {
				n = len(in)
			}
			out, in = out+in[:n], in[n:]
		}
	}
	return out
}

// RFC 3986 (F12): dot segments are removed before matching, and a fragment is not part of the path
func TestRemoveDots(t *testing.T) {
	for _, w := range wordsOver("./a", 6) {
		if got, want := removeDots("/"+w), dotless("/"+w); got != want {
			t.Errorf("/%s: %s, want %s", w, got, want)
		}
	}
}

// P2 2.2.9.1 (M01): two locations are equal if their normal forms without fragments are equal
func TestNewResource(t *testing.T) {
	for in, want := range map[string]string{
		"HTTP://Example.com:80/a#f":    "http://example.com/a",
		"https://example.com:443":      "https://example.com/",
		"http://example.com:8080/?":    "http://example.com:8080/?",
		"http://example.com/%7ea?b%2f": "http://example.com/~a?b%2F",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := NewResource(u).URL; got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	if r := NewResource(nil); r.path != "/" {
		t.Errorf("nil: %+v", r)
	}
}

func TestRuleMatching(t *testing.T) { // RFC 9309 2.2.2 (X52, O10): the longest match, Allow on a tie
	for _, c := range []struct {
		rules, path string
		want        bool
	}{
		{"Disallow: /a$b", "/a$b", false},
		{"Disallow: /a$b", "/axb", true},
		{"Disallow: /A", "/a", true},
		{"Disallow: a", "/a", true},
		{"Disallow:", "/a", true},
		{"Disallow: /a\nAllow: /a", "/a", true},
		{"Disallow: /a*bbbb\nAllow: /a/xx", "/a/xxbbbb", false},
		{"Disallow: /", "/robots.txt", true},
		{"Disallow: /*.gif$", "/x.gif", false},
	} {
		if got := policyOf(searchbot, "User-agent: *\n"+c.rules).Decide(Crawl,
			resource(t, c.path)).Allowed; got != c.want {
			t.Errorf("%q on %s: %v, want %v", c.rules, c.path, got, c.want)
		}
	}
}

// TestMatchersAgree tests that the two matchers agree. If a conventional rule matches a path, the
// ACAP pattern with the same text covers it. If an ACAP pattern covers a path, the rule matches it
// in some letter case (P1 2.9, F10, RFC 9309 2.2.2).
func TestMatchersAgree(t *testing.T) {
	dice := rand.New(rand.NewPCG(31, 9))
	text := func(parts []string, most int) string {
		var b strings.Builder
		b.WriteByte('/')
		for range dice.IntN(most) {
			b.WriteString(parts[dice.IntN(len(parts))])
		}
		return b.String()
	}
	ofPaths := []string{"a", "A", "c", "3", "9", "/", "-", "%20", "%2f", "%C3%A9", "%c3%89", "é", "É", "Ж", "ж",
		"%E2%82%AC", "%C3", "%89", "K", "%a9", "%41"}
	ofPatterns := append([]string{"*", "*", "*", "%"}, ofPaths...)
	both, folded := 0, 0
	for range 300_000 {
		path, value := text(ofPaths, 5), text(ofPatterns, 6)
		if dice.IntN(4) == 0 {
			value = value[1:]
		}
		if dice.IntN(6) == 0 {
			value += "$"
		}
		if value == "" || value[0] != '/' && value[0] != '*' || strings.Contains(strings.TrimSuffix(value, "$"), "$") {
			continue
		}
		u := &url.URL{Scheme: "http", Host: "h", RawQuery: "x"}
		u.Path, u.RawPath = "/", ""
		if v, err := u.Parse(strings.ReplaceAll(path, "?", "%3F")); err == nil {
			u = v
		}
		r := NewResource(u)
		rule, p := ruleLine{value: value}.read(), newPattern(value)
		matched, covered := rule.matches(r.rep), p.covers(&r)
		if matched && !covered {
			t.Fatalf("Disallow: %s matches %s, ACAP-disallow-crawl: %s does not", value, r.rep, value)
		}
		if other := newPattern(flipCase(value)); other.covers(&r) != covered {
			t.Fatalf("%s on %s: %v, %s otherwise", value, r.rep, covered, flipCase(value))
		}
		if covered && r.ascii == "" && !strings.Contains(r.rep, "%6B") && !anySpelling(rule.exact, r.rep) {
			t.Fatalf("ACAP-disallow-crawl: %s covers %s, a rule matches it in no letter case", value, r.rep)
		}
		if matched {
			both++
		} else if covered {
			folded++
		}
	}
	if both < 10_000 || folded < 1_000 {
		t.Errorf("only %d match, and %d more without regard to letter case", both, folded)
	}
}

// flipCase returns s with the case of all ASCII letters changed, including letters in escapes.
func flipCase(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, s)
}

// anySpelling reports whether a conventional rule matches a path in some letter case.
func anySpelling(exact, path string) bool {
	for _, unfolded := range []string{exact, strings.NewReplacer("%C3%89", "%C3%A9", "%D0%96", "%D0%B6", "%E2%84%AA",
		"k").Replace(exact)} {
		spellings := []string{""}
		for i := range len(unfolded) {
			c := unfolded[i : i+1]
			var next []string
			for _, s := range spellings {
				next = append(next, s+strings.ToUpper(c))
				if strings.ToLower(c) != strings.ToUpper(c) {
					next = append(next, s+strings.ToLower(c))
				}
			}
			spellings = next
		}
		for _, s := range spellings {
			if shape := newShape(s); shape.matches(path) {
				return true
			}
		}
	}
	return false
}
