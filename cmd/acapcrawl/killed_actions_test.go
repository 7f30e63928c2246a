package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/test/interrupt"
)

// faultAt is the environment variable that says at which write to archive or ledger the function
// faulty causes a fault: "kill 7" kills the process at write 7; with "full 7 9" the disk is full
// for writes 7 to 9.
const faultAt = "ACAPCRAWL_TEST_FAULT"

// faulty runs the whole program with the fault that the variable faultAt describes. If the program
// ends before the fault, faulty exits with the status of the constant spared.
func faulty() {
	var kind string
	var from, to, n int64
	_, _ = fmt.Sscan(os.Getenv(faultAt), &kind, &from, &to)
	count := &atomic.Int64{}
	c := Command{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ()}
	c.fault = func() error {
		n := count.Add(1)
		switch {
		case kind == "kill" && n == from:
			self, err := os.FindProcess(os.Getpid())
			fmt.Println("killed", err, self.Kill())
			select {}
		case kind == "full" && from <= n && n <= to:
			return syscall.ENOSPC
		}
		return nil
	}
	status := c.Main(context.Background(), os.Args[1:])
	if n = count.Load(); n < from {
		status = spared
	}
	os.Exit(status)
}

const spared = 77

// asker is a site whose robots.txt requests a take-down and a re-crawl as long as the field asks is
// true.
type asker struct {
	*httptest.Server
	asks atomic.Bool
}

const takenDownText = "A retracted cormorant"

func newAsker(t *testing.T) *asker {
	a := &asker{}
	mux := http.NewServeMux()
	page := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, "<html lang=en><title>%s</title><p>%s", text, text)
		}
	}
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "ACAP-crawler: *\nACAP-allow-crawl: /\n")
		if a.asks.Load() {
			fmt.Fprint(w, "ACAP-request-take-down: /gone\nACAP-request-re-crawl: /again\n")
		}
	})
	mux.HandleFunc("/{$}", page("Start <a href=/old>old</a> <a href=/again>again</a>"))
	mux.Handle("/old", http.RedirectHandler("/gone", http.StatusFound))
	mux.HandleFunc("/gone", page(takenDownText))
	mux.HandleFunc("/again", page("Another gull"))
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

// do runs a verb of a program on a data directory. It returns the output and the exit status, which
// is -1 if the process was killed.
func do(t *testing.T, program, fault, dir string, verb ...string) (out string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append(verb, "--data", dir)...)
	cmd.Env = append(os.Environ(), "ACAPCRAWL_DELAY=0s", faultAt+"="+fault)
	var said strings.Builder
	cmd.Stderr = &said
	text, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return string(text) + said.String(), cmd.ProcessState.ExitCode()
}

func (a *asker) crawled(t *testing.T) (dir string) {
	dir = filepath.Join(t.TempDir(), "base")
	if out, status := do(t, "acapcrawl", "", dir, "crawl", a.URL+"/"); status != 0 {
		t.Fatal(out)
	}
	if out, status := do(t, "acapcrawl", "", dir, "search", "cormorant"); status != 0 ||
		!strings.Contains(out, a.URL+"/gone") {
		t.Fatal(out)
	}
	return dir
}

// copied removes from a data directory the socket that a killed process may have left, and copies
// the directory.
func copied(t *testing.T, from, to string) string {
	t.Helper()
	if err := os.Remove(filepath.Join(from, "owner.sock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// sound checks that ledger and archive are intact.
func sound(t *testing.T, dir string) {
	t.Helper()
	for _, verb := range [][]string{{"actions", "verify"}, {"archive", "verify"}} {
		if out, status := do(t, "acapcrawl", "", dir, verb...); status != 0 {
			t.Errorf("%v: %s", verb, out)
		}
	}
}

// noted returns the requests in the ledger of a data directory. The keys are the actions, such as
// "take-down".
func noted(t *testing.T, dir string) map[string]actions.Request {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "acapcrawl", "actions", "ls", "--json", "--data", dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []actions.Request
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	by := map[string]actions.Request{}
	for _, r := range list {
		by[r.Action] = r
	}
	if len(by) != len(list) {
		t.Errorf("a request is noted twice: %+v", list)
	}
	return by
}

// checkGone checks that no file contains the page that was taken down, and that the ledger records
// its erasure.
func (a *asker) checkGone(t *testing.T, dir string, down actions.Request, erased int) {
	t.Helper()
	if down.State != actions.Done || down.Erased != erased || down.Gone.IsZero() {
		t.Errorf("%+v", down)
	}
	if out, status := do(t, "acapcrawl", "", dir, "archive", "verify", "--erased", a.URL+"/gone"); status != 0 {
		t.Error(out)
	}
	for _, verb := range [][]string{{"search", "cormorant"}, {"show", a.URL + "/gone"}} {
		if out, status := do(t, "acapcrawl", "", dir, verb...); status == 0 || strings.Contains(out, takenDownText) {
			t.Errorf("%v ended with %d: %s", verb, status, out)
		}
	}
	out, status := do(t, "acapcrawl", "", dir, "actions", "show", fmt.Sprint(down.ID), "--receipt")
	var doc struct{ Receipt actions.Receipt }
	if err := json.Unmarshal([]byte(out), &doc); status != 0 || err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r := doc.Receipt; r.Erased == nil || r.Erased.Captures != erased || r.Verified == nil ||
		len(r.Verified.Left) > 0 {
		t.Errorf("receipt: %s", out)
	}
}

// some is the distance between the writes at which a test causes a fault. With the flag -every, the
// test uses all writes.
const some = 7

// The verb actions run is killed at every possible write to archive, index and ledger. The ledger
// is intact at once. The next verb completes the requests that are in force, and does not execute
// the others.
func TestKilledTakeDown(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	a := newAsker(t)
	base := a.crawled(t)
	stride := some
	if interrupt.Every() {
		stride = 1
	}
	var killed []string
	a.asks.Store(true)
	for n := 1; ; n += stride {
		dir := copied(t, base, filepath.Join(t.TempDir(), "killed"))
		out, status := do(t, "faulty", fmt.Sprint("kill ", n), dir, "actions", "run")
		if status == spared {
			break
		}
		if status != -1 {
			t.Fatalf("write %d: ended with %d: %s", n, status, out)
		}
		killed = append(killed, dir)
	}
	t.Logf("%d moments", len(killed))
	lapsed := make([]string, len(killed))
	for i, dir := range killed {
		lapsed[i] = copied(t, dir, filepath.Join(filepath.Dir(dir), "lapsed"))
	}
	each := func(what string, dirs []string, check func(*testing.T, string)) {
		t.Run(what, func(t *testing.T) {
			for i, dir := range dirs {
				t.Run(fmt.Sprint(1+i*stride), func(t *testing.T) {
					t.Parallel()
					check(t, dir)
				})
			}
		})
	}
	each("the lines stand", killed, func(t *testing.T, dir string) {
		if out, status := do(t, "acapcrawl", "", dir, "actions", "verify"); status != 0 {
			t.Error(out)
		}
		if out, status := do(t, "acapcrawl", "", dir, "actions", "run"); status != 0 {
			t.Fatal(out)
		}
		by := noted(t, dir)
		a.checkGone(t, dir, by["take-down"], 1)
		if r := by["re-crawl"]; r.State != actions.Done || r.Status != http.StatusOK {
			t.Errorf("%+v", r)
		}
		sound(t, dir)
	})
	a.asks.Store(false)
	each("the lines go", lapsed, func(t *testing.T, dir string) {
		if out, status := do(t, "acapcrawl", "", dir, "actions", "run"); status != 0 {
			t.Fatal(out)
		}
		for _, r := range noted(t, dir) {
			if r.Standing || r.State != actions.Done && r.State != actions.Refused {
				t.Errorf("%+v", r)
			}
			if r.Action == "take-down" && r.State == actions.Done && r.Erased == 0 {
				t.Errorf("what was erased? %+v", r)
			}
		}
		sound(t, dir)
	})
}

// If the disk becomes full while a take-down is executed, the request is not reported as done too
// early. When there is space again, the take-down is done or is tried again later.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	a := newAsker(t)
	base := a.crawled(t)
	a.asks.Store(true)
	const writes = 3
	step := some * writes
	if interrupt.Every() {
		step = writes
	}
	for n := 1; ; n += step {
		dir := copied(t, base, filepath.Join(t.TempDir(), "full"))
		_, status := do(t, "faulty", fmt.Sprintf("full %d %d", n, n+writes-1), dir, "actions", "run")
		if status == spared {
			break
		}
		for range 2 {
			switch down, known := noted(t, dir)["take-down"]; {
			case known && down.State == actions.Done && !down.Gone.IsZero():
				a.checkGone(t, dir, down, 1)
			case known && down.State == actions.Done:
				// the take-down is done, and only the compaction failed for lack of space
				if out, status := do(t, "acapcrawl", "", dir, "archive", "verify", "--erased",
					a.URL+"/gone"); status != 0 {
					t.Error(out)
				}
			case status == 0, known && down.State == actions.Failed && down.NotBefore.IsZero():
				t.Errorf("write %d: ended with %d: %+v", n, status, down)
			}
			var out string
			if out, status = do(t, "acapcrawl", "", dir, "actions", "run"); status > 1 {
				t.Errorf("write %d: %s", n, out)
			}
		}
		if out, status := do(t, "acapcrawl", "", dir, "actions", "verify"); status != 0 {
			t.Errorf("write %d: %s", n, out)
		}
	}
}
