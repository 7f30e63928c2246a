package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
	"github.com/acapcrawl/acapcrawl/site"
)

// polled is a site with one page, crawled into a data directory.
type polled struct {
	t    *testing.T
	dir  string
	site *testweb.Site
	data string
}

func newPolled(t *testing.T, data string, files map[string]string) *polled {
	t.Helper()
	p := &polled{t: t, dir: t.TempDir(), data: data}
	p.put("robots.txt", "ACAP-crawler: *\n")
	p.put("index.html", "<!DOCTYPE html><html lang=\"en\"><title>Tide</title><p>The pilot waits for the tide.</html>")
	for name, text := range files {
		p.put(name, text)
	}
	var err error
	if p.site, err = testweb.Start(p.dir, "127.0.0.1", io.Discard); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.site.Close() })
	return p
}

// put writes a file of the site in one step, so that the site never serves an incomplete file.
func (p *polled) put(name, text string) {
	p.t.Helper()
	file := filepath.Join(p.dir, name)
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		p.t.Fatal(err)
	}
}

// verb runs a verb on the data directory, and returns its output. The test fails if its exit status
// is not status.
func (p *polled) verb(status int, args ...string) string {
	p.t.Helper()
	var stdout, stderr bytes.Buffer
	c := Command{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr}
	if got := c.Main(p.t.Context(), append(args, "--data", p.data)); got != status {
		p.t.Fatalf("%q ended with %d: %s%s", args, got, stdout.String(), stderr.String())
	}
	return stdout.String()
}

func (p *polled) config() *config.Config {
	p.t.Helper()
	cfg, err := config.Load(config.Input{Env: []string{"ACAPCRAWL_DATA=" + p.data, "ACAPCRAWL_DELAY=0s"}})
	if err != nil {
		p.t.Fatal(err)
	}
	return cfg
}

// await waits until robots.txt was requested n times, counted from the start.
func (p *polled) await(n int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	if err := p.site.Await(ctx, func(line string) bool { return line == "GET /robots.txt" }, n); err != nil {
		p.t.Fatal(err)
	}
}

// onlyRobots fails the test if anything except robots.txt and tdmrep.json was requested after the
// first n requests.
func (p *polled) onlyRobots(n int) {
	p.t.Helper()
	for _, line := range p.site.Requests()[n:] {
		if line != "GET /robots.txt" && line != "GET /.well-known/tdmrep.json" {
			p.t.Errorf("there was a request: %s", line)
		}
	}
}

const takeDownAll = "ACAP-crawler: *\nACAP-request-take-down: /\n"

// The verb watch reads nothing but robots.txt to notice that a take-down line appears or
// disappears, and prints what it did.
func TestWatchSeesALine(t *testing.T) {
	p := newPolled(t, t.TempDir(), nil)
	p.verb(statusDone, "crawl", "--delay", "0", p.site.URL+"/")
	before := len(p.site.Requests())

	out, in := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cfg := p.config()
	cfg.Actions.SeenWithin = 100 * time.Millisecond
	ended := make(chan error, 1)
	go func() {
		c := Command{Stdout: in, Stderr: io.Discard}
		ended <- c.runWatch(ctx, cfg, watchRequest{Flags: []string{"--data=" + p.data, "--delay=0"}})
		in.Close()
	}()
	p.await(3) // wait until watch has read robots.txt again, in which there is no request yet
	p.put("robots.txt", takeDownAll)
	lines := bufio.NewScanner(out)
	if line := nextLine(t, lines); !strings.Contains(line, "take-down of "+p.site.URL+"/: done, 1 copy erased (") {
		t.Errorf("%q was told", line)
	}
	if line := nextLine(t, lines); !strings.Contains(line, "Erased 1 copy of 1 page: taken down at the publisher's "+
		"request: "+p.site.URL+"/robots.txt:2: ACAP-request-take-down: /") {
		t.Errorf("%q was told", line)
	}
	if found := p.verb(statusNothing, "search", "--json", "pilot"); strings.TrimSpace(found) != "[]" {
		t.Errorf("%s was found", found)
	}
	p.put("robots.txt", "ACAP-crawler: *\n")
	if line := nextLine(t, lines); !strings.Contains(line, "no longer in force") {
		t.Errorf("%q was told", line)
	}
	stop()
	for lines.Scan() {
		t.Errorf("then %q was told", lines.Text())
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	p.onlyRobots(before)
	p.verb(statusDone, "archive", "verify")
}

// The verb actions run shows its progress on a terminal if it takes long, and removes the progress
// line at the end.
func TestActionsRunIsShown(t *testing.T) {
	p := newPolled(t, t.TempDir(), nil)
	p.verb(statusDone, "crawl", "--delay", "0", p.site.URL+"/")
	p.put("robots.txt", "ACAP-crawler: *\nACAP-request-re-crawl: /\n")
	var screen bytes.Buffer
	c := Command{Stdout: io.Discard, Stderr: &progress{w: &screen, columns: func() int { return 200 }}}
	if status := c.Main(t.Context(), []string{"actions", "run", "--delay", "0", "--data",
		p.data}); status != statusDone {
		t.Errorf("status %d: %s", status, screen.String())
	}
	if line, ended := strings.CutSuffix(screen.String(), clearLine); !ended || strings.Trim(line, clearLine) == "" {
		t.Errorf("on the terminal stands %q", screen.String())
	}
}

// A crawl of another site also notices a take-down line in the robots.txt of this site.
func TestCrawlSeesALine(t *testing.T) {
	data := t.TempDir()
	p := newPolled(t, data, nil)
	p.verb(statusDone, "crawl", "--delay", "0", p.site.URL+"/")
	before := len(p.site.Requests())
	other := newPolled(t, data, map[string]string{testweb.RulesFile: `{"/": {"hold": true}}`})
	cfg := other.config()
	cfg.Actions.SeenWithin = 100 * time.Millisecond
	ended := make(chan error, 1)
	go func() {
		_, err := (&Command{Stderr: io.Discard}).crawl(t.Context(), cfg, slog.New(slog.DiscardHandler),
			site.CrawlOptions{Seeds: []string{other.site.URL + "/"}})
		ended <- err
	}()
	p.await(2)
	p.put("robots.txt", takeDownAll)
	n := 0
	for _, line := range p.site.Requests() {
		if line == "GET /robots.txt" {
			n++
		}
	}
	// at the second of these requests the crawl reads the take-down line; the third comes after its
	// execution
	p.await(n + 3)
	other.site.Release()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	p.onlyRobots(before)
	p.verb(statusNothing, "show", p.site.URL+"/")
	p.verb(statusDone, "show", other.site.URL+"/")
	p.verb(statusDone, "archive", "verify")
}

// nextLine returns the next line of lines.
func nextLine(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	if !lines.Scan() {
		t.Fatal("nothing more was said")
	}
	return lines.Text()
}
