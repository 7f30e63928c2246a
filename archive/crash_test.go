package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// The test binary runs itself as a child process that is killed, or that runs out of disk space,
// during its work.
const (
	childMode = "ARCHIVE_TEST_CHILD"
	childDir  = "ARCHIVE_TEST_DIR"
	childStep = "ARCHIVE_TEST_STEP"
)

// child deposits and erases from several goroutines. It prints one line for each acknowledged
// operation.
func child(mode string) int {
	if strings.HasPrefix(mode, "course") {
		return courseChild(mode)
	}
	var step Step
	var after int64
	fmt.Sscanf(os.Getenv(childStep), "%d", &after)
	_, s, _ := strings.Cut(os.Getenv(childStep), ":")
	step = Step(s)
	var seen atomic.Int64
	a, err := Open(os.Getenv(childDir), Options{Fault: func(s Step) error {
		if s == step && seen.Add(1) == after {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	if mode == "full" {
		if err := limitFiles(3 << 20); err != nil {
			fmt.Println("error", err)
			return 1
		}
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 4000 {
				name := fmt.Sprintf("http://example.com/%d/%d", w, i)
				c, err := a.Receive(context.Background(), childDeposit(name))
				if err != nil {
					say("failed %v", err)
					return
				}
				say("kept %d %s", c.ID, name)
				if i%10 == 9 {
					gone := fmt.Sprintf("http://example.com/%d/%d", w, i-5)
					say("erasing %s", gone)
					if _, err := a.Erase(context.Background(), Tombstone{URL: gone, Why: "asked"}); err != nil {
						say("failed %v", err)
						return
					}
					say("erased %s", gone)
				}
			}
		})
	}
	wg.Wait()
	problems, err := a.Verify(context.Background(), VerifyOptions{})
	say("verified %d %v", len(problems), err)
	if err := a.Close(); err != nil {
		say("error %v", err)
	}
	return 0
}

// limitFiles limits the size of files. A write beyond that size writes a part of its data and then
// fails.
func limitFiles(size uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size})
}

// childLines runs a child until it ends and returns its output lines.
func childLines(t *testing.T, dir, mode string) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode, childDir+"="+dir)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
}

func childDeposit(url string) Deposit {
	d := deposit(url, url)
	var text strings.Builder
	for i := range 150 {
		fmt.Fprintf(&text, "<p>%s %d", url, i*i*7919)
	}
	d.Body = []byte(text.String())
	d.Index = true
	return d
}

type told struct {
	kept            map[string]uint64
	erasing, erased map[string]bool
	failed          []string
	verified        string
}

// runChild runs a child and reads its output. It kills the child after kill lines. If kill is 0,
// the child runs to its end.
func runChild(t *testing.T, dir, mode, step string, kill int) told {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode, childDir+"="+dir, childStep+"="+step)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	got := told{kept: map[string]uint64{}, erasing: map[string]bool{}, erased: map[string]bool{}}
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "kept":
			var id uint64
			var url string
			fmt.Sscan(rest, &id, &url)
			got.kept[url] = id
		case "erasing":
			got.erasing[rest] = true
		case "erased":
			got.erased[rest] = true
		case "failed":
			got.failed = append(got.failed, rest)
		case "verified":
			got.verified = rest
		default:
			t.Errorf("the child says %q", lines.Text())
		}
		if n == kill {
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	return got
}

// holds checks that the archive in dir contains everything that was acknowledged.
func (got told) holds(t *testing.T, dir string) {
	t.Helper()
	a := open(t, dir, Options{})
	for url, id := range got.kept {
		body, err := a.Body(id)
		switch {
		case got.erased[url] && !errors.Is(err, ErrNotHeld):
			t.Errorf("%s was erased and is held, %v", url, err)
		case !got.erasing[url] && (err != nil || string(body) != string(childDeposit(url).Body)):
			t.Errorf("%s was acknowledged and is lost: %v", url, err)
		}
	}
	intents, err := a.Intents()
	if err != nil || len(intents) < len(got.kept) {
		t.Errorf("%d intents for %d pages, %v", len(intents), len(got.kept), err)
	}
	shut(t, a)
}

func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// all children use one directory: each child continues with the archive that the previous child
	// left
	for _, lines := range []int{1, 50, 300, 1000} {
		got := runChild(t, dir, "work", "", lines)
		if len(got.kept) == 0 || got.verified != "" {
			t.Fatalf("%d pages kept, %q", len(got.kept), got.verified)
		}
		got.holds(t, dir)
	}
}

func TestKillAtStep(t *testing.T) {
	t.Parallel()
	for _, step := range []Step{ReserveKeys, Commit, Destroy} {
		for _, after := range []int{1, 2, 7} {
			if step == ReserveKeys && after > 2 {
				continue
			}
			t.Run(fmt.Sprint(step, after), func(t *testing.T) {
				dir := t.TempDir()
				runChild(t, dir, "work", fmt.Sprintf("%d:%s", after, step), 0).holds(t, dir)
			})
		}
	}
}

// On a full disk, the call that needs space fails with one sentence. Other calls succeed.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := runChild(t, dir, "full", "", 0)
	if len(got.failed) != 8 || len(got.kept) == 0 || got.verified != "0 <nil>" {
		t.Fatalf("%d failed, %d kept, verified %q", len(got.failed), len(got.kept), got.verified)
	}
	for _, line := range got.failed {
		if !strings.Contains(line, dir) || !strings.Contains(line, syscall.EFBIG.Error()) {
			t.Errorf("the error is %q", line)
		}
	}
	got.holds(t, dir)
}

func TestFault(t *testing.T) {
	for _, step := range []Step{ReserveKeys, Commit} {
		t.Run(string(step), func(t *testing.T) {
			dir := t.TempDir()
			full := errors.New("no space left")
			var failing atomic.Bool
			failing.Store(true)
			a := open(t, dir, Options{Fault: func(s Step) error {
				if s == step && failing.Load() {
					return full
				}
				return nil
			}})
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					c, err := a.Receive(context.Background(), deposit(fmt.Sprint("http://example.com/", i), "x"))
					if !errors.Is(err, full) || c.ID != 0 {
						t.Errorf("%+v, %v", c, err)
					}
				})
			}
			wg.Wait()
			if s := stats(t, a); s != (Stats{}) {
				t.Errorf("%+v", s)
			}
			failing.Store(false)
			hasBody(t, a, put(t, a, deposit("http://example.com/", "x")).ID, "<p>x")
		})
	}
}

// A job that fails does not make the other jobs of its group fail.
func TestGroup(t *testing.T) {
	dir := t.TempDir()
	var entered atomic.Bool
	hold, started := make(chan struct{}), make(chan struct{})
	a := open(t, dir, Options{Fault: func(s Step) error {
		if s == Commit && entered.CompareAndSwap(false, true) {
			close(started)
			<-hold
		}
		return nil
	}})
	var wg sync.WaitGroup
	wg.Go(func() { put(t, a, deposit("http://example.com/first", "x")) })
	<-started // the writer is busy, so the following jobs become one group
	for i := range 10 {
		wg.Go(func() {
			if _, err := a.Receive(context.Background(), deposit(fmt.Sprint("http://example.com/", i),
				"x")); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := a.EraseCapture(context.Background(), 1000, Tombstone{Why: "expired"}); !errors.Is(err,
				ErrNotHeld) {
				t.Error(err)
			}
		})
	}
	close(hold)
	wg.Wait()
	if s := stats(t, a); s.Captures != 11 || s.Bodies != 1 {
		t.Errorf("%+v", s)
	}
}
