package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The contents of a robots.txt with a finding, and of one of the same size without.
const (
	flawedRobots = "User-agent: *\nDisallow /a\n"
	soundRobots  = "User-agent: *\nDisallow: /\n"
)

// watched is a running check --watch in a directory. The clock of its test is that of synctest.
type watched struct {
	t      *testing.T
	dir    string
	out    said
	errs   said
	cancel context.CancelFunc
	status chan int
}

// said is what a verb has printed.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// take returns what was printed since the last call.
func (s *said) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.text.Reset()
	return s.text.String()
}

// startWatch starts check --watch. files are names and contents in turn. The first look is half a
// lookAgain after startWatch returned, so that each wait ends between two looks.
func startWatch(t *testing.T, args []string, files ...string) *watched {
	w := &watched{t: t, dir: t.TempDir(), status: make(chan int, 1)}
	for pair := range slices.Chunk(files, 2) {
		w.write(pair[0], pair[1])
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	c := Command{Stdin: strings.NewReader(""), Stdout: &w.out, Stderr: &w.errs, dir: w.dir,
		Env: []string{"XDG_CONFIG_HOME=" + w.dir, "XDG_DATA_HOME=" + w.dir}}
	go func() { w.status <- c.Main(ctx, append([]string{"check", "--watch"}, args...)) }()
	time.Sleep(lookAgain / 2)
	synctest.Wait()
	return w
}

func (w *watched) write(name, text string) {
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// replace replaces a file by a new one with the same size and time, as some editors and copies do.
func (w *watched) replace(name, text string) {
	info, err := os.Stat(filepath.Join(w.dir, name))
	w.write("new", text)
	file := filepath.Join(w.dir, "new")
	if err = errors.Join(err, os.Chtimes(file, info.ModTime(), info.ModTime()),
		os.Rename(file, filepath.Join(w.dir, name))); err != nil {
		w.t.Fatal(err)
	}
}

// wait lets n looks happen.
func (w *watched) wait(n int) {
	time.Sleep(time.Duration(n) * lookAgain)
	synctest.Wait()
}

// expect waits until a change must have been seen, and compares the output since the last call: it
// has all words, in their order, and if there are none it is empty.
func (w *watched) expect(from *said, words ...string) {
	w.t.Helper()
	w.wait(4)
	text := from.take()
	rest := text
	for _, word := range words {
		_, after, found := strings.Cut(rest, word)
		if !found {
			w.t.Fatalf("no %q in %q", word, text)
		}
		rest = after
	}
	if len(words) == 0 && text != "" {
		w.t.Fatalf("printed %q", text)
	}
}

// end interrupts the verb, and compares its exit status.
func (w *watched) end(status int) {
	w.t.Helper()
	w.cancel()
	if got := <-w.status; got != status {
		w.t.Errorf("status %d, want %d: %s", got, status, w.errs.take())
	}
}

// inBubble runs a test with the clock of synctest.
func inBubble(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	}
}

func TestCheckWatch(t *testing.T) {
	t.Run("changes", inBubble(testWatchChanges))
	t.Run("incomplete", inBubble(testWatchIncomplete))
	t.Run("gone", inBubble(testWatchGone))
	t.Run("references", inBubble(testWatchReferences))
	t.Run("json", inBubble(testWatchJSON))
	t.Run("full", inBubble(testWatchFull))
	t.Run("interrupted", inBubble(testWatchInterruptedAtReport))
}

// Each change leads to one more report, even if size and time of a file stay the same. The exit
// status is that of the last report.
func testWatchChanges(t *testing.T) {
	w := startWatch(t, []string{"robots.txt", "other.txt"}, "robots.txt", flawedRobots, "other.txt", soundRobots)
	w.expect(&w.out, "robots.txt:2:1: warning", "[missing-colon]", "in all: ")
	w.expect(&w.errs, "press Ctrl-C to stop")
	w.write("robots.txt", flawedRobots)
	w.expect(&w.out)
	w.replace("robots.txt", soundRobots)
	w.expect(&w.out, "Z robots.txt changed\n", "robots.txt, read as robots: nothing found\n", "in all: nothing found\n")
	w.write("other.txt", flawedRobots)
	w.write("robots.txt", flawedRobots)
	w.expect(&w.out, "Z other.txt, robots.txt changed\n", "robots.txt:2:1: warning", "other.txt:2:1: warning")
	w.expect(&w.errs)
	w.end(statusNothing)
}

// A file that is still being written is not checked.
func testWatchIncomplete(t *testing.T) {
	w := startWatch(t, []string{"robots.txt"}, "robots.txt", soundRobots)
	w.expect(&w.out, "nothing found")
	for _, part := range []string{"", "User-ag", flawedRobots} {
		w.write("robots.txt", part)
		w.wait(1)
	}
	w.write("robots.txt", soundRobots+"# complete\n")
	w.wait(4)
	if text := w.out.take(); strings.Contains(text, "robots.txt:") || strings.Count(text, "nothing found") != 1 {
		t.Errorf("printed %q", text)
	}
	w.end(statusDone)
}

// A file may be missing at the start, and it may disappear and return.
func testWatchGone(t *testing.T) {
	w := startWatch(t, []string{"robots.txt"})
	w.expect(&w.out)
	w.expect(&w.errs, "Error: robots.txt cannot be read: ")
	w.write("robots.txt", soundRobots)
	w.expect(&w.out, "robots.txt changed\n", "nothing found")
	w.expect(&w.errs)
	if err := os.Remove(filepath.Join(w.dir, "robots.txt")); err != nil {
		t.Fatal(err)
	}
	w.expect(&w.out, "robots.txt changed\n")
	w.expect(&w.errs, "Error: robots.txt cannot be read: ")
	w.end(statusUsage)
}

// The files that a robots.txt refers to are watched too, even those that do not exist yet.
func testWatchReferences(t *testing.T) {
	w := startWatch(t, []string{"robots.txt"}, "robots.txt", "ACAP-crawler: *\n"+
		"ACAP-permissions-reference: /terms.txt\n")
	w.expect(&w.out, "robots.txt:2: what the reference leads to was not checked\n")
	w.write("terms.txt", "ACAP-crawler: *\nACAP-allow-publish: /\n")
	w.expect(&w.out, "Z terms.txt changed\n", "terms.txt:2:1: error: ", "[unknown-usage]")
	w.end(statusNothing)
}

// With --json, standard output has one array for each check, and nothing else.
func testWatchJSON(t *testing.T) {
	w := startWatch(t, []string{"--json", "robots.txt"}, "robots.txt", soundRobots)
	w.wait(1)
	w.write("robots.txt", flawedRobots)
	w.expect(&w.errs, "press Ctrl-C to stop.\n", "Z robots.txt changed\n")
	arrays := strings.SplitAfter(w.out.take(), "]\n")
	if len(arrays) != 3 || arrays[0] != "[]\n" || !strings.Contains(arrays[1], `"missing-colon"`) || arrays[2] != "" {
		t.Errorf("printed %q", arrays)
	}
	w.end(statusNothing)
}

// If reports cannot be written, the verb fails instead of going on.
func testWatchFull(t *testing.T) {
	full := writerFunc(func([]byte) (int, error) { return 0, errors.New("no space") })
	if status := watchFlawed(t.Context(), t, full); status != statusFailed {
		t.Errorf("status %d, want %d", status, statusFailed)
	}
}

// The exit status is that of the report that was printed last, also if the verb is interrupted while it prints it.
func testWatchInterruptedAtReport(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	interrupt := writerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	})
	if status := watchFlawed(ctx, t, interrupt); status != statusNothing {
		t.Errorf("status %d, want %d", status, statusNothing)
	}
}

// watchFlawed runs check --watch on a robots.txt with a finding, and returns the exit status.
func watchFlawed(ctx context.Context, t *testing.T, stdout io.Writer) int {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "robots.txt"), []byte(flawedRobots), 0o644); err != nil {
		t.Fatal(err)
	}
	c := Command{Stdin: strings.NewReader(""), Stdout: stdout, Stderr: io.Discard, dir: dir,
		Env: []string{"XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir}}
	return c.Main(ctx, []string{"check", "--watch", "robots.txt"})
}

// The program prints each report at once, and ends at the first interrupt.
func TestCheckWatchInterrupted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	file := filepath.Join(t.TempDir(), "robots.txt")
	save := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	save(flawedRobots)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "acapcrawl", "check", "--watch", file)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	await := func(end string) {
		for lines.Scan() {
			if strings.HasSuffix(lines.Text(), end) {
				return
			}
		}
		t.Fatalf("the output ended without %q: %v, %s", end, cmd.Wait(), &stderr)
	}
	await("read as robots: 1 warning")
	save(soundRobots)
	await("robots.txt changed")
	await("read as robots: nothing found")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &stderr)
	}
	if !strings.Contains(stderr.String(), "Stopping") {
		t.Errorf("printed %q", stderr.String())
	}
}
