package index

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/document"
	bleveindex "github.com/blevesearch/bleve_index_api"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"github.com/acapcrawl/acapcrawl/index/segment"
)

// documents converts docs to bleve documents and analyses them, as a batch of bleve does.
func documents(t *testing.T, docs []Document) []bleveindex.Document {
	t.Helper()
	all, err := analysers()
	if err != nil {
		t.Fatal(err)
	}
	ix := &Index{analysers: all}
	out := make([]bleveindex.Document, len(docs))
	for i, d := range docs {
		doc := ix.document(d)
		doc.AddIDField()
		doc.VisitFields(func(f bleveindex.Field) { f.Analyze() })
		out[i] = doc
	}
	return out
}

// contents returns the expected positions of each term in each field and document, computed with
// the analysers.
func contents(t *testing.T, docs []Document) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, d := range documents(t, docs) {
		d.VisitFields(func(f bleveindex.Field) {
			switch f := f.(type) {
			case *words:
				often := map[string][]segment.Spot{}
				text := f.Tokens()
				for i, n := range text.Numbers {
					s := segment.Spot{Position: text.Positions[i]}
					if text.Forms != nil {
						s.Form = text.Forms[i]
					}
					often[text.Terms[n]] = append(often[text.Terms[n]], s)
				}
				for term, spots := range often {
					out[f.name+" "+term+" "+d.ID()] = described(uint64(len(spots)), f.AnalyzedLength(), f.options,
						spots)
				}
			case *document.TextField:
				for term := range f.AnalyzedTokenFrequencies() {
					out[f.Name()+" "+term+" "+d.ID()] = ""
				}
			}
		})
	}
	return out
}

func described(often uint64, length int, options bleveindex.FieldIndexingOptions, spots []segment.Spot) string {
	if options.IncludeTermVectors() {
		return fmt.Sprint(often, segment.LengthOf(segment.LengthCode(uint32(length))), spots)
	}
	return fmt.Sprint(often, segment.LengthOf(segment.LengthCode(uint32(length))))
}

// readSegment returns the same map as contents, read from a segment.
func readSegment(t *testing.T, s segmentapi.Segment) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range s.Fields() {
		d, err := segment.DictionaryOf(s.(segment.Readable), name)
		if err != nil {
			t.Fatal(err)
		}
		if d == nil {
			continue // the field has no words
		}
		f, words := fieldNamed(name)
		err = d.Each("", "", func(term string, l *segment.List) error {
			var w segment.Walk
			for w.Begin(l, true); w.To(0); {
				w.Read()
				id, err := s.DocID(uint64(w.Doc))
				if err != nil {
					return err
				}
				key := name + " " + term + " " + string(id)
				switch {
				case !words:
					out[key] = ""
				case f.kept == bare:
					out[key] = fmt.Sprint(w.Often, segment.LengthOf(segment.CodeOf(w.Norm)))
				default:
					spots, err := w.Spots(nil)
					if err != nil {
						return fmt.Errorf("%s: %w", key, err)
					}
					out[key] = fmt.Sprint(w.Often, segment.LengthOf(segment.CodeOf(w.Norm)), spots)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func sameContents(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			t.Fatalf("%s: %.300s, want %.300s", key, got[key], want[key])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d entries, want %d", len(got), len(want))
	}
}

// collections returns sets of documents of all kinds; each set is for one segment.
func collections() map[string][]Document {
	placed := func(name, language, text string) Document {
		return Document{URL: at(name), Text: text, Language: language, Positions: true}
	}
	many := pages(1100)
	for i := range many {
		many[i].Text = many[i].Text[:399]
	}
	return map[string][]Document{
		"one":       shelf()[:1],
		"languages": shelf(),
		"empty":     {{URL: at("empty")}, {URL: at("title"), Title: "A title alone"}},
		"days": {{URL: at("day-a"), Text: "lantern " + strings.Repeat("oil ", 300), Positions: true,
			Fetched: time.Unix(0, 0)},
			{URL: at("day-b"), Text: "lantern oil", Language: "en", Fetched: time.Now()}},
		"many": many, // enough documents for some lists to have more than one chunk
		"often": {
			placed("thousands", "en", strings.Repeat("lantern ", 70_000)+strings.Repeat("lanterns lantern lit ", 5000)),
			placed("articles", "fr", strings.Repeat("l’épicerie d'épicerie épicerie épiceries qu’une ", 700)),
			placed("far", "en", strings.Repeat("word ", 1500)+"running "+strings.Repeat("word ", 70_000)+"boats"),
			placed("twice", "pl", strings.Repeat("książki książka czytelni ", 40)),
		},
		"dense": {
			placed("breaks", "ko", strings.Repeat("시립 도서관에서 ", 300)),
			{URL: at("bare breaks"), Text: "시립 도서관에서", Language: "ko"},
			placed("planes", "ja", "𠮷野家の𠮷。"+strings.Repeat("東京都", 3000)+"𠮷"),
			placed("marks", "th", strings.Repeat("กินน้ำ ", 30)+"น้ำ"),
			placed("mixed", "de", "3年 in 東京2020 und 2021年"),
			placed("few", "zh", "地图和地图、地"),
		},
	}
}

// TestSegments checks that a segment contains its documents, newly built and after merging. It
// merges segments with the same fields, whose lists zapx copies, and with different fields, whose
// lists zapx writes again; with and without deleted documents.
func TestSegments(t *testing.T) {
	build := func(docs []Document) segmentapi.Segment {
		s, _, err := segment.NewFormat().New(documents(t, docs))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	merged := func(drops []*roaring.Bitmap, segments ...segmentapi.Segment) segmentapi.Segment {
		path := filepath.Join(t.TempDir(), "merged.zap")
		if _, _, err := segment.NewFormat().Merge(segments, drops, path, nil, nil); err != nil {
			t.Fatal(err)
		}
		s, err := segment.NewFormat().Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	other := []Document{{URL: at("other"), Title: "Lantern", Text: "an oil lantern 東京", Language: "nl",
		Positions: true, Type: "text/html", Fetched: time.Unix(0, 0)}}
	for name, docs := range collections() {
		t.Run(name, func(t *testing.T) {
			sameContents(t, readSegment(t, build(docs)), contents(t, docs))
			half := len(docs) / 2
			sameContents(t, readSegment(t, merged(make([]*roaring.Bitmap, 1), build(docs))), contents(t, docs))
			sameContents(t, readSegment(t, merged(make([]*roaring.Bitmap, 2), build(docs), build(other))),
				contents(t, slices.Concat(docs, other)))
			if half == 0 {
				return
			}
			drops := []*roaring.Bitmap{roaring.BitmapOf(0), roaring.BitmapOf(uint32(len(docs)-half) - 1), nil}
			left := slices.Concat(docs[1:half], docs[half:len(docs)-1])
			sameContents(t, readSegment(t, merged(drops[:2], build(docs[:half]), build(docs[half:]))),
				contents(t, left))
			sameContents(t, readSegment(t, merged(drops, build(docs[:half]), build(docs[half:]), build(other))),
				contents(t, slices.Concat(left, other)))
		})
	}
}

// TestOtherDocuments checks that the builder returns an error for unsupported fields.
func TestOtherDocuments(t *testing.T) {
	values := document.NewDocument("x")
	values.AddField(document.NewTextField("text", nil, []byte("with values by document")))
	values.AddIDField()
	values.VisitFields(func(f bleveindex.Field) { f.Analyze() })
	for name, docs := range map[string][]bleveindex.Document{"values by document": {values},
		"too many": make([]bleveindex.Document, segment.MaxDocuments+1)} {
		if _, _, err := segment.NewFormat().New(docs); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestSizes checks that zapx uses the same chunk size as this package, and that a batch fits into
// one segment.
func TestSizes(t *testing.T) {
	if zap.DefaultChunkMode != 1026 {
		t.Errorf("lists are cut by rule %d", zap.DefaultChunkMode)
	}
	if most := segment.MaxDocuments; batchDocs > most {
		t.Errorf("batches of %d documents, segments of %d at most", batchDocs, most)
	}
}

// TestSize checks that the index takes at most one and a half times the size of the text, in every
// script.
func TestSize(t *testing.T) {
	docs := newPress().documents(500, 5000)
	for i := range docs[:len(docs)/2] {
		if docs[i].Language == "zh" { // half of the Chinese documents contain breaks
			docs[i].Text = strings.ReplaceAll(docs[i].Text, "一", "一"+"，")
		}
	}
	for language, most := range map[string]float64{"en": 1, "zh": 1.5} {
		var some []Document
		text := 0
		for _, d := range docs {
			if (d.Language == "zh") == (language == "zh") {
				some = append(some, d)
				text += len(d.Title) + len(d.Text)
			}
		}
		_, size, err := segment.NewFormat().New(documents(t, some))
		if err != nil || float64(size) > most*float64(text) {
			t.Errorf("%s: %d bytes for %d of text, %.2f, %v", language, size, text, float64(size)/float64(text), err)
		}
	}
}
