package holdings

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
)

// guess is a pair of random pages with the same content. One page is received under one policy and
// swept under another policy. Its twin is received under the second policy.
type guess struct {
	n         int
	was, is   []string // policy lines before and after the change; % stands for the path of the page
	hoard     [2]string
	body      string
	old, twin string
}

func newGuess(r *rand.Rand, n int) guess {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	lines := func() (out []string) {
		for range r.IntN(4) {
			l := "ACAP-" + pick("allow-", "disallow-") + pick("index", "index", "preserve", "preserve",
				"present-snippet", "present-snippet", "present", "other") + ": " + pick("%", "%*")
			switch {
			case strings.HasPrefix(l, "ACAP-allow-index"):
				l += pick("", "", " must-use-resource=the-acap:text:tables",
					" must-use-resource=the-acap:extract:id:lead", " time-limit=until-2020-01-01", " time-limit=3-days")
			case strings.HasPrefix(l, "ACAP-allow-present"):
				l += pick("", "", " must-use-resource=the-acap:text:tables",
					" must-use-resource=the-acap:extract:id:lead", " time-limit=until-2020-01-01")
			case strings.HasPrefix(l, "ACAP-allow-preserve"):
				l += pick("", "", " time-limit=until-2020-01-01", " time-limit=until-2198-01-01 time-limit=9-days",
					" quality=low")
			}
			out = append(out, l)
		}
		return append(out, "ACAP-allow-crawl: %") // crawl must be permitted, otherwise nothing is received
	}
	usages := func() string {
		return pick("follow", "index", "preserve", "index preserve", "present", "present-snippet")
	}
	token := func() string {
		return fmt.Sprintf(pick("the-acap:disallow-(hoard%d)", "the-acap:disallow-(hoard%d)",
			"the-acap:allow-(hoard%d)", "the-acap:disallow-index x%d", "the-acap:disallow-preserve x%d",
			"the-acap:allow-index x%d", "plain%d"), n)
	}
	word := func(s string) string { return fmt.Sprintf("%s%d", s, n) }
	body := pick("", "", `<meta name="robots" content="ACAP disallow-present-snippet">`,
		`<meta name="robots" content="ACAP allow-index">`) +
		fmt.Sprintf(`<title>%s</title><p>%s words stand here.`, word("title"), word("open"))
	if r.IntN(3) > 0 {
		body += fmt.Sprintf(`<div class="%s">%s <b class="%s">%s</b></div>`, token(), word("outer"), token(),
			word("inner"))
	}
	if r.IntN(3) > 0 {
		body += fmt.Sprintf(`<p id="lead" class="%s">%s`, token(), word("lead"))
	}
	return guess{n: n, was: lines(), is: lines(), hoard: [2]string{usages(), usages()}, body: body,
		old: fmt.Sprintf("/old%d/", n), twin: fmt.Sprintf("/twin%d/", n)}
}

func (g guess) String() string {
	return fmt.Sprintf("%d: %s\n  was %s, hoard %s\n  is  %s, hoard %s", g.n, g.body, strings.Join(g.was, "; "),
		g.hoard[0], strings.Join(g.is, "; "), g.hoard[1])
}

// policyOf returns the policy of all guesses: before the change, or, if second is set, after it.
func policyOf(guesses []guess, second bool) string {
	var definitions, fields []string
	for _, g := range guesses {
		lines, hoard, paths := g.was, g.hoard[0], []string{g.old}
		if second {
			lines, hoard, paths = g.is, g.hoard[1], []string{g.old, g.twin}
		}
		definitions = append(definitions, fmt.Sprintf("ACAP-composite-usage: hoard%d %s", g.n, hoard))
		for _, path := range paths {
			for _, l := range lines {
				fields = append(fields, strings.ReplaceAll(l, "%", path))
			}
		}
	}
	return strings.Join(definitions, "\n") + "\nACAP-crawler: *\n" + strings.Join(fields, "\n")
}

// state is what is stored of a page.
type state struct {
	copies  []string
	indexed bool
	words   []string // words of the page by which a search finds it
	shown   []string // words in the data stored to present the page
}

// state returns what is stored of a page. The index must be flushed before.
func (s *store) state(g guess, path string) (x state) {
	s.Helper()
	r := s.resource(site + path)
	x.copies, x.indexed = s.copies(site+path), r.Indexed
	kept := r.Kept
	x.shown = strings.Fields(kept.Title + " " + kept.Texts[acap.PresentSnippet].Text)
	for _, w := range []string{"title", "open", "outer", "inner", "lead", "tables"} {
		word := fmt.Sprintf("%s%d", w, g.n)
		if w == "tables" {
			word = w
		}
		for h, err := range s.index.Hits(context.Background(), word) {
			if err != nil {
				s.Fatal(err)
			}
			if h.URL == site+path {
				x.words = append(x.words, w)
			}
		}
	}
	return x
}

// TestSweepModel checks that a swept page equals a page received under today's policy, except for
// what was never stored and cannot be fetched without a request. After a sweep, no more may be
// stored than for a page received today.
func TestSweepModel(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 5))
		var guesses []guess
		for n := range 80 {
			guesses = append(guesses, newGuess(r, n))
		}
		s := open(t, t.TempDir(), newWeb(""), Options{})
		s.web.says(policyOf(guesses, false))
		before := make([]state, len(guesses))
		for _, g := range guesses {
			s.receive(pageOf(g.body, site+g.old))
		}
		s.flushed()
		for i, g := range guesses {
			before[i] = s.state(g, g.old)
		}
		s.web.says(policyOf(guesses, true))
		s.sweep(SweepOptions{})
		if again := s.sweep(SweepOptions{}); len(again) > 0 {
			t.Errorf("seed %d: swept again: %q", seed, again)
		}
		for _, g := range guesses {
			s.receive(pageOf(g.body, site+g.twin))
		}
		s.flushed()
		for i, g := range guesses {
			was, is, fresh := before[i], s.state(g, g.old), s.state(g, g.twin)
			given := []string{}
			// the text of the required resource may stay if no copy of the page is stored
			if len(was.copies) == 0 {
				given = append(given, "tables")
			}
			whole := len(was.copies) == 1 && was.copies[0] == g.body
			switch {
			case len(is.copies) > len(fresh.copies), is.indexed &&
				!fresh.indexed, !contained(is.words, append(fresh.words, given...)):
				t.Errorf("seed %d, %v\nmore is held than may be: %+v, and not %+v; before %+v", seed, g, is, fresh, was)
			case len(is.copies)+len(fresh.copies) == 0 && !contained(is.shown, fresh.shown):
				t.Errorf("seed %d, %v\nmore is kept than may be shown: %+v, and not %+v; before %+v", seed, g, is,
					fresh, was)
			case len(is.copies) == 1 && is.copies[0] != was.copies[0]:
				t.Errorf("seed %d, %v\nthe copy is another: %q", seed, g, is.copies)
			case whole && len(fresh.copies) == 1 && fresh.copies[0] == g.body && len(is.copies) == 0:
				t.Errorf("seed %d, %v\nthe copy is gone: %+v, and not %+v; before %+v", seed, g, is, fresh, was)
			case whole && was.indexed && fresh.indexed && !slices.Equal(is.words, fresh.words):
				t.Errorf("seed %d, %v\nthe entry could be made of the copy: %+v, and not %+v; before %+v", seed, g, is,
					fresh, was)
			}
		}
		s.shut()
	}
}

func contained(part, whole []string) bool {
	return !slices.ContainsFunc(part, func(w string) bool { return !slices.Contains(whole, w) })
}
