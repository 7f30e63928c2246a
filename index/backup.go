package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleveindex "github.com/blevesearch/bleve_index_api"
)

// Snapshot is the state of the index at the time of the call that returned it. Until Close is
// called, its files are not deleted and the index cannot be closed.
type Snapshot struct {
	dir     string
	view    bleveindex.CopyReader
	files   []string // segment files that are already on disk
	release func()
}

// Snapshot returns a snapshot of the current state of the index. Other goroutines may write to the
// index during and after the call.
func (ix *Index) Snapshot() (s *Snapshot, err error) {
	defer guard(ix.dir, &err)()
	held, release, err := ix.use()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	view, ok := held.CopyReader().(*scorch.IndexSnapshot)
	if !ok || view == nil {
		return nil, fmt.Errorf("index %s cannot be copied: %w", ix.dir, ErrClosed)
	}
	s = &Snapshot{dir: ix.dir, view: view, release: release}
	for _, segment := range view.Segments() {
		if file, ok := segment.Segment().(interface{ Path() string }); ok {
			s.files = append(s.files, filepath.Base(file.Path()))
		}
	}
	return s, nil
}

// Close releases the files, so that the index may delete them.
func (s *Snapshot) Close() error {
	defer s.release()
	return s.view.CloseCopyReader()
}

// Copy copies the files of the index. For each file it calls create with the name of the file,
// relative to the directory of the index, with slashes, and the size in bytes. Copy writes the
// content of a file before it calls create again.
func (s *Snapshot) Copy(ctx context.Context, create func(name string, size int64) (io.Writer, error)) (err error) {
	defer guard(s.dir, &err)()
	d := &spool{files: s.files, memory: map[string]*bytes.Buffer{}}
	defer func() { err = errors.Join(err, d.remove()) }()
	if err := s.view.CopyTo(d); err != nil {
		return fmt.Errorf("index %s cannot be copied: %w", s.dir, err)
	}
	if err := copyFile(ctx, d.root, path.Join("store", "root.bolt"), create); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(d.memory)) {
		w, err := create(name, int64(d.memory[name].Len()))
		if err != nil {
			return err
		}
		if _, err := d.memory[name].WriteTo(w); err != nil {
			return err
		}
	}
	for _, name := range s.files {
		if err := copyFile(ctx, filepath.Join(s.dir, "store", name), path.Join("store", name), create); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(ctx context.Context, from, name string, create func(string, int64) (io.Writer, error)) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w, err := create(name, info.Size())
	if err != nil {
		return err
	}
	_, err = io.CopyN(w, f, info.Size())
	return err
}

// spool is the directory to which bleve copies an index: its root record, which must be a file, and
// segments that are not on disk yet.
type spool struct {
	root   string
	files  []string // names of the segment files that bleve need not copy
	memory map[string]*bytes.Buffer
}

// GetWriter returns the writer for a file of the copy. It returns nil if bleve need not write the
// file.
func (d *spool) GetWriter(name string) (io.WriteCloser, error) {
	base := filepath.Base(name)
	switch {
	case base == "root.bolt":
		f, err := os.CreateTemp("", "acapcrawl-index-")
		if err != nil {
			return nil, err
		}
		d.root = f.Name()
		return f, nil
	case slices.Contains(d.files, base):
		return nil, nil
	}
	b := &bytes.Buffer{}
	d.memory[path.Join("store", base)] = b
	return unclosed{b}, nil
}

func (d *spool) remove() error {
	if d.root == "" {
		return nil
	}
	return os.Remove(d.root)
}

// unclosed is a writer whose Close method does nothing.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
