package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2/analysis"
	bleveindex "github.com/blevesearch/bleve_index_api"
	"golang.org/x/text/unicode/norm"
)

func shown(ts analysis.TokenStream) string {
	var out []string
	for _, t := range ts {
		out = append(out, fmt.Sprintf("%s@%d", t.Term, t.Position))
	}
	return strings.Join(out, " ")
}

// read returns the terms of a text that is indexed.
func read(a *analyser, text string) string {
	w := newWords("", text, bleveindex.IncludeTermVectors, a)
	w.Analyze()
	var out []string
	for i, n := range w.tokens.Numbers {
		out = append(out, fmt.Sprintf("%s@%d", w.tokens.Terms[n], w.tokens.Positions[i]))
	}
	return strings.Join(out, " ")
}

// queried returns the terms of a query, without those for other words that the query also finds.
func queried(a *analyser, text string) string {
	var out []string
	for _, t := range a.query(text) {
		terms := t.terms
		if n := len(terms); t.others && n == 3 {
			terms = []string{terms[0], terms[2]}
		} else if t.others {
			terms = terms[n-1:]
		}
		for _, term := range terms {
			out = append(out, fmt.Sprintf("%s@%d", term, t.position))
		}
	}
	return strings.Join(out, " ")
}

// TestWordsAreReadAsQueriesAre checks that cached terms of a token equal the terms that the filters
// return for the whole text.
func TestWordsAreReadAsQueriesAre(t *testing.T) {
	all, err := analysers()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range shelf() {
		for code, a := range all {
			want := shown(a.chain.Analyze(norm.NFKC.Bytes([]byte(d.Text))))
			if got := queried(a, d.Text); got != want {
				t.Errorf("%s, %s: %s is asked for, want %s", code, d.URL, got, want)
			}
			for range 2 { // the second time, terms come from the cache
				if got := read(a, d.Text); got != want {
					t.Errorf("%s, %s: %s, want %s", code, d.URL, got, want)
				}
			}
		}
	}
}

func TestTokens(t *testing.T) {
	all, err := analysers()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ reason, language, text, want string }{
		{"words, lower case", plain, "The QUICK fox", "the@1 quick@2 fox@3"},
		{"punctuation parts words", plain, "wi-fi foo_bar a.b", "wi@1 fi@2 foo@3 bar@4 a@5 b@6"},
		{"an apostrophe does not", plain, "don’t 'quoted'", "don't@1 quoted@2"},
		{"accents fold", plain, "Ærøskøbing Café Ελλάδα ёж", "aeroskobing@1 cafe@2 ελλαδα@3 еж@4"},
		{"й is a letter of its own", plain, "йод", "йод@1"},
		{"characters", plain, "東京都。京𠮷", "東@1 京@2 都@3  @4 京@5 𠮷@6"},
		{"a break is one, whatever it is", plain, "「東」、 『京』 a 都", "東@1  @2 京@3 a@4 都@5"},
		{"a break ends with its block", plain, "東。\f京", "東@1 京@10"},
		{"a run ends at other scripts", plain, "第3章abc", "第@1 3@2 章@3 abc@4"},
		{"marks stay with their character", plain, "กิน か\u3099", "กิ@1 น@2  @3 が@4"},
		{"soft hyphens and joiners vanish", plain, "Donau\u00addampf\u200bschiff", "donaudampfschiff@1"},
		{"a non-joiner parts a word of a query", plain, "می\u200cروم x", "می@1 روم@2 x@3"},
		{"marks tell Vietnamese words apart", "vi", "Tiếng VIỆT ma", " tieng@1 tiếng@1  viet@2 việt@2 ma@3"},
		{"stop words stay", "en", "to be or not", "to@1 be@2 or@3 not@4"},
		{"German", "de", "Häuser Haus Maße", "haus@1 haus@2 mass@3"},
		{"French elision", "fr", "l’épicerie", "epic@1"},
		{"characters in a language's field", "de", "Reise nach 東京都", "reis@1 nach@2 東@3 京@4 都@5"},
		{"encoded data is no word", plain, strings.Repeat("x", 300) + " end", "end@2"},
		{"invalid bytes part words", plain, "one\xfftwo", "one@1 two@2"},
	} {
		got := queried(all[c.language], c.text)
		if got != c.want {
			t.Errorf("%s: %s", c.reason, got)
		}
	}
}

func TestEveryLanguageAnswersTheSame(t *testing.T) {
	const text = "Jučer su djevojčice čitale knjige; yesterday they read. Gestern. وصلت السفينة पुस्तकालय 東京"
	var first map[string]string
	for range 30 {
		all, err := analysers()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for code, a := range all {
			got[code] = queried(a, text)
		}
		for code := range first {
			if first[code] != got[code] {
				t.Fatalf("%s: %s, then %s", code, first[code], got[code])
			}
		}
		first = got
	}
}

type broken struct{}

func (broken) Filter(analysis.TokenStream) analysis.TokenStream { panic("index out of range") }

func TestAStemmerThatPanicsStopsNothing(t *testing.T) {
	all, err := analysers()
	if err != nil {
		t.Fatal(err)
	}
	hurt := &analyser{chain: &analysis.DefaultAnalyzer{Tokenizer: tokenizer{},
		TokenFilters: []analysis.TokenFilter{broken{}}}, plain: all[plain]}
	if got := queried(hurt, "two words"); got != "two@1 words@2" {
		t.Error(got)
	}
	if got := read(hurt, "two words"); got != "two@1 words@2" {
		t.Error(got)
	}
}

func FuzzAnalyse(f *testing.F) {
	all, err := analysers()
	if err != nil {
		f.Fatal(err)
	}
	for _, d := range shelf() {
		f.Add(d.Text)
	}
	f.Add("کتاب\u200cهای می\u200c\u200cروم\u200c Auf\u200clage \u200cx")
	f.Fuzz(func(t *testing.T, text string) {
		for code, a := range all {
			last := 0
			tokens := a.query(text)
			if got := read(a, text); got != queried(a, text) && !strings.ContainsRune(text, nonJoiner) {
				t.Fatalf("%s: %s is indexed as %s", code, queried(a, text), got)
			}
			for _, k := range tokens {
				if len(k.terms) == 0 || slices.Contains(k.terms, "") || k.position <= last {
					t.Fatalf("%s: token %q at %d after %d", code, k.terms, k.position, last)
				}
				last = k.position
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, q := range []string{`one "two three" -four`, "site:news.example lang:de", `“a” -"b c`, "before:2026", "-",
		`"`, "第3章 東京"} {
		f.Add(q)
	}
	all, err := analysers()
	if err != nil {
		f.Fatal(err)
	}
	ix := &Index{analysers: all}
	f.Fuzz(func(t *testing.T, q string) {
		clauses, err := parse(q)
		if err != nil {
			return
		}
		asks := false
		for _, c := range clauses {
			asks = asks || !c.not
		}
		if !asks {
			t.Fatalf("%q only excludes", q)
		}
		if got := ix.asked(clauses, []field{{body, "de", placed}, {title, plain, bare}}); len(got) != len(clauses) {
			t.Fatalf("%q asks for %d clauses of %d", q, len(got), len(clauses))
		}
	})
}
