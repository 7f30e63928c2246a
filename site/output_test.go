package site

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// TestExportDoesNotReplace checks that an existing WARC file is not replaced if it was created
// during the export, and that no index is written for it.
func TestExportDoesNotReplace(t *testing.T) {
	p := newPublisher(t, "/a.html")
	s := open(t, t.TempDir())
	crawl(t, s, p.URL+"/a.html")
	dir := t.TempDir()
	name := filepath.Join(dir, "x.warc.gz")
	if err := os.WriteFile(name, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	var usage *UsageError
	if _, err := s.ExportFile(t.Context(), name, false, ExportOptions{}); !errors.As(err, &usage) ||
		!strings.HasSuffix(err.Error(), "x.warc.gz exists") {
		t.Error(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "before" {
		t.Errorf("%q, %v", got, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestUnpackFileFails checks that errors of reading a backup differ from errors of writing its
// files.
func TestUnpackFileFails(t *testing.T) {
	dir := t.TempDir()
	_, err := unpackFile(t.Context(), iotest.ErrReader(io.ErrUnexpectedEOF), filepath.Join(dir, "a.db"))
	if !errors.Is(err, errDamaged) || errors.Is(err, errUnwritten) {
		t.Errorf("not read: %v", err)
	}
	_, err = unpackFile(t.Context(), strings.NewReader("x"), filepath.Join(dir, "a.db", "b.db"))
	if errors.Is(err, errDamaged) || !errors.Is(err, errUnwritten) {
		t.Errorf("not written: %v", err)
	}
}
