package present

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// TestDetails checks what is said about the parts of results, shown or not.
func TestDetails(t *testing.T) {
	s := open(t)
	for _, path := range []string{"/a", "/b", "/c"} {
		s.hold(path, strings.Replace(article, "tide", "tide at "+path[1:], 1))
	}
	s.setRobots("ACAP-disallow-present-snippet: /b\nACAP-disallow-present-currentcopy: /c\n" +
		"ACAP-allow-present-snippet: /a max-length=3-words")
	found, err := s.Search(t.Context(), Query{Text: "pilot", Limit: 9, Details: true}, Reader{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range found.Results {
		var parts []string
		for _, p := range r.Details.Parts {
			parts = append(parts, fmt.Sprint(p.Decision.Usage, " ", p.Decision.Allowed, " ", p.Shown))
			if p.Limits.MaxWords != nil {
				parts = append(parts, fmt.Sprint(*p.Limits.MaxWords, " words"))
			}
		}
		got[strings.TrimPrefix(r.URL, site)] = fmt.Sprint(strings.Join(parts, ", "), ", copy ", r.Details.Copy, " ",
			r.Details.Captured.Equal(noon))
	}
	for path, want := range map[string]string{
		"/a": "present-link true true, present-snippet true true, 3 words, present-currentcopy true false, " +
			"copy true true",
		"/b": "present-link true true, present-snippet false false, present-currentcopy true false, copy true true",
		"/c": "present-link true true, present-snippet true true, present-currentcopy false false, copy false true",
	} {
		if got[path] != want {
			t.Errorf("%s: %s, want %s", path, got[path], want)
		}
	}
	want := []Partial{{acap.PresentSnippet, acap.ByProhibition, 1}, {acap.PresentCurrentCopy, acap.ByProhibition, 1}}
	for _, one := range want {
		if !slices.Contains(found.Partial, one) || len(found.Partial) != len(want) {
			t.Errorf("%v, want %v", found.Partial, want)
		}
	}
}

// TestForUses checks that results are restricted to pages that allow a usage.
func TestForUses(t *testing.T) {
	s := open(t)
	s.hold("/a", article)
	s.hold("/b", strings.Replace(article, "tide", "lock", 1))
	for robots, want := range map[string]int{
		"": 2,
		"ACAP-allow-index: /\nACAP-allow-present: /\nACAP-disallow-other: /b": 1,
		"ACAP-allow-index: /\nACAP-allow-present: /\nACAP-disallow-other: /":  0,
	} {
		s.setRobots(robots)
		found, err := s.Search(t.Context(), Query{Text: "pilot", Limit: 9, For: []acap.Usage{acap.TrainAI}}, Reader{})
		if err != nil || found.Count != want {
			t.Errorf("%s: %d results, %v, want %d", robots, found.Count, err, want)
		}
	}
}

// TestFurther checks that a search with Further below 0 examines no hit after the last result to return.
func TestFurther(t *testing.T) {
	s := open(t)
	for i := range 20 {
		s.hold(fmt.Sprintf("/%d", i), strings.Replace(article, "tide", fmt.Sprintf("tide%d", i), 1))
	}
	s.asked = 0
	found, err := s.Search(t.Context(), Query{Text: "pilot", Limit: 2, Further: -1}, Reader{})
	if err != nil || found.Count != 2 || !found.More || s.asked > 8 {
		t.Errorf("%d results, more %v, %d questions, %v", found.Count, found.More, s.asked, err)
	}
}

// TestFilter checks that values of filters are restricted to one condition.
func TestFilter(t *testing.T) {
	for _, c := range []struct {
		text   string
		filter Filter
		want   string // "": an error
	}{
		{"a b", Filter{}, "a b"},
		{"a", Filter{Site: "quay.example", Language: "de", Type: "pdf", Before: "2026", After: "2025-12"},
			"a site:quay.example lang:de type:pdf before:2026 after:2025-12"},
		{"", Filter{Language: "de"}, "lang:de"},
		{"-a", Filter{Language: "de"}, "-a lang:de"},
		{"", Filter{}, ""},
		{"-a", Filter{}, ""},
		{`"a`, Filter{Language: `de"`}, ""},
		{"a", Filter{Language: "de b"}, ""},
		{"a", Filter{Site: "x\u2003y"}, ""},
		{"a", Filter{Site: "."}, ""},
		{"a", Filter{Type: "-"}, ""},
		{strings.Repeat("a", 995), Filter{Language: "de"}, ""},
	} {
		got, err := c.filter.Narrow(c.text)
		if c.want == "" && !errors.Is(err, ErrQuery) || c.want != "" && (err != nil || got != c.want) {
			t.Errorf("%q %+v: %q, %v", c.text, c.filter, got, err)
		}
	}
	for query, want := range map[string]string{`a -b "c d" site:x.example «e "f»`: `[a "c d"]`, `"a`: "[]", "": "[]"} {
		if got := fmt.Sprint(Words(query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}
