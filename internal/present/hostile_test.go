package present

import (
	"context"
	"fmt"
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/snippet"
)

// babel returns n random words of many scripts, with control and formatting characters of the kind
// that hostile publishers insert.
func babel(r *rand.Rand, n int) string {
	pieces := []string{" ", " ", "\n", "pilot", "е", "книга ", "港で", "天気", "الميناء ", "e\u0301", "👩‍👩‍👧‍👦", "🇩🇪",
		"\u0600", "\u200d", "\u202e", "\u2066", "\x1b[31m",
		"\u009b", "\u00ad", "\ufeff", "…", "*", "<b>", "&amp;", ". ", "\u0e2a\u0e27\u0e31", "한국 "}
	var b strings.Builder
	for range n {
		if r.IntN(2) == 0 {
			b.WriteString(pieces[r.IntN(len(pieces))])
		} else {
			b.WriteRune(rune(0x20 + r.IntN(0x3300)))
		}
	}
	return b.String()
}

// TestNothingTooLongNothingWithoutItsCredit combines random pages and policies. Each text that is
// shown must be plain text, must obey its length limit, and must be shown together with its
// required credits.
func TestNothingTooLongNothingWithoutItsCredit(t *testing.T) {
	s := open(t)
	r := rand.New(rand.NewPCG(2, 6))
	const pages = 40
	s.setRobots("ACAP-disallow-preserve: /a")
	credited := map[string]bool{}
	for i := range pages {
		path := fmt.Sprintf("/%c%02d", 'a'+i%3, i) // no copy is stored of every third page
		body := "<title>" + html.EscapeString(babel(r, r.IntN(20))) + "</title><p>" +
			html.EscapeString(babel(r, r.IntN(200))) + " pilot " + html.EscapeString(babel(r, r.IntN(200)))
		if credited[path] = r.IntN(4) > 0; credited[path] {
			body += "<p id=by>By " + html.EscapeString(babel(r, r.IntN(9))) + " Ada"
		}
		s.hold(path, body)
	}
	shown, withCredit := 0, 0
	for range 25 {
		chars, words, credit := -1, -1, r.IntN(2) == 0
		extract := ""
		var line strings.Builder
		line.WriteString("ACAP-allow-present-snippet: /")
		if r.IntN(3) > 0 {
			chars = r.IntN(60)
			fmt.Fprintf(&line, " max-length=%d-chars", chars)
		} else if r.IntN(3) > 0 {
			words = r.IntN(12)
			fmt.Fprintf(&line, " max-length=%d-words", words)
		}
		switch {
		case credit:
			line.WriteString(" must-include-resource=the-acap:credit:id:by")
		case r.IntN(2) == 0:
			extract = "By Ada Quill"
			line.WriteString(" must-include-resource=the-acap:extract:text:By%20Ada%20Quill")
		}
		s.setRobots("ACAP-disallow-preserve: /a\nACAP-disallow-present: /\nACAP-allow-present-link: /b\n" +
			line.String())
		found, err := s.Search(context.Background(), Query{Text: "pilot", Limit: pages}, Reader{})
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range found.Results {
			if res.Snippet == nil {
				continue
			}
			shown++
			text, path := res.Snippet.Text, strings.TrimPrefix(res.URL, site)
			if chars >= 0 && snippet.Chars(text) > chars || words >= 0 && snippet.Words(text) > words {
				t.Errorf("%s: %q has %d characters, %d words, under %s", path, text, snippet.Chars(text),
					snippet.Words(text), &line)
			}
			if !strings.Contains(text, extract) {
				t.Errorf("%s: %q lacks what must be in it, under %s", path, text, &line)
			}
			for _, m := range append(slices.Clone(res.Snippet.Marks), [2]int{}) {
				if m[0] > m[1] || m[1] > utf8.RuneCountInString(text) {
					t.Errorf("%s: marks %v of %q", path, res.Snippet.Marks, text)
				}
			}
			all := text + res.Title
			beside := false
			for _, in := range append(res.Include, res.Snippet.Include...) {
				all += in.Text
				beside = beside || in.Role == "credit" && strings.HasPrefix(in.Text, "By") &&
					strings.HasSuffix(in.Text, "Ada")
			}
			if credit && (!beside || !credited[path]) {
				t.Errorf("%s: without its credit: %+v", path, res)
			}
			if credit {
				withCredit++
			}
			if !utf8.ValidString(all) || strings.ContainsAny(all, "\x1b\n\u009b\u202e\u2066") {
				t.Errorf("%s: not plain: %q", path, all)
			}
		}
	}
	if shown < 50 || withCredit < 20 {
		t.Errorf("%d snippets were looked at, %d with a credit", shown, withCredit)
	}
}
