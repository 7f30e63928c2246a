package holdings

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/test/interrupt"
	"github.com/acapcrawl/acapcrawl/terms"
)

// The test binary runs itself as a child process, which is killed in the middle of its work. These
// environment variables control the child.
const (
	childDir  = "HOLDINGS_TEST_DIR"
	childStep = "HOLDINGS_TEST_STEP"
)

const crashRobots = "ACAP-disallow-preserve: /bare/\nACAP-disallow-index: /mute/\nACAP-allow-index: /part/ " +
	"must-use-resource=/s"

func crashWeb() *web {
	w := newWeb(crashRobots)
	w.parts[site+"/s"] = "substitute"
	return w
}

// openChild opens the data directory of a child, with fault called at each write.
func openChild(dir string, fault func(archive.Step) error) (*Holdings, *web, error) {
	ar, err := archive.Open(dir, archive.Options{Fault: fault})
	if err != nil {
		return nil, nil, err
	}
	ix, err := index.Open(filepath.Join(dir, "index"))
	if err != nil {
		return nil, nil, err
	}
	w := crashWeb()
	h, err := Open(context.Background(), ar, ix, terms.Sources{Policies: w, Fetcher: w},
		Options{Version: w.version})
	return h, w, err
}

// child receives pages, prints a line for each page when it is stored, and dies at a step. At the
// step "archive", the archive has stored a page and the index has not. At the step "idle", all
// pages are confirmed. The other steps are steps of a compaction; the child dies some time after
// such a step.
func child(dir, step string) int {
	fail := func(err error) int {
		fmt.Println("error", err)
		return 1
	}
	compacting := false
	h, _, err := openChild(dir, func(s archive.Step) error {
		if compacting && string(s) == step {
			fmt.Println("ready")
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	receive := func(path, body string) error {
		_, err := h.Receive(context.Background(), pageOf(body, site+path))
		if err == nil {
			fmt.Println("kept", path)
		}
		return err
	}
	for i := range 5 {
		for _, folder := range []string{"whole", "bare", "mute", "part"} {
			path := fmt.Sprintf("/%s/%d", folder, i)
			if err := receive(path, fmt.Sprint("<p>pilot ", folder, " ", i)); err != nil {
				return fail(err)
			}
		}
	}
	if _, err := h.Erase(context.Background(), site+"/whole/0", "asked", ""); err != nil {
		return fail(err)
	}
	fmt.Println("erased /whole/0")
	if step == "archive" { // do the same as Receive and Erase, but do not write to the index
		for _, folder := range []string{"whole", "bare", "part"} {
			d := archive.Deposit{Resource: archive.Resource{URL: site + "/" + folder + "/new", Status: 200},
				Fetched: pageOf("", a).Last().Start, Index: true}
			if folder != "bare" {
				d.Body, d.Header = []byte("<p>pilot "+folder), pageOf("", a).Last().Header
			}
			if _, err := h.archive.Receive(context.Background(), d); err != nil {
				return fail(err)
			}
		}
		if _, err := h.archive.Erase(context.Background(),
			archive.Tombstone{URL: site + "/whole/1", Why: "asked"}); err != nil {
			return fail(err)
		}
		fmt.Println("erased /whole/1")
	}
	if step == "idle" { // no later change follows that would remove the intents of these pages
		if err := errors.Join(receive("/bare/last", "<p>pilot"), receive("/part/last", "<p>pilot")); err != nil {
			return fail(err)
		}
	}
	// the child is killed while it compacts the archive or the index
	if step == string(archive.OverwritePages) || step == string(archive.OverwriteBodies) {
		compacting = true
		for {
			if _, err := h.Compact(context.Background(), nil); err != nil {
				return fail(err)
			}
		}
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin) // wait to be killed
	return 0
}

func TestKill(t *testing.T) {
	for _, step := range []string{"archive", "idle", string(archive.OverwritePages), string(archive.OverwriteBodies)} {
		t.Run(step, func(t *testing.T) {
			dir := t.TempDir()
			kept, erased := runChild(t, dir, step)
			s := open(t, dir, crashWeb(), Options{})
			found := " " + s.found("pilot") + " "
			parts := " " + s.found("substitute") + " "
			for path := range kept {
				where := found
				if strings.HasPrefix(path, "/part/") {
					where = parts
				}
				want := !strings.HasPrefix(path, "/mute/") && !erased[path]
				if got := strings.Contains(where, " "+path+" "); got != want {
					t.Errorf("%s: found %v, want %v", path, got, want)
				}
			}
			for _, path := range strings.Fields(found + parts) {
				// an entry for /whole/new is made again, because the archive has a complete copy
				if !kept[path] && path != "/whole/new" {
					t.Errorf("%s is found and was never acknowledged", path)
				}
			}
			if len(s.copies(site+"/whole/0")) != 0 {
				t.Error("erased, and still held")
			}
		})
	}
}

// sweepChild receives pages that may later not be preserved, sweeps, and waits to be killed before
// a certain write of the archive. If step is "SWEEP n", this is the n-th write of the sweep.
func sweepChild(dir, step string) int {
	fail := func(err error) int {
		fmt.Println("error", err)
		return 1
	}
	var nth int64
	if _, err := fmt.Sscanf(step, "SWEEP %d", &nth); err != nil {
		return fail(err)
	}
	var sweeping atomic.Bool
	var writes atomic.Int64
	h, w, err := openChild(dir, func(archive.Step) error {
		if sweeping.Load() && writes.Add(1) == nth {
			fmt.Println("ready")
			select {}
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	// from now on, only pages that are due are swept
	if _, err := h.Sweep(context.Background(), SweepOptions{}, nil); err != nil {
		return fail(err)
	}
	for i := range sweepPages {
		path := fmt.Sprintf("/whole/%d", i)
		if _, err := h.Receive(context.Background(), pageOf("<p>pilot", site+path)); err != nil {
			return fail(err)
		}
		fmt.Println("kept", path)
	}
	w.says(sweptRobots)
	sweeping.Store(true)
	if _, err := h.Sweep(context.Background(), SweepOptions{},
		func(s Swept) { fmt.Println("erased", strings.TrimPrefix(s.URL, site)) }); err != nil {
		return fail(err)
	}
	fmt.Println("ready") // the sweep ended, because it has fewer writes than the number in step
	select {}
}

const sweepPages = 90 // number of pages; small enough for one search to return all of them

// sweptRobots prohibits every second page of sweepChild.
const sweptRobots = "ACAP-disallow-preserve: /*1$\nACAP-disallow-index: /*1$\nACAP-disallow-preserve: " +
	"/*3$\nACAP-disallow-index: /*3$"

// TestKillSweep kills a sweep at each of its writes, without -every at some of them. Erasures that
// the sweep reported must have happened, and the next sweep must erase the rest.
func TestKillSweep(t *testing.T) {
	for _, at := range interrupt.Points(make([]archive.Step, 32)) {
		n := at.Nth
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			kept, erased := runChild(t, dir, fmt.Sprintf("SWEEP %d", n))
			if len(kept) != sweepPages {
				t.Fatalf("%d pages", len(kept))
			}
			s := open(t, dir, crashWeb(), Options{})
			found := " " + s.found("pilot") + " "
			for path := range erased {
				if len(s.copies(site+path)) != 0 || strings.Contains(found, " "+path+" ") {
					t.Errorf("%s was told to be ended, and is there", path)
				}
			}
			s.web.says(sweptRobots)
			if _, err := s.Sweep(context.Background(), SweepOptions{}, nil); err != nil {
				t.Fatal(err)
			}
			found = " " + s.found("pilot") + " "
			for path := range kept {
				ends := strings.HasSuffix(path, "1") || strings.HasSuffix(path, "3")
				stones, err := s.archive.Tombstones(site + path)
				if err != nil {
					t.Fatal(err)
				}
				known, _, err := s.archive.Resource(site + path)
				if err != nil {
					t.Fatal(err)
				}
				// version 1 is the tombstone of the copy, version 0 that of the other items; if the
				// child died between the two, opening the holdings has already erased the other
				// items
				var versions []int
				for _, stone := range stones {
					versions = append(versions, stone.Version)
					if stone.Line == "" {
						t.Errorf("%s: version %d was ended by no line", path, stone.Version)
					}
				}
				if one := slices.Equal(versions, []int{1}) || slices.Equal(versions, []int{1, 0}); ends && !one ||
					!ends && versions != nil {
					t.Errorf("%s: tombstones of versions %v", path, versions)
				}
				if gone := known.Kept.String() == "" && known.Own.URL == ""; gone != ends {
					t.Errorf("%s: %+v", path, known)
				}
				if held := len(s.copies(site+path)) == 1; held == ends ||
					strings.Contains(found, " "+path+" ") == ends {
					t.Errorf("%s: held %v", path, held)
				}
			}
		})
	}
}

func runChild(t *testing.T, dir, step string) (kept, erased map[string]bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childStep+"="+step)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kept, erased = map[string]bool{}, map[string]bool{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		verb, what, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "kept":
			kept[what] = true
		case "erased":
			erased[what] = true
		case "ready":
			cmd.Process.Signal(syscall.SIGKILL)
		default:
			t.Error(lines.Text())
		}
	}
	cmd.Wait()
	return kept, erased
}

func moveArchive(t *testing.T, from, to string) {
	t.Helper()
	for _, name := range []string{"archive.db", "keys.db", "bodies"} {
		if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			t.Fatal(err)
		}
	}
}
