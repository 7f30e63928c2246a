package acap

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// compareLookup tests that a lookup finds the same patterns for a path as comparing them one by
// one.
func compareLookup(t *testing.T, patterns []string, path string) (found int) {
	t.Helper()
	shapes := make([]shape, len(patterns))
	for i, p := range patterns {
		shapes[i] = newShape(p)
	}
	l := newLookup(len(shapes), func(i int) shape { return shapes[i] })
	if l == nil {
		if len(patterns) > few {
			t.Fatalf("no lookup of %d patterns", len(patterns))
		}
		return 0
	}
	var want []int32
	for i := range shapes {
		if shapes[i].matches(path) {
			want = append(want, int32(i))
		}
	}
	var h hits
	l.find(path, &h)
	switch {
	// h may be full because a path contains the same bytes several times, but not if so few
	// patterns match
	case h.full() && len(want) <= maxHits/8:
		t.Fatalf("%q: %d patterns match, too many were found", path, len(want))
	case !h.full() && !slices.Equal(h.list[:h.n], want):
		t.Fatalf("%q among %q: found %v, want %v", path, patterns, h.list[:h.n], want)
	}
	return len(want)
}

// TestLookup tests that a lookup finds the patterns that match a path, in order.
func TestLookup(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func(letters string, most int) string {
		b := make([]byte, rnd.IntN(most+1))
		for i := range b {
			b[i] = letters[rnd.IntN(len(letters))]
		}
		return string(b)
	}
	none, some, many := 0, 0, 0
	for round := range 1000 {
		letters := "ab/"
		if round%3 > 0 {
			letters = "abcdefghijklmnop/-."
		}
		most := 1 + rnd.IntN(6)
		patterns := make([]string, few+1+rnd.IntN(200))
		for i := range patterns {
			p := "/" + word(letters, most)
			for range rnd.IntN(4) {
				p += "*" + word(letters, 2*most)
			}
			if rnd.IntN(5) == 0 {
				p += "$"
			}
			if rnd.IntN(8) == 0 {
				p = strings.TrimPrefix(p, "/")
			}
			patterns[i] = p
		}
		for range 10 {
			path := "/" + word(letters, 40)
			if rnd.IntN(2) == 0 { // a path made from a pattern, so that the pattern matches
				path = strings.TrimSuffix(patterns[rnd.IntN(len(patterns))], "$")
				path = strings.ReplaceAll(path, "*", word(letters, 3))
			}
			switch n := compareLookup(t, patterns, path); {
			case n == 0:
				none++
			case n <= maxHits:
				some++
			default:
				many++
			}
		}
	}
	if none < 100 || some < 100 || many < 100 {
		t.Errorf("%d paths match nothing, %d some patterns, %d many: too few of a kind", none, some, many)
	}
}

// TestLookupBySize tests that the number of patterns changes the way of searching, but never the
// result.
func TestLookupBySize(t *testing.T) {
	for _, n := range []int{few, few + 1, 1000, 40_000} {
		var patterns []string
		for i := range n {
			patterns = append(patterns, fmt.Sprintf("/*/section-%d/*.html", i), fmt.Sprintf("/list-%d", i))
		}
		for _, path := range []string{"/a/section-7/b.html", "/list-7/x", "/a/section-7/b.htm",
			"/section-1/section-3/a.html"} {
			compareLookup(t, patterns, path)
		}
	}
}

func FuzzLookup(f *testing.F) {
	f.Add("/a*b$\n/aa\n*.gif\n/*/x/*y\n", "/a/x/y.gif")
	f.Add("*\n/\n$\n/*$\n", "/")
	f.Add(strings.Repeat("/*abcdefgh\n/*bcdefghi\n", 20), "/abcdefghi")
	f.Fuzz(func(t *testing.T, patterns, path string) {
		list := strings.Split(patterns, "\n")
		for len(list) <= few {
			list = append(list, fmt.Sprintf("/only-%d*here", len(list)))
		}
		compareLookup(t, list[:min(len(list), 300)], path)
	})
}
