package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Whether all documents of a list are gone through, or some, or picked, what is read of each is the same: in lists of several parts, of one
// and of one document.
func TestWalk(t *testing.T) {
	var docs []Document
	for i := range 4000 {
		text := strings.Repeat("lamp ", i%7)
		if i%3 > 0 {
			text += "oil " + strings.Repeat("wick ", i%200) + "oil"
		}
		if i == 2222 {
			text = "once"
		}
		docs = append(docs, Document{URL: fmt.Sprint(at(""), i), Text: text + " end", Language: "en", Positions: true})
	}
	s, _, err := newSegmentFormat().New(documents(t, docs))
	if err != nil {
		t.Fatal(err)
	}
	d, err := dictionaryOf(s.(readable), field{body, "en", placed}.name())
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range []string{"lamp", "oil", "wick", "onc", "end"} {
		l, err := d.list(term)
		if err != nil || l == nil {
			t.Fatal(term, l, err)
		}
		var w walk
		read := func() string {
			w.read()
			spots, err := w.spots(nil)
			if err != nil {
				t.Fatal(term, err)
			}
			return fmt.Sprint(w.often, w.norm, spots)
		}
		all := map[uint32]string{}
		for w.begin(l, true); w.to(0); {
			doc := w.doc
			all[doc] = read()
		}
		in := l.docs.ToArray()
		for _, step := range []uint32{1, 2, 5, 130, 900} {
			for _, picks := range []bool{false, true} {
				w.begin(l, true)
				w.picks = picks
				for doc := step / 2; doc < uint32(len(docs)); doc += step {
					found := w.reaches(doc)
					if found != slices.Contains(in, doc) {
						t.Fatalf("%s, document %d: found %v", term, doc, found)
					}
					if found && read() != all[doc] {
						t.Fatalf("%s, document %d, by %d, picks %v: read otherwise", term, doc, step, picks)
					}
				}
			}
		}
		w.begin(l, false)
		for w.fill() {
			docs, ratings := w.rate()
			for i, doc := range docs {
				if !strings.HasPrefix(all[doc], fmt.Sprint(ratings[i].often>>1)+" ") {
					t.Fatalf("%s, document %d: %d times, read %s", term, doc, ratings[i].often>>1, all[doc])
				}
			}
		}
	}
}
