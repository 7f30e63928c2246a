package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// dictionaries returns all words in the dictionaries of the index, whether or not a document still
// contains them.
func dictionaries(t *testing.T, ix *Index) map[string]bool {
	t.Helper()
	held, release, err := ix.use()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	view, err := reader(held)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	fields, err := view.Fields()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, field := range fields {
		dict, err := view.(*scorch.IndexSnapshot).FieldDict(field)
		if err != nil {
			t.Fatal(err)
		}
		for {
			entry, err := dict.Next()
			if err != nil {
				t.Fatal(err)
			}
			if entry == nil {
				break
			}
			all[entry.Term] = true
		}
		if err := dict.Close(); err != nil {
			t.Error(err)
		}
	}
	return all
}

// TestCompactForgetsWords checks that compaction removes the words of deleted documents from the
// dictionaries, and removes all files that are not used. It reads the dictionaries because a search
// of the raw bytes would not find compressed words.
func TestCompactForgetsWords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	ix, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { ix.Close() }()
	for i := range 40 {
		put(t, ix, Document{URL: at(fmt.Sprint(i)), Title: fmt.Sprintf("quay%dish", i),
			Text: fmt.Sprintf("harbour zanzibar%dquux and 灯台%d", i, i), Positions: i%2 == 0})
	}
	before := dictionaries(t, ix)
	if !before["zanzibar7quux"] {
		t.Fatal("the test looks in the wrong place: the word of a document in the index is not there")
	}
	for i := range 30 {
		if err := ix.Delete(at(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	for _, when := range []string{"open", "opened again"} {
		if err := ix.Compact(context.Background()); err != nil {
			t.Fatal(err)
		}
		all := dictionaries(t, ix)
		for word := range all {
			for i := range 30 {
				gone := []string{fmt.Sprintf("zanzibar%dquux", i), fmt.Sprintf("quay%dish", i)}
				of := slices.ContainsFunc(gone, func(s string) bool { return strings.Contains(word, s) })
				if of || word == at(fmt.Sprint(i)) {
					t.Errorf("%s: %q is left", when, word)
				}
			}
		}
		if !all["zanzibar33quux"] {
			t.Errorf("%s: of %d words %d are left, but not that of a document in the index", when, len(before),
				len(all))
		}
		held, release, err := segments(ix.held)
		if err != nil {
			t.Fatal(err)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
		if files := segmentFiles(t, dir); len(files) != len(held) {
			t.Errorf("%s: files %q, of which %q are read", when, files, held)
		}
		ix.Close()
		if ix, err = Open(dir); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVersion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	for _, c := range []struct{ found, left string }{{Version, "1"}, {"1", "3"}, {"3", Version}} {
		ix, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ix.MadeBy(); got != c.found || err != nil {
			t.Errorf("version %q, %v; want %q", got, err, c.found)
		}
		if err := errors.Join(ix.SetMadeBy(c.left), ix.Compact(context.Background()), ix.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
