//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// In the process of another verb, a verb reads only regular files: reading a pipe could block that
// process, and a device name may mean another file there.
func TestGuestReads(t *testing.T) {
	_, data := crawled(t, "/a.html")
	s, _ := own(t, data, "crawl")
	s.serve()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "to")
	if err := os.Symlink(pipe, to); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, to, os.DevNull, "/dev/stdin", "/dev/./fd/0"} {
		got := call(t.Context(), data, "archive", "import", "--assume-policy", "none", name)
		if got.status != statusUsage || strings.Count(got.stderr, "use - or a regular file") != 1 {
			t.Errorf("%s: said %v", name, got)
		}
	}
	guest := Command{owner: s.Site}
	for _, read := range []func() error{
		func() error { _, err := guest.readFile("--assume-policy", pipe); return err },
		func() error { return guest.readable(pipe) },
	} {
		if err := read(); err == nil {
			t.Error("the pipe is read")
		}
	}
	if err := (&Command{}).readable(pipe); err != nil { // a verb that runs in its own process may read a pipe
		t.Error(err)
	}
}
