package terms

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// scribe writes a page from input bytes. Each byte selects what is written next; after the last
// byte, zeros are used. Each word of the page has a number, so that each word occurs once.
type scribe struct {
	bytes []byte
	body  strings.Builder
	words []written
}

// written is a word of the page, with the usages that the enclosing elements prohibit.
type written struct {
	word       string
	prohibited map[acap.Usage]bool
}

func (s *scribe) next(n int) int {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return int(b) % n
}

// marks lists class attributes of elements, and which of the tested usages each attribute
// prohibits.
var marks = []struct {
	class string
	no    []acap.Usage
}{
	{"", nil}, {"the-acap:allow-index", nil}, {"x the-acap:allow-present-snippet", nil},
	{"the-acap:disallow-index", []acap.Usage{acap.Index}},
	{"the-acap:disallow-present-snippet y", []acap.Usage{acap.PresentSnippet}},
	{"The-ACAP:Disallow-Preserve", []acap.Usage{acap.Preserve}},
	{"the-acap:disallow-present", []acap.Usage{acap.PresentSnippet}},
	{"the-acap:disallow-present the-acap:allow-present-snippet", nil},
}

var snippetRules = []string{"", "ACAP-allow-present-snippet: / max-length=20-chars\n",
	"ACAP-allow-present-snippet: / max-length=3-words\n",
	"ACAP-allow-present-snippet: / must-include-resource=the-acap:extract:id:x\n",
	"ACAP-allow-present-snippet: / must-use-resource=the-acap:extract:class:y\n",
	"ACAP-allow-index: / must-use-resource=the-acap:extract:taglist:b,h1\n"}

// element writes an HTML element and its content. outside lists the usages that the enclosing
// elements prohibit.
func (s *scribe) element(depth int, outside map[acap.Usage]bool) {
	mark := marks[s.next(len(marks))]
	inside := map[acap.Usage]bool{}
	for u := range outside {
		inside[u] = true
	}
	for _, u := range mark.no {
		inside[u] = true
	}
	tag := []string{"div", "b", "span", "section", "h1"}[s.next(5)]
	if depth > 0 && tag == "h1" { // the parser does not nest headings
		tag = "i"
	}
	fmt.Fprintf(&s.body, "<%s class='%s' id=%s>", tag, mark.class, []string{"x", "y", "z"}[s.next(3)])
	for range 1 + s.next(4) {
		switch kind := s.next(5); {
		case kind == 0 && depth < 6:
			s.element(depth+1, inside)
		case kind == 1:
			s.body.WriteString([]string{" ", "\n", ". ", "<!--x-->"}[s.next(4)])
		default:
			w := written{fmt.Sprintf("w%dw", len(s.words)), inside}
			s.words = append(s.words, w)
			s.body.WriteString(w.word)
		}
	}
	fmt.Fprintf(&s.body, "</%s>", tag)
}

// FuzzSnippet checks, for any page and query, that text, copy and snippet contain nothing that an
// element prohibits. It also checks that no length limit is exceeded and that nothing panics.
func FuzzSnippet(f *testing.F) {
	f.Add([]byte("3"), "zzz", uint8(0))
	f.Add([]byte{2, 4, 3, 0, 0, 2, 1, 1, 0, 4, 0, 2, 3, 9, 7, 5, 4, 2}, "w1w", uint8(7))
	f.Add([]byte{1, 0, 6, 1, 2, 3, 0, 4, 4, 4, 0, 1, 0, 1, 2, 2, 1, 3}, "w2w titled", uint8(33))
	f.Fuzz(tryPage)
}

// TestSnippets runs the checks of FuzzSnippet on random pages.
func TestSnippets(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		choices := make([]byte, 10+random.IntN(150))
		for i := range choices {
			choices[i] = byte(random.UintN(256))
		}
		tryPage(t, choices, fmt.Sprintf("w%dw titled", random.IntN(30)), uint8(random.UintN(256)))
	}
}

func tryPage(t *testing.T, choices []byte, query string, shape uint8) {
	s := &scribe{bytes: choices}
	if shape&1 != 0 {
		s.body.WriteString("<title>titled</title>")
	}
	for range 1 + s.next(5) {
		s.element(0, nil)
	}
	rules := snippetRules[int(shape>>1)%len(snippetRules)]
	w := &world{}
	tm := of(t, w, rules, s.body.String())
	s.check(t, tm, query)
	for _, copied := range []bool{true, false} {
		s.check(t, held(t, w, tm, rules, copied), query)
	}
}

func (s *scribe) check(t *testing.T, tm *Terms, query string) {
	t.Helper()
	content, _ := tm.Text()
	if tm.Page() != nil {
		for _, b := range content.Blocks {
			_ = content.Text[b.Start:b.End]
		}
		s.holds(t, content.String(), acap.Index)
		text, _ := tm.CopyText()
		s.holds(t, text, acap.Preserve)
		if body, _, ok := tm.Copy(acap.Preserve); ok {
			s.holds(t, pageOf(site+"/a.html", 200, string(body)).Text(page.Cut{}), acap.Preserve)
		}
	}
	for _, q := range []string{query, ""} {
		shown, ok := tm.Snippet(acap.PresentSnippet, snippet.Wanted{Query: q})
		if !ok {
			continue
		}
		s.holds(t, shown.Text, acap.PresentSnippet)
		for _, in := range shown.Include {
			s.holds(t, in.Text, acap.PresentSnippet)
		}
		l := tm.Decide(acap.PresentSnippet).Limits(tm.Facts())
		if l.MaxChars != nil && snippet.Chars(shown.Text) > *l.MaxChars || l.MaxWords != nil &&
			snippet.Words(shown.Text) > *l.MaxWords {
			t.Fatalf("%q is longer than permitted\n%s", shown.Text, s.body.String())
		}
	}
}

// holds fails the test if text contains a word that may not be used for u.
func (s *scribe) holds(t *testing.T, text string, u acap.Usage) {
	t.Helper()
	for _, w := range s.words {
		if w.prohibited[u] && strings.Contains(text, w.word) {
			t.Fatalf("%s: %q holds %s\n%s", u, text, w.word, s.body.String())
		}
	}
}
