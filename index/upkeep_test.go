package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
	view, err := held.Reader()
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

// used returns the names of the files of the current index.
func used(t *testing.T, ix *Index) []string {
	t.Helper()
	names, release, err := segments(ix.held)
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	slices.Sort(names)
	return names
}

// awaitUsedFiles waits until the directory contains the files of the current index and no others. A
// merge that runs in the background may write another one.
func awaitUsedFiles(t *testing.T, ix *Index) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		var files []string
		for _, f := range segmentFiles(t, ix.dir) {
			files = append(files, filepath.Base(f))
		}
		held := used(t, ix)
		if slices.Equal(files, held) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("files %q, of which %q are read", files, held)
		}
	}
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
		awaitUsedFiles(t, ix)
		ix.Close()
		if ix, err = Open(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCompactRewritesOneSegment checks that compaction after the deletion of one document leaves
// all segments as they are except the one that contained the document.
func TestCompactRewritesOneSegment(t *testing.T) {
	ix := withSegments(t, maxSegment, 1<<10)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 3 { // so few segments above the smallest size are not merged
		put(t, ix, rareWords(random, fmt.Sprint(i, "a")), rareWords(random, fmt.Sprint(i, "b")))
	}
	before := used(t, ix)
	if len(before) != 3 {
		t.Fatalf("segments %q, want three", before)
	}
	for i := range 3 {
		if err := errors.Join(ix.Delete(at(fmt.Sprint(i, "b"))), ix.Compact(context.Background())); err != nil {
			t.Fatal(err)
		}
		after := used(t, ix)
		gone := slices.DeleteFunc(before, func(f string) bool { return slices.Contains(after, f) })
		if len(after) != 3 || len(gone) != 1 {
			t.Errorf("of three segments compaction replaced %q; now they are %q", gone, after)
		}
		before = after
	}
}

// withSegments returns an empty index with limits for the size of segments. Smaller segments than
// smallest count as equal.
func withSegments(t *testing.T, largest, smallest int) *Index {
	t.Helper()
	ix := fresh(t)
	if err := ix.held.Close(); err != nil {
		t.Fatal(err)
	}
	limits := maps.Clone(merging)
	limits["MaxSegmentFileSize"], limits["FloorSegmentFileSize"] = largest, smallest
	var err error
	if ix.held, err = openStore(ix.dir, map[string]any{"scorchMergePlanOptions": limits}, ix.queue); err != nil {
		t.Fatal(err)
	}
	return ix
}

// rareWords returns a document of a thousand different words.
func rareWords(random *rand.Rand, name string) Document {
	var text strings.Builder
	for range 1000 {
		fmt.Fprintf(&text, "%x ", random.Uint64())
	}
	return Document{URL: at(name), Text: text.String()}
}

// TestSegmentSize checks that merging stops at the maximum size of a segment.
func TestSegmentSize(t *testing.T) {
	const limit, batches = 100 << 10, 30
	ix := withSegments(t, limit, limit/20)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range batches {
		put(t, ix, rareWords(random, fmt.Sprint(i)))
	}
	for len(used(t, ix)) > batches/2 {
		time.Sleep(time.Millisecond)
	}
	if err := ix.Compact(t.Context()); err != nil { // removes the files of merged segments
		t.Fatal(err)
	}
	for _, f := range segmentFiles(t, ix.dir) {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > limit {
			t.Errorf("%s has %d bytes, more than %d", f, info.Size(), limit)
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
