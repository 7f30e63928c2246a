package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var demoRows = []demoRow{
	{Path: "/", State: "fetched", Stored: true, Indexed: true, Shown: []string{"link", "snippet", "copy"}},
	{Path: "/b", State: "refused", refusals: []demoRefusal{{"", "prohibited by /robots.txt:2: Disallow: /b"}}},
	{Path: "/c", State: "fetched", Stored: true, refusals: []demoRefusal{{"no link", "x"}, {"not indexed", "y"},
		{"no copy", "x"}}},
	{Path: "/b2", State: "refused", refusals: []demoRefusal{{"", "prohibited by /robots.txt:2: Disallow: /b"}}},
	{Path: "/gone", State: "status 404"},
	{Path: "/moved", State: "redirected"},
}

// The table prints equal reasons once, also for several rows. It does not list rows without a
// refusal, but prints their number.
func TestDemoTable(t *testing.T) {
	for name, c := range map[string]struct {
		all  bool
		want string
	}{
		"eventful": {false, `ADDRESS                             OUTCOME     KEPT  INDEXED  SHOWN AS
/b                                  refused     -     -
/b2                                 refused     -     -
    prohibited by /robots.txt:2: Disallow: /b
/c                                  fetched     yes   -
    no link, no copy: x
    not indexed: y
/gone                               status 404  -     -
/moved                              redirected  -     -

1 other page fetched, kept and indexed without a refusal (--all lists them).

`},
		"all": {true, `ADDRESS                             OUTCOME     KEPT  INDEXED  SHOWN AS
/                                   fetched     yes   yes      link snippet copy
/b                                  refused     -     -
/b2                                 refused     -     -
    prohibited by /robots.txt:2: Disallow: /b
/c                                  fetched     yes   -
    no link, no copy: x
    not indexed: y
/gone                               status 404  -     -
/moved                              redirected  -     -

`},
	} {
		var b bytes.Buffer
		if err := printDemoRows(&b, demoRows, c.all, false); err != nil || b.String() != c.want {
			t.Errorf("%s: printed\n%s\nwant\n%s", name, &b, c.want)
		}
		var styled bytes.Buffer
		if err := printDemoRows(&styled, demoRows, c.all, true); err != nil {
			t.Fatal(err)
		}
		if bare := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(styled.String(), ""); bare != c.want ||
			bare == styled.String() {
			t.Errorf("%s: styles change the text: %q", name, &styled)
		}
	}
}

// Reasons wrap at spaces, and a word that is too long is not broken.
func TestWrap(t *testing.T) {
	for text, want := range map[string][]string{
		"":                  {""},
		"one two three":     {"one two", "three"},
		"a-very-long-word":  {"a-very-long-word"},
		"x a-very-long one": {"x", "a-very-long", "one"},
	} {
		if got := wrap(text, 8); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// With --serve the newspaper and the archive answer until Ctrl-C, and every command that demo suggests works.
func TestDemoServes(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	data := filepath.Join(t.TempDir(), "demo")
	reader, writer := io.Pipe()
	status := make(chan int, 1)
	go func() {
		c := Command{Stdin: strings.NewReader(""), Stdout: writer, Stderr: io.Discard,
			Env: []string{"HOME=" + t.TempDir()}}
		status <- c.Main(ctx, []string{"demo", "--serve", "--data", data})
		writer.Close()
	}()
	var printed strings.Builder
	part := make([]byte, 4096)
	for !strings.Contains(printed.String(), "until Ctrl-C") { // demo prints this last
		n, err := reader.Read(part)
		if err != nil {
			t.Fatalf("%v after %s", err, &printed)
		}
		printed.Write(part[:n])
	}
	go io.Copy(io.Discard, reader)
	table, _, _ := strings.Cut(printed.String(), "\n$ acapcrawl search")
	for line := range strings.Lines(table) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > demoWidth && !strings.Contains(line, data) {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	_, excerpt, _ := strings.Cut(read(t, "README.md"), "```\nADDRESS ")
	excerpt, _, _ = strings.Cut("ADDRESS "+excerpt, "```")
	for line := range strings.Lines(excerpt) {
		if !strings.Contains(table, line) && line != "…\n" {
			t.Errorf("README.md shows a line that demo does not print: %s", line)
		}
	}
	suggested := regexp.MustCompile(`(?m)^  acapcrawl (.+)$`).FindAllStringSubmatch(printed.String(), -1)
	if len(suggested) != 6 {
		t.Errorf("%d commands are suggested: %q", len(suggested), suggested)
	}
	for _, command := range suggested {
		var stderr bytes.Buffer
		c := Command{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr,
			Env: []string{"HOME=" + t.TempDir()}}
		want := statusDone
		// check must have findings, because the robots.txt of the newspaper contains mistakes
		if strings.HasPrefix(command[1], "check ") {
			want = statusNothing
		}
		if got := c.Main(t.Context(), strings.Fields(command[1])); got != want {
			t.Errorf("acapcrawl %s: status %d: %s", command[1], got, &stderr)
		}
	}
	archive := regexp.MustCompile(`The archive is at (http://\S+/),`).FindStringSubmatch(printed.String())
	if archive == nil {
		t.Fatalf("no address of the archive: %s", &printed)
	}
	if _, lines := get(t, archive[1]+"search?q=ferry"); !strings.Contains(strings.Join(lines, "\n"), "/versions/http") {
		t.Errorf("the archive shows %q", lines)
	}
	interrupt()
	if got := <-status; got != statusDone {
		t.Errorf("status %d after Ctrl-C", got)
	}
}

// Every run of demo prints the same counts.
func TestDemoCounts(t *testing.T) {
	t.Parallel()
	var first map[string]any
	for range 2 {
		said := call(t.Context(), filepath.Join(t.TempDir(), "demo"), "demo", "--json")
		var report struct{ Summary map[string]any }
		if err := json.Unmarshal([]byte(said.stdout), &report); err != nil || said.status != statusDone {
			t.Fatal(err, said)
		}
		counts := report.Summary
		for _, name := range []string{"duration_s", "pages_per_s", "next_again", "data"} {
			delete(counts, name)
		}
		if first == nil {
			first = counts
		}
		for name, value := range counts {
			a, _ := json.Marshal(value)
			if b, _ := json.Marshal(first[name]); !bytes.Equal(a, b) {
				t.Errorf("%s: %s, then %s", name, b, a)
			}
		}
	}
}

func TestInvocation(t *testing.T) {
	for file, want := range map[string]bool{
		"/tmp/go-build3071/b001/exe/acapcrawl":           true,
		"/root/.cache/go-build/3f/3fab-d/acapcrawl":      true,
		"/usr/local/bin/acapcrawl":                       false,
		"/home/me/src/acapcrawl/cmd/acapcrawl/acapcrawl": false,
	} {
		if temporary(file) != want {
			t.Errorf("%s: %v, want %v", file, !want, want)
		}
	}
	for word, want := range map[string]string{"./acapcrawl": "./acapcrawl", "": "''",
		"/tmp/it's here": `'/tmp/it'\''s here'`} {
		if got := shellWord(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
