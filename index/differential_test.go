package index

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var differentialSeeds = flag.Uint64("seeds", 1, "seeds of TestDifferential")

// tongue is a language of the random documents.
type tongue struct {
	code  string
	words []string
	blank string // separator between words
}

const (
	zwnj = "\u200c"
	zwj  = "\u200d"
)

func tongues() []tongue {
	return []tongue{
		{"en", strings.Fields("the The harbour harbours lantern lantern's lanterns lit running run runs " +
			"boats boat naïve café o'clock light-house lighthouse"), " "},
		{"fr", strings.Fields("l'école l’école école écoles d'été été l'épicerie qu'une une " +
			"élève élèves Élève garçon garçons aujourd'hui cœur coeur où ou"), " "},
		{"de", strings.Fields("Straße Strasse Straßen Häuser Haus Hauses Auf" + zwnj + "lage Auflage " +
			"Bücher Buch groß große größer Übung Übungen Fähre Fähren"), " "},
		{"vi", strings.Fields("ma má mà mả mã mạ đường duong phố pho tiếng Việt viet nam bến cảng cang thuyền"), " "},
		{"zh", strings.Fields("地图 地 图书馆 图 書館 东京 京 港口 灯 灯台 3年 2020"), ""},
		{"ja", strings.Fields("東京都 京都 図書館 ランプ らんぷ 灯台 港 𠮷野家 の を に カフェ ABC"), ""},
		{"fa", strings.Fields("می" + zwnj + "روم میروم می روم کتاب" + zwnj + "ها کتابها کتاب خانه خانه" + zwnj +
			"ها دریا چراغ"), " "},
		{"ar", strings.Fields("كتاب الكتاب كُتُب مدرسة المدرسة ه" + zwj + " بحر البحر مصباح والمصباح على"), " "},
		{"ru", strings.Fields("книга книги книгу ёлка елка ёлки гавань гавани фонарь фонари огонь новый новая"), " "},
		{"pl", strings.Fields("książka książki książek łódź łodzie łodzi port portu latarnia latarnie"), " "},
		{"tr", strings.Fields("ışık IŞIK ışıklar İstanbul istanbul liman limanı kitap kitaplar"), " "},
		// a language without its own analyser
		{"eo", strings.Fields("haveno havenoj lanterno lanternoj ŝipo ŝipoj ĉiu"), " "},
	}
}

// author generates random documents and queries.
type author struct {
	*rand.Rand
	tongues []tongue
}

func (a *author) oneOf(list ...string) string { return list[a.IntN(len(list))] }

// word returns a random word of the language t, sometimes with the spelling variants of hasty
// writers.
func (a *author) word(t tongue) string {
	if a.IntN(15) == 0 {
		t = a.tongues[a.IntN(len(a.tongues))]
	}
	w := t.words[min(a.IntN(len(t.words)), a.IntN(len(t.words)))]
	switch a.IntN(12) {
	case 0:
		return strings.ToUpper(w)
	case 1:
		return string(foldTerm([]byte(w)))
	case 2:
		return w + "-" + t.words[a.IntN(len(t.words))]
	}
	return w
}

func (a *author) text(t tongue, words int) string {
	var b strings.Builder
	for range words {
		b.WriteString(a.word(t))
		switch a.IntN(10) {
		case 0:
			b.WriteString(a.oneOf(", ", ". ", "。", "\f", "\n", " – ", "; "))
		case 1:
			b.WriteString(" ")
		default:
			b.WriteString(t.blank)
		}
	}
	return b.String()
}

var hosts = []string{"news.example", "www.news.example", "shop.example:8080", "xn--bcher-kva.example"}

func (a *author) document() Document {
	t := a.tongues[a.IntN(len(a.tongues))]
	d := Document{
		URL:       fmt.Sprintf("http://%s/%d", hosts[a.IntN(len(hosts))], a.IntN(400)),
		Title:     a.text(t, a.IntN(4)),
		Headings:  strings.ReplaceAll(a.text(t, a.IntN(4)), "\f", "\n"),
		Text:      a.text(t, 1+a.IntN(25)),
		Language:  t.code,
		Type:      a.oneOf("text/html", "text/plain; charset=utf-8", "application/pdf", "application/atom+xml"),
		Fetched:   time.Date(2025+a.IntN(2), time.Month(1+a.IntN(12)), 1+a.IntN(28), 0, 0, 0, 0, time.UTC),
		Positions: a.IntN(4) > 0,
	}
	if a.IntN(20) == 0 {
		// a long text, in which the positions of a term fill a location (see package segment)
		d.Text = strings.Repeat(d.Text+" ", 40)
	}
	switch a.IntN(10) {
	case 0:
		d.Language = ""
	case 1:
		d.Language, d.Analysis = "", t.code
	}
	return d
}

func (a *author) clause(docs []Document) string {
	t := a.tongues[a.IntN(len(a.tongues))]
	switch a.IntN(12) {
	case 0:
		return a.oneOf("site:news.example", "site:example", "site:shop.example:8080", "site:shop.example",
			"site:bücher.example")
	case 1:
		return a.oneOf("lang:", "lang:") + t.code
	case 2:
		return a.oneOf("type:html", "type:text", "type:pdf", "type:feed", "type:application/pdf", "type:image")
	case 3:
		return a.oneOf("before:", "after:") + a.oneOf("2025", "2025-07", "2026-02-14", "2026")
	case 4, 5, 6:
		return a.word(t)
	case 7: // random words of one tongue, which rarely form a phrase of a text
		return `"` + strings.ReplaceAll(a.text(t, 1+a.IntN(3)), "\f", " ") + `"`
	}
	// Some characters or words of a random text.
	text := strings.ReplaceAll(docs[a.IntN(len(docs))].Text, "\f", " ") // no query contains the end of a block
	if !strings.Contains(text, " ") || a.IntN(3) == 0 {
		r := []rune(text)
		from := a.IntN(len(r))
		return `"` + string(r[from:min(len(r), from+1+a.IntN(6))]) + `"`
	}
	w := strings.Split(text, " ")
	from := a.IntN(len(w))
	return `"` + strings.Join(w[from:min(len(w), from+1+a.IntN(4))], " ") + `"`
}

func (a *author) query(docs []Document) string {
	var out []string
	for i := range 1 + a.IntN(3) {
		minus := ""
		if i > 0 && a.IntN(3) == 0 {
			minus = "-"
		}
		out = append(out, minus+a.clause(docs))
	}
	return strings.Join(out, " ")
}

// TestDifferential checks that random queries in random documents of many languages find the same
// documents as plain bleve. Hits whose scores must be equal must have equal scores, ordered by URL.
// When bleve is upgraded, run it with more seeds: go test ./index -run TestDifferential -seeds 50.
func TestDifferential(t *testing.T) {
	for seed := range *differentialSeeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { differ(t, seed) })
	}
}

func differ(t *testing.T, seed uint64) {
	ix := fresh(t)
	r := newReference(t, ix.analysers)
	a := &author{rand.New(rand.NewPCG(seed, 17)), tongues()}
	held := map[string]Document{}
	hits, phrases := 0, 0
	for round := range 5 {
		var docs []Document
		for range 30 + a.IntN(60) {
			d := a.document()
			docs = append(docs, d)
			if a.IntN(6) == 0 { // store the same page again
				d.URL += "/copy"
				docs = append(docs, d)
			}
		}
		seen := map[string]bool{}
		docs = slices.DeleteFunc(docs, func(d Document) bool { was := seen[d.URL]; seen[d.URL] = true; return was })
		put(t, ix, docs...)
		r.put(t, docs...)
		var gone []string
		for _, d := range docs {
			held[d.URL] = d
			if a.IntN(12) == 0 {
				delete(held, d.URL)
				gone = append(gone, d.URL)
			}
		}
		r.remove(t, gone...)
		if err := ix.Delete(gone...); err != nil {
			t.Fatal(err)
		}
		if round == 3 {
			if err := ix.Compact(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		for range 120 {
			q := a.query(docs)
			clauses, err := parse(q)
			if err != nil {
				continue // the query has only punctuation or exclusions
			}
			want := r.search(t, clauses)
			compareHits(t, ix, q, clauses, want, held)
			if hits += len(want); len(want) > 0 && strings.Contains(q, `"`) {
				phrases++
			}
		}
	}
	if hits < 1000 || phrases < 50 {
		t.Errorf("the queries found only %d documents, and %d with a phrase found any: the test shows little", hits,
			phrases)
	}
}

// compareHits compares the hits of a query with those of the reference (want), which are ordered by
// URL.
func compareHits(t *testing.T, ix *Index, q string, clauses []clause, want []string, held map[string]Document) {
	t.Helper()
	hits, got := allHits(t, ix, q), []string{}
	for _, h := range hits {
		got = append(got, h.URL)
	}
	if !slices.ContainsFunc(clauses, func(c clause) bool { return c.words() && !c.not }) && !slices.Equal(got, want) {
		t.Fatalf("%q, without words: the order is %q, want %q", q, got, want)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		var wrong []string
		for _, u := range append(slices.Clone(got), want...) {
			if slices.Contains(got, u) != slices.Contains(want, u) {
				document := fmt.Sprintf("%+v", held[u])
				wrong = append(wrong, fmt.Sprintf("found %v: %+q", slices.Contains(got, u), document))
			}
		}
		t.Fatalf("%q (%+q): found %d, want %d, different are\n%s", q, q, len(got), len(want), strings.Join(wrong, "\n"))
	}
	scores := map[Document]float64{}
	for i, h := range hits {
		if i > 0 && (hits[i-1].Score < h.Score || hits[i-1].Score == h.Score && hits[i-1].URL >= h.URL) {
			t.Fatalf("%q: %v comes before %v", q, hits[i-1], h)
		}
		same := held[h.URL]
		same.URL, same.Type, same.Fetched, same.Feed = "", "", time.Time{}, false
		if score, known := scores[same]; known && score != h.Score {
			t.Fatalf("%q: %v has the text of another hit, whose score is %v", q, h, score)
		}
		scores[same] = h.Score
	}
}
