package view

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/stock"
)

// compareTwo archives two versions and returns their comparison.
func compareTwo(t *testing.T, before, after, robots string) (code int, page string) {
	t.Helper()
	s, h := stocked(t)
	s.Hold("/a", before, noon)
	s.Hold("/a", after, noon.AddDate(0, 0, 1))
	s.SetRobots(robots)
	w := ask(h, "GET", "/compare/20260105120000/20260106120000/"+stock.Site+"/a")
	if w.Code == 200 && w.Header().Get("Cache-Control") != "private, no-store" {
		t.Error(w.Header())
	}
	return w.Code, w.Body.String()
}

// TestCompare checks what a comparison shows, and that it needs the permission to modify the text.
func TestCompare(t *testing.T) {
	const before = "<title>Ferry</title><h1>Ferry</h1><p>The ferry leaves at ten.<p>It is small.<p>End."
	for _, c := range []struct {
		name, after, robots string
		status              int
		want                []string
	}{
		{"words", strings.Replace(before, "ten", "<b>nine</b>", 1), "", 200,
			[]string{"leaves at <del>ten.</del> <ins>nine.</ins>", "0 added, 0 removed, 1 changed",
				"Words: 1 added, 1 removed", "It is small.", "!End.", "without changes"}},
		{"a paragraph more", before + "<p>More & <i>.", "", 200,
			[]string{"<ins>More &amp;", "1 added, 0 removed, 0 changed"}},
		{"a paragraph less", strings.Replace(before, "<p>It is small.", "", 1), "", 200,
			[]string{"<del>It is small.</del>", "0 added, 1 removed, 0 changed"}},
		{"markup", before + "<!-- x -->", "", 200, []string{"The text is the same", "!<ins>"}},
		{"another text", "<p>Nothing in common at all here.", "", 200, []string{"<del>The ferry leaves at ten.</del>"}},
		{"escaped", "<p>&lt;script>x&lt;/script>", "", 200, []string{"&lt;script&gt;", "!<script>x"}},
		{"no modification", "<p>x", "ACAP-allow-present: / prohibited-modification=annotation", 451,
			[]string{"robots.txt, line 3"}},
		{"no translation", "<p>x", "ACAP-allow-present: / prohibited-modification=translation", 200, nil},
		{"not in a frame", "<p>x", "ACAP-allow-present: / prohibited-context=within-user-frame", 451, nil},
		{"no old copies", "<p>x", "ACAP-disallow-present-oldcopy: /", 302, nil},
		{"no copies", "<p>x", "ACAP-disallow-present-oldcopy: /\nACAP-disallow-present-currentcopy: /", 451, nil},
		{"no link", "<p>x", "ACAP-disallow-present: /", 404, nil},
		{"a credit", "<p>x", "ACAP-allow-present: / must-include-resource=the-acap:credit:text:Ada%20Quill", 200,
			[]string{"Credit: Ada Quill"}},
	} {
		code, page := compareTwo(t, before, c.after, c.robots)
		if code != c.status {
			t.Errorf("%s: %d", c.name, code)
		}
		contains(t, page, c.want...)
	}
}

// TestCompareTimes checks that inexact times lead to versions, and that malformed paths are refused.
func TestCompareTimes(t *testing.T) {
	s, h := stocked(t)
	s.Hold("/a", "<p>one", noon)
	s.Hold("/a", "<p>two", noon.AddDate(0, 0, 1))
	w := ask(h, "GET", "/compare/20250101000000/20270101000000/"+stock.Site+"/a")
	want := "/compare/20260105120000/20260106120000/" + stock.Site + "/a"
	if w.Code != 302 || w.Header().Get("Location") != want {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for _, sent := range []string{"/compare/", "/compare/20260105120000/" + stock.Site + "/a",
		"/compare/x/20260105120000/" + stock.Site + "/a", "/compare/20260105120000/20260105120000/"} {
		if w := ask(h, "GET", sent); w.Code != 400 {
			t.Errorf("%s: %d", sent, w.Code)
		}
	}
}

// TestFindComparison checks where the form that selects two versions leads.
func TestFindComparison(t *testing.T) {
	_, h := stocked(t)
	const sent = "/compare?url=http%3A%2F%2Fquay.example%2Fa%3Fb&"
	for parameters, want := range map[string]string{
		"from=20260105120000&to=20260106120000": "/compare/20260105120000/20260106120000/" + stock.Site + "/a?b",
		"from=20260106120000&to=20260105120000": "/compare/20260105120000/20260106120000/" + stock.Site + "/a?b",
		"from=20260106120000&to=20260106120000": "/compare/20260106120000/20260106120000/" + stock.Site + "/a?b",
	} {
		if w := ask(h, "GET", sent+parameters); w.Code != 302 || w.Header().Get("Location") != want {
			t.Errorf("%s: %d %v", parameters, w.Code, w.Header())
		}
	}
	for _, bad := range []string{"/compare", sent, sent + "from=20260105120000", sent + "from=2026&to=20260106120000",
		"/compare?url=quay.example&from=20260105120000&to=20260106120000"} {
		if w := ask(h, "GET", bad); w.Code != 400 {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
}

// TestChanges checks that a comparison leads to the changes before and after it, over versions without a change.
func TestChanges(t *testing.T) {
	f := years(7, 24*time.Hour)
	list := f.versions[stock.Site+"/a?b"]
	list[2].Digest = list[1].Digest
	list[5].Digest = list[4].Digest
	page := comparePage{}
	for _, c := range []struct {
		first, second int
		want          string
	}{{3, 4, "3 4, 6 7"}, {4, 3, "3 4, 6 7"}, {2, 3, "1 2, 4 5"}, {0, 1, "none, 3 4"}, {0, 6, "none, none"},
		{6, 6, "6 7, none"}} {
		page = comparePage{}
		page.neighbours(list, c.first, c.second)
		var words []string
		for _, one := range []*change{page.Previous, page.Next} {
			if one == nil {
				words = append(words, "none")
				continue
			}
			words = append(words, fmt.Sprint(one.From.Day(), " ", one.To.Day()))
		}
		if got := strings.Join(words, ", "); got != c.want {
			t.Errorf("%d, %d: %s, want %s", c.first, c.second, got, c.want)
		}
	}
}

// apply returns the second list as edits make it of the first one. It checks the edits.
func apply(t *testing.T, a, b []string, edits []edit) {
	t.Helper()
	i, j := 0, 0
	for _, e := range edits {
		if e.same > 0 && e.removed+e.added > 0 || !slices.Equal(a[i:i+e.same], b[j:j+e.same]) {
			t.Fatalf("%v of %v and %v", edits, a, b)
		}
		i, j = i+e.same+e.removed, j+e.same+e.added
	}
	if i != len(a) || j != len(b) {
		t.Fatalf("%v covers %d of %v and %d of %v", edits, i, a, j, b)
	}
}

// TestDiff checks that edits turn one list into the other, and the edits of known cases.
func TestDiff(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 8))
	list := func(n, kinds int) (out []string) {
		for range random.IntN(n) {
			out = append(out, string(rune('a'+random.IntN(kinds))))
		}
		return out
	}
	for range 3000 {
		a, b := list(30, 12), list(30, 12)
		apply(t, a, b, diff(a, b))
	}
	split := func(s string) []string { return strings.Split(s, "") }
	for _, c := range []struct {
		a, b string
		want []edit
	}{
		{"abc", "abc", []edit{{same: 3}}},
		{"abc", "axc", []edit{{same: 1}, {removed: 1, added: 1}, {same: 1}}},
		{"aabbaa", "aabaa", []edit{{same: 3}, {removed: 1}, {same: 2}}},
		{"xaby", "zabw", []edit{{removed: 1, added: 1}, {same: 2}, {removed: 1, added: 1}}},
	} {
		if got := diff(split(c.a), split(c.b)); !slices.Equal(got, c.want) {
			t.Errorf("%s, %s: %v", c.a, c.b, got)
		}
	}
}

// TestDiffLimits checks that long lists, also without anchors or with nested ones, take bounded work.
func TestDiffLimits(t *testing.T) {
	const n = 60_000
	var repeated, other, unique, reversed []string
	for i := range n {
		repeated = append(repeated, fmt.Sprint(i%7))
		other = append(other, fmt.Sprint(i%5))
		unique = append(unique, fmt.Sprint(i))
	}
	reversed = slices.Clone(unique)
	slices.Reverse(reversed)
	apply(t, repeated, other, diff(repeated, other))
	apply(t, unique, reversed, diff(unique, reversed))
	apply(t, unique, unique[1:], diff(unique, unique[1:]))
	apply(t, nil, unique, diff(nil, unique))
}

// TestCompareLong checks that long texts are cut and the page says so.
func TestCompareLong(t *testing.T) {
	var long strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&long, "<p>paragraph %d", i)
	}
	_, page := compareTwo(t, "<p>x", long.String(), "")
	contains(t, page, "Only the first", "are shown", "!paragraph 59999")
	if len(page) > 4*longestCompared {
		t.Errorf("%d bytes", len(page))
	}
}
