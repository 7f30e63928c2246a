package holdings

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
)

// problems returns the texts of the problems that Verify finds, each up to its first colon.
func (s *store) problems() (list []string) {
	s.Helper()
	found, err := s.Verify(context.Background(), archive.VerifyOptions{})
	if err != nil {
		s.Fatal(err)
	}
	for _, p := range found {
		what, _, _ := strings.Cut(p.String(), ": ")
		list = append(list, strings.TrimPrefix(what, site))
	}
	return list
}

func (s *store) repair() (done, left []string) {
	s.Helper()
	problems, err := s.Repair(context.Background(),
		func(r archive.Repaired) { done = append(done, strings.TrimPrefix(r.String(), site)) })
	if err != nil {
		s.Fatal(err)
	}
	for _, p := range problems {
		left = append(left, p.String())
	}
	return done, left
}

func TestVerifyAgreement(t *testing.T) {
	const toBeFound, notToBe = "is recorded as indexed but is not in the index",
		"is in the index but is not recorded as indexed"
	for _, c := range []struct {
		name   string
		robots string
		spoil  func(*store) error
		found  []string
		done   []string
		pilot  string // paths of the pages that a search for pilot must find after the repair
	}{
		{name: "nothing", spoil: func(*store) error { return nil }, pilot: "/a /b"},
		{name: "an entry that is gone", spoil: func(s *store) error { return s.index.Delete(a) },
			found: []string{"/a " + toBeFound}, done: []string{"/a " + toBeFound + ": indexed again from its copy"},
			pilot: "/a /b"},
		{name: "an entry that is gone, of a page without a copy", robots: "ACAP-disallow-preserve: /a",
			spoil: func(s *store) error { return s.index.Delete(a) }, found: []string{"/a " + toBeFound},
			done: []string{"/a " + toBeFound +
				": deleted from the index, because no copy is stored that may be indexed"},
			pilot: "/b"},
		{name: "an entry of nothing",
			spoil: func(s *store) error { return s.index.Put(index.Document{URL: c2, Text: "pilot"}) },
			found: []string{"/z " + notToBe}, done: []string{"/z " + notToBe + ": deleted from the index"},
			pilot: "/a /b"},
		{name: "an entry of what may not be found", robots: "ACAP-disallow-index: /a",
			spoil: func(s *store) error { return s.index.Put(index.Document{URL: a, Text: "pilot"}) },
			found: []string{"/a " + notToBe}, done: []string{"/a " + notToBe + ": deleted from the index"},
			pilot: "/b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(c.robots), Options{})
			s.receive(pageOf(article, a))
			s.receive(pageOf(article, b))
			s.flushed()
			if err := c.spoil(s); err != nil {
				t.Fatal(err)
			}
			if got := s.problems(); !slices.Equal(got, c.found) {
				t.Errorf("found %q", got)
			}
			if done, left := s.repair(); !slices.Equal(done, c.done) || len(left) > 0 {
				t.Errorf("done %q, left %q", done, left)
			}
			if got := s.problems(); len(got) > 0 {
				t.Errorf("found after the repair: %q", got)
			}
			got := strings.Fields(s.found("pilot"))
			slices.Sort(got)
			if strings.Join(got, " ") != c.pilot {
				t.Errorf("the pilot is found at %q", got)
			}
		})
	}
}

const c2 = site + "/z"

// TestVerifyDue checks that Verify reports data that may no longer be stored, with the policy line.
// Repair must leave this data to a sweep.
func TestVerifyDue(t *testing.T) {
	now := time.Now()
	s := open(t, t.TempDir(), newWeb("ACAP-allow-preserve: / time-limit=2-days"),
		Options{Now: func() time.Time { return now }})
	s.receive(pageOf(article, a))
	s.receive(pageOf(article, b))
	if got := s.problems(); len(got) > 0 {
		t.Errorf("found %q", got)
	}
	now = now.Add(49 * time.Hour)
	found, err := s.Verify(t.Context(), archive.VerifyOptions{})
	if err != nil || len(found) != 4 || found[0].Where != a || found[0].Remedy != SweepRemedy ||
		!strings.Contains(found[0].What, "robots.txt") {
		t.Fatalf("%+v, %v", found, err)
	}
	if done, left := s.repair(); len(done) > 0 || len(left) != 4 {
		t.Errorf("done %q, left %q", done, left)
	}
	if len(s.copies(a)) != 1 {
		t.Error("the repair has swept")
	}
	if _, err := s.Sweep(t.Context(), SweepOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	if got := s.problems(); len(got) > 0 {
		t.Errorf("found after the sweep: %q", got)
	}
}

// TestVerifyMeanwhile checks that changes in progress are not reported as problems, and that Repair
// does not harm them.
func TestVerifyMeanwhile(t *testing.T) {
	s := open(t, t.TempDir(), newWeb("ACAP-disallow-preserve: /bare/\nACAP-disallow-index: /mute/"), Options{})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, folder := range []string{"whole", "bare", "mute"} {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				address := fmt.Sprintf("%s/%s/%d", site, folder, i%20)
				if _, err := s.Receive(context.Background(), pageOf(fmt.Sprint("<p>pilot ", i), address)); err != nil {
					t.Error(err)
				}
				if i%7 == 6 {
					if _, err := s.Erase(context.Background(), address, "asked", ""); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range 3 {
		if got := s.problems(); len(got) > 0 {
			t.Errorf("found %q", got)
		}
	}
	for range 2 {
		if _, left := s.repair(); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	}
	stop()
	wg.Wait()
}

// TestRepairLostKeys checks lost encryption keys. The data encrypted with these keys must be
// removed, also from the index, and other data must stay.
func TestRepairLostKeys(t *testing.T) {
	for lost := 1; lost <= 7; lost++ {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			dir := t.TempDir()
			w := newWeb("ACAP-disallow-preserve: /b")
			s := open(t, dir, w, Options{})
			for _, address := range []string{a, b, c} {
				s.receive(pageOf("<title>Low water</title><p>pilot of "+address, address))
			}
			s.shut()
			zero(t, filepath.Join(dir, "keys.db"), lost)
			s = open(t, dir, w, Options{})
			if got := s.problems(); len(got) == 0 {
				t.Error("nothing is found")
			}
			if done, left := s.repair(); len(done) == 0 || len(left) > 0 {
				t.Errorf("done %q, left %q", done, left)
			}
			if got := s.problems(); len(got) > 0 {
				t.Errorf("found after the repair: %q", got)
			}
			for _, address := range strings.Fields(s.found("pilot")) {
				if r := s.resource(site + address); !r.Indexed || r.FirstIndexed.IsZero() {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// zero overwrites the nth key in a file of keys.
func zero(t *testing.T, name string, n int) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	key := make([]byte, 32)
	if _, err := f.ReadAt(key, int64(32*n)); err != nil || bytes.Equal(key, make([]byte, 32)) {
		t.Fatalf("key %d is not in use: %v", n, err)
	}
	if _, err := f.WriteAt(make([]byte, 32), int64(32*n)); err != nil {
		t.Fatal(err)
	}
}

// files has a method create that writes the files of a backup to a directory.
type files struct {
	dir  string
	last *os.File
}

func (f *files) create(name string, _ int64) (io.Writer, error) {
	to := filepath.Join(f.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return nil, err
	}
	if f.last != nil {
		f.last.Close()
	}
	var err error
	f.last, err = os.Create(to)
	return f.last, err
}

// TestBackupMeanwhile checks that a backup made while pages are stored and erased is consistent,
// contains everything confirmed before it, and that its index files contain nothing of pages that it
// no longer indexes.
func TestBackupMeanwhile(t *testing.T) {
	const robots = "ACAP-disallow-preserve: /bare/\nACAP-disallow-index: /mute/"
	s := open(t, t.TempDir(), newWeb(robots), Options{})
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var kept, erased []string
	var wg sync.WaitGroup
	for _, folder := range []string{"whole", "bare", "mute"} {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				address := fmt.Sprintf("%s/%s/%d.html", site, folder, i)
				if _, err := s.Receive(context.Background(), pageOf("<p>pilot "+address, address)); err != nil {
					t.Error(err)
				}
				if i%3 == 2 {
					if _, err := s.Erase(context.Background(), address, "asked", ""); err != nil {
						t.Error(err)
					}
					mu.Lock()
					erased = append(erased, address)
					mu.Unlock()
					continue
				}
				mu.Lock()
				kept = append(kept, address)
				mu.Unlock()
			}
		})
	}
	for range 3 {
		mu.Lock()
		before := slices.Clone(kept)
		mu.Unlock()
		to := &files{dir: t.TempDir()}
		held, err := s.Backup(t.Context(), to.create)
		if err != nil {
			t.Fatal(err)
		}
		to.last.Close()
		mu.Lock()
		gone := slices.Clone(erased[max(0, len(erased)-100):])
		mu.Unlock()
		left := map[string][]string{} // addresses in files of the index
		for _, address := range gone {
			left[address] = holding(t, filepath.Join(to.dir, "index"), address)
		}
		r := open(t, to.dir, newWeb(robots), Options{})
		for _, address := range gone {
			if found, err := r.index.Has(address); err != nil || !found && len(left[address]) > 0 {
				t.Errorf("%s is erased, and in %s, %v", address, left[address], err)
			}
		}
		if got := r.problems(); len(got) > 0 {
			t.Errorf("the backup: %q", got)
		}
		if st, err := r.archive.Stats(); err != nil || st != held {
			t.Errorf("it holds %+v, %v, and was said to hold %+v", st, err, held)
		}
		for _, address := range before {
			is := r.resource(address)
			found, err := r.index.Has(address)
			if err != nil || found == strings.Contains(address, "/mute/") ||
				(is.Current == 0) != strings.Contains(address, "/bare/") {
				t.Errorf("%s: %+v, found %v, %v", address, is, found, err)
			}
		}
		r.shut()
	}
	stop()
	wg.Wait()
}

// TestPhrasesWithinBlocks checks that a search finds phrases within one block of a page. It tests
// the first index entry of a page, and an entry that is made again.
func TestPhrasesWithinBlocks(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newWeb(""), Options{})
	s.receive(pageOf("<h1>Low water</h1><p>The pilot waits</p><p>for <b>the</b> tide", a))
	for _, version := range []string{index.Version, "1"} {
		for query, want := range map[string]string{`"pilot waits"`: "/a", `"for the tide"`: "/a", `"waits for"`: "",
			`"water the"`: "", "waits for": "/a"} {
			if got := s.found(query); got != want {
				t.Errorf("%s: found at %q, want %q", query, got, want)
			}
		}
		if err := s.index.SetMadeBy(version); err != nil {
			t.Fatal(err)
		}
		s.shut()
		s = open(t, dir, s.web, Options{})
	}
}

// TestIndexOfAnotherVersion checks that an index written by an earlier version of the program is
// made again from the stored copies.
func TestIndexOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	w := newWeb("ACAP-disallow-preserve: /b")
	s := open(t, dir, w, Options{})
	s.receive(pageOf(article, a))
	s.receive(pageOf(article, b))
	s.flushed()
	for _, u := range []string{a, b} { // these entries lack a type, as written by the earlier version
		if err := s.index.Put(index.Document{URL: u, Text: "pilot", Language: "en"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.index.SetMadeBy("1"); err != nil {
		t.Fatal(err)
	}
	s.shut()
	s = open(t, dir, w, Options{})
	if got := s.found("pilot type:html"); got != "/a" {
		t.Errorf("found anew: %q", got)
	}
	if got := s.found("pilot -type:html"); got != "/b" {
		t.Errorf("left as it was: %q", got)
	}
	if version, err := s.index.MadeBy(); version != index.Version || err != nil {
		t.Errorf("version %q, %v", version, err)
	}
}
