package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands in docs/conformance-run.md work with an engine that permits everything. The example
// in that document is a valid case, which passes.
func TestConformanceRunDocument(t *testing.T) {
	t.Parallel()
	document := read(t, "docs/conformance-run.md")
	var script strings.Builder
	script.WriteString("[!exec:sh] skip 'there is no sh'\nchmod 755 myengine\n")
	n := 0
	for _, block := range blocks(document, "sh") {
		for line := range strings.Lines(block) {
			want := "0"
			if strings.Contains(line, "--engine") {
				want = "1"
			}
			script.WriteString("status " + want + " " + line)
			n++
		}
	}
	if n < 4 {
		t.Errorf("the document has %d commands", n)
	}
	examples := blocks(document, "json")
	if len(examples) != 2 {
		t.Fatalf("the document has %d examples", len(examples))
	}
	script.WriteString("-- myengine --\n#!/bin/sh\nwhile read line; do echo '" + strings.TrimSpace(examples[0]) +
		"'; done\n-- house-rules.jsonl --\n" + examples[1])
	file := filepath.Join(t.TempDir(), "document.txtar")
	if err := os.WriteFile(file, []byte(script.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Files: []string{file}, Setup: setup, Cmds: commands})
}
