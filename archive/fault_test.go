package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/interrupt"
)

// steps are all kinds of steps at which a write can fail.
var steps = []Step{ReserveKeys, SyncKeys, Commit, Committed, SyncBodies, Destroy, OverwriteBodies, OverwritePages,
	RemoveBodies}

// history records which calls of the function course returned without an error.
type history struct {
	kept map[uint64]int // acknowledged deposits: number of the body by capture ID
	// captures whose erasure was started. The key 0 is the erasure of the URL that redirected to
	// the captures with even numbers.
	erasing map[uint64]bool
	erased  map[uint64]bool // captures whose erasure was acknowledged
	errs    []error
}

// course deposits, erases and compacts, and continues after every error. Some of its captures share
// a body, and some bodies can be compressed.
func course(a *Archive, say func(format string, args ...any)) *history {
	h := &history{kept: map[uint64]int{}, erasing: map[uint64]bool{}, erased: map[uint64]bool{}}
	ctx := context.Background()
	ids := map[string][]uint64{}
	note := func(err error) bool {
		if err != nil {
			h.errs = append(h.errs, err)
		}
		return err == nil
	}
	url := func(i int) string { return fmt.Sprint("http://example.com/", i) }
	going := func(url string) {
		for _, id := range ids[url] {
			h.erasing[id] = true
			say("erasing %d", id)
		}
	}
	gone := func(url string) {
		for _, id := range ids[url] {
			h.erased[id] = true
			say("erased %d", id)
		}
	}
	receive := func(at, body int, replace bool) {
		d := deposit(url(at), url(at))
		d.Body, d.Index, d.Replace, d.Picture = courseBody(body), true, replace, coursePicture(body)
		d.Rendered = courseRendered(body)
		d.Hops = []Via{{URL: courseFrom(at), Status: 302, Head: []byte("HTTP/1.1 302 Found\r\n\r\n")}}
		if replace {
			going(url(at))
		}
		c, err := a.Receive(ctx, d)
		if !note(err) {
			return
		}
		h.kept[c.ID] = body
		say("kept %d %d", c.ID, body)
		if replace {
			gone(url(at))
		}
		ids[url(at)] = append(ids[url(at)], c.ID)
		a.Done(url(at))
	}
	erase := func(at int) {
		going(url(at))
		if _, err := a.Erase(ctx, Tombstone{URL: url(at), Why: "asked"}); note(err) {
			gone(url(at))
		}
	}
	eraseFrom := func() {
		h.erasing[0] = true
		say("erasing 0")
		if _, err := a.Erase(ctx, Tombstone{URL: courseFrom(0), Why: "asked"}); note(err) {
			h.erased[0] = true
			say("erased 0")
		}
	}
	compact := func() {
		_, err := a.Compact(ctx, nil, nil)
		note(err)
	}
	for i := range 12 {
		receive(i, i, false)
	}
	erase(3)
	erase(4) // page 4 has the same body as pages 9 and 0
	receive(5, 20, true)
	compact()
	receive(3, 3, false)
	erase(9)
	erase(0)
	eraseFrom()
	for _, i := range []int{8, 10, 11} { // now more than half of the body file is erased
		erase(i)
	}
	compact()
	receive(13, 13, false)
	return h
}

func courseFrom(at int) string { return fmt.Sprint("http://example.com/from/", at%2) }

// courseRendered returns the rendered document that belongs to courseBody: none, the same document, one that several
// captures have, or another one.
func courseRendered(i int) []byte {
	switch i % 4 {
	case 1:
		return courseBody(i)
	case 2:
		return []byte("<p>drawn alike")
	case 3:
		return noise(fmt.Sprint("drawn ", i), 1500*i)
	}
	return nil
}

func courseBody(i int) []byte {
	switch i {
	case 0, 4, 9:
		return []byte("<p>shared")
	case 1, 6, 20:
		return []byte(strings.Repeat(fmt.Sprintf("<p>The harbour lay still on day %d. ", i), 300))
	}
	return noise(fmt.Sprint(i), 3000*i)
}

// holds opens the archive in dir, as the interrupted writer left it, and checks that its content
// agrees with h.
func (h *history) holds(t *testing.T, dir string) {
	t.Helper()
	h.holdsIn(t, open(t, dir, Options{}))
}

// holdsIn does so with an archive that is open, and closes it.
func (h *history) holdsIn(t *testing.T, a *Archive) {
	t.Helper()
	for id, i := range h.kept {
		body, err := a.Body(id)
		switch {
		case h.erased[id] && !errors.Is(err, ErrNotHeld):
			t.Errorf("capture %d was erased and is held, %v", id, err)
		case !h.erasing[id] && (err != nil || !bytes.Equal(body, courseBody(i))):
			t.Errorf("capture %d was acknowledged and is lost: %v", id, err)
		}
		rendered, err := a.Rendered(id)
		switch {
		case h.erased[id] && !errors.Is(err, ErrNotHeld):
			t.Errorf("capture %d was erased and is held as rendered, %v", id, err)
		case !h.erasing[id] && (err != nil || !bytes.Equal(rendered, courseRendered(i))):
			t.Errorf("capture %d was acknowledged and has lost its rendered document: %v", id, err)
		}
		if c, err := a.Capture(id); err == nil && !h.erasing[id] {
			led := len(c.Hops) == 1 && len(c.Hops[0].Head) > 0
			if even := c.URL[len(c.URL)-1]%2 == 0; !led && (!even || !h.erasing[0]) || led && even && h.erased[0] {
				t.Errorf("capture %d of %s has %+v", id, c.URL, c.Hops)
			}
			want := coursePicture(i)
			if p, held, err := a.Picture(c.URL, c.Version); err != nil || held != (c.Current || !want.Other) || held &&
				!bytes.Equal(p.Body, want.Body) {
				t.Errorf("the thumbnail of capture %d: %v, %v", id, held, err)
			}
		}
	}
	if r := receipt(t, a, courseFrom(0)); h.erased[0] && len(r.Left) > 0 {
		t.Errorf("of what led there is left: %v", r.Left)
	}
	compact(t, a)
	shut(t, a) // shut calls Verify, which finds bodies without a record, records without a body, and unneeded keys
}

// takenSteps returns the steps that course takes if nothing fails, in their order.
func takenSteps(t *testing.T) (taken []Step) {
	t.Helper()
	a, err := Open(t.TempDir(), Options{Fault: func(s Step) error {
		taken = append(taken, s)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	h := course(a, func(string, ...any) {})
	a.Close()
	if len(h.errs) > 0 {
		t.Fatal("nothing failed, and there were errors:", h.errs)
	}
	for _, s := range steps {
		if !slices.Contains(taken, s) {
			t.Errorf("%s is never taken", s)
		}
	}
	return taken
}

// Writes fail at every step, once or permanently. No acknowledged data is lost, no erased data can
// be read, and no call reports a false result. Without -every, the test uses a sample of the steps.
func TestFaultEverywhere(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for _, lasting := range []bool{false, true} {
		for _, at := range interrupt.Points(takenSteps(t)) {
			dir := t.TempDir()
			n, failed := 0, false
			a, err := Open(dir, Options{Fault: func(s Step) error {
				if s == at.Kind {
					n++
				}
				if s == at.Kind && n == at.Nth || lasting && failed {
					failed = true
					return full
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			h := course(a, func(string, ...any) {})
			late := !failed
			a.Close()
			if !failed {
				t.Errorf("%v is never reached", at)
			}
			// a fault during Close may occur after the last call, so no call reports it
			if told := len(h.errs) > 0; !told && !late {
				t.Errorf("%v failed, and nobody was told", at)
			}
			for _, err := range h.errs {
				if !errors.Is(err, full) && !errors.Is(err, ErrNotHeld) {
					t.Errorf("the error of %v is %v", at, err)
				}
			}
			h.holds(t, dir)
			if t.Failed() {
				t.Fatalf("%v, lasting %v", at, lasting)
			}
		}
	}
}

// courseChild calls course in a child process. With the mode "course n step" the child kills itself
// at the nth step of this kind. With "course-limit n" it cannot write files of more than n bytes.
func courseChild(mode string) int {
	what, rest, _ := strings.Cut(mode, " ")
	number, kind, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	calls := 0
	o := Options{Fault: func(s Step) error {
		if string(s) != kind {
			return nil
		}
		if calls++; calls == n {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}}
	if what == "course-limit" {
		o = Options{}
		if err := limitFiles(uint64(n)); err != nil {
			fmt.Println("error", err)
			return 1
		}
	}
	a, err := Open(os.Getenv(childDir), o)
	if err != nil {
		fmt.Println("failed", err)
		return 1
	}
	h := course(a, func(format string, args ...any) { fmt.Printf(format+"\n", args...) })
	for _, err := range h.errs {
		fmt.Println("failed", err)
	}
	if err := a.Close(); err != nil {
		fmt.Println("failed", err)
	}
	fmt.Println("verified")
	return 0
}

// runCourse calls course in a child process. h is the history that the child printed. whole reports
// whether the child ended by itself, and failed contains the failed checks.
func runCourse(t *testing.T, dir, mode string) (h *history, whole bool, failed []string) {
	t.Helper()
	h = &history{kept: map[uint64]int{}, erasing: map[uint64]bool{}, erased: map[uint64]bool{}}
	for _, line := range childLines(t, dir, mode) {
		word, rest, _ := strings.Cut(line, " ")
		var id uint64
		var body int
		fmt.Sscan(rest, &id, &body)
		switch word {
		case "kept":
			h.kept[id] = body
		case "erasing":
			h.erasing[id] = true
		case "erased":
			h.erased[id] = true
		case "failed":
			failed = append(failed, rest)
		case "verified":
			whole = true
		default:
			t.Errorf("the child says %q", line)
		}
	}
	return h, whole, failed
}

// If a process is killed during any write, the archive still contains everything that was
// acknowledged. Without -every, the test uses a sample of the steps.
func TestKillEverywhere(t *testing.T) {
	t.Parallel()
	for _, at := range interrupt.Points(takenSteps(t)) {
		dir := t.TempDir()
		h, whole, failed := runCourse(t, dir, fmt.Sprint("course ", at.Nth, " ", at.Kind))
		if whole {
			t.Errorf("%v is never reached", at)
		}
		if len(failed) > 0 {
			t.Fatal(failed)
		}
		h.holds(t, dir)
		if t.Failed() {
			t.Fatalf("killed at %v", at)
		}
	}
}

// If the disk becomes full during a write, at any file size, the archive still contains everything
// that was acknowledged.
func TestFullDiskEverywhere(t *testing.T) {
	t.Parallel()
	for limit := 100_000; limit < 400_000; limit += 23_456 {
		dir := t.TempDir()
		shut(t, open(t, dir, Options{})) // make the files before their size is limited
		h, whole, failed := runCourse(t, dir, fmt.Sprint("course-limit ", limit))
		if !whole {
			t.Error("the child did not end by itself", failed)
		}
		for _, line := range failed {
			if !strings.Contains(line, syscall.EFBIG.Error()) && !strings.Contains(line, ErrNotHeld.Error()) {
				t.Errorf("with %d bytes the error is %q", limit, line)
			}
		}
		h.holds(t, dir)
		if t.Failed() {
			t.Fatalf("%d bytes", limit)
		}
	}
}
