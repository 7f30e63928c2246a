package index

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2/document"
	bleveindex "github.com/blevesearch/bleve_index_api"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

// documents makes the fields of docs and analyses them, as a batch of the library does.
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

// bytesOf is a segment as it is written, but for the list of its parts, whose order the library leaves to chance: of 2 and 8 bytes
// for each field, it is sorted.
func bytesOf(t *testing.T, s segmentapi.Segment) []byte {
	t.Helper()
	base, ok := s.(*zap.SegmentBase)
	if !ok {
		t.Fatalf("a segment of another kind, %T", s)
	}
	var out bytes.Buffer
	if _, err := base.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The builder writes what that of the library writes.
func TestSegmentsAreThoseOfTheLibrary(t *testing.T) {
	many := pages(1100)
	for i := range many {
		many[i].Text = many[i].Text[:400]
	}
	for name, docs := range map[string][]Document{
		"one":       shelf()[:1],
		"languages": shelf(),
		"empty":     {{URL: at("empty")}, {URL: at("title"), Title: "A title alone"}},
		"days": {{URL: at("a"), Text: "lantern " + strings.Repeat("oil ", 300), Positions: true, Fetched: time.Unix(0, 0)},
			{URL: at("b"), Text: "lantern oil", Language: "en", Fetched: time.Now()}},
		"many": many, // some terms are in more than one chunk
	} {
		t.Run(name, func(t *testing.T) {
			ours, size, err := (&segmentFormat{}).NewUsing(documents(t, docs), nil)
			if err != nil {
				t.Fatal(err)
			}
			theirs, want, err := (&zap.ZapPlugin{}).NewUsing(documents(t, docs), nil)
			if err != nil {
				t.Fatal(err)
			}
			a, b := bytesOf(t, ours), bytesOf(t, theirs)
			if size != want || len(a) != len(b) {
				t.Fatalf("%d bytes, want %d", size, want)
			}
			// What differs is the order of the parts.
			first := 0
			for first < len(a) && a[first] == b[first] {
				first++
			}
			fields := bytes.Index(a, []byte(fieldEntry("_id")))
			if fields < 0 || first < fields {
				t.Fatalf("byte %d of %d differs, before the list of fields at %d", first, len(a), fields)
			}
		})
	}
}

// fieldEntry is how the list of fields begins the entry of a field.
func fieldEntry(name string) string { return fmt.Sprintf("%c%s", len(name), name) }

// Documents that the builder does not know are left to the library.
func TestOtherDocuments(t *testing.T) {
	doc := document.NewDocument("x")
	doc.AddField(document.NewTextField("text", nil, []byte("with values by document")))
	doc.AddIDField()
	doc.VisitFields(func(f bleveindex.Field) { f.Analyze() })
	b := builder{docs: 1, columns: map[string]*column{}}
	if b.add([]bleveindex.Document{doc}) {
		t.Error("the builder takes values by document")
	}
	s, _, err := (&segmentFormat{}).New([]bleveindex.Document{doc})
	if err != nil || s.Count() != 1 {
		t.Errorf("%v, %v", s, err)
	}
}
