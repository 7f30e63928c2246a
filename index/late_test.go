package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestLateTexts checks that a phrase that is in many titles finds the same documents with the same
// scores whether their texts are compared late or at once. A phrase that is excluded makes the
// difference.
func TestLateTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	text := func(words int) string {
		var b strings.Builder
		for range words {
			b.WriteString(strings.Fields("lamp lamps pier pier quay tide")[random.IntN(6)] + " ")
		}
		return b.String()
	}
	ix := fresh(t)
	for group := range 4 {
		var docs []Document
		for i := range 300 {
			docs = append(docs, Document{URL: at(fmt.Sprint(group, "/", i)), Title: text(random.IntN(6)),
				Headings: text(random.IntN(4)), Text: text(3+random.IntN(60)) + []string{"mast", "sail"}[i%2],
				Language: []string{"en", "en", "fr"}[i%3], Positions: i%5 > 0})
		}
		put(t, ix, docs...)
	}
	if err := ix.Delete(at("1/7"), at("2/9")); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{`"lamp pier"`, `"pier lamps tide"`, `"quay tide" -mast`, "pier-quay",
		`"tide pier" site:` + strings.Split(at(""), "/")[2]} {
		late, once := allHits(t, ix, query), allHits(t, ix, query+` -"no such phrase"`)
		if len(late) < enough {
			t.Errorf("%s finds only %d documents", query, len(late))
		}
		if !slices.Equal(late, once) {
			t.Errorf("%s finds %d documents late, %d at once, or others", query, len(late), len(once))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read := 0
	for _, err := range ix.Hits(ctx, `"lamp pier"`) {
		if read++; err == nil {
			cancel()
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		return
	}
	t.Errorf("all %d results were found at once", read)
}
