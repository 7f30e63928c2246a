package index

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	zap "github.com/blevesearch/zapx/v17"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

var (
	benchDocuments = flag.Int("documents", 20_000, "documents that BenchmarkQueries searches")
	benchBytes     = flag.Int("bytes", 5000, "bytes of text that a document of a benchmark has")
)

// press generates texts from a vocabulary of 20,000 words with the frequencies of a natural
// language; every tenth text is in Chinese.
type press struct {
	random     *rand.Rand
	vocabulary []string
	words      *rand.Zipf
	chinese    []string // words of one to three characters
	made       int
}

func newPress() *press {
	p := &press{random: rand.New(rand.NewPCG(7, 7)), vocabulary: make([]string, 20000)}
	syllables := strings.Fields("ka lo mi ter ban so ru vel pi do gan es tor al mu fe ri chun sta no")
	endings := strings.Fields("ing ed s er en - - - - -")
	for i := range p.vocabulary {
		for range 1 + p.random.IntN(3) + min(i, 1) {
			p.vocabulary[i] += syllables[p.random.IntN(len(syllables))]
		}
		p.vocabulary[i] += strings.Trim(endings[p.random.IntN(len(endings))], "-")
	}
	p.words = rand.NewZipf(p.random, 1.1, 3, uint64(len(p.vocabulary)-1))
	p.chinese = make([]string, len(p.vocabulary))
	characters := rand.NewZipf(p.random, 1.1, 20, 2999)
	for i := range p.chinese {
		for range 1 + p.random.IntN(3) {
			p.chinese[i] += string(rune(0x4E00 + characters.Uint64()))
		}
	}
	return p
}

func (p *press) word() string { return p.vocabulary[p.words.Uint64()] }

func (p *press) chineseWord() string { return p.chinese[p.words.Uint64()] }

func (p *press) character() string {
	first, _ := utf8.DecodeRuneInString(p.chineseWord())
	return string(first)
}

func (p *press) text(bytes int, next func() string, blank string) string {
	var b strings.Builder
	for b.Len() < bytes {
		b.WriteString(next())
		b.WriteString(blank)
	}
	return b.String()
}

func (p *press) document(bytes int) Document {
	i := p.made
	p.made++
	d := Document{URL: fmt.Sprintf("http://news%d.example/%d", i%50, i), Type: "text/html",
		Language: []string{"en", "de", "fr"}[i%3], Positions: true, Fetched: time.Unix(1.7e9, 0)}
	if i%10 == 9 {
		d.Language, d.Title, d.Headings, d.Text = "zh", p.text(20, p.chineseWord, ""), p.text(60, p.chineseWord, ""),
			p.text(bytes, p.chineseWord, "")
		return d
	}
	d.Title, d.Headings, d.Text = p.text(40, p.word, " "), p.text(120, p.word, " "), p.text(bytes, p.word, " ")
	return d
}

func (p *press) documents(n, bytes int) []Document {
	docs := make([]Document, n)
	for i := range docs {
		docs[i] = p.document(bytes)
	}
	return docs
}

func pages(n int) []Document { return newPress().documents(n, 5000) }

// BenchmarkBesideBleve indexes the same documents alternately with plain bleve and with this
// package, with the same fields.
func BenchmarkBesideBleve(b *testing.B) {
	docs := newPress().documents(2000, *benchBytes)
	var alone, ours time.Duration
	for b.Loop() {
		began := time.Now()
		putIntoBleve(b, docs)
		alone += time.Since(began)

		ix := fresh(b)
		began = time.Now()
		put(b, ix, docs...)
		if err := ix.Close(); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(began)
	}
	n := float64(len(docs) * b.N)
	b.ReportMetric(n/alone.Seconds(), "bleve-docs/s")
	b.ReportMetric(n/ours.Seconds(), "docs/s")
	b.ReportMetric(alone.Seconds()/ours.Seconds(), "of-bleve")
}

// putIntoBleve indexes documents like a program that uses bleve with its default settings.
func putIntoBleve(b *testing.B, docs []Document) {
	b.Helper()
	scorch.RegisterSegmentPlugin(&zap.ZapPlugin{}, true)
	defer scorch.RegisterSegmentPlugin(segment.NewFormat(), true)
	static := bleve.NewIndexMapping()
	static.TypeField = "language"
	static.DefaultMapping = mapping.NewDocumentDisabledMapping()
	static.IndexDynamic, static.StoreDynamic, static.DocValuesDynamic = false, false, false
	for language, analyser := range map[string]string{"en": "en", "de": "de", "fr": "fr", "zh": cjk.AnalyzerName} {
		page := bleve.NewDocumentStaticMapping()
		for _, part := range []part{title, headings, body} {
			f := bleve.NewTextFieldMapping()
			f.Analyzer, f.Name, f.Store, f.DocValues, f.IncludeInAll = analyser, string(part)+"/"+language, false,
				false, false
			page.AddFieldMappingsAt(string(part), f)
		}
		for _, label := range []string{hostField, languageField, dayField, typeField} {
			f := bleve.NewTextFieldMapping()
			f.Analyzer, f.Store, f.DocValues, f.IncludeInAll, f.IncludeTermVectors, f.SkipFreqNorm = keyword.Name,
				false, false, false, false, true
			page.AddFieldMappingsAt(label, f)
		}
		static.AddDocumentMapping(language, page)
	}
	ix, err := bleve.NewUsing(filepath.Join(b.TempDir(), "bleve"), static, scorch.Name, scorch.Name,
		map[string]any{"scorchMergePlanOptions": merging})
	if err != nil {
		b.Fatal(err)
	}
	for group := range slices.Chunk(docs, batchDocs) {
		batch := ix.NewBatch()
		for _, d := range group {
			err := batch.Index(d.URL, map[string]any{"title": d.Title, "headings": d.Headings, "body": d.Text,
				hostField: d.Host, languageField: d.Language,
				dayField: d.Fetched.Format(time.DateOnly), typeField: d.Type})
			if err != nil {
				b.Fatal(err)
			}
		}
		if err := ix.Batch(batch); err != nil {
			b.Fatal(err)
		}
	}
	if n, err := ix.DocCount(); err != nil || int(n) != len(docs) {
		b.Fatal(n, err)
	}
	if err := ix.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSize compares the size of a compacted index with the size of the indexed text.
func BenchmarkSize(b *testing.B) {
	docs := newPress().documents(2000, *benchBytes)
	for b.Loop() {
		for _, language := range []string{"en", "zh"} {
			ix := fresh(b)
			text := 0
			var some []Document
			for _, d := range docs {
				if (d.Language == "zh") == (language == "zh") {
					some = append(some, d)
					text += len(d.Title) + len(d.Text)
				}
			}
			put(b, ix, some...)
			if err := ix.Compact(context.Background()); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(segmentBytes(b, ix))/float64(text), language+"-index/text")
			if err := ix.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func segmentBytes(b *testing.B, ix *Index) (sum int64) {
	b.Helper()
	for _, size := range segmentSizes(b, ix) {
		sum += size
	}
	return sum
}

// segmentSizes returns the sizes of the segment files by their paths.
func segmentSizes(b *testing.B, ix *Index) map[string]int64 {
	b.Helper()
	sizes := map[string]int64{}
	err := filepath.WalkDir(ix.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".zap" {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sizes[path] = info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return sizes
}

// BenchmarkErase deletes a document and compacts, and reports the size of the segments written.
func BenchmarkErase(b *testing.B) {
	p := newPress()
	ix := fresh(b)
	for p.made < *benchDocuments {
		put(b, ix, p.documents(min(batchDocs, *benchDocuments-p.made), *benchBytes)...)
	}
	next, written := 0, int64(0)
	for b.Loop() {
		b.StopTimer()
		before := segmentSizes(b, ix)
		b.StartTimer()
		next = (next + *benchDocuments/7 + 1) % *benchDocuments
		url := fmt.Sprintf("http://news%d.example/%d", next%50, next)
		if err := errors.Join(ix.Delete(url), ix.Compact(context.Background())); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		for file, size := range segmentSizes(b, ix) {
			if before[file] == 0 {
				written += size
			}
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(written)/1e6/float64(b.N), "MB-written/op")
}

// BenchmarkQueries searches for words with the frequency that they have in texts, and reports the
// time of the slowest of a hundred queries, each up to its tenth hit. Run it with -documents 200000
// for the documented index size.
func BenchmarkQueries(b *testing.B) {
	p := newPress()
	ix := fresh(b)
	text := 0
	for p.made < *benchDocuments {
		docs := p.documents(min(batchDocs, *benchDocuments-p.made), *benchBytes)
		for _, d := range docs {
			text += len(d.Title) + len(d.Text)
		}
		put(b, ix, docs...)
	}
	b.Logf("%d documents, %d MB of text, index/text %.2f", p.made, text>>20, float64(segmentBytes(b, ix))/float64(text))
	words := func(n int) string {
		var out []string
		for range n {
			out = append(out, p.word())
		}
		return strings.Join(out, " ")
	}
	phrase := func(n int) string {
		list := strings.Fields(p.document(500).Text)
		at := p.random.IntN(max(len(list)-n, 1))
		return `"` + strings.Join(list[at:min(at+n, len(list))], " ") + `"`
	}
	for _, c := range []struct {
		name  string
		query func() string
	}{
		{"one word", func() string { return words(1) }},
		{"two words", func() string { return words(2) }},
		{"four words", func() string { return words(4) }},
		{"narrowed", func() string {
			return words(2) + fmt.Sprintf(" site:news%d.example lang:en -", p.random.IntN(50)) + words(1)
		}},
		{"phrase", func() string { return phrase(2 + p.random.IntN(3)) }},
		{"commonest word", func() string { return p.vocabulary[0] }},
		{"a character", p.character},
		{"commonest character", func() string { return "一" }},
		{"characters", func() string { return p.chineseWord() + p.chineseWord() }},
		{"site", func() string { return fmt.Sprintf("site:news%d.example", p.random.IntN(50)) }},
		{"everything", func() string { return "type:html" }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				query := c.query()
				began := time.Now()
				if _, err := first(ix, query, 10); err != nil {
					b.Fatal(query, err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
		})
	}
}
