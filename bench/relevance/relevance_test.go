package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The command measures acapcrawl without sqlite3, and reports that FTS5 is missing.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	pages := map[string]string{
		"tide":   "The pilot waits for the tide beside the quay",
		"storm":  "A storm broke nine granite blocks of the harbour wall",
		"crates": "Brandt counted crates and barrels twice before supper",
		"gulls":  "Gulls followed the trawlers home during the summer",
	}
	if err := os.Mkdir(filepath.Join(dir, "en"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		body := "<title>About " + name + "</title><p><a href=/>Home page</a><p>" + text + "."
		if err := os.WriteFile(filepath.Join(dir, "en", name+".html"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", t.TempDir()) // without sqlite3
	var out strings.Builder
	if err := run(context.Background(), &out, options{dir: dir, queries: 12, kind: passage, seed: 1}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sqlite3 was not found", "en            4       12   1.000",
		"100.0 % of 12 contain"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
