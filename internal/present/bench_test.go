package present

import (
	"context"
	"fmt"
	"html"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/prose"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// asked are search queries by language. The test pages contain the words of these queries in other
// grammatical forms.
var asked = []struct{ language, query string }{
	{"en", "lanterns repairing quarries"},
	{"de", "Häusern Brücken repariert"},
	{"zh", "修理 灯笼 木匠"},
}

// report returns a page with 15 KB of text, a menu and headings.
func report(language string, seed uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<html lang=%s><title>Report %d</title><nav><ul>", language, seed)
	for i := range 12 {
		fmt.Fprintf(&b, "<li><a href='/%d'>Section %d</a>", i, i)
	}
	b.WriteString("</ul></nav><main><h1>The report</h1>")
	for i, p := range prose.Paragraphs(language, seed, 15_000) {
		if i%6 == 0 {
			fmt.Fprintf(&b, "<h2>Chapter %d</h2>", i/6+1)
		}
		fmt.Fprintf(&b, "<p>%s\n", html.EscapeString(p))
	}
	return b.String()
}

// resultsOfPage is the number of results on one page of results. All results of a page share one
// matcher.
const resultsOfPage = 10

// perResult reports the benchmark's time per search result.
func perResult(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*resultsOfPage), "ns/result")
}

// BenchmarkSnippet measures making the snippets of one page of results. The texts are divided into
// blocks, and the matcher comes from the index.
func BenchmarkSnippet(b *testing.B) {
	s := open(b)
	for _, c := range asked {
		var texts []string
		var blocks [][]page.Block
		for i := range resultsOfPage {
			pg := page.New([]page.Hop{{URL: site, Status: 200,
				Header: map[string][]string{"Content-Type": {"text/html; charset=utf-8"}},
				Body:   []byte(report(c.language, uint64(i)))}})
			text, parts := pg.Blocks(page.Cut{})
			texts, blocks = append(texts, text), append(blocks, parts)
		}
		b.Run(c.language, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := s.wanted(c.query, c.language)
				for i, text := range texts {
					if got, ok := snippet.Build(text, snippet.Rules{Blocks: blocks[i], Wanted: w}); !ok ||
						len(got.Marks) == 0 {
						b.Fatalf("%+v", got)
					}
				}
			}
			perResult(b)
		})
	}
}

// BenchmarkSearch measures a search that returns one page of results, from the index and the stored
// copies.
func BenchmarkSearch(b *testing.B) {
	for _, c := range asked {
		b.Run(c.language, func(b *testing.B) {
			s := open(b)
			for i := range resultsOfPage {
				s.hold(fmt.Sprintf("/%d", i), report(c.language, uint64(i)))
			}
			one, _, _ := strings.Cut(c.query, " ")
			if c.language == "de" {
				one = "Brücken"
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				found, err := s.Search(context.Background(), Query{Text: one, Limit: resultsOfPage}, Reader{})
				if err != nil || len(found.Results) != resultsOfPage {
					b.Fatalf("%d results, %v", len(found.Results), err)
				}
			}
			perResult(b)
		})
	}
}

// BenchmarkCopy measures the work before the snippets of one page of results can be made: reading
// the copies from the archive, and finding title, blocks and statements in them.
func BenchmarkCopy(b *testing.B) {
	s := open(b)
	for i := range resultsOfPage {
		s.hold(fmt.Sprintf("/%d", i), report("en", uint64(i)))
	}
	each := func(b *testing.B, what func(pg *page.Page)) {
		for b.Loop() {
			for i := range resultsOfPage {
				r, _, err := s.archive.Resource(fmt.Sprintf("%s/%d", site, i))
				if err != nil {
					b.Fatal(err)
				}
				_, pg, err := s.page(context.Background(), r.Current)
				if err != nil {
					b.Fatal(err)
				}
				what(pg)
			}
		}
		perResult(b)
	}
	b.Run("read", func(b *testing.B) { each(b, func(*page.Page) {}) })
	b.Run("parsed", func(b *testing.B) { each(b, func(pg *page.Page) { pg.Title(page.Cut{}) }) })
	b.Run("blocks", func(b *testing.B) { each(b, func(pg *page.Page) { pg.Blocks(page.Cut{}) }) })
	b.Run("own", func(b *testing.B) { each(b, func(pg *page.Page) { pg.Own() }) })
}
