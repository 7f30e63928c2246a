package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

func TestMain(m *testing.M) {
	// bleve logs "unable to load snapshot"; the program discards this log too (see main)
	log.SetOutput(io.Discard)
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // bleve, which tests import, starts goroutines when it is loaded
}

// fresh opens a new index, and closes it after the test.
func fresh(t testing.TB) *Index {
	t.Helper()
	ix, err := Open(filepath.Join(t.TempDir(), "index"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ix.Close() })
	return ix
}

func put(t testing.TB, ix *Index, docs ...Document) {
	t.Helper()
	if err := ix.Put(docs...); err != nil {
		t.Fatal(err)
	}
}

// search returns the URLs of the hits, in order.
func search(t testing.TB, ix *Index, query string) []string {
	t.Helper()
	found, err := urls(ix, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return found
}

func urls(ix *Index, query string) ([]string, error) { return first(ix, query, math.MaxInt) }

// allHits returns all results of a query, best first.
func allHits(t *testing.T, ix *Index, query string) (hits []Hit) {
	t.Helper()
	for hit, err := range ix.Hits(context.Background(), query) {
		if err != nil {
			t.Fatalf("%q: %v", query, err)
		}
		hits = append(hits, hit)
	}
	return hits
}

// first returns the URLs of the first n hits.
func first(ix *Index, query string, n int) ([]string, error) {
	found := []string{}
	for h, err := range ix.Hits(context.Background(), query) {
		if err != nil {
			return nil, err
		}
		if found = append(found, h.URL); len(found) == n {
			break
		}
	}
	return found, nil
}

// expect checks that the hits, in any order, are the documents with these names. It makes URLs of
// the names.
func expect(t testing.TB, ix *Index, query string, names ...string) {
	t.Helper()
	got := search(t, ix, query)
	slices.Sort(got)
	want := []string{}
	for _, n := range names {
		want = append(want, at(n))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: found %v, want %v", query, got, want)
	}
}

func at(name string) string { return "http://news.example/" + name }

// shelf returns one page in each of several languages, with and without positions.
func shelf() []Document {
	doc := func(name, language, title, text string) Document {
		return Document{URL: at(name), Title: title, Text: text, Language: language, Positions: true,
			Fetched: time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)}
	}
	docs := []Document{
		doc("en", "en-GB", "Harbour report",
			"The fishermen's boats were running before the wind, and who knows what they caught. Naïve visitors "+
				"took selfies near example.com's billboard."),
		doc("de", "de", "Alte Häuser",
			"Die Straßen der Altstadt wurden gesperrt, weil die Dächer der Häuser nach dem Sturm geprüft werden "+
				"mußten."),
		doc("fr", "fr", "Le marché",
			"L’épicerie du quartier vend des fromages régionaux ; les élèves du lycée y achètent leurs goûters."),
		doc("ja", "ja", "図書館のお知らせ", "市立図書館は来月から開館時間を延長します。東京タワーまでバスで行けます。猫が窓辺で眠っている。"),
		doc("zh", "zh-Hans", "博物馆", "市博物馆展出了一幅古老的地图。参观者可以免费进入，但是必须提前预约。"),
		doc("ar", "ar", "ميناء المدينة", "وصلت السفينة الكبيرة إلى الميناء القديم، واستقبلها أهالي المدينة بالزهور."),
		doc("ru", "ru", "Старая библиотека",
			"В городской библиотеке открылась выставка редких книг. Посетители рассматривали рукописи учёных."),
		doc("ko", "ko", "도서관", "시립 도서관에서 새로운 책을 빌릴 수 있습니다."),
		doc("th", "th", "ห้องสมุด", "ห้องสมุดประชาชนเปิดทุกวันยกเว้นวันจันทร์"),
		doc("none", "", "Codex", "quidam homines libros antiquos colligunt"),
	}
	for _, d := range docs[:7] {
		d.URL, d.Positions = d.URL+"-bare", false
		docs = append(docs, d)
	}
	return docs
}

func TestLanguages(t *testing.T) {
	ix := fresh(t)
	put(t, ix, shelf()...)
	for _, c := range []struct {
		query string
		names []string
	}{
		// whole sentences, as in the text
		{"The fishermen's boats were running before the wind, and who knows what they caught.",
			[]string{"en", "en-bare"}},
		{"Die Straßen der Altstadt wurden gesperrt, weil die Dächer der Häuser nach dem Sturm geprüft werden mußten.",
			[]string{"de", "de-bare"}},
		{"L’épicerie du quartier vend des fromages régionaux", []string{"fr", "fr-bare"}},
		{"市立図書館は来月から開館時間を延長します。", []string{"ja", "ja-bare"}},
		{"市博物馆展出了一幅古老的地图。", []string{"zh", "zh-bare"}},
		{"وصلت السفينة الكبيرة إلى الميناء القديم، واستقبلها أهالي المدينة بالزهور.", []string{"ar", "ar-bare"}},
		{"В городской библиотеке открылась выставка редких книг.", []string{"ru", "ru-bare"}},
		// words in other forms
		{"fisherman boat", []string{}}, // the plural of fisherman is irregular, so it is not found
		{"boat run caught", []string{"en", "en-bare"}},
		{"Haus Dach", []string{"de", "de-bare"}},
		{"strasse", []string{"de", "de-bare"}},
		{"HÄUSER", []string{"de", "de-bare"}},
		{"hauser", []string{"de", "de-bare"}},
		{"epicerie regional fromage", []string{"fr", "fr-bare"}},
		{"eleve", []string{"fr", "fr-bare"}},
		{"naive", []string{"en", "en-bare"}},
		{"السفن", []string{}},
		{"سفينة", []string{"ar", "ar-bare"}},
		{"مدينة ميناء", []string{"ar", "ar-bare"}},
		{"библиотека", []string{"ru", "ru-bare"}},
		{"книга выставки", []string{"ru", "ru-bare"}},
		{"ученых", []string{"ru", "ru-bare"}},
		// parts of text without spaces
		{"図書館", []string{"ja", "ja-bare"}},
		{"開館時間", []string{"ja", "ja-bare"}},
		{"東京タワー", []string{"ja", "ja-bare"}},
		{"ﾀﾜｰ", []string{"ja", "ja-bare"}}, // half-width kana
		{"猫", []string{"ja", "ja-bare"}},   // one character inside a run
		{"館", []string{"ja", "ja-bare"}},
		{"地图", []string{"zh", "zh-bare"}},
		{"图", []string{"zh", "zh-bare"}},
		{"도서관", []string{"ko"}},
		{"ประชาชน", []string{"th"}},
		// a page without language
		{"homines antiquos", []string{"none"}},
		{"example", []string{"en", "en-bare"}},
		{"example.com", []string{"en", "en-bare"}},
	} {
		expect(t, ix, c.query, c.names...)
	}
}

func TestPolish(t *testing.T) {
	ix := fresh(t)
	put(t, ix, Document{URL: at("pl"), Text: "W czytelni leżą książki o 東京都", Language: "pl-PL", Positions: true})
	for _, query := range []string{"książka", "ksiazek", "czytelnia", "w", "東京", `"lezą książki o 東京"`} {
		expect(t, ix, query, "pl")
	}
	expect(t, ix, `"leżą książka"`)
}

// TestCroatian checks that the forms of a word find each other, and that similar words do not.
func TestCroatian(t *testing.T) {
	ix := fresh(t)
	n := 0
	for _, words := range [][]string{
		strings.Fields("brod broda brodu brodom brode brodovi brodova brodovima brodove"),
		strings.Fields("more mora moru morem mora morima"),
		strings.Fields("luka luke luku lukom lukama"),
		strings.Fields("kralj kralja kraljem kraljevi kraljeva kraljevima"),
		strings.Fields("program programa programom programi programima"),
		strings.Fields("pravilo pravila pravilu pravilom pravilima"),
		strings.Fields("festival festivala festivalu festivalom festivali festivalima"),
		strings.Fields("kavana kavane kavani kavanu kavanom kavanama KAVANAMA"),
		strings.Fields("velik veliki velika veliko veliku velikog velikoga velikom velikome velikomu velikoj"),
		strings.Fields("novi nova novog novoj noviji novija novijeg novijemu novijim novijima novijoj"),
		strings.Fields("vruć vruća vrućeg vrućega vrućem vrućemu vrućih"),
		strings.Fields("raditi radim radi radimo radite radio radila radilo radili"),
		strings.Fields("čitati čitam čita čitamo čitate čitaju čitao čitala čitali citao citali"),
		strings.Fields("putovati putujem putuje putujemo putuju putovao putovala"),
		strings.Fields("vidjeti vidim vidimo vidio vidjela vidjeli"),
		strings.Fields("prst prsta prsti prstima"),
		strings.Fields("Ana Ane Ani Anu Anom"), strings.Fields("oko oka oku okom"), strings.Fields("živjeti zivio živjela"),
		strings.Fields("svijet svijeta svijetu svijetom"), strings.Fields("svi"),
		strings.Fields("cvijet cvijeta"), strings.Fields("Danijel Danijela"), strings.Fields("dan dana danima"),
		strings.Fields("moj moja"), strings.Fields("Split Splita"),
		strings.Fields("obala obale obalu"), strings.Fields("grad gradovi"), strings.Fields("otok otoka otokom"),
	} {
		name := fmt.Sprint("hr", n)
		n++
		put(t, ix, Document{URL: at(name), Text: words[0], Language: "hr", Positions: true})
		for _, query := range words {
			expect(t, ix, query, name)
		}
	}
	expect(t, ix, "ruka")
}

// TestRussianYo checks that words written with ё and with е find each other, in every form, because
// many people write е for ё.
func TestRussianYo(t *testing.T) {
	ix := fresh(t)
	put(t, ix, Document{URL: at("yo"), Text: "Новогодняя ёлка", Language: "ru", Positions: true},
		Document{URL: at("ye"), Text: "Новогодняя елка", Language: "ru", Positions: true})
	for _, query := range []string{"ёлка", "елка", "Ёлки", "елку", `"новогодняя елка"`, `"новогодняя ёлка"`} {
		expect(t, ix, query, "ye", "yo")
	}
}

func TestTurkishCapitals(t *testing.T) {
	ix := fresh(t)
	put(t, ix, Document{URL: at("capitals"), Text: "KIZLARIN IŞIKLARI, İZMİR'İN DİKENLERİ", Language: "tr",
		Positions: true},
		Document{URL: at("small"), Text: "kızların ışıkları, izmir'in dikenleri", Language: "tr", Positions: true},
		Document{URL: at("other"), Text: "kazların aşıkları", Language: "tr", Positions: true})
	for _, query := range []string{"kızların", "KIZLARIN", "ışıkları", "IŞIKLARI", "kız", "KIZ", "İzmir", "izmir",
		"i\u0307zmir", "dikenleri", "DİKENLERİ", `"kızların ışıkları"`, `"KIZLARIN IŞIKLARI"`} {
		expect(t, ix, query, "capitals", "small")
	}
	for _, words := range [][2]string{{"kızların", "KIZLARIN"}, {"ışıkları", "IŞIKLARI"}, {"izmir", "İZMİR"},
		{"dikenleri", "DİKENLERİ"}} {
		if !ix.Matcher(words[0], "tr")(words[1]) || !ix.Matcher(words[1], "tr")(words[0]) {
			t.Errorf("%s and %s are two words", words[0], words[1])
		}
	}
}

func TestAnalyserFor(t *testing.T) {
	for tag, want := range map[string]string{"ckb-IQ": "ckb", "nn": "no", "pt_BR": "pt", "EN": "en", "ja": plain,
		"": plain} {
		if got := analyserFor(tag); got != want {
			t.Errorf("%q: %s, want %s", tag, got, want)
		}
	}
}

// TestLikelyLanguage checks that a probable language is used to find other forms of words, but that
// no lang: clause finds it.
func TestLikelyLanguage(t *testing.T) {
	ix := fresh(t)
	put(t, ix, Document{URL: at("likely"), Text: "Die Häuser am Hafen", Analysis: "de", Positions: true},
		Document{URL: at("unknown"), Text: "Die Häuser am Hafen", Positions: true})
	expect(t, ix, "Haus", "likely")
	expect(t, ix, "Häuser", "likely", "unknown")
	expect(t, ix, "Hafen lang:de")
}

func TestARunMatchesAsItStands(t *testing.T) {
	ix := fresh(t)
	put(t, ix,
		Document{URL: at("apart"), Text: "京都へ行く。東の京は遠い。館と図書", Language: "ja", Positions: true},
		Document{URL: at("together"), Text: "東京都の図書館", Language: "ja", Positions: true},
		Document{URL: at("broken"), Text: "東京、京都", Language: "ja", Positions: true},
		Document{URL: at("mixed"), Text: "第3章 2020東京大会", Language: "ja", Positions: true},
	)
	expect(t, ix, "東京都", "together") // the text has 東京都; a page with 東京 and 京都 apart must not be found
	expect(t, ix, "図書館", "together")
	expect(t, ix, "東京", "together", "broken", "mixed")
	expect(t, ix, "京都", "apart", "together", "broken")
	expect(t, ix, "2020東京", "mixed")
	expect(t, ix, "第3章", "mixed")
	expect(t, ix, "第4章")
	expect(t, ix, `"東京都の図書"`, "together")
}

func TestPhrases(t *testing.T) {
	ix := fresh(t)
	put(t, ix,
		Document{URL: at("hamlet"), Text: "To be, or not to be: that is the question.", Language: "en",
			Positions: true},
		Document{URL: at("other"), Text: "The question is not whether to be that or to be this.", Language: "en",
			Positions: true},
		Document{URL: at("bare"), Text: "To be, or not to be: that is the question.", Language: "en"},
		Document{URL: at("hyphen"), Text: "A well-known wi-fi network", Language: "en", Positions: true},
	)
	expect(t, ix, `"to be or not to be"`, "hamlet")
	expect(t, ix, `“that is the question”`, "hamlet")
	expect(t, ix, "to be or not", "hamlet", "other", "bare")
	expect(t, ix, `question -"the question is"`, "hamlet", "bare")
	expect(t, ix, `"question"`, "hamlet", "other")
	expect(t, ix, "wi-fi", "hyphen")
	expect(t, ix, "fi-wi")
	expect(t, ix, "known", "hyphen")
}

func TestNarrowing(t *testing.T) {
	ix := fresh(t)
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	put(t, ix,
		Document{URL: "http://www.news.example/a", Host: "www.news.example", Text: "lantern", Language: "en",
			Fetched: day("2026-01-31")},
		Document{URL: "http://fakenews.example/b", Host: "fakenews.example", Text: "lantern", Language: "de",
			Fetched: day("2026-02-01")},
		Document{URL: "http://127.0.0.1:8080/c", Text: "lantern", Language: "nb"},
		Document{URL: "http://xn--mller-kva.example/d", Text: "lantern oil"},
	)
	for query, want := range map[string][]string{
		"lantern site:news.example":          {"http://www.news.example/a"},
		"lantern site:WWW.News.Example.":     {"http://www.news.example/a"},
		"site:https://www.news.example/":     {"http://www.news.example/a"},
		"lantern site:127.0.0.1":             {"http://127.0.0.1:8080/c"},
		"lantern site:127.0.0.1:8080":        {"http://127.0.0.1:8080/c"},
		"lantern site:0.0.1":                 {},
		"site:müller.example":                {"http://xn--mller-kva.example/d"},
		"lantern -site:example":              {"http://127.0.0.1:8080/c"},
		"lang:de":                            {"http://fakenews.example/b"},
		"lantern lang:no":                    {"http://127.0.0.1:8080/c"},
		"lantern -lang:en -lang:de -lang:nn": {"http://xn--mller-kva.example/d"},
		"lantern before:2026-02":             {"http://www.news.example/a"},
		"lantern after:2026-02-01":           {"http://fakenews.example/b"},
		"lantern after:2026":                 {"http://www.news.example/a", "http://fakenews.example/b"},
		"lantern -oil after:2027":            {},
	} {
		got := search(t, ix, query)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", query, got, want)
		}
	}
}

func TestTitlesComeFirst(t *testing.T) {
	ix := fresh(t)
	put(t, ix,
		Document{URL: at("body"), Title: "Weather",
			Text: "The lighthouse was dark, and nobody at the lighthouse knew why.", Language: "en", Positions: true},
		Document{URL: at("title"), Title: "The lighthouse",
			Text: "It stands on a rock and can be seen from the ferry when the weather is fine.", Language: "en",
			Positions: true},
	)
	if got := search(t, ix, "lighthouse"); len(got) != 2 || got[0] != at("title") {
		t.Errorf("found %v", got)
	}
	expect(t, ix, "lighthouse rock", "title") // one word is in the title, the other in the text
}

func TestMalformedQueries(t *testing.T) {
	ix := fresh(t)
	for _, query := range []string{"", "  ", `"open`, "lantern \"open", "-lantern", "-site:news.example", "?!", `""`,
		"site:", "lang:", "lang:english", "before:yesterday", "after:2026-13", strings.Repeat("word ", 300)} {
		if _, err := urls(ix, query); !errors.Is(err, ErrQuery) {
			t.Errorf("%.20q: %v", query, err)
		}
	}
	for _, query := range []string{"12:30", "http://news.example/", "a:b", `5" pipe`, "C++", "- dash", "--x y",
		"foo_bar", "AND OR NOT", `a"b`} {
		if _, err := urls(ix, query); err != nil {
			t.Errorf("%q: %v", query, err)
		}
	}
}

func TestHitsInOrder(t *testing.T) {
	ix := fresh(t)
	var docs []Document
	for i := range 25 {
		docs = append(docs, Document{URL: at(fmt.Sprintf("%02d", i)), Text: "the same words", Language: "en"})
	}
	put(t, ix, docs...)
	all := search(t, ix, "same")
	if len(all) != 25 || !slices.IsSorted(all) {
		t.Errorf("%d hits: %v", len(all), all)
	}
	if some, err := first(ix, "same", 7); err != nil || !slices.Equal(some, all[:7]) {
		t.Errorf("the first seven: %v, %v", some, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range ix.Hits(ctx, "same") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}

func TestDeleteReplaceReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "index")
	ix, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, ix, shelf()...)
	put(t, ix, Document{URL: at("en"), Text: "An entirely new text", Language: "fr", Positions: true})
	if err := ix.Delete(at("de"), at("de-bare"), at("never-held")); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		expect(t, ix, "strasse")
		expect(t, ix, "boats", "en-bare")
		expect(t, ix, "entirely", "en")
		for name, want := range map[string]bool{"en": true, "de": false, "never-held": false} {
			if got, err := ix.Has(at(name)); got != want || err != nil {
				t.Errorf("has %s: %v, %v", name, got, err)
			}
		}
		n, err := ix.Count()
		urls := map[string]bool{}
		for u, err := range ix.URLs() {
			if err != nil {
				t.Fatal(err)
			}
			urls[u] = true
		}
		if n != 15 || err != nil || len(urls) != 15 || urls[at("de")] || !urls[at("ja")] {
			t.Errorf("%d documents, %v; URLs %v", n, err, urls)
		}
	}
	check()
	for u, err := range ix.URLs() { // delete documents during the iteration
		if err != nil {
			t.Fatal(err)
		}
		if u == at("none") {
			if err := ix.Delete(u); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(t, ix, Document{URL: at("none"), Text: "back again"})
	for range 2 {
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Put(Document{URL: at("x")}); !errors.Is(err, ErrClosed) {
		t.Errorf("put after close: %v", err)
	}
	if _, err := urls(ix, "x"); !errors.Is(err, ErrClosed) {
		t.Errorf("search after close: %v", err)
	}
	for _, err := range ix.URLs() {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("URLs after close: %v", err)
		}
	}
	if ix, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	check()
}

func TestConcurrentUse(t *testing.T) {
	ix := fresh(t)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 5 {
				d := Document{URL: at(fmt.Sprint(w, "-", i)), Text: "shared words of a writer",
					Language: []string{"en", "de", "fr", "ja"}[w], Positions: true}
				if err := ix.Put(d); err != nil {
					t.Error(err)
				}
				if _, err := urls(ix, "words"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n, err := ix.Count(); n != 20 || err != nil {
		t.Error(n, err)
	}
	if got := search(t, ix, "words"); len(got) != 20 {
		t.Errorf("found %d", len(got))
	}
}

func TestLockedElsewhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	ix, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if other, err := Open(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("second opening: %v, %v", other, err)
	}
	put(t, ix, Document{URL: at("a"), Text: "still at work"})
}

func TestDamage(t *testing.T) {
	for reason, damage := range map[string]func(t *testing.T, dir string){
		"another file": func(t *testing.T, dir string) {
			os.RemoveAll(dir)
			os.MkdirAll(dir, 0o700)
			write(t, filepath.Join(dir, "notes.txt"), "hello")
		},
		"root gone":  func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "store", "root.bolt")) },
		"root empty": func(t *testing.T, dir string) { write(t, filepath.Join(dir, "store", "root.bolt"), "") },
		"root garbage": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "store", "root.bolt"), strings.Repeat("x", 70000))
		},
		"root cut":      func(t *testing.T, dir string) { cut(t, filepath.Join(dir, "store", "root.bolt"), 9000) },
		"segment gone":  func(t *testing.T, dir string) { os.Remove(segmentFiles(t, dir)[0]) },
		"segment empty": func(t *testing.T, dir string) { write(t, segmentFiles(t, dir)[0], "") },
		"segment cut":   func(t *testing.T, dir string) { cut(t, segmentFiles(t, dir)[0], 100) },
	} {
		t.Run(reason, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "index")
			ix, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			put(t, ix, shelf()...)
			if err := ix.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, dir)
			before := len(segmentFiles(t, dir))
			ix, err = Open(dir)
			if err == nil {
				ix.Close()
			}
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("opened: %v", err)
			}
			if !strings.Contains(err.Error(), dir) {
				t.Errorf("does not say where: %v", err)
			}
			if after := len(segmentFiles(t, dir)); after != before {
				t.Errorf("%d segments, %d before opening", after, before)
			}
		})
	}
}

// TestDamagedSegments damages segments at many places. The process must not crash, and the error
// must be reported once and name the index.
func TestDamagedSegments(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	ix, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, ix, shelf()...)
	if err := errors.Join(ix.Compact(context.Background()), ix.Close()); err != nil {
		t.Fatal(err)
	}
	path := segmentFiles(t, dir)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	intact := dir
	held, err := segment.NewFormat().Open(path)
	if err != nil {
		t.Fatal(err)
	}
	const parts = 20
	var ranges [][2]int
	for i := range parts {
		// leave the end intact: it identifies the file as a segment
		ranges = append(ranges, [2]int{i * len(whole) / parts, min((i+1)*len(whole)/parts, len(whole)-60)})
	}
	// the terms of a field, and the offsets of its dictionaries
	for _, name := range []string{segment.IDField, "body/en/placed", hostField} {
		at, err := held.(segment.Readable).DictAddr(name)
		if err != nil {
			t.Fatal(err)
		}
		size, n := binary.Uvarint(whole[at:])
		from, to := int(at)+n, int(at)+n+int(size)
		ranges = append(ranges, [2]int{from, to}, [2]int{from + 16, to - 16}, [2]int{to - 8, to},
			[2]int{to - 16, to - 8})
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	wrong := 0
	told := func(err error) {
		t.Helper()
		if err == nil {
			return
		}
		wrong++
		if !errors.Is(err, ErrCorrupt) || strings.Count(err.Error(), dir) != 1 || strings.Contains(err.Error(), "\n") {
			t.Errorf("told so: %v", err)
		}
	}
	for _, with := range []byte{0, 0xFF, 0x55} {
		for _, r := range ranges {
			dir = filepath.Join(t.TempDir(), "index")
			if err := os.CopyFS(dir, os.DirFS(intact)); err != nil {
				t.Fatal(err)
			}
			data := slices.Clone(whole)
			for k := r[0]; k < r[1]; k++ {
				data[k] = with
			}
			write(t, segmentFiles(t, dir)[0], string(data))
			ix, err := Open(dir)
			if err != nil {
				told(err)
				continue
			}
			for _, query := range []string{"boats", `"fishermen's boats were"`, "図書館", "lang:en", "site:news.example",
				"haus dach gesperrt", "after:2026"} {
				_, err := urls(ix, query)
				told(err)
			}
			for u, err := range ix.URLs() {
				told(err)
				if err == nil {
					_, err = ix.Has(u)
					told(err)
				}
			}
			if err := ix.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if wrong < 20 {
		t.Errorf("%d errors", wrong)
	}
}

func TestUnreadableDirectoryIsNotDamage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "x")
	if _, err := Open(filepath.Join(file, "index")); err == nil || errors.Is(err, ErrCorrupt) ||
		errors.Is(err, ErrLocked) {
		t.Errorf("below a file: %v", err)
	}
}

func TestHalfMadeIndexIsMadeAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	if err := os.MkdirAll(filepath.Join(dir+".new", "store"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir+".new", "store", "root.bolt"), "{")
	if err := os.Mkdir(dir, 0o700); err != nil { // an empty directory is treated like a missing one
		t.Fatal(err)
	}
	ix, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	put(t, ix, Document{URL: at("a"), Text: "word"})
	expect(t, ix, "word", "a")
}

func TestNoTextIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	ix, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, ix, Document{URL: at("a"), Title: "Quicksilver Xylophone", Text: "Bumblebees photograph Zanzibar quietly",
		Language: "en", Positions: true})
	ix.Close()
	for _, secret := range []string{"Quicksilver", "Bumblebees", "photograph Zanzibar"} {
		if where := holding(t, dir, secret); where != "" {
			t.Errorf("%q stands in %s", secret, where)
		}
	}
}

func TestCompactAndVerify(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	ix, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	ctx := context.Background()
	put(t, ix, Document{URL: at("erased"), Text: "zanzibarquux and other words", Positions: true},
		Document{URL: at("kept"), Text: "other words", Positions: true})
	if err := ix.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	if err := ix.Delete(at("erased")); err != nil {
		t.Fatal(err)
	}
	if holding(t, dir, at("erased")) == "" {
		t.Fatal("the test looks in the wrong place: the URL is gone before compaction")
	}
	for range 2 { // the second time, the index has only one segment
		if err := ix.Compact(ctx); err != nil {
			t.Fatal(err)
		}
		if where := holding(t, dir, at("erased")) + holding(t, dir, "zanzibarquux"); where != "" {
			t.Errorf("still in %s", where)
		}
		expect(t, ix, "other words", "kept")
		if n, err := ix.Count(); n != 1 || err != nil {
			t.Errorf("%d documents, %v", n, err)
		}
		if err := ix.Verify(ctx); err != nil {
			t.Error(err)
		}
	}
	if err := ix.Delete(at("kept")); err != nil {
		t.Fatal(err)
	}
	if err := ix.Compact(ctx); err != nil { // the compacted index is empty
		t.Fatal(err)
	}
	if where := holding(t, dir, at("kept")); where != "" {
		t.Errorf("still in %s", where)
	}
	put(t, ix, shelf()...)
	expect(t, ix, "猫", "ja", "ja-bare")
	ix.Close()
	flip(t, segmentFiles(t, dir)[0], 64)
	if ix, err = Open(dir); err != nil {
		if !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		return
	}
	defer ix.Close()
	if err := ix.Verify(ctx); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a flipped bit is not seen: %v", err)
	}
}

func segmentFiles(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "store", "*.zap"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// holding returns the name of a file below dir that contains s; "" if there is none.
func holding(t *testing.T, dir, s string) (where string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), s) {
			where = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return where
}

func write(t *testing.T, path, s string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
		t.Fatal(err)
	}
}

func cut(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, path string, offset int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[offset] ^= 4
	write(t, path, string(data))
}
