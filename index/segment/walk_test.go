package segment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2/document"
	bleveindex "github.com/blevesearch/bleve_index_api"
)

// plainText is a field with blanks between words. Each word is a term.
type plainText struct {
	document.Field
	text Text
}

func (f *plainText) Tokens() *Text       { return &f.text }
func (f *plainText) AnalyzedLength() int { return len(f.text.Numbers) }

// documents returns one document for each text.
func documents(texts []string) []bleveindex.Document {
	const options = bleveindex.IndexField | bleveindex.IncludeTermVectors
	docs, numbers, terms := make([]bleveindex.Document, len(texts)), map[string]uint32{}, []string(nil)
	for i, text := range texts {
		f := &plainText{Field: document.NewTextFieldCustom("text", nil, nil, options, nil),
			text: Text{Source: &numbers}}
		for k, word := range strings.Fields(text) {
			n, known := numbers[word]
			if !known {
				n = uint32(len(terms))
				numbers[word], terms = n, append(terms, word)
			}
			f.text.Numbers, f.text.Positions = append(f.text.Numbers, n), append(f.text.Positions, uint32(k+1))
		}
		f.text.Terms = terms
		doc := document.NewDocument(fmt.Sprint(i))
		doc.AddField(f)
		doc.AddIDField()
		doc.Fields[1].Analyze()
		docs[i] = doc
	}
	return docs
}

// TestWalk checks that the same entries are read whether a walk visits all documents of a list,
// some of them, or picks single ones. The lists have several parts, one part or one document.
func TestWalk(t *testing.T) {
	var docs []string
	for i := range 4000 {
		text := strings.Repeat("lamp ", i%7)
		if i%3 > 0 {
			text += "oil " + strings.Repeat("wick ", i%200) + "oil"
		}
		if i == 2222 {
			text = "once"
		}
		docs = append(docs, text+" end")
	}
	s, _, err := NewFormat().New(documents(docs))
	if err != nil {
		t.Fatal(err)
	}
	d, err := DictionaryOf(s.(Readable), "text")
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range []string{"lamp", "oil", "wick", "once", "end"} {
		l, err := d.List(term)
		if err != nil || l == nil {
			t.Fatal(term, l, err)
		}
		var w Walk
		read := func() string {
			w.Read()
			spots, err := w.Spots(nil)
			if err != nil {
				t.Fatal(term, err)
			}
			return fmt.Sprint(w.Often, w.Norm, spots)
		}
		all := map[uint32]string{}
		for w.Begin(l, true); w.To(0); {
			doc := w.Doc
			all[doc] = read()
		}
		in := l.Docs.ToArray()
		for _, step := range []uint32{1, 2, 5, 130, 900} {
			for _, picks := range []bool{false, true} {
				w.Begin(l, true)
				w.picks = picks
				for doc := step / 2; doc < uint32(len(docs)); doc += step {
					found := w.reach(doc)
					if found != slices.Contains(in, doc) {
						t.Fatalf("%s, document %d: found %v", term, doc, found)
					}
					if found && read() != all[doc] {
						t.Fatalf("%s, document %d, by %d, picks %v: read otherwise", term, doc, step, picks)
					}
				}
			}
		}
		w.Begin(l, false)
		for w.Fill() {
			docs, ratings := w.Rate()
			for i, doc := range docs {
				if !strings.HasPrefix(all[doc], fmt.Sprint(ratings[i].Often())+" ") {
					t.Fatalf("%s, document %d: %d times, read %s", term, doc, ratings[i].Often(), all[doc])
				}
			}
		}
	}
}
