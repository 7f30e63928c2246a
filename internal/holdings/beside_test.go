package holdings

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// withParts opens a store with one page. The policy requires a credit that must be shown with the
// page, and a substitute whose words are indexed instead of those of the page. Credit and
// substitute are two other resources.
func withParts(t *testing.T, more string) *store {
	t.Helper()
	w := newWeb("ACAP-allow-present: /a must-include-resource=the-acap:credit:" + site + "/credit\n" +
		"ACAP-allow-index: /a must-use-resource=" + site + "/lead\n" + more)
	w.parts[site+"/credit"], w.parts[site+"/lead"] = "Photograph by Guillemot", "tables"
	s := open(t, t.TempDir(), w, Options{})
	s.receive(pageOf(article, a))
	if got := s.resource(a).Kept.Sources(); !slices.Equal(got, []string{site + "/credit", site + "/lead"}) {
		t.Fatalf("made of %q", got)
	}
	if s.found("tables") != "/a" {
		t.Fatal("not found by the substitute")
	}
	return s
}

func (s *store) parts(address string) (texts []string) {
	s.Helper()
	r := s.resource(address)
	for _, in := range r.Kept.Parts {
		texts = append(texts, in.Text)
	}
	return texts
}

// TestEraseSource checks that erasing a resource also erases data that other pages have from this
// resource (P04), even if the resource itself is not stored.
func TestEraseSource(t *testing.T) {
	s := withParts(t, "")
	for _, c := range []struct {
		erased, found string
		parts         []string
	}{
		{"/elsewhere", "/a", []string{"Photograph by Guillemot"}},
		{"/lead", "", []string{"Photograph by Guillemot"}},
		{"/credit", "", nil},
	} {
		if _, err := s.Erase(context.Background(), site+c.erased, "asked", ""); err != nil {
			t.Fatal(err)
		}
		if got := s.parts(a); !slices.Equal(got, c.parts) {
			t.Errorf("%s: parts %q", c.erased, got)
		}
		if got := s.found("tables"); got != c.found {
			t.Errorf("%s: found %q", c.erased, got)
		}
	}
	if strings.Contains(s.resource(a).Kept.String(), "Guillemot") || len(s.copies(a)) != 1 {
		t.Error("the copy goes on its own terms, and the credit is gone")
	}
}

// TestSweepSource checks that a sweep removes data made from a resource that is taken down, and
// names the policy line. While that line is in force, a new crawl must not store the data again.
func TestSweepSource(t *testing.T) {
	s := withParts(t, "")
	both := "ACAP-allow-present: /a must-include-resource=the-acap:credit:" + site + "/credit\n" +
		"ACAP-allow-index: /a must-use-resource=" + site + "/lead\n"
	s.web.says(both + "ACAP-request-take-down: /credit\nACAP-request-take-down: /lead")
	want := []string{"/a index entry 0 false http://quay.example/robots.txt:4: ACAP-allow-index: /a " +
		"must-use-resource=http://quay.example/lead",
		"/a excerpt 0 false http://quay.example/robots.txt:5: ACAP-request-take-down: /credit",
		"/a excerpt 0 false http://quay.example/robots.txt:6: ACAP-request-take-down: /lead"}
	if got := s.sweep(SweepOptions{DryRun: true}); !slices.Equal(got, want) {
		t.Errorf("would go %q", got)
	}
	if len(s.parts(a)) != 1 {
		t.Error("a dry run took something")
	}
	if got := s.sweep(SweepOptions{}); !slices.Equal(got, want) {
		t.Errorf("swept %q", got)
	}
	s.receive(pageOf(article+"<p>again", a))
	if got := s.parts(a); got != nil || s.found("tables") != "" || s.resource(a).Kept.Sources() != nil {
		t.Errorf("parts %q, %+v", got, s.resource(a))
	}
	s.web.says(both)
	s.receive(pageOf(article+"<p>and again", a))
	if got := s.parts(a); len(got) != 1 || s.found("tables") != "/a" {
		t.Errorf("the lines are gone, and there is %q", got)
	}
}

// TestSweepExcerpt checks that an excerpt stays only while a snippet is permitted, and a title only
// while a presentation that shows the title is permitted.
func TestSweepExcerpt(t *testing.T) {
	const bare = "ACAP-disallow-preserve: /a\n"
	for _, c := range []struct{ name, later, swept, title, text string }{
		{"nothing has changed", "", "", "Tides", "The pilot waits."},
		{"no snippet", "ACAP-disallow-present-snippet: /a", "excerpt", "Tides", ""},
		{"nothing of it", "ACAP-disallow-present: /a", "excerpt", "", ""},
		{"to some readers alone", "ACAP-allow-present: /a target-condition=permittedcountrylist:de", "", "Tides",
			"The pilot waits."},
		{"to be made of something else", "ACAP-allow-present-snippet: /a must-use-resource=/s", "excerpt", "Tides", ""},
		{"nothing but something else", "ACAP-allow-present: /a must-use-resource=/s", "excerpt", "", ""},
		{"shorter", "ACAP-allow-present-snippet: /a max-length=2-words", "excerpt", "Tides", "The pilot…"},
		{"the title too", "ACAP-disallow-present: /a\nACAP-allow-present-snippet: /a max-length=2-chars", "excerpt",
			"Ti", "Th"},
		{"the words of an element that may not be shown", "ACAP-composite-usage: shy present-snippet", "excerpt",
			"Tides", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb("ACAP-composite-usage: shy follow\n"+bare), Options{})
			s.receive(pageOf(`<title>Tides</title><p class="the-acap:disallow-(shy)">The pilot waits.`, a))
			if !strings.Contains(c.later, "composite-usage") {
				c.later = "ACAP-composite-usage: shy follow\n" + c.later
			}
			s.web.says(c.later + "\n" + bare)
			if got := brief(s.sweep(SweepOptions{})); got != c.swept {
				t.Errorf("swept %q", got)
			}
			r := s.resource(a)
			kept := r.Kept
			if text := kept.Texts[acap.PresentSnippet].Text; kept.Title != c.title || text != c.text {
				t.Errorf("kept %+v", kept)
			}
			if s.found("pilot") != "/a" {
				t.Error("the index entry went with it")
			}
			if got := s.sweep(SweepOptions{}); got != nil {
				t.Errorf("swept again %q", got)
			}
		})
	}
}

// TestLanguageOfSubstitute checks a page that is indexed by the words of another resource: the
// language of the index entry must be the language of that resource.
func TestLanguageOfSubstitute(t *testing.T) {
	w := newWeb("ACAP-allow-index: /a must-use-resource=" + site +
		"/s\nACAP-allow-index: /b must-use-resource=the-acap:text:tables")
	w.parts[site+"/s"] = `<html lang="fr"><p>Les horaires des vedettes.`
	s := open(t, t.TempDir(), w, Options{})
	for _, address := range []string{a, b} {
		s.receive(pageOf(`<html lang="en"><p>The pilot waits.`, address))
	}
	for query, want := range map[string]string{"horaire lang:fr": "/a", "horaires lang:en": "",
		"tables lang:en": "/b"} {
		if got := s.found(query); got != want {
			t.Errorf("%s: found at %q, want %q", query, got, want)
		}
	}
}

// TestSweepParts checks that the required parts and the text of the link are also erased when no
// presentation of the page is permitted any more.
func TestSweepParts(t *testing.T) {
	const bare = "ACAP-disallow-preserve: /a\n"
	for _, c := range []struct{ name, then, later, swept, kept string }{
		{"a credit", "ACAP-allow-present: /a must-include-resource=the-acap:credit:id:by",
			"ACAP-allow-present: /a must-include-resource=the-acap:credit:id:by", "", "Ada"},
		{"no credit needed", "ACAP-allow-present: /a must-include-resource=the-acap:credit:id:by",
			"ACAP-disallow-present: /a\nACAP-allow-present-link: /a", "excerpt", "Ada"},
		{"nothing to be shown", "ACAP-allow-present: /a must-include-resource=the-acap:credit:id:by",
			"ACAP-disallow-present: /a", "excerpt", ""},
		{"a link", "ACAP-allow-present-link: /a must-use-resource=the-acap:extract:id:by",
			"ACAP-allow-present-link: /a must-use-resource=the-acap:extract:id:by", "", "Ada"},
		{"another link", "ACAP-disallow-present-snippet: /a\nACAP-allow-present-link: /a " +
			"must-use-resource=the-acap:extract:id:by",
			"ACAP-disallow-present-snippet: /a\nACAP-allow-present-link: /a " +
				"must-use-resource=the-acap:extract:id:pilot", "excerpt", ""},
		{"no link", "ACAP-disallow-present-snippet: /a\nACAP-allow-present-link: /a " +
			"must-use-resource=the-acap:extract:id:by",
			"ACAP-disallow-present-snippet: /a\nACAP-disallow-present-link: /a", "excerpt", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(bare+c.then), Options{})
			s.receive(pageOf(`<p id="pilot">The pilot waits.<p id="by">Ada`, a))
			if got := s.resource(a).Kept.String(); !strings.Contains(got, "Ada") {
				t.Fatalf("kept %s", got)
			}
			s.web.says(bare + c.later)
			if got := brief(s.sweep(SweepOptions{})); got != c.swept {
				t.Errorf("swept %q", got)
			}
			if got := s.resource(a).Kept.String(); strings.Contains(got, "Ada") != (c.kept != "") {
				t.Errorf("kept %s", got)
			}
			if got := s.sweep(SweepOptions{}); got != nil {
				t.Errorf("swept again %q", got)
			}
		})
	}
}
