package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A draft gets its name only when it is published, and until then leaves nothing in the directory.
// named is true to test file systems that do not support files without a name.
func TestDraft(t *testing.T) {
	for _, named := range []bool{false, true} {
		dir := t.TempDir()
		name := filepath.Join(dir, "out.warc")
		draft := func(text string) *Draft {
			t.Helper()
			d, err := NewDraft(name)
			if named && err == nil && !d.named {
				d.Discard()
				var f *os.File
				f, err = os.CreateTemp(dir, "out.warc.part-*")
				d = &Draft{File: f, named: true}
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.WriteString(text); err != nil {
				t.Fatal(err)
			}
			return d
		}
		holds := func(want ...string) {
			t.Helper()
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != len(want)/2 {
				t.Fatalf("%v, %v, want %q", entries, err, want)
			}
			for i := 0; i < len(want); i += 2 {
				if text, err := os.ReadFile(filepath.Join(dir, want[i])); err != nil || string(text) != want[i+1] {
					t.Errorf("%s holds %q, %v", want[i], text, err)
				}
			}
		}
		d := draft("zero")
		if !d.named {
			holds() // if the process is killed here, no file remains
		}
		if err := errors.Join(d.Discard(), d.Discard()); err != nil {
			t.Error(err)
		}
		holds()
		if err := draft("one").Publish(name, false); err != nil {
			t.Error(err)
		}
		holds("out.warc", "one")
		if err := draft("two").Publish(name, false); !errors.Is(err, fs.ErrExist) {
			t.Errorf("replaced without being asked to: %v", err)
		}
		holds("out.warc", "one")
		beside := filepath.Join(dir, "out.warc.new") // a file of the user, next to the draft
		if err := os.WriteFile(beside, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := draft("three").Publish(name, true); err != nil {
			t.Error(err)
		}
		holds("out.warc", "three", "out.warc.new", "mine")
	}
}
