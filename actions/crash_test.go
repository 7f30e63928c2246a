package actions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// The test binary runs itself as a child process that is killed during its work.
const (
	childDir  = "ACTIONS_TEST_DIR"
	childStep = "ACTIONS_TEST_STEP"
)

// store is an Eraser that stores copies in files. Erase writes a tombstone file, calls fault with
// stepHalf, and removes the copy.
type store struct {
	dir   string
	fault func(step)
}

const stepHalf step = "half"

func (d store) file(kind, url string) string {
	return filepath.Join(d.dir, kind+"-"+filepath.Base(url))
}

func (d store) Erase(_ context.Context, url, _, _ string) (int, error) {
	if held, err := d.Holds(url); err != nil || !held {
		return 0, err
	}
	if _, err := os.Stat(d.file("stone", url)); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(d.file("stone", url), []byte(time.Now().Format(time.RFC3339Nano)), 0o600); err != nil {
			return 0, err
		}
	}
	d.fault(stepHalf)
	return 1, os.Remove(d.file("copy", url))
}

func (d store) Holds(url string) (bool, error) {
	_, err := os.Stat(d.file("copy", url))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (d store) Verify(url string, since time.Time) (v Evidence, err error) {
	if held, err := d.Holds(url); err != nil || held {
		v.Left = []string{"a copy"}
		return v, err
	}
	when, err := os.ReadFile(d.file("stone", url))
	if errors.Is(err, os.ErrNotExist) {
		return v, nil
	}
	at, err := time.Parse(time.RFC3339Nano, string(when))
	if err == nil && !at.Before(since) {
		v.Erased = Erasure{Captures: 1, Keys: 1}
	}
	return v, err
}

var childPaths = []string{"/a", "/b", "/c"}

func childReading() Reading {
	return Reading{Origin: origin, Actions: asks(down+"/a", down+"/b", down+"/c")}
}

// child executes three take-downs. The argument at is the name of a step and a number n. When child
// reaches the step for the nth time, it kills its own process.
func child(dir, at string) int {
	var name step
	var times int
	if _, err := fmt.Sscanf(at, "%s %d", &name, &times); err != nil {
		fmt.Println(err)
		return 1
	}
	fault := func(s step) {
		if s == name {
			if times--; times == 0 {
				self, err := os.FindProcess(os.Getpid())
				fmt.Println("killed", err, self.Kill())
				select {}
			}
		}
	}
	l, err := Open(filepath.Join(dir, "actions.db"), Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	x := NewExecutor(l, store{dir, fault}, nil, Limits{})
	x.fault = fault
	if err := errors.Join(x.ExecuteReading(context.Background(), childReading()),
		x.Compacted(context.Background(), time.Now())); err != nil {
		fmt.Println(err)
	}
	return 1
}

// If the process is killed during a take-down, the next process completes the take-down, unless the
// line was removed from robots.txt. The ledger contains what happened.
func TestKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	for _, at := range []string{"noted 1", "running 1", "half 1", "half 2", "half 3", "erased 1", "erased 2",
		"erased 3", "told 1", "compacted 1"} {
		for _, gone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, line gone: %v", at, gone), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				d := store{dir, func(step) {}}
				for _, p := range childPaths {
					if err := os.WriteFile(d.file("copy", site+p), nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), childDir+"="+dir, childStep+"="+at)
				out, err := cmd.Output()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.Exited() {
					t.Fatalf("%v: %s", err, out)
				}
				l := open(t, filepath.Join(dir, "actions.db"))
				if got := breaks(t, l); got != "" {
					t.Error(got)
				}
				before := entries(t, l)
				reading := childReading()
				if gone {
					reading.Actions = nil
				}
				x := NewExecutor(l, d, nil, Limits{})
				if err := errors.Join(x.ExecuteReading(t.Context(), reading), x.Resume(t.Context()),
					x.Compacted(t.Context(), time.Now())); err != nil {
					t.Fatal(err)
				}
				all := rows(t, l)
				if len(all) != len(childPaths) {
					t.Fatalf("%+v", all)
				}
				for _, r := range all {
					held, err := d.Holds(r.URL)
					if err != nil {
						t.Fatal(err)
					}
					done := r.State == Done && r.Erased == 1 && !r.Gone.IsZero() && !held
					left := gone && r.State == Refused && r.Erased == 0 && held
					if r.Standing == gone || !done && !left {
						t.Errorf("held %v: %+v", held, r)
					}
					if _, known, err := l.Receipt(r.ID); err != nil || known != done {
						t.Errorf("%s: receipt %v, %v", r.URL, known, err)
					}
				}
				if got := breaks(t, l); got != "" || entries(t, l) < before {
					t.Errorf("%s; %d entries, %d before", got, entries(t, l), before)
				}
			})
		}
	}
}
