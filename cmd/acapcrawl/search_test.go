package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// Whatever a publisher writes, each result has the expected number of lines, and no text of the
// publisher controls a terminal.
func TestResultsObeyNobody(t *testing.T) {
	pieces := []string{"\x1b[31m", "\x1b]0;owned\x07", "\u009b2J", "\u202e", "\u2066", "\u2069",
		"\n\nhttp://evil.example/\n", "\r", "\x00", "\x7f", "\u0085", "\u2028",
		"\u2029", "\v", "\ufffe", "\xff\xfe", "*", "harbour ", "e\u0301", "港", "الميناء", "👩‍👩‍👧‍👦"}
	r := rand.New(rand.NewPCG(6, 21))
	hostile := func() string {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteString(pieces[r.IntN(len(pieces))])
			b.WriteRune(rune(r.IntN(0x3000)))
		}
		if r.IntN(200) == 0 {
			b.WriteString(strings.Repeat("long ", 200_000))
		}
		return "x" + b.String()
	}
	marks := func() [][2]int { return [][2]int{{0, 1}, {r.IntN(9), r.IntN(9)}, {1 << 20, 1 << 21}} }
	for range 300 {
		res := present.Result{URL: "http://a.example/" + hostile(), Title: hostile(), TitleMarks: marks(),
			Also:    []string{hostile()},
			Include: []snippet.Include{{Role: "credit", Text: hostile(), Href: hostile()}}}
		lines := 2 + 1 + 1
		if r.IntN(2) == 0 {
			res.Snippet = &snippet.Snippet{Text: hostile(), Marks: marks(),
				Include: []snippet.Include{{Role: "extract", Text: "x"}, {Role: "credit", Text: hostile()}}}
			lines += 2
		} else {
			// an extract in a result without a snippet
			res.Include = append(res.Include, snippet.Include{Role: "extract", Text: hostile()})
			lines++
		}
		bold := r.IntN(2) == 0
		text := resultsInWords([]present.Result{res, res}, bold)
		if got := strings.Count(text, "\n"); got != 2*lines+1 {
			t.Fatalf("%d lines, want %d: %.500q", got, 2*lines+1, text)
		}
		if bold {
			if strings.Count(text, "\x1b[1m") != strings.Count(text, "\x1b[22m") {
				t.Fatalf("what is bold does not end: %.500q", text)
			}
			text = strings.NewReplacer("\x1b[1m", "", "\x1b[22m", "").Replace(text)
		}
		if at := strings.IndexFunc(text, commanding); at >= 0 || !utf8.ValidString(text) {
			t.Fatalf("byte %d of %.500q", at, text)
		}
	}
}

func commanding(r rune) bool {
	return unicode.IsControl(r) && r != '\n' || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func TestResultsInWords(t *testing.T) {
	found := []present.Result{
		{URL: "http://a.example/1", Link: true, Title: "The harbour", TitleMarks: [][2]int{{4, 11}},
			Also: []string{"http://a.example/2"},
			Snippet: &snippet.Snippet{Text: "Új harbour… *", Marks: [][2]int{{3, 10}},
				Include: []snippet.Include{{Role: "credit", Text: "Ada", Href: "http://a.example/ada"}}}},
		{URL: "http://a.example/3", LeftOut: []present.LeftOut{{Usage: acap.Index, Clause: "line 1"},
			{Usage: acap.PresentLink, Clause: "line 2"}, {Usage: acap.PresentSnippet, Clause: "line 2"}}},
	}
	const want = "The %[1]sharbour%[2]s\nhttp://a.example/1\n    Új %[1]sharbour%[2]s… *\n    credit: Ada " +
		"http://a.example/ada\n    also: http://a.example/2\n\n" +
		"http://a.example/3\n    not shown: index: line 1\n    not shown: present-link, present-snippet: line 2\n"
	if got := resultsInWords(found, false); got != fmt.Sprintf(want, "*", "*") {
		t.Errorf("%q", got)
	}
	if got := resultsInWords(found, true); got != fmt.Sprintf(want, "\x1b[1m", "\x1b[22m") {
		t.Errorf("on a terminal: %q", got)
	}
	for _, c := range []struct {
		count, skip, shown int
		more               bool
		want               string
	}{
		{1, 0, 1, false, "1 result.\n"},
		{7, 0, 7, false, "7 results.\n"},
		{37, 0, 10, false, "Results 1 to 10 of 37. The next: --skip 10\n"},
		{37, 30, 7, false, "Results 31 to 37 of 37.\n"},
		{1010, 10, 10, true, "Results 11 to 20 of more than 1,010. The next: --skip 20\n"},
		{1, 0, 1, true, "Results 1 to 1 of 1 or more. The next: --skip 1\n"},
	} {
		if got := counted(present.Found{Count: c.count, More: c.more}, c.skip, c.shown); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// Search results mark exactly the addresses to which a link is not permitted.
func TestProhibitedLinksAreMarked(t *testing.T) {
	text := resultsInWords([]present.Result{
		{URL: "http://a.example/link", Link: true, Snippet: &snippet.Snippet{Text: "The tide."}},
		{URL: "http://a.example/none", Snippet: &snippet.Snippet{Text: "The tide."}},
		{URL: "http://a.example/refused", LeftOut: []present.LeftOut{{Usage: acap.Present, Clause: "prohibited"}}},
	}, false)
	for line := range strings.Lines(text) {
		if want := strings.HasPrefix(line, "http://a.example/none"); strings.Contains(line, "address only") != want {
			t.Errorf("%q", line)
		}
	}
}
