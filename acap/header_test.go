package acap

import "testing"

// TestRulesKeepWhatFollows tests that a ":" or "=" after a rule that takes no value does not hide
// the rules after it.
func TestRulesKeepWhatFollows(t *testing.T) {
	for _, c := range []struct {
		header, value string
		index, follow bool
		told          string
	}{
		{"X-Robots-Tag", "noindex, nofollow", false, false, ""},
		{"X-Robots-Tag", "noindex nofollow", false, false, "missing-comma"},
		{"X-Robots-Tag", "noindex: nofollow", false, false, ""},
		{"X-Robots-Tag", "noindex=nofollow", false, false, ""},
		// RTAG 3.1.1 (X23): a header rule that is set to false is not set
		{"X-Robots-Tag", "noindex=?0, nofollow", true, false, ""},
		{"X-Robots-Tag", "noindex=?1, all", false, true, ""},
		{"X-Robots-Tag", "noindex=yes", false, true, "unknown-rule"},
		{"X-Robots-Tag", "max-snippet: 20 nofollow", true, false, "missing-comma"},
		{"X-Robots-Tag", "otherbot: noindex nofollow", true, true, ""},
		{"X-Robots-Tag", "*; noindex, otherbot; nofollow", false, true, "other-dialect"},
		{"Robots-Tag", `"searchbot"; noindex`, false, true, "quoted-token"},
		{"Robots-Tag", "*;noindex=yes;nofollow", false, false, "ignored-value"},
		{"Robots-Tag", "*;noindex=?0", true, true, ""},
	} {
		p := policyOf(searchbot, "").Narrow(page(tag(c.header, c.value)))
		r := resource(t, "/a.html")
		if got := p.Decide(Index, r).Allowed; got != c.index {
			t.Errorf("%s: %s: index is %v", c.header, c.value, got)
		}
		if got := p.Decide(Follow, r).Allowed; got != c.follow {
			t.Errorf("%s: %s: follow is %v", c.header, c.value, got)
		}
		found := codes(p.Findings())
		if _, ok := found[c.told]; c.told != "" && !ok || c.told == "" && len(found) > 0 {
			t.Errorf("%s: %s: told %v", c.header, c.value, p.Findings())
		}
	}
}
