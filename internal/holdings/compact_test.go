package holdings

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/test/interrupt"
)

// holding returns the names of the files below dir that contain s.
func holding(t *testing.T, dir, s string) (where []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // the index has merged this segment into another segment
			return nil
		}
		if strings.Contains(string(data), s) {
			where = append(where, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return where
}

// TestNothingRemains checks that no file contains erased data after compaction: no text, title,
// excerpt, statement or header, and in the index not even the address. The data of a page that was
// not erased must be complete.
func TestNothingRemains(t *testing.T) {
	dir := t.TempDir()
	w := newWeb("ACAP-disallow-preserve: /bare/\nACAP-allow-present-snippet: / max-length=20-words")
	s := open(t, dir, w, Options{})
	page := func(word string) string {
		return fmt.Sprintf(`<html lang="en"><title>Title%s</title><meta name="robots" content="%smeta">`+
			`<p>The %stext waits. %s</p>`, word, word, word,
			strings.Repeat("The harbour lay still under the fog. ", 40))
	}
	receive := func(path, word string) {
		h := http.Header{"Content-Type": {"text/html; charset=utf-8"}, "X-Word": {word + "header"},
			"Etag": {word + "etag"}}
		s.receive(pageWith(h, 200, page(word), site+path))
	}
	for i := range 20 {
		receive(fmt.Sprintf("/stays/%d", i), fmt.Sprintf("stays%dquux", i))
	}
	receive("/whole/1", "zanzibarquux")
	receive("/bare/2", "barequux")
	receive("/whole/shared", "sharedquux")
	receive("/whole/alike", "sharedquux")
	if s.found("zanzibarquuxtext") == "" || s.found("barequuxtext") == "" ||
		s.resource(site+"/bare/2").Kept.String() == "" {
		t.Fatal("the pages are not held as they should be")
	}
	if where := append(holding(t, dir, "zanzibarquuxt"), holding(t, dir, "barequuxt")...); len(where) > 0 &&
		!strings.Contains(where[0], ".zap") {
		t.Error("held, and not sealed, in", where)
	}
	for _, path := range []string{"/whole/1", "/bare/2", "/whole/shared"} {
		if _, err := s.Erase(context.Background(), site+path, "asked", ""); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.copies(site+"/whole/alike")) != 1 || s.found("sharedquuxtext") != "/whole/alike" {
		t.Error("what two addresses had in common is lost with one")
	}
	if _, err := s.Erase(context.Background(), site+"/whole/alike", "asked", ""); err != nil {
		t.Fatal(err)
	}
	gone := []string{"/whole/1", "/bare/2", "/whole/shared", "/whole/alike"}
	stats, err := s.Compact(context.Background(), nil)
	if err != nil || stats.Index.After >= stats.Index.Before || stats.Before != stats.Archive.Before+
		stats.Index.Before || stats.After < stats.Index.After {
		t.Errorf("%+v, %v", stats, err)
	}
	look := func(when string) {
		t.Helper()
		// two of the words are spelled backwards, because the dictionaries of the index also
		// contain words in this form
		for _, word := range []string{"zanzibarquux", "barequux", "sharedquux", "xuuqrabiznaz", "xuuqerab"} {
			if where := holding(t, dir, word); len(where) > 0 {
				t.Errorf("%s, %s is in %s", when, word, where)
			}
		}
		for _, path := range gone {
			if where := holding(t, filepath.Join(dir, "index"), site+path); len(where) > 0 {
				t.Errorf("%s, %s is in %s", when, path, where)
			}
		}
	}
	look("open")
	for _, path := range gone {
		if r, err := s.Receipt(site + path); err != nil || !r.Verified() || !r.Settled() {
			t.Errorf("%+v, %v", r, err)
		}
	}
	for i := range 20 {
		if got := s.found(fmt.Sprintf("stays%dquuxtext", i)); got != fmt.Sprintf("/stays/%d", i) {
			t.Errorf("page %d is found as %q", i, got)
		}
	}
	s.shut()
	look("closed")
}

// TestReceiptIndex checks that a receipt reports what is in the index itself, not what the archive
// says about the index.
func TestReceiptIndex(t *testing.T) {
	s := open(t, t.TempDir(), newWeb(""), Options{})
	s.receive(pageOf(article, a))
	if r, err := s.Holdings.Receipt(a); err != nil || r.Verified() || len(r.Erasures) > 0 {
		t.Errorf("nothing was erased: %+v, %v", r, err)
	}
	// this erases the page from the archive but not from the index
	if _, err := s.archive.Erase(context.Background(), archive.Tombstone{URL: a, Why: "asked"}); err != nil {
		t.Fatal(err)
	}
	s.flushed()
	if r, err := s.Holdings.Receipt(a); err != nil || r.Verified() || len(r.Left) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := s.index.Delete(a); err != nil {
		t.Fatal(err)
	}
	s.archive.Done(a)
	if r, err := s.Holdings.Receipt(a); err != nil || !r.Verified() {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestCompactInUse checks a compaction while pages are stored and erased: afterwards no file
// contains the data erased before it.
func TestCompactInUse(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newWeb(""), Options{})
	ctx := context.Background()
	var wg sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		wg.Go(func() {
			for n := range 25 {
				at := fmt.Sprintf("%s/%d/%d", site, i, n)
				if _, err := s.Receive(ctx, pageOf(fmt.Sprintf("<p>quux%dx%dquux pilot", i, n), at)); err != nil {
					t.Error(err)
				}
				if n%2 == 0 {
					continue
				}
				if _, err := s.Erase(ctx, at, "asked", ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	for busy := true; busy; {
		select {
		case <-done:
			busy = false
		default:
		}
		if _, err := s.Compact(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	if since, _, err := s.archive.Uncompacted(); !since.IsZero() || err != nil {
		t.Error(since, err)
	}
	for i := range 4 {
		if where := holding(t, filepath.Join(dir, "index"), fmt.Sprintf("%s/%d/1", site, i)); len(where) > 0 &&
			s.found(fmt.Sprintf("quux%dx1quux", i)) != "" {
			t.Error("erased, and in", where)
		}
	}
	if got := len(strings.Fields(s.found("pilot"))); got != 52 {
		t.Errorf("%d pages are found", got)
	}
}

func TestUpkeep(t *testing.T) {
	full := errors.New("no space left")
	var mu sync.Mutex
	fault := error(nil)
	set := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		fault = err
	}
	now := time.Now()
	s := openWith(t, t.TempDir(), newWeb(""), Options{Now: func() time.Time { return now.Add(time.Hour) }},
		archive.Options{
			Now: func() time.Time { return now },
			Fault: func(step archive.Step) error {
				mu.Lock()
				defer mu.Unlock()
				if step == archive.OverwritePages {
					return fault
				}
				return nil
			}})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	told, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		s.Upkeep(ctx, Within{Other: time.Millisecond}, func(_ CompactStats, err error) { told <- err })
	}()
	for range 2 { // Upkeep compacts after each of the two erasures
		s.receive(pageOf(article, a))
		if _, err := s.Erase(ctx, a, "asked", ""); err != nil {
			t.Fatal(err)
		}
		if err := <-told; err != nil {
			t.Error(err)
		}
	}
	set(full)
	s.receive(pageOf(article, a))
	if _, err := s.Erase(ctx, a, "asked", ""); err != nil {
		t.Fatal(err)
	}
	if err := <-told; !errors.Is(err, full) {
		t.Error(err)
	}
	set(nil)
	for err := range told { // a compaction that began before the disk had room again may still fail
		if err == nil {
			break
		}
	}
	if since, _, err := s.archive.Uncompacted(); !since.IsZero() || err != nil {
		t.Error(since, err)
	}
	cancel()
	<-ended
	ctx = context.Background()
	settle := func(w Within, want bool) {
		t.Helper()
		if _, done, err := s.Settle(ctx, w, time.Time{}); done != want || err != nil {
			t.Error(done, err)
		}
	}
	settle(Within{Other: time.Hour}, false) // nothing was erased
	s.receive(pageOf(article, a))
	if err := s.archive.EraseCapture(ctx, s.resource(a).Current, archive.Tombstone{Why: "expired"}); err != nil {
		t.Fatal(err)
	}
	settle(Within{}, false) // no publisher requested this erasure, and Within.Other is zero
	settle(Within{Other: time.Hour}, true)
	settle(Within{Other: time.Hour}, false)
	s.receive(pageOf(article, a))
	if _, err := s.Erase(ctx, a, "asked", ""); err != nil {
		t.Fatal(err)
	}
	// the next process starts before this compaction is due
	if _, done, err := s.Settle(ctx, Within{Asked: time.Hour}, time.Now().Add(time.Minute)); done || err != nil {
		t.Error(done, err)
	}
	settle(Within{Asked: time.Hour}, true)
	settle(Within{}, false)
}

// TestFaultEverywhere makes each write fail in turn, without -every a sample of the writes.
func TestFaultEverywhere(t *testing.T) {
	taken := receiveAndErase(t, interrupt.Point[archive.Step]{})
	for _, at := range interrupt.Points(taken) {
		got := receiveAndErase(t, at)
		if got = slices.DeleteFunc(got, func(s archive.Step) bool { return s != at.Kind }); len(got) < at.Nth {
			t.Errorf("%v is never reached", at)
		}
		if t.Failed() {
			t.Fatalf("%v", at)
		}
	}
}

// receiveAndErase receives, erases and compacts. The write at the given point fails; the zero value
// means none. After reopening, archive and index agree, confirmed pages are stored, and erased ones
// are not. receiveAndErase returns the steps that it took.
func receiveAndErase(t *testing.T, at interrupt.Point[archive.Step]) (taken []archive.Step) {
	t.Helper()
	full := errors.New("no space left on device")
	ctx := context.Background()
	dir := t.TempDir()
	var mu sync.Mutex
	n := 0
	fault := func(step archive.Step) error {
		mu.Lock()
		defer mu.Unlock()
		taken = append(taken, step)
		if step == at.Kind {
			if n++; n == at.Nth {
				return full
			}
		}
		return nil
	}
	kept, gone := map[string]bool{}, map[string]bool{}
	s := openWith(t, dir, newWeb(""), Options{}, archive.Options{Fault: fault})
	erase := func(path string) {
		kept[path] = false
		if _, err := s.Erase(ctx, site+path, "asked", ""); err == nil {
			gone[path] = true
		}
	}
	for i := range 6 {
		path := fmt.Sprint("/", i)
		if _, err := s.Receive(ctx, pageOf(fmt.Sprintf("<p>pilot quux%dquux", i), site+path)); err == nil {
			kept[path] = true
		}
	}
	erase("/1")
	s.Compact(ctx, nil)
	erase("/2")
	s.Compact(ctx, nil)
	s.Holdings.Close()
	s.index.Close()
	s.archive.Close()
	s.Holdings = nil // this store is already closed; the store that is opened next is checked at the end
	s = open(t, dir, newWeb(""), Options{})
	if _, err := s.Compact(ctx, nil); err != nil {
		t.Error(err)
	}
	found := " " + s.found("pilot") + " "
	for path := range kept {
		is := strings.Contains(found, " "+path+" ")
		if kept[path] && (!is || len(s.copies(site+path)) != 1) {
			t.Errorf("%s was acknowledged and is lost", path)
		}
		if gone[path] && (is || len(s.copies(site+path)) != 0 ||
			len(holding(t, dir, fmt.Sprintf("quux%squux", path[1:]))) > 0) {
			t.Errorf("%s was erased and is there", path)
		}
	}
	s.shut()
	return taken
}

// TestGrounds checks that a tombstone contains no text of the page. A statement in the page is
// named only by its place in the page.
func TestGrounds(t *testing.T) {
	for _, c := range []struct {
		name, robots, body string
		header             http.Header
		line               string
	}{
		{name: "robots.txt", robots: "ACAP-disallow-preserve: /", line: site +
			"/robots.txt:3: ACAP-disallow-preserve: /"},
		{name: "META", body: `<meta name="robots" content="ACAP disallow-preserve, unmistakable">`, line: a +
			":1: META"},
		{name: "noarchive in a header", header: http.Header{"X-Robots-Tag": {"noarchive, unmistakable"}}, line: a +
			": header X-Robots-Tag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, t.TempDir(), newWeb(""), Options{NoArchive: true})
			s.receive(pageOf("<p>Before.", a))
			s.web.says(c.robots)
			h := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
			for k, v := range c.header {
				h[k] = v
			}
			r := s.receive(pageWith(h, 200, c.body+"<p>After.", a))
			if refused(r) != "preserve" {
				t.Fatalf("%+v", r)
			}
			stones, err := s.archive.Tombstones(a)
			if err != nil || len(stones) != 1 || stones[0].Line != c.line ||
				strings.Contains(stones[0].Why, "unmistakable") ||
				!strings.Contains(stones[0].Why, c.line) {
				t.Errorf("%+v, %v", stones, err)
			}
		})
	}
	if g := grounds(acap.Decision{Reason: acap.Unavailable}); g.why == "" || g.line != "" {
		t.Error(g)
	}
}
