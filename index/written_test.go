package index

import (
	"fmt"
	"strings"
	"testing"
)

// TestNonJoiner checks that words with a zero-width non-joiner are found with it, without it and
// with a blank, whatever language the page has.
func TestNonJoiner(t *testing.T) {
	for _, language := range []string{"fa", "", "de"} {
		for _, kept := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %v", language, kept), func(t *testing.T) {
				ix := fresh(t)
				for name, text := range map[string]string{"joiner": "کتاب\u200cهای کهنه", "one": "کتابهای کهنه",
					"blank": "کتاب های کهنه", "other": "کهنه های کتابی"} {
					put(t, ix, Document{URL: at(name), Text: text, Language: language, Positions: kept})
				}
				want := map[string][]string{
					"کتابهای":       {"joiner", "one"},
					"کتاب های":      {"joiner", "blank"},
					"کتاب\u200cهای": {"joiner", "one", "blank"},
				}
				if kept {
					want[`"کتاب های کهنه"`] = []string{"joiner", "blank"}
					want["\"کتاب\u200cهای کهنه\""] = []string{"joiner", "one", "blank"}
				}
				for query, names := range want {
					expect(t, ix, query, names...)
				}
			})
		}
	}
	ix := fresh(t)
	put(t, ix, Document{URL: at("ligature"), Text: "Die zweite Auf\u200clage", Language: "de", Positions: true})
	expect(t, ix, "Auflage", "ligature")
}

// filled returns text preceded by filler words.
func filled(text string) string { return strings.Repeat("lorem ipsum dolor ", 10) + text }

// TestWrittenWordsComeFirst checks that pages with the form of the query rank first, even if other
// pages contain other forms more often.
func TestWrittenWordsComeFirst(t *testing.T) {
	for _, c := range []struct{ language, query, written, others string }{
		{"en", "updating", "updating", "updated updates update updated"},
		{"en", "housing committee", "housing x committee", "houses committees house committees x committee"},
		{"de", "Häuser", "Häuser", "Haus Hause Hauses Haus"},
		{"ru", "книгами", "книгами", "книга книги книгу книга"},
		{"pl", "książkami", "książkami", "książka książki książkę książka"},
	} {
		t.Run(c.query, func(t *testing.T) {
			ix := fresh(t)
			put(t, ix, Document{URL: at("a"), Text: filled(c.others), Language: c.language, Positions: true},
				Document{URL: at("z"), Text: filled(c.written), Language: c.language, Positions: true})
			for i := range 20 {
				put(t, ix, Document{URL: at(fmt.Sprint(i)), Text: filled(""), Language: c.language, Positions: true})
			}
			ranked(t, ix, c.query, "z", "a")
		})
	}
}

// TestWrittenWordsOfAnyLanguage checks that a page in a language without analyser does not rank
// lower than pages whose forms are stored.
func TestWrittenWordsOfAnyLanguage(t *testing.T) {
	ix := fresh(t)
	put(t, ix, Document{URL: at("z"), Text: filled("running running"), Language: "eo", Positions: true},
		Document{URL: at("a"), Text: filled("running"), Language: "en", Positions: true})
	ranked(t, ix, "running", "z", "a")
}

// TestVietnamese checks that Vietnamese words that differ in their marks are different words. A
// query for one also finds the others, ranked last.
func TestVietnamese(t *testing.T) {
	for _, kept := range []bool{true, false} {
		ix := fresh(t)
		for name, text := range map[string]string{"table": "cái bàn", "shoot": "bắn bắn bắn súng",
			"sell": "bán bán bán hàng", "you": "bạn bè", "unmarked": "ban ban"} {
			put(t, ix, Document{URL: at(name), Text: filled(text), Language: "vi", Positions: kept})
		}
		for query, first := range map[string]string{"bàn": "table", "bắn": "shoot", "bán": "sell", "bạn": "you",
			"BÀN": "table"} {
			if got := search(t, ix, query); len(got) != 5 || got[0] != at(first) {
				t.Errorf("positions %v: %s: found %v, want %s first", kept, query, got, first)
			}
		}
		expect(t, ix, "ban", "table", "shoot", "sell", "you", "unmarked")
		expect(t, ix, "ban hang", "sell")
	}
}
