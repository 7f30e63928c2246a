package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

const root = "../.."

// documents returns README.md and the pages of docs.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	names := []string{"README.md"}
	for _, page := range pages {
		names = append(names, "docs/"+filepath.Base(page))
	}
	return names
}

// TestDocumentedCommands runs every command in the sh blocks of README.md and docs, in order, on a
// site that replaces https://example.com. Before the commands of a page of docs, the site is
// crawled. Commands of the go tool must also be in the scripts of .ci, or in packaging/test, which .ci/nightly
// runs. The bash blocks of docs/install.md are run by packaging/machine, on a clean machine.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	for _, name := range documents(t) {
		text := read(t, name)
		if len(blocks(text, "sh")) == 0 {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ".md"), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "commands.txtar")
			if err := os.WriteFile(file, []byte(documentScript(t, name, text)), 0o644); err != nil {
				t.Fatal(err)
			}
			all := maps.Clone(commands)
			all["interrupted"], all["runs"] = cmdInterrupted, cmdRuns
			testscript.Run(t, testscript.Params{Files: []string{file}, Setup: setup, Cmds: all, Condition: condition})
		})
	}
}

// documentScript returns the script that runs the commands in a page of the documentation.
func documentScript(t *testing.T, name, text string) string {
	ci := read(t, ".ci/run") + read(t, ".ci/nightly") + read(t, "packaging/test")
	var script strings.Builder
	script.WriteString("[!exec:sh] skip 'there is no shell'\nsite SITE site\nenv ACAPCRAWL_DELAY=0\nenv " +
		"PATH=$WORK/bin:$PATH\n" +
		"chmod 755 myengine\nchmod 755 bin/mycrawler\n")
	if strings.Contains(text, "--config jobs.yaml") {
		script.WriteString("expand jobs.yaml\n")
	}
	if name != "README.md" {
		script.WriteString("exec acapcrawl crawl $SITE\n")
	}
	for line := range strings.SplitSeq(strings.Join(blocks(text, "sh"), ""), "\n") {
		line = strings.Replace(line, "go run ./cmd/acapcrawl ", "acapcrawl ", 1)
		local := strings.NewReplacer("https://example.com", "$SITE", "127.0.0.1:9090", "127.0.0.1:0", "--for 10m",
			"--for 100ms").Replace(line)
		switch {
		case line == "":
		case strings.Contains(line, " --robots "): // the command makes no request, and prints what the page documents
			script.WriteString("exec " + line + "\ncmp stdout explained.txt\n")
		case line == "go test ./..." && strings.Contains(ci, "\ngo test \"${slow[@]}\" ./...\n"):
		case line == "acapcrawl check mistaken.txt":
			script.WriteString("status 1 " + line + "\ncmp stdout told.txt\n")
		case line == "acapcrawl check signals.txt":
			script.WriteString("status 1 " + line + "\ncmp stdout told-of-signals.txt\n")
		case line == "acapcrawl watch", line == "acapcrawl serve":
			script.WriteString("interrupted " + line + "\n")
		case strings.Contains(line, " --render "):
			script.WriteString("[chromium] env ACAPCRAWL_CHROMIUM_SANDBOX=$SANDBOX TMPDIR=/tmp\n" +
				"[chromium] runs " + local + "\n")
		case strings.Contains(line, "--run 'wget"):
			script.WriteString("[exec:wget] runs " + local + "\n")
		case strings.HasPrefix(line, "acapcrawl "):
			script.WriteString("runs " + local + "\n")
		case !strings.Contains(ci, "\n"+line):
			t.Errorf("%s: nothing runs %q", name, line)
		}
	}
	script.WriteString(`
! grep private SITE.log

-- myengine --
#!/bin/sh
exec acapcrawl decide
-- bin/mycrawler --
#!/bin/sh
shift
exec acapcrawl crawl --data "$(mktemp -d)" --depth 1 --max-pages 20 --delay 0 --allow-private "$@"
-- .well-known/tdmrep.json --
[{"location": "/", "tdm-reservation": 1}]
-- licence.xml --
<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license/></content></rsl>
-- tdmrep.json --
[{"location": "/", "tdm-reservation": 1}]
-- old/tdmrep.json --
[{"location": "/", "tdm-reservation": 0}]
-- jobs.yaml --
jobs: {news: {seeds: [$SITE/news/], schedule: "@every 6h", scope: prefix}}
-- acap.txt --
ACAP-crawler: *
ACAP-disallow-index: /private/
-- managed.txt --
User-agent: *
Content-Signal: search=yes, ai-train=no
-- house-rules.jsonl --
{"case": {"web": {}, "url": "http://example.com/", "usages": ["index"]}, "want": {"decisions": {"index": {"allowed": true}}}}
-- conventional.txt --
User-agent: *
Disallow: /private/
-- site/robots.txt --
ACAP-crawler: *
ACAP-disallow-crawl: /private/
-- site/index.html --
<!DOCTYPE html><html lang="en"><title>The Quay</title><p><a href="/news/ferry.html">Ferry</a> <a href="/private/">Members</a></p></html>
-- site/app/index.html --
<!DOCTYPE html><html lang="en"><title>Timetable</title><p id=app></p><script>app.append("The ferry leaves at nine.")</script></html>
-- site/news/ferry.html --
<!DOCTYPE html><html lang="en"><title>A new ferry</title><p>The new ferry left the harbour at dawn, to the sound of every horn on the quay.</p></html>
`)
	for name, language := range map[string]string{"cases.jsonl": "jsonl", "robots.txt": "robots",
		"explained.txt": "text",
		"mistaken.txt":  "mistaken", "told.txt": "told",
		"signals.txt": "signals", "told-of-signals.txt": "told-of-signals"} {
		content := strings.Join(blocks(text, language), "")
		if content == "" && language == "jsonl" {
			content = `{"web": {}, "url": "http://example.com/", "usages": ["index"]}` + "\n"
		}
		script.WriteString("-- " + name + " --\n" + content)
	}
	return script.String()
}

// cmdRuns runs a command that must succeed or have findings: status 0 or 1.
func cmdRuns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: runs COMMAND…")
	}
	err := ts.Exec(args[0], args[1:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == statusNothing {
		return
	}
	ts.Check(err)
}

// cmdInterrupted runs a verb that works until Ctrl-C. The function sends an interrupt when the verb
// has read the robots.txt of the site SITE again. The verb must succeed.
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
			Env: []string{"XDG_DATA_HOME=" + ts.Getenv("XDG_DATA_HOME"), "XDG_CONFIG_HOME=" +
				ts.Getenv("XDG_CONFIG_HOME"), "ACAPCRAWL_LISTEN=127.0.0.1:0"}}
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

// TestReadme: README.md is short, and its table of verbs is complete.
func TestReadme(t *testing.T) {
	readme := read(t, "README.md")
	if len(readme) > 10_000 {
		t.Errorf("README.md has %d bytes", len(readme))
	}
	_, table, _ := strings.Cut(readme, "\n| verb |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, verb := range (&Command{}).root().Commands() {
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

// TestDocumentLinks: the links and file names in the documents exist, and README.md links to every
// page of docs.
func TestDocumentLinks(t *testing.T) {
	file := regexp.MustCompile("`((?:[a-z.]+/)+[a-z_]+(?:\\.(?:go|md))?|[a-z_]+_test\\.go)`")
	link := regexp.MustCompile(`\]\(([A-Za-z./-]+)(?:#[^)]*)?\)`)
	linked := map[string]bool{}
	for _, name := range append(documents(t), "CONTRIBUTING.md") {
		if name == "docs/map.md" { // go test ./docs generates it
			continue
		}
		text := read(t, name)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			path := filepath.Join(filepath.Dir(name), m[1])
			linked[path] = true
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			}
		}
		if strings.HasPrefix(name, "docs/") {
			continue
		}
		for _, m := range file.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
	}
	for _, name := range documents(t)[1:] {
		if !linked[name] {
			t.Errorf("nothing links to %s", name)
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
