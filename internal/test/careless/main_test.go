package main

import (
	"slices"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/conformance/course"
)

// visit crawls the course with a careless crawler and returns the result of the judge.
func visit(t *testing.T, robots bool, agent string) *course.Visitor {
	t.Helper()
	s, err := course.Serve(t.Context(), course.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var seeds []string
	for _, o := range course.Seeds() {
		seeds = append(seeds, s.URL(o)+"/")
	}
	crawl(robots, agent, seeds)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := course.Judge(t.Context(), s.Visits(), course.Told{Protocols: course.Protocols()})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Visitors) != 1 {
		t.Fatalf("%d visitors", len(r.Visitors))
	}
	return r.Visitors[0]
}

// A crawler that ignores all policies violates a requirement in every category. At every station
// whose links it follows, it violates the requirement.
func TestJudgeCatchesTheCareless(t *testing.T) {
	got := visit(t, false, "")
	untaken := []string{
		"acap-sitemap", "acap-must-use", // only robots.txt names these files, and this crawler does not read robots.txt
		"acap-purpose", "acap-purpose-other", // the purposes of this crawler are not known
		// this crawler reads no files of vocabularies, and requests each address once; the test
		// TestLicensees of package course has a crawler for each of these
		"tdmrep-once", "tdmrep-closed", "rsl-once", "rsl-discarded", "rsl-loop", "rsl-paid",
	}
	for _, r := range got.Results {
		if r.Level == course.Must && (r.Outcome == course.Violated) == slices.Contains(untaken, r.ID) {
			t.Errorf("%s is %s (%s)", r.ID, r.Outcome, r.Why)
		}
		if r.Outcome == course.Violated && len(r.Evidence) == 0 {
			t.Errorf("%s is violated without evidence", r.ID)
		}
	}
	for _, category := range course.Categories() {
		if category == "RSL documents" { // see untaken
			continue
		}
		// all requirements of the category manners are advice
		if got.Tally(category, course.Violated, course.Unheeded) == 0 {
			t.Errorf("nothing was caught of %q", category)
		}
	}
	if got.ACAP.Sign != "" {
		t.Errorf("it is said to read ACAP: %s", got.ACAP.Sign)
	}
}

// Colly's own robots.txt support obeys most of RFC 9309 and nothing else. The judge finds the
// requirements that Colly is known to violate.
func TestJudgeOfColly(t *testing.T) {
	got := visit(t, true, "samplebot/1.0")
	for _, r := range got.Results {
		var want course.Outcome
		switch r.ID {
		case "robots-first", "down", "blanks", "percent", "slash", "unreserved", "redirect", "redirect-chain",
			"redirect-away":
			want = course.Violated
		case "missing", "moved", "large", "byte-order-mark", "plain", "longest", "wildcard", "end", "again",
			"own-group", "own-case", "image", "sitemap", "conventional":
			want = course.Kept
		case "crawl-delay":
			want = course.Unheeded
		default:
			continue
		}
		if want == course.Kept && r.Outcome == course.Used {
			continue
		}
		if r.Outcome != want {
			t.Errorf("%s is %s (%s %v), want %s", r.ID, r.Outcome, r.Why, r.Evidence, want)
		}
	}
	if got.ACAP.Sign != "" {
		t.Errorf("it is said to read ACAP: %s", got.ACAP.Sign)
	}
}
