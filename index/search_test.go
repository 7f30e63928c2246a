package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPhrasesAreAsWritten(t *testing.T) {
	ix := fresh(t)
	doc := func(name, language, text string) Document {
		return Document{URL: at(name), Text: text, Language: language, Positions: true}
	}
	put(t, ix,
		doc("boats", "en", "The running boats of the Harbour’s pilots"),
		doc("boat", "en", "They run BOAT trips"),
		doc("books", "de", "Die Bücher der Stadt"),
		doc("book", "de", "Sie las die Buch-Seiten"),
		doc("grocer", "fr", "On attend devant l’épicerie du quartier"),
		doc("another", "fr", "On parle d'épiceries du quartier, et d'épicerie du quartier"),
		doc("none", "", "running boats without a language"),
		Document{URL: at("bare"), Text: "The running boats", Language: "en"},
		Document{URL: at("title"), Title: "Running boats", Headings: "A boat runs", Text: "A boat runs", Language: "en", Positions: true},
		doc("zh", "zh", "市博物馆展出了古老的地图"),
		doc("mixed", "en", "In 3年 and 2020東京 they ran a boat"),
	)
	for query, want := range map[string][]string{
		`"run boat"`:                 {"boat"},
		`"Running Boats"`:            {"boats", "none", "title"},
		`"the running boats of the"`: {"boats"},
		`"boats"`:                    {"boats", "none", "title"},
		`"boat"`:                     {"boat", "title", "mixed"},
		`"harbour's pilots"`:         {"boats"},
		`"harbour pilots"`:           {},
		`running boat`:               {"boats", "boat", "bare", "title"},
		`"die Buch"`:                 {"book"},
		`"die bucher"`:               {"books"},
		`"épicerie du quartier"`:     {"grocer", "another"},
		`"l'epicerie du quartier"`:   {"grocer"},
		`"devant épicerie"`:          {},
		`"devant l'épicerie"`:        {"grocer"},
		`boat -"run boat"`:           {"boats", "bare", "title", "mixed"},
		`boats -"running boats"`:     {"boat", "bare", "mixed"},
		`"博物馆展出"`:                    {"zh"},
		`"展博"`:                       {},
		`"2020東京"`:                   {"mixed"},
		`"3年 and 2020"`:              {"mixed"},
		`"3年 they"`:                  {},
		`"and 3年"`:                   {},
	} {
		expect(t, ix, query, want...)
	}
}

func TestPhrasesEndWithTheirBlock(t *testing.T) {
	ix := fresh(t)
	put(t, ix, Document{URL: at("a"), Text: "the ferry\fleaves at noon", Headings: "Summer\nTimetable", Positions: true},
		Document{URL: at("b"), Text: "the ferry leaves", Headings: "Summer timetable", Positions: true})
	expect(t, ix, `"ferry leaves"`, "b")
	expect(t, ix, `"summer timetable"`, "b")
	expect(t, ix, `"leaves at noon" summer timetable ferry`, "a")
	ranked(t, ix, "ferry leaves", "b", "a")
}

func TestQuotationMarks(t *testing.T) {
	ix := fresh(t)
	put(t, ix,
		Document{URL: at("in order"), Text: "white whale", Positions: true},
		Document{URL: at("other"), Text: "the whale is white", Positions: true},
		Document{URL: at("zh"), Text: "古老的地图 和 地图古老", Positions: true},
	)
	for _, query := range []string{`"white whale"`, `“white whale”`, `„white whale“`, `«white whale»`, `»white whale«`, `‹white whale›`, `「white whale」`, `『white whale』`, `white -«whale is»`} {
		expect(t, ix, query, "in order")
	}
	expect(t, ix, `『古老的地图「和」』`, "zh")
	for _, query := range []string{`«white`, `«white"`, `「white』`} {
		if _, err := urls(ix, query); err == nil {
			t.Errorf("%s is taken for closed", query)
		}
	}
}

func TestTypes(t *testing.T) {
	ix := fresh(t)
	for name, media := range map[string]string{"html": "text/html", "xhtml": "application/xhtml+xml", "text": "text/plain; charset=utf-8", "markdown": "text/markdown",
		"atom": "application/atom+xml", "pdf": "Application/PDF", "png": "image/png", "other": "application/x-tar", "unknown": ""} {
		put(t, ix, Document{URL: at(name), Text: "lantern", Type: media})
	}
	expect(t, ix, "lantern type:html", "html", "xhtml")
	expect(t, ix, "type:Text", "text")
	expect(t, ix, "type:markdown", "markdown")
	expect(t, ix, "type:feed", "atom")
	expect(t, ix, "type:pdf", "pdf")
	expect(t, ix, "type:image", "png")
	expect(t, ix, "type:application/xhtml+xml", "xhtml")
	expect(t, ix, "type:application/x-tar", "other")
	expect(t, ix, "lantern -type:html -type:text", "markdown", "atom", "pdf", "png", "other", "unknown")
	for _, query := range []string{"type:", "type:word", "type:/", "type:text/"} {
		if _, err := urls(ix, query); err == nil {
			t.Errorf("%s is understood", query)
		}
	}
}

// ranked expects names in this order.
func ranked(t *testing.T, ix *Index, query string, names ...string) {
	t.Helper()
	var want []string
	for _, n := range names {
		want = append(want, at(n))
	}
	if got := search(t, ix, query); !slices.Equal(got, want) {
		t.Errorf("%s: found %v, want %v", query, got, want)
	}
}

func TestRanking(t *testing.T) {
	filler := strings.Repeat("other words stand here and there in it ", 20)
	doc := func(name, title, headings, text string) Document {
		return Document{URL: at(name), Title: title, Headings: headings, Text: headings + " " + text + " " + filler, Language: "en", Positions: true}
	}
	t.Run("titles, then headings", func(t *testing.T) {
		ix := fresh(t)
		put(t, ix,
			doc("text", "A flower", "Colours", strings.Repeat("a heliotrope grows ", 9)),
			doc("heading", "A plant", "The heliotrope", "it grows"),
			doc("title", "The heliotrope", "Colours", "it grows"),
		)
		ranked(t, ix, "heliotrope", "title", "heading", "text")
	})
	t.Run("words together", func(t *testing.T) {
		ix := fresh(t)
		put(t, ix,
			doc("apart", "One", "", "a copper thing was there, and after many more words that say nothing of it a kettle"),
			doc("near", "Two", "", "a copper and a kettle, and after it many more words that say nothing of it, thing"),
			doc("side by side", "Three", "", "a copper kettle, and after it many more words that say nothing of it and a thing"),
		)
		ranked(t, ix, "copper kettle", "side by side", "near", "apart")
	})
	t.Run("a word that is rare in a language", func(t *testing.T) {
		ix := fresh(t)
		for i := range 30 {
			d := doc(fmt.Sprintf("de-%02d", i), "Seite", "", "viele Wörter")
			d.Language = "de"
			if i == 0 {
				d.Text = "install " + d.Text
			}
			put(t, ix, d, doc(fmt.Sprintf("en-%02d", i), "Page", "", "install install"))
		}
		got := search(t, ix, "install")
		if i := slices.Index(got, at("de-00")); i != 30 {
			t.Errorf("the one page of another language that has the word once is number %d of %d", i+1, len(got))
		}
	})
	t.Run("rare words", func(t *testing.T) {
		ix := fresh(t)
		put(t, ix, doc("common", "", "", "harbour harbour harbour zeppelin"), doc("rare", "", "", "harbour zeppelin zeppelin zeppelin"))
		for i := range 9 {
			put(t, ix, doc(fmt.Sprint(i), "", "", "harbour"))
		}
		if got := search(t, ix, "harbour zeppelin"); got[0] != at("rare") {
			t.Errorf("found %v", got)
		}
	})
}

// Whoever passes over most hits asks the index once.
func TestHitsStayGood(t *testing.T) {
	ix := fresh(t)
	var docs []Document
	for i := range 3000 {
		docs = append(docs, Document{URL: at(fmt.Sprintf("%04d", i)), Text: strings.Repeat("word ", 1+i%7), Positions: true})
	}
	put(t, ix, docs...)
	seen := map[string]bool{}
	last := Hit{Score: 1000}
	for h, err := range ix.Hits(context.Background(), "word") {
		if err != nil {
			t.Fatal(err)
		}
		if seen[h.URL] || h.Score > last.Score || h.Score == last.Score && h.URL < last.URL {
			t.Fatalf("%v after %v", h, last)
		}
		if seen[h.URL], last = true, h; len(seen) == 10 { // it changes meanwhile
			if err := ix.Delete(at("0001"), at("2999")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(seen) != 3000 {
		t.Errorf("%d hits", len(seen))
	}
}

// Every query finds what its words say, whatever was deleted and however segments were merged.
func TestSearchModel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	vocabulary := strings.Fields("a b c d e 東京 京都 東京都 x-y")
	some := func(n int) []string {
		var out []string
		for range n {
			out = append(out, vocabulary[min(random.IntN(len(vocabulary)), random.IntN(len(vocabulary)))])
		}
		return out
	}
	ix := fresh(t)
	held := map[string]Document{}
	for round := range 12 {
		var docs []Document
		for range 1 + random.IntN(20) {
			d := Document{URL: at(fmt.Sprint(random.IntN(60))), Text: strings.Join(some(random.IntN(9)), " "), Title: strings.Join(some(random.IntN(3)), " "), Positions: true}
			docs = append(docs, d)
			held[d.URL] = d
		}
		put(t, ix, docs...)
		for range random.IntN(4) {
			u := at(fmt.Sprint(random.IntN(60)))
			delete(held, u)
			if err := ix.Delete(u); err != nil {
				t.Fatal(err)
			}
		}
		if round%5 == 4 {
			if err := ix.Compact(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		for range 40 {
			word, phrase, not := some(1)[0], strings.Join(some(1+random.IntN(3)), " "), some(1)[0]
			want := []string{}
			for u, d := range held {
				if stands(d, word) && stands(d, phrase) && !stands(d, not) {
					want = append(want, u)
				}
			}
			query := fmt.Sprintf(`%s "%s" -%s`, word, phrase, not)
			got := search(t, ix, query)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: found %v, want %v", query, got, want)
			}
		}
	}
}

// stands tells whether words stand side by side in title or text. A run of dense script may begin and end within one of the text.
func stands(d Document, words string) bool {
	edge := func(s string) string {
		if first, _ := utf8.DecodeRuneInString(s); dense(first) {
			return ""
		}
		return " "
	}
	words = strings.ReplaceAll(words, "-", " ")
	last, _ := utf8.DecodeLastRuneInString(words)
	words = edge(words) + words + edge(string(last))
	for _, text := range []string{d.Title, d.Text} {
		if strings.Contains(" "+strings.ReplaceAll(text, "-", " ")+" ", words) {
			return true
		}
	}
	return false
}
