package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/page"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

func entries(t *testing.T, text string) (list []reportEntry) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e reportEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, e)
	}
	return list
}

func TestReportEntries(t *testing.T) {
	robots := &acap.Field{Source: acap.Robots, URL: "http://a.example/robots.txt", Line: 3,
		Text: "ACAP-disallow-index: /"}
	decision := func(u acap.Usage) acap.Decision {
		return acap.Decision{Usage: u, Reason: acap.ByProhibition, Because: robots}
	}
	answer := func(status int) *page.Page {
		return page.New([]page.Hop{{URL: "http://a.example/x", Status: 302, Start: noon}, {URL: "http://a.example/y",
			Status: status, Start: noon}})
	}
	line := &reportLine{acap.Robots, robots.URL, 3, robots.Text}
	for name, c := range map[string]struct {
		tell func(*skipReport)
		want []reportEntry // the expected entries; the field Why is not compared
	}{
		"refused by policy": {
			func(r *skipReport) {
				r.skipped(crawler.Skip{URL: "http://a.example/", State: crawler.Refused, When: noon,
					Final: "http://b.example/", Decision: decision(acap.Crawl)})
			},
			[]reportEntry{{URL: "http://a.example/", Use: acap.Crawl, Reason: "prohibition", Line: line,
				Final: "http://b.example/", Time: noon}},
		},
		"out of scope": {
			func(r *skipReport) {
				r.skipped(crawler.Skip{URL: "http://b.example/", State: crawler.Outside, When: noon})
			},
			[]reportEntry{{URL: "http://b.example/", Use: acap.Crawl, Reason: "out-of-scope", Time: noon}},
		},
		"refused uses": {
			func(r *skipReport) {
				r.received(answer(200), holdings.Receipt{Refused: []acap.Decision{decision(acap.Follow),
					decision(acap.Index)}})
			},
			[]reportEntry{
				{URL: "http://a.example/x", Use: acap.Follow, Reason: "prohibition", Line: line,
					Final: "http://a.example/y", Time: noon},
				{URL: "http://a.example/x", Use: acap.Index, Reason: "prohibition", Line: line,
					Final: "http://a.example/y", Time: noon},
			},
		},
		"not requested, since it is taken down": {
			func(r *skipReport) {
				r.skipped(crawler.Skip{URL: "http://a.example/x", State: crawler.Refused, When: noon,
					Final: "http://a.example/y", TakeDown: robots})
			},
			[]reportEntry{{URL: "http://a.example/x", Use: acap.Crawl, Reason: reasonTakenDown, Line: line,
				Final: "http://a.example/y", Time: noon}},
		},
		"taken down": {
			func(r *skipReport) { r.received(answer(200), holdings.Receipt{TakenDown: robots}) },
			[]reportEntry{
				{URL: "http://a.example/x", Use: acap.Preserve, Reason: reasonTakenDown, Line: line,
					Final: "http://a.example/y", Time: noon},
				{URL: "http://a.example/x", Use: acap.Index, Reason: reasonTakenDown, Line: line,
					Final: "http://a.example/y", Time: noon},
			},
		},
		"no page": {
			func(r *skipReport) { r.received(answer(404), holdings.Receipt{}) },
			[]reportEntry{
				{URL: "http://a.example/x", Use: acap.Preserve, Reason: reasonStatus, Final: "http://a.example/y",
					Time: noon},
				{URL: "http://a.example/x", Use: acap.Index, Reason: reasonStatus, Final: "http://a.example/y",
					Time: noon},
			},
		},
		"no text": {
			func(r *skipReport) { r.received(answer(200), holdings.Receipt{Stored: true, Textless: true}) },
			[]reportEntry{{URL: "http://a.example/x", Use: acap.Index, Reason: reasonNoText,
				Final: "http://a.example/y", Time: noon}},
		},
		"nothing refused": {func(r *skipReport) { r.received(answer(200), holdings.Receipt{Stored: true}) }, nil},
		"not modified":    {func(r *skipReport) { r.received(answer(304), holdings.Receipt{Stored: true}) }, nil},
		"told by the crawler": {func(r *skipReport) { r.received(answer(200), holdings.Receipt{Discarded: true}) },
			nil},
		"a sentence in quotes": {func(r *skipReport) { r.skipped(crawler.Skip{Why: "<\"\n&", When: noon}) },
			[]reportEntry{{Use: acap.Crawl, Time: noon}}},
	} {
		var b bytes.Buffer
		r, err := openReport("-", &b, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.tell(r)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		got := entries(t, b.String())
		for i := range got {
			got[i].Why = ""
		}
		gotText, _ := json.Marshal(got)
		wantText, _ := json.Marshal(c.want)
		if !bytes.Equal(gotText, wantText) {
			t.Errorf("%s: %s, want %s", name, gotText, wantText)
		}
	}
}

// fullDisk is a writer that fails like a full disk until the test makes space.
type fullDisk struct {
	bytes.Buffer
	room int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, errors.New("no space left")
	}
	return n, nil
}

// A full disk is reported once and stops the crawl. The pending lines are written when there is
// space again. If there is no space until the end, closing the report returns an error.
func TestReportFullDisk(t *testing.T) {
	for _, room := range []int{0, 1 << 20} {
		told := 0
		d := &fullDisk{room: 10}
		r, err := openReport("-", d, func() { told++ })
		if err != nil {
			t.Fatal(err)
		}
		r.skipped(crawler.Skip{URL: "http://a.example/1", When: noon})
		r.flush()
		r.skipped(crawler.Skip{URL: "http://a.example/2", When: noon})
		r.flush()
		if told != 1 {
			t.Errorf("told %d times", told)
		}
		d.room = room
		err = r.Close()
		if room == 0 {
			if report(new(bytes.Buffer), err) != statusFailed {
				t.Errorf("closed with %v", err)
			}
			continue
		}
		if got := entries(t, d.String()); err != nil || len(got) != 2 {
			t.Errorf("%d entries, %v", len(got), err)
		}
	}
}

// Lines are appended to the report, even if its last line was cut off. Lines of concurrent writers
// do not mix.
func TestReportFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "report.jsonl")
	if err := os.WriteFile(name, []byte("{\"url\":\"http://a.exa"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := openReport(name, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for range 50 {
					r.skipped(crawler.Skip{URL: "http://a.example/", When: noon})
					r.flush()
				}
			})
		}
		workers.Wait()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	cut, rest, _ := strings.Cut(string(text), "\n")
	if got := entries(t, rest); len(got) != 400 || cut != "{\"url\":\"http://a.exa" {
		t.Errorf("%d entries after %q", len(got), cut)
	}
}

func TestReportUnwritable(t *testing.T) {
	for _, name := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none", "report.jsonl")} {
		if _, err := openReport(name, nil, nil); report(new(bytes.Buffer), err) != statusUsage {
			t.Errorf("%s was opened with %v", name, err)
		}
	}
}
