package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
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
		Document{URL: at("title"), Title: "Running boats", Headings: "A boat runs", Text: "A boat runs", Language: "en",
			Positions: true},
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

// TestSubstrings checks that in dense scripts exactly the sequences of neighbouring characters are
// found, in fields of any language.
func TestSubstrings(t *testing.T) {
	ix := fresh(t)
	texts := map[string]string{
		"ja":    "市立図書館は来月から開館時間を延長します。東京タワー",
		"zh":    "市博物馆展出了古老的地图。地图和图地",
		"plane": "𠮷野家と𠮷田さん、𠮟る",
		"mixed": "In 2020東京大会 wurde die第3章 gelesen, 𠮷A",
		"marks": "ガラス の か\u3099 กินน้ำ",
		"ko":    "시립 도서관에서 책을",
		"apart": "東　京、図。書 館 地,图",
		"long":  strings.Repeat("甲乙丙丁", 2000) + "戊甲",
	}
	for _, language := range []string{"", "de"} {
		for name, text := range texts {
			put(t, ix, Document{URL: at(name + language), Text: text, Language: language, Positions: true})
		}
	}
	plainText := map[string]string{}
	for name, text := range texts {
		plainText[name] = norm.NFKC.String(text)
	}
	for _, query := range []string{"図書館", "図", "館は来", "来月か", "東京", "東", "地图", "图地", "图地图", "古老的地图", "𠮷", "𠮷野", "野家と𠮷",
		"𠮟る", "𠮷田", "が", "か", "ガラ",
		"น้ำ", "도서", "서관에", "丁甲", "丁甲乙丙丁甲", "丁戊甲", "戊甲乙", "甲丙"} {
		var want []string
		for name, text := range plainText {
			// in the text named "marks", か has a mark
			if strings.Contains(text, norm.NFKC.String(query)) && (query != "か" || name != "marks") {
				want = append(want, name, name+"de")
			}
		}
		expect(t, ix, query, want...)
		expect(t, ix, `"`+query+`"`, want...)
	}
	expect(t, ix, "2020東京大", "mixed", "mixedde")
	expect(t, ix, `"die第3章"`, "mixed", "mixedde")
	expect(t, ix, "第3章", "mixed", "mixedde")
	expect(t, ix, "𠮷A", "mixed", "mixedde")
	expect(t, ix, "章3")
}

// TestBreaks checks that a break in a dense-script phrase matches every kind of break in the text,
// but no word or character.
func TestBreaks(t *testing.T) {
	ix := fresh(t)
	for name, text := range map[string]string{"space": "国立東京 大学の門", "wide": "東京　大学", "dot": "東京・大学", "comma": "東京、『大学』",
		"none": "東京大学", "character": "東京某大学",
		"letter": "東京x大学", "word": "東京 x 大学", "parts": "東京\f大学", "two": "東京 某 大学", "line": "東京\n大学"} {
		for _, language := range []string{"", "de", "pl", "fa"} {
			put(t, ix, Document{URL: at(name + language), Text: "門 と " + text, Language: language, Positions: true})
		}
		put(t, ix, Document{URL: at(name + " bare"), Text: "門 と " + text})
	}
	every := func(names ...string) (out []string) {
		for _, n := range names {
			out = append(out, n, n+"de", n+"pl", n+"fa")
		}
		return out
	}
	broken := every("space", "wide", "dot", "comma", "line")
	bare := []string{"space bare", "wide bare", "dot bare", "comma bare", "none bare", "character bare", "letter bare",
		"word bare", "parts bare", "two bare", "line bare"}
	for _, query := range []string{`"東京 大学"`, `"東京・大学"`, `"東京、大学"`} {
		expect(t, ix, query, broken...)
	}
	expect(t, ix, `"と東京、大学"`)
	for _, query := range []string{"東京・大学", "東京、大学", "東京「大学」"} {
		expect(t, ix, query, append(bare, broken...)...)
	}
	expect(t, ix, `"と、東京 大学"`, every("wide", "dot", "comma", "line")...)
	expect(t, ix, `"東京x大学"`, every("letter", "word")...)
	expect(t, ix, `"東京 x、大学"`, every("letter", "word")...)
	expect(t, ix, `"東京 某 大学"`, every("two")...)
	expect(t, ix, `大学 -"東京 大学"`, append(bare, every("none", "character", "letter", "word", "parts", "two")...)...)
	expect(t, ix, `"、" 門 "…"`, append(bare, every("none", "character", "letter", "word", "parts", "two", "space",
		"wide", "dot", "comma", "line")...)...)
}

// TestSubstringsWithoutPositions checks that a document without positions matches if it contains
// all characters of the query. It has a lower rank, because the order of its characters is unknown.
func TestSubstringsWithoutPositions(t *testing.T) {
	ix := fresh(t)
	put(t, ix, Document{URL: at("a bare one"), Text: "東西の京"}, Document{URL: at("placed"), Text: "東京" +
		strings.Repeat("の都へ行く", 20), Positions: true}, Document{URL: at("other"), Text: "東"})
	ranked(t, ix, "東京", "placed", "a bare one")
	expect(t, ix, `"東京"`, "placed")
	expect(t, ix, `"東"`, "placed", "a bare one", "other")
}

// TestPolishWordsCountOnce checks that a Polish word adds to the score once, whether it is found by
// its stem, as it is written, or both.
func TestPolishWordsCountOnce(t *testing.T) {
	ix := fresh(t)
	put(t, ix, Document{URL: at("pl"), Text: "książki leżą, książki", Language: "pl", Positions: true})
	view, err := ix.view()
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	all, err := segmentsOf(view)
	if err != nil || len(all) != 1 {
		t.Fatal(len(all), err)
	}
	for query, want := range map[string]uint32{`"książki"`: 2, `"książki leżą"`: 1, "książki-leżą": 1} {
		clauses, err := parse(query)
		if err != nil {
			t.Fatal(err)
		}
		g := *all[0]
		asked := ix.asked(clauses, []field{{body, "pl", placed}})
		if n := len(asked[0].runs[0].steps[0].terms); n != 2 {
			t.Fatalf("%s: %d terms, want the stem and the word", query, n)
		}
		if err := errors.Join(g.look(asked), g.match(&searching{asked: asked, late: -1})); err != nil {
			t.Fatal(err)
		}
		if places := g.found[0][0].places; len(places) != 1 || places[0].often != want {
			t.Errorf("%s: %v, want %d times", query, places, want)
		}
	}
}

func TestPhrasesOfAlternatingForms(t *testing.T) {
	ix := fresh(t)
	fill := strings.Repeat("un mot de plus ", 400)
	put(t, ix,
		Document{URL: at("fr"), Text: strings.Repeat("l’école d’écoles écoles ", 300) + fill + "une école fermée",
			Language: "fr", Positions: true},
		Document{URL: at("en"), Text: strings.Repeat("boat boats boat ", 500) + "boats boats end", Language: "en",
			Positions: true},
		Document{URL: at("next"), Text: "end boat", Language: "en", Positions: true},
	)
	for query, want := range map[string][]string{
		`"l'école d'écoles"`: {"fr"},
		`"écoles l'école"`:   {"fr"},
		`"d'écoles l'école"`: {},
		`"d'écoles écoles"`:  {"fr"},
		`"une école fermée"`: {"fr"},
		`"une écoles"`:       {},
		`"boat boat boats"`:  {"en"},
		`"boats boats end"`:  {"en"},
		`"boats boats boat"`: {},
		`"end boat"`:         {"next"},
	} {
		expect(t, ix, query, want...)
	}
}

func TestPhrasesEndWithTheirBlock(t *testing.T) {
	ix := fresh(t)
	put(t, ix, Document{URL: at("a"), Text: "the ferry\fleaves at noon", Headings: "Summer\nTimetable",
		Positions: true},
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
	for _, query := range []string{`"white whale"`, `“white whale”`, `„white whale“`, `«white whale»`, `»white whale«`,
		`‹white whale›`, `「white whale」`, `『white whale』`, `white -«whale is»`} {
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
	for name, media := range map[string]string{"html": "text/html", "xhtml": "application/xhtml+xml",
		"text": "text/plain; charset=utf-8", "markdown": "text/markdown",
		"atom": "application/atom+xml", "pdf": "Application/PDF", "png": "image/png", "other": "application/x-tar",
		"unknown": ""} {
		put(t, ix, Document{URL: at(name), Text: "lantern", Type: media})
	}
	expect(t, ix, "lantern type:html", "html", "xhtml")
	expect(t, ix, "type:Text", "text")
	expect(t, ix, "type:markdown", "markdown")
	put(t, ix, Document{URL: at("rss"), Text: "buoy", Type: "text/xml", Feed: true},
		Document{URL: at("xml"), Text: "buoy", Type: "application/xml; charset=utf-8"},
		Document{URL: at("page"), Text: "buoy", Type: "text/html", Feed: true})
	expect(t, ix, "type:feed", "atom", "rss")
	expect(t, ix, "buoy type:text/xml", "rss")
	expect(t, ix, "buoy -type:feed", "xml", "page")
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

// ranked checks that the hits have these names in this order.
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
		return Document{URL: at(name), Title: title, Headings: headings, Text: headings + " " + text + " " + filler,
			Language: "en", Positions: true}
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
			doc("apart", "One", "",
				"a copper thing was there, and after many more words that say nothing of it a kettle"),
			doc("near", "Two", "", "a copper and a kettle, and after it many more words that say nothing of it, thing"),
			doc("side by side", "Three", "",
				"a copper kettle, and after it many more words that say nothing of it and a thing"),
		)
		ranked(t, ix, "copper kettle", "side by side", "near", "apart")
	})
	t.Run("words together, in the last of many that are equal", func(t *testing.T) {
		ix := fresh(t)
		for group := range 3 {
			var docs []Document
			for i := range 300 {
				text := "copper and then a kettle"
				if group == 2 && i == 299 {
					text = "and then a copper kettle"
				}
				docs = append(docs, Document{URL: at(fmt.Sprintf("%d-%03d", 2-group, i)), Text: text, Language: "en",
					Positions: true})
			}
			put(t, ix, docs...)
		}
		got := search(t, ix, "copper kettle")
		if len(got) != 900 || got[0] != at("0-299") || !slices.IsSorted(got[1:]) {
			t.Errorf("%d found, first %v", len(got), got[:3])
		}
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
		put(t, ix, doc("common", "", "", "harbour harbour harbour zeppelin"),
			doc("rare", "", "", "harbour zeppelin zeppelin zeppelin"))
		for i := range 9 {
			put(t, ix, doc(fmt.Sprint(i), "", "", "harbour"))
		}
		if got := search(t, ix, "harbour zeppelin"); got[0] != at("rare") {
			t.Errorf("found %v", got)
		}
	})
}

// TestHitsStayGood checks that an iteration over many hits evaluates the query only once.
func TestHitsStayGood(t *testing.T) {
	ix := fresh(t)
	var docs []Document
	for i := range 3000 {
		docs = append(docs, Document{URL: at(fmt.Sprintf("%04d", i)), Text: strings.Repeat("word ", 1+i%7),
			Positions: true})
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
		if seen[h.URL], last = true, h; len(seen) == 10 { // the index changes during the iteration
			if err := ix.Delete(at("0001"), at("2999")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(seen) != 3000 {
		t.Errorf("%d hits", len(seen))
	}
}

// TestSearchModel checks that queries find exactly the documents that contain their words, whatever
// was deleted and however segments were merged.
func TestSearchModel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	vocabulary := strings.Fields("a 東京 b 京都 c d e 東京都 x-y")
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
			d := Document{URL: at(fmt.Sprint(random.IntN(60))), Text: strings.Join(some(random.IntN(9)), " "),
				Title: strings.Join(some(random.IntN(3)), " "), Positions: true}
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
				if containsRun(d, word) && containsRun(d, phrase) && !containsRun(d, not) {
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

// containsRun reports whether words are next to each other in title or text. A run of dense script
// may begin and end inside one of the text.
func containsRun(d Document, words string) bool {
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
