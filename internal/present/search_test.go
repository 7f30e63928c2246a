package present

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// TestSameIsShownOnce checks that only the first of several pages that look the same is shown. The
// addresses of the others must be listed with it if they may be shown as links.
func TestSameIsShownOnce(t *testing.T) {
	const also = ` also`
	for _, c := range []struct {
		name, now string
		pages     map[string]string
		want      string
		count     int
	}{
		{"the same text", "", map[string]string{"/a": article, "/b": article, "/c": article}, "[/a] also /b /c", 1},
		{"another title", "", map[string]string{"/a": article, "/b": strings.Replace(article, "Low", "High", 1)},
			"[/a]; [/b]", 2},
		{"another word", "", map[string]string{"/a": article, "/b": strings.Replace(article, "tide", "lock", 1)},
			"[/a]; [/b]", 2},
		{"one without a link", "ACAP-disallow-present-link: /b", map[string]string{"/a": article, "/b": article},
			"[/a]; /b", 2},
		{"none with a link", "ACAP-disallow-present-link: /", map[string]string{"/a": article, "/b": article}, "/a", 1},
		{"one without a snippet", "ACAP-disallow-present-snippet: /a", map[string]string{"/a": article, "/b": article,
			"/c": article}, "[/a]; [/b] also /c", 2},
		{"a shorter one", "ACAP-allow-present-snippet: /b max-length=3-words",
			map[string]string{"/a": article, "/b": article}, "[/a]; [/b]", 2},
		{"a credit", "ACAP-allow-present-snippet: /b must-include-resource=the-acap:credit:text:Ada",
			map[string]string{"/a": article, "/b": article}, "[/a]; [/b]", 2},
		{"one not to be shown", "ACAP-disallow-present: /a", map[string]string{"/a": article, "/b": article,
			"/c": article}, "[/b] also /c", 1},
		{"one that may not be indexed", "ACAP-disallow-index: /b", map[string]string{"/a": article, "/b": article},
			"[/a]", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			for path, body := range c.pages {
				s.hold(path, body)
			}
			s.setRobots(c.now)
			for limit := 1; limit <= 3; limit += 2 { // hits after the last result to return are compared too
				found, err := s.Search(context.Background(), Query{Text: "pilot", Limit: limit}, Reader{})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, r := range found.Results {
					address := strings.TrimPrefix(r.URL, site)
					if r.Link {
						address = "[" + address + "]"
					}
					if len(r.Also) > 0 {
						address += also
					}
					for _, a := range r.Also {
						address += " " + strings.TrimPrefix(a, site)
						if r, _, _ := s.archive.Resource(a); r.FirstPresented.IsZero() {
							t.Errorf("%s counts as not shown", a)
						}
					}
					got = append(got, address)
				}
				want := strings.Split(c.want, "; ")
				want = want[:min(limit, len(want))]
				if strings.Join(got, "; ") != strings.Join(want, "; ") || found.Count != c.count || found.More {
					t.Errorf("limit %d: %s of %d, want %s of %d", limit, strings.Join(got, "; "), found.Count,
						strings.Join(want, "; "), c.count)
				}
			}
		})
	}
	s := open(t)
	for i := range 9 {
		body := article
		if i%3 == 0 {
			body = fmt.Sprintf("<p>The pilot %d", i)
		}
		s.hold(fmt.Sprintf("/%d", i), body)
	}
	all, err := s.Search(context.Background(), Query{Text: "pilot", Limit: 9}, Reader{})
	if err != nil || len(all.Results) != 4 || all.Count != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, want := range all.Results { // skipped results are also compared with later results
		found, err := s.Search(context.Background(), Query{Text: "pilot", Skip: i, Limit: 1}, Reader{})
		if err != nil || len(found.Results) != 1 || found.Results[0].URL != want.URL || found.Count != 4 {
			t.Errorf("%d: %+v, %v", i, found, err)
		}
	}
}

// TestMarksAreOfTheIndex checks that snippet and title highlight exactly the words that the index
// matched, in all grammatical forms.
func TestMarksAreOfTheIndex(t *testing.T) {
	for _, c := range []struct{ query, title, text string }{
		{"city", "Of [cities]", "Two [cities] by the sea, citing nobody."},
		{`"two cities"`, "Of [cities]", "[Two] [cities] by the sea, citing nobody."},
		{"nobody -city", "", ""},
		{"nobody site:quay.example", "Of cities", "Two cities by the sea, citing [nobody]."},
	} {
		s := open(t)
		s.hold("/a", "<html lang=en><title>Of cities</title><p>Two cities by the sea, citing nobody.")
		brackets := func(text string, marks [][2]int) string {
			for i := len(marks) - 1; i >= 0; i-- {
				text = text[:marks[i][0]] + "[" + text[marks[i][0]:marks[i][1]] + "]" + text[marks[i][1]:]
			}
			return text
		}
		got := s.search(c.query, Reader{})
		if len(got) == 0 {
			if c.text != "" {
				t.Errorf("%s: nothing", c.query)
			}
			continue
		}
		title, text := brackets(got[0].Title, got[0].TitleMarks), brackets(got[0].Snippet.Text, got[0].Snippet.Marks)
		if title != c.title || text != c.text {
			t.Errorf("%s: %q, %q", c.query, title, text)
		}
	}
}

// TestCounts checks that the number of results is exact up to a limit.
func TestCounts(t *testing.T) {
	s := open(t)
	for i := range 60 {
		s.hold(fmt.Sprintf("/%03d", i), fmt.Sprintf("<p>pilot %d", i))
	}
	for _, c := range []struct {
		now   string
		count int
		more  bool
	}{
		{"", 60, false},
		{"ACAP-disallow-present: /00", 50, false},
		// the copy of each hit must be read
		{"ACAP-allow-present: / must-include-resource=the-acap:credit:text:Ada", 52, true},
	} {
		s.setRobots(c.now)
		found, err := s.Search(context.Background(), Query{Text: "pilot", Limit: 2}, Reader{})
		if err != nil || len(found.Results) != 2 || found.Count != c.count || found.More != c.more {
			t.Errorf("%q: %d, more %v, %v", c.now, found.Count, found.More, err)
		}
	}
}

// TestWhy checks that Query.Why returns the policy line that hides a page or a part of a page.
// Nothing else of the page than its address may be returned.
func TestWhy(t *testing.T) {
	const robots = site + "/robots.txt:3"
	for _, c := range []struct{ name, then, now, body, want string }{
		{"nothing is left out", "", "", article, ""},
		{"no link", "", "ACAP-disallow-present-link: /", article, "present-link " + robots},
		{"no snippet", "", "ACAP-disallow-present-snippet: /", article, "present-snippet " + robots},
		{"nothing may be shown", "", "ACAP-disallow-present: /", article, "present-link " + robots +
			" present-snippet " + robots + " present " + robots},
		{"a bare link", "", "ACAP-disallow-present: /\nACAP-allow-present-link: /", article, "present-snippet " +
			robots + " present " + robots},
		{"a credit that is missing", "", "ACAP-allow-present-snippet: / must-include-resource=the-acap:credit:id:nope",
			article, "present-snippet " + robots},
		{"not to be indexed", "", "ACAP-disallow-index: /", article, "index " + robots},
		{"indexed as it may be no longer", "", "ACAP-allow-index: / must-use-resource=the-acap:extract:id:by", article,
			"index " + robots},
		{"taken down", "", "ACAP-request-take-down: /a", article, "present " + robots},
		{"the page itself", "", "", `<meta name="robots" content="nosnippet"><title>T</title>pilot`,
			"present-snippet " + site + "/a:1"},
		{"a part of it", "", "", `<p>Open <p class="the-acap:disallow-present-snippet">pilot`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			s.setRobots(c.then)
			s.hold("/a", c.body)
			s.setRobots(c.now)
			found, err := s.Search(context.Background(), Query{Text: "pilot", Limit: 5, Why: true}, Reader{})
			if err != nil || len(found.Results) != 1 {
				t.Fatalf("%+v, %v", found, err)
			}
			r := found.Results[0]
			rest := c.want
			for _, l := range r.LeftOut {
				usage, more, _ := strings.Cut(rest, " ")
				var line string
				line, rest, _ = strings.Cut(more, " ")
				if string(l.Usage) != usage || !strings.Contains(l.Why, line) || l.Reason == "" ||
					strings.Contains(l.Why, "tide") {
					t.Errorf("%+v, want %s %s", l, usage, line)
				}
			}
			if rest != "" {
				t.Errorf("%+v lacks %s", r.LeftOut, rest)
			}
			if first, _, _ := s.archive.Resource(site + "/a"); first.FirstPresented.IsZero() == r.Shown() {
				t.Errorf("shown %v, first %v", r.Shown(), first.FirstPresented)
			}
			if !r.Shown() && (r.Title != "" || found.Count != 0) {
				t.Errorf("%+v", found)
			}
		})
	}
	s := open(t)
	s.hold("/a", article)
	s.policy = nil
	found, err := s.Search(context.Background(), Query{Text: "pilot", Limit: 5, Why: true}, Reader{})
	if err != nil || len(found.Results) != 1 || found.Results[0].LeftOut[0].Usage != acap.Present {
		t.Errorf("without a policy: %+v, %v", found, err)
	}
}

// TestLikelyLanguage checks that words are highlighted by the same language rules that were used to
// index them, even if the language of the page was only guessed.
func TestLikelyLanguage(t *testing.T) {
	s := open(t)
	for path, body := range map[string]string{"/certain": `<html lang=da><p>Skibet ligger ved kajen.`,
		"/likely": `<p>Skibet ligger ved kajen og venter på tidevandet i morgen tidlig`} {
		s.hold(path, body)
	}
	results := s.search("kaj", Reader{})
	if len(results) != 2 {
		t.Fatalf("%+v", results)
	}
	for _, r := range results {
		if r.Snippet == nil || len(r.Snippet.Marks) != 1 {
			t.Errorf("%s: %+v", r.URL, r.Snippet)
		}
		if p, err := s.Snippet(context.Background(), r.URL, "kaj", Which{}, Reader{}); err != nil ||
			len(p.Snippet.Marks) != 1 {
			t.Errorf("%s: %+v, %v", r.URL, p, err)
		}
	}
}

// TestHiddenDoNotCount checks that hits which the reader may not see change nothing of what a search returns.
func TestHiddenDoNotCount(t *testing.T) {
	s := open(t)
	for i := range 12 {
		s.hold(fmt.Sprintf("/open/%02d", i), fmt.Sprintf("<p>pilot %d", i))
	}
	want, err := s.Search(t.Context(), Query{Text: "pilot", Limit: 10, Further: 100}, Reader{Public: true})
	if err != nil || want.Count != 12 || want.More {
		t.Fatalf("%+v %v", want, err)
	}
	for i := range 150 {
		s.hold(fmt.Sprintf("/hidden/%03d", i), fmt.Sprintf("<p>pilot and other words %d", i))
	}
	for _, robots := range []string{"ACAP-disallow-present: /hidden/",
		"ACAP-allow-present: /hidden/ must-use-resource=the-acap:extract:class:missing\nACAP-allow-present: /open/",
		"ACAP-allow-present: /hidden/ target-condition=permittedcountrylist:de"} {
		s.setRobots(robots)
		got, err := s.Search(t.Context(), Query{Text: "pilot", Limit: 10, Further: 100}, Reader{Public: true})
		if err != nil || got.Count != want.Count || got.More || !slices.EqualFunc(got.Results, want.Results,
			func(a, b Result) bool { return a.URL == b.URL }) {
			t.Errorf("%s: %d results, more %t, %v", robots, got.Count, got.More, err)
		}
	}
}

// TestHurried checks that a search whose copies take too long to read returns further results as links only, and none
// for which the copy decides. Only searches of the public are cut short.
func TestHurried(t *testing.T) {
	s := open(t)
	for _, path := range []string{"/a", "/b", "/c", "/credit"} {
		s.hold(path, "<title>"+path+"</title><p>The pilot of "+path)
	}
	s.setRobots("ACAP-allow-present: /credit must-include-resource=the-acap:credit:text:Ada")
	now := noon
	s.now = func() time.Time {
		now = now.Add(mostMaking)
		return now
	}
	all, err := s.Search(t.Context(), Query{Text: "pilot", Limit: 10}, Reader{})
	if err != nil || all.Hurried || len(all.Results) != 4 || all.Results[3].Title == "" {
		t.Fatalf("not public: %+v %v", all, err)
	}
	found, err := s.Search(t.Context(), Query{Text: "pilot", Limit: 10}, Reader{Public: true})
	if err != nil || !found.Hurried || len(found.Results) != 3 {
		t.Fatalf("%+v %v", found, err)
	}
	titles := 0
	for _, r := range found.Results {
		if !r.Link || strings.HasSuffix(r.URL, "/credit") {
			t.Errorf("%+v", r)
		}
		if r.Title != "" || r.Snippet != nil {
			titles++
		}
	}
	if titles != 1 {
		t.Errorf("%d results have a title", titles)
	}
}
