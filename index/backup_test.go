package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// files writes the files of a snapshot to a directory.
type files struct {
	dir  string
	open []*os.File
}

func (f *files) create(name string, size int64) (io.Writer, error) {
	to := filepath.Join(f.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return nil, err
	}
	w, err := os.Create(to)
	f.open = append(f.open, w)
	return w, err
}

// TestSnapshot checks that a snapshot does not change when the index is written and compacted
// before the snapshot is copied.
func TestSnapshot(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	ix, err := Open(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	var want []string
	for i := range 5 { // one segment for each document
		u := fmt.Sprintf("http://example.com/%d", i)
		if err := ix.Put(Document{URL: u, Text: "The pilot waits", Positions: true}); err != nil {
			t.Fatal(err)
		}
		want = append(want, u)
	}
	if err := ix.Delete(want[0]); err != nil {
		t.Fatal(err)
	}
	want = want[1:]
	s, err := ix.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ix.Put(Document{URL: "http://example.com/late", Text: "late"}),
		ix.Delete(want[2])); err != nil {
		t.Fatal(err)
	}
	to := &files{dir: filepath.Join(dir, "copy")}
	if err := s.Copy(ctx, to.create); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, f := range to.open {
		f.Close()
	}
	again, err := Open(to.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Verify(ctx); err != nil {
		t.Error(err)
	}
	got, err := urls(again, `"pilot waits"`)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the copy holds %q, %v; want %q", got, err, want)
	}
	if err := ix.Compact(ctx); err != nil { // the closed snapshot no longer prevents the deletion of files
		t.Error(err)
	}
}

func TestSnapshotStops(t *testing.T) {
	dir := t.TempDir()
	ix, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Put(Document{URL: "http://example.com/", Text: "pilot"}); err != nil {
		t.Fatal(err)
	}
	s, err := ix.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := s.Copy(ctx, (&files{dir: t.TempDir()}).create); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	full := errors.New("no space left")
	if err := s.Copy(context.Background(), func(string, int64) (io.Writer, error) { return nil, full }); !errors.Is(err,
		full) {
		t.Error(err)
	}
	if err := errors.Join(s.Close(), ix.Close()); err != nil {
		t.Error(err)
	}
	if _, err := ix.Snapshot(); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
