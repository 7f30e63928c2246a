package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A shell runs every acapcrawl command in the YAML of docs/ci.md, in order, in the checkout of a
// small site. Each command must succeed.
func TestCIPage(t *testing.T) {
	t.Parallel()
	var steps strings.Builder
	for _, block := range blocks(read(t, "docs/ci.md"), "yaml") {
		for line := range strings.Lines(block) {
			line = regexp.MustCompile(`^ *(- )?(run: )?`).ReplaceAllString(strings.TrimRight(line, "\n"), "")
			if strings.HasPrefix(line, "acapcrawl conformance audit ") {
				line = strings.Replace(line, "https://example.com", "$SITE", 1)
			}
			if strings.HasPrefix(line, "acapcrawl ") || strings.HasPrefix(line, "if acapcrawl ") {
				steps.WriteString(line + "\n")
			}
		}
	}
	if strings.Count(steps.String(), "\n") < 8 {
		t.Fatalf("docs/ci.md has few commands: %s", &steps)
	}
	script := `[!exec:sh] skip 'there is no shell'
site SITE public
chmod 755 engine
chmod 755 crawler
exec sh -ex steps.sh
exists robots.sarif robots.xml dist/robots.txt dist/acap.txt lost.json conformance.xml crawler.html audit.html
-- engine --
#!/bin/sh
exec acapcrawl decide
-- crawler --
#!/bin/sh
exec acapcrawl crawl --data "$HOME/crawled" --delay 0 --depth 1 --allow-private "$@"
-- robots.conventional.txt --
User-agent: *
Disallow: /members/
-- public/robots.txt --
ACAP-version: 1.1
ACAP-crawler: *
ACAP-allow-index: / time-limit=30-days
ACAP-disallow-preserve: /members/
-- old.txt --
ACAP-version: 1.1
ACAP-crawler: *
ACAP-allow-index: / time-limit=30-days
ACAP-disallow-preserve: /members/
-- public/index.html --
<!DOCTYPE html>
<html lang="en"><head><title>Tidewick</title>
<meta name="robots" content="ACAP allow-present-snippet max-length=30-words">
</head><body><p>News of the quay.</p></body></html>
-- steps.sh --
` + steps.String()
	file := filepath.Join(t.TempDir(), "ci.txtar")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Files: []string{file}, Setup: setup, Cmds: commands})
}
