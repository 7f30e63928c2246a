package index

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// pages makes n texts of about 5 KB from a vocabulary of 20,000 words with the frequencies of a language.
func pages(n int) []Document {
	random := rand.New(rand.NewPCG(7, 7))
	syllables := strings.Fields("ka lo mi ter ban so ru vel pi do gan es tor al mu fe ri chun sta no")
	vocabulary := make([]string, 20000)
	for i := range vocabulary {
		for range 1 + random.IntN(3) + min(i, 1) {
			vocabulary[i] += syllables[random.IntN(len(syllables))]
		}
	}
	zipf := rand.NewZipf(random, 1.1, 3, uint64(len(vocabulary)-1))
	docs := make([]Document, n)
	for i := range docs {
		var text strings.Builder
		for text.Len() < 5000 {
			text.WriteString(vocabulary[zipf.Uint64()])
			text.WriteByte(' ')
		}
		docs[i] = Document{URL: fmt.Sprintf("http://news.example/%d", i), Title: fmt.Sprintf("Page %d", i), Text: text.String(),
			Language: []string{"en", "de", "fr"}[i%3], Positions: true}
	}
	return docs
}

func BenchmarkPut2000(b *testing.B) {
	docs := pages(2000)
	text := 0
	for _, d := range docs {
		text += len(d.Text)
	}
	b.SetBytes(int64(text))
	for b.Loop() {
		ix := fresh(b)
		put(b, ix, docs...)
		b.StopTimer()
		if err := ix.Compact(context.Background()); err != nil {
			b.Fatal(err)
		}
		size := int64(0)
		filepath.WalkDir(ix.dir, func(_ string, d fs.DirEntry, err error) error {
			if info, err := d.Info(); err == nil && filepath.Ext(d.Name()) == ".zap" {
				size += info.Size()
			}
			return err
		})
		b.ReportMetric(float64(size)/float64(text), "index/text")
		if err := ix.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(len(docs)*b.N)/b.Elapsed().Seconds(), "docs/s")
}

func BenchmarkSearch(b *testing.B) {
	ix := fresh(b)
	docs := pages(2000)
	put(b, ix, docs...)
	for name, query := range map[string]string{"words": "kalo mi terban", "phrase": `"` + strings.Join(strings.Fields(docs[9].Text)[5:9], " ") + `"`} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := first(ix, query, 10); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
