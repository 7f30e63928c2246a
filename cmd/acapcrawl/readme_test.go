package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

const root = "../.."

// Every command that the README and docs/actions.md show in a block of sh is run: those of acapcrawl here, in their order, on a site
// that stands for https://example.com, and those of the go command by .ci/run.
func TestReadme(t *testing.T) {
	readme := read(t, "README.md")
	ci := read(t, ".ci/run")
	var script strings.Builder
	script.WriteString("site SITE site\n")
	lines := strings.Join(append(blocks(readme, "sh"), blocks(read(t, "docs/actions.md"), "sh")...), "")
	for _, line := range strings.Split(lines, "\n") {
		line = strings.Replace(line, "go run ./cmd/acapcrawl ", "acapcrawl ", 1)
		switch {
		case line == "":
		case strings.Contains(line, " --robots "): // requests nothing, and prints what the README shows
			script.WriteString("exec " + line + "\ncmp stdout explained.txt\n")
		case line == "acapcrawl check mistaken.txt":
			script.WriteString("status 1 " + line + "\ncmp stdout told.txt\n")
		case strings.HasPrefix(line, "acapcrawl diff "): // ACAP says more than the conventional records
			script.WriteString("status 1 " + strings.Replace(line, "https://example.com", "$SITE", 1) + "\n")
		case line == "acapcrawl watch", line == "acapcrawl serve":
			script.WriteString("interrupted " + line + "\n")
		case strings.HasPrefix(line, "acapcrawl "):
			line = strings.NewReplacer("https://example.com", "$SITE", "127.0.0.1:9090", "127.0.0.1:0").Replace(line)
			script.WriteString("exec " + line + "\n")
		case !strings.Contains(ci, "\n"+line):
			t.Errorf("nothing runs %q", line)
		}
	}
	script.WriteString(`
# By crawl, check and audit.
grep -count=3 '^GET /news/ferry.html$' SITE.log
! grep private SITE.log

-- conventional.txt --
User-agent: *
Disallow: /private/
-- site/robots.txt --
ACAP-crawler: *
ACAP-disallow-crawl: /private/
-- site/index.html --
<!DOCTYPE html><html lang="en"><title>The Quay</title><p><a href="/news/ferry.html">Ferry</a> <a href="/private/">Members</a></p></html>
-- site/news/ferry.html --
<!DOCTYPE html><html lang="en"><title>A new ferry</title><p>The new ferry left the harbour at dawn, to the sound of every horn on the quay.</p></html>
`)
	for name, language := range map[string]string{"cases.jsonl": "jsonl", "robots.txt": "robots", "explained.txt": "text",
		"mistaken.txt": "mistaken", "told.txt": "told"} {
		script.WriteString("-- " + name + " --\n" + strings.Join(blocks(readme, language), ""))
	}

	file := filepath.Join(t.TempDir(), "readme.txtar")
	if err := os.WriteFile(file, []byte(script.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(commands)
	all["interrupted"] = cmdInterrupted
	testscript.Run(t, testscript.Params{Files: []string{file}, Setup: setup, Cmds: all})
}

// cmdInterrupted runs a verb that goes on until Ctrl-C. That comes when the verb has read the robots.txt of SITE anew, and ends it well.
func cmdInterrupted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[0] != "acapcrawl" {
		ts.Fatalf("usage: interrupted acapcrawl VERB…")
	}
	robots := regexp.MustCompile("(?m)^GET /robots.txt$")
	before := len(robots.FindAllString(ts.ReadFile("SITE.log"), -1))
	ctx, interrupt := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	var said bytes.Buffer
	go func() {
		c := Command{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &said,
			Env: []string{"XDG_DATA_HOME=" + ts.Getenv("XDG_DATA_HOME"), "XDG_CONFIG_HOME=" + ts.Getenv("XDG_CONFIG_HOME"), "ACAPCRAWL_LISTEN=127.0.0.1:0"}}
		ended <- c.Main(ctx, args[1:])
	}()
	await, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := siteOf(ts, "SITE").Await(await, robots.MatchString, before+1)
	interrupt()
	if status := <-ended; status != statusDone || err != nil {
		ts.Fatalf("status %d, %v: %s", status, err, said.String())
	}
}

// The README names every verb that there is, and no other.
func TestReadmeVerbs(t *testing.T) {
	readme := read(t, "README.md")
	_, table, _ := strings.Cut(readme, "\n| verb |")
	table, _, _ = strings.Cut(table, "\n\n")
	verbs := (&Command{}).root().Commands()
	for _, verb := range verbs {
		if verb.Name() != "help" && !strings.Contains(table, "\n| `"+verb.Name()) {
			t.Errorf("the table of verbs lacks %s", verb.Name())
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z]+)").FindAllStringSubmatch(table, -1)
	for _, row := range rows {
		if verb, _, err := (&Command{}).root().Find(row[1:]); err != nil || verb.Name() != row[1] {
			t.Errorf("the table of verbs has %s, which does not exist", row[1])
		}
	}
}

// Links and names of files in the documents lead somewhere.
func TestDocumentsLead(t *testing.T) {
	file := regexp.MustCompile("`((?:[a-z.]+/)+[a-z_]+(?:\\.(?:go|md))?|[a-z_]+_test\\.go)`|\\]\\(([A-Za-z./]+)\\)")
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		for _, m := range file.FindAllStringSubmatch(read(t, name), -1) {
			path := m[1] + m[2]
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s names %s, which does not exist", name, path)
			}
		}
	}
}

// blocks returns the fenced blocks of a language.
func blocks(text, language string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
