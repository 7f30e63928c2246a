//go:build unix

package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
)

// heldCrawl starts a crawl of a site with two pages. The site delays its answer for the second
// page. heldCrawl returns when the crawl has requested the second page.
func heldCrawl(t *testing.T, data string, flags ...string) (site *testweb.Site, cmd *exec.Cmd, stderr *bufio.Scanner) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		testweb.RulesFile: `{"/held.html": {"hold": true}}`,
		"index.html":      `<a href="/held.html">1</a>`,
		"held.html":       `<p>Here.</p>`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	site, err := testweb.Start(dir, "127.0.0.1", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { site.Close() })
	cmd = exec.CommandContext(t.Context(), "acapcrawl", append([]string{"crawl", "--data", data, "--delay", "0",
		site.URL + "/"}, flags...)...)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := site.Await(t.Context(), func(line string) bool { return line == "GET /held.html" }, 1); err != nil {
		t.Fatal(err)
	}
	return site, cmd, bufio.NewScanner(pipe)
}

func send(t *testing.T, cmd *exec.Cmd, s os.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// A crawl that receives the signal for its status prints the status and continues.
func TestStatusSignal(t *testing.T) {
	site, cmd, stderr := heldCrawl(t, t.TempDir())
	// signal again until the expected status is printed: the first status may be slightly old
	for asking := true; asking; {
		send(t, cmd, syscall.SIGUSR1)
		if line := nextLine(t, stderr); strings.HasPrefix(line, "Crawling for ") {
			for !strings.HasPrefix(line, "  speed ") {
				line = nextLine(t, stderr)
				if fields := strings.Fields(line); fields[0] == "under" && fields[2] == "1" {
					asking = false
				}
			}
		}
	}
	site.Release()
	for stderr.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the crawl ended with %v", err)
	}
}

// The second interrupt ends a crawl at once. The pages that were fetched before are archived, and
// the next crawl fetches the other pages.
func TestSecondInterruptOfACrawl(t *testing.T) {
	data := t.TempDir()
	site, cmd, stderr := heldCrawl(t, data)
	send(t, cmd, os.Interrupt)
	nextLine(t, stderr)
	send(t, cmd, os.Interrupt)
	for stderr.Scan() {
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != statusAtOnce {
		t.Errorf("ended with %v, want status %d", err, statusAtOnce)
	}
	site.Release()
	for _, args := range [][]string{{"archive", "verify"}, {"crawl", "--delay", "0"}, {"show", site.URL + "/held.html"},
		{"show", site.URL + "/"}} {
		if out, err := exec.CommandContext(t.Context(), "acapcrawl",
			append(args, "--data", data)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v, %s", args, err, out)
		}
	}
	asked := 0
	for _, line := range site.Requests() {
		if line == "GET /" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("/ was asked for %d times", asked)
	}
}
