package actions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

func fresh(t *testing.T) *Ledger { return open(t, filepath.Join(t.TempDir(), "actions.db")) }

func TestExecuteReading(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	l, c := open(t, path), holding("/x", "/y")
	for i, step := range []struct {
		asked     []acap.Action
		did, list string
	}{
		{nil, "", ""},
		// P1 2.2.1 (X31): take-downs are executed first
		{asks(recrawl+"/n", down+"/x"), "erase /x, promote /n", "take-down /x done, re-crawl /n done"},
		// P1 2.6 (P04): an unchanged line is not executed again
		{asks(recrawl+"/n", down+"/x"), "", "take-down /x done, re-crawl /n done"},
		// the request for the re-crawl is now prohibited, but the re-crawl was already done
		{asks("ACAP-disallow-crawl: /n", recrawl+"/n", down+"/x"), "", "take-down /x done, re-crawl /n done"},
		// the prohibition is removed; the line that requests the re-crawl was never removed
		{asks(recrawl+"/n", down+"/x"), "", "take-down /x done, re-crawl /n done"},
		// P1 2.6.1 (P05): without its line a request is no longer in force
		{nil, "", "take-down /x done past, re-crawl /n done past"},
		// a restored line is a new request
		{asks(recrawl + "/n"), "promote /n", "take-down /x done past, re-crawl /n done past, re-crawl /n done"},
		// the same line twice is one request
		{asks(recrawl+"/n", recrawl+"/n"), "", "take-down /x done past, re-crawl /n done past, re-crawl /n done"},
		// P1 2.6 (P01): a pattern is not executed
		{asks(down+"/n*", down+"/y"), "erase /y",
			"take-down /x done past, re-crawl /n done past, re-crawl /n done past, take-down /n%2A refused, " +
				"take-down /y done"},
	} {
		if got := run(t, l, c, step.asked); got != step.did {
			t.Errorf("step %d: did %q, want %q", i, got, step.did)
		}
		if got := list(t, l); got != step.list {
			t.Errorf("step %d: the ledger says\n%s, want\n%s", i, got, step.list)
		}
		l.Close()
		l = open(t, path)
	}
}

// P1 2.6 (P04): a take-down is repeated whenever something is stored again. The request counts
// everything that the take-down erased.
func TestRepeated(t *testing.T) {
	l, c := fresh(t), holding("/x")
	run(t, l, c, asks(down+"/x"))
	c.held[site+"/x"] = 2
	if got := run(t, l, c, asks(down+"/x", down+"/y")); got != "erase /x" {
		t.Error(got)
	}
	if r := rows(t, l)[0]; r.State != Done || r.Erased != 3 || !r.Gone.IsZero() {
		t.Errorf("%+v", r)
	}
	// nothing was stored, so Gone is set without a compaction
	if r := rows(t, l)[1]; r.State != Done || r.Erased != 0 || r.Gone.IsZero() {
		t.Errorf("%+v", r)
	}
}

// P1 2.6.2 (P08): a request that the policy prohibits is refused.
func TestRefusedByPolicy(t *testing.T) {
	l, c := fresh(t), holding()
	refused := asks("ACAP-disallow-crawl: /n", recrawl+"/n")
	if got := run(t, l, c, refused); got != "" || list(t, l) != "re-crawl /n refused" {
		t.Errorf("did %q; %s", got, list(t, l))
	}
	if rows(t, l)[0].Why == "" {
		t.Error("without a reason")
	}
	if got := run(t, l, c, asks(recrawl+"/n")); got != "promote /n" || list(t, l) != "re-crawl /n done" {
		t.Errorf("did %q; %s", got, list(t, l))
	}
}

// If a request occurs both in a permitted and in a prohibited form, the request is executed. The
// order of the two lines has no effect.
func TestTwice(t *testing.T) {
	yes := acap.Action{Action: acap.TakeDown, URL: site + "/x", Field: &acap.Field{URL: site + "/robots.txt", Line: 3},
		Execute: true}
	no := yes
	no.Execute, no.Why = false, "it is in a file of another host"
	for _, asked := range [][]acap.Action{{yes, no}, {no, yes}} {
		l, c := fresh(t), holding("/x")
		if got := run(t, l, c, asked); got != "erase /x" || list(t, l) != "take-down /x done" {
			t.Errorf("did %q; %s", got, list(t, l))
		}
	}
}

func TestOriginsApart(t *testing.T) {
	l, c := fresh(t), holding("/x")
	run(t, l, c, asks(down+"/x"))
	for _, other := range []string{"http://quay.example:81", "http://quay", "http://quay.exampl"} {
		if err := c.executor(l).ExecuteReading(context.Background(), Reading{Origin: other}); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, l); got != "take-down /x done" {
		t.Error(got)
	}
}

// If a file could not be read, the requests of its lines stay in force. If a line is missing in a
// file that was read, its request is no longer in force.
func TestIncomplete(t *testing.T) {
	l, c := fresh(t), holding("/x", "/y")
	robots, more := site+"/robots.txt", site+"/more.txt"
	at := func(file, action, path string) acap.Action {
		return acap.Action{Action: action, URL: site + path, Execute: true,
			Field: &acap.Field{URL: file, Line: 4, Text: path}}
	}
	whole := Reading{Origin: origin, Digests: map[string]string{robots: "1", more: "2"},
		Actions: []acap.Action{at(robots, acap.TakeDown, "/x"), at(more, acap.TakeDown, "/y"),
			at(more, acap.ReCrawl, "/n")}}
	broken := Reading{Origin: origin, Digests: map[string]string{robots: "3"}, Incomplete: true}
	if got := runWith(t, c.executor(l), c, whole); got != "erase /x, erase /y, promote /n" {
		t.Error(got)
	}
	for range 3 {
		if got := runWith(t, c.executor(l), c, broken); got != "" {
			t.Error(got)
		}
		if got := list(t, l); got != "take-down /x done past, take-down /y done, re-crawl /n done" {
			t.Error(got)
		}
	}
	if got := runWith(t, c.executor(l), c, whole); got != "" {
		t.Error(got)
	}
	if got := list(t, l); got != "take-down /x done past, take-down /y done, re-crawl /n done, take-down /x done" {
		t.Error(got)
	}
}

// A reading has no effect if a newer one was observed before.
func TestStale(t *testing.T) {
	l, c := fresh(t), holding("/x")
	read := time.Now()
	runWith(t, c.executor(l), c, Reading{Origin: origin, Since: read, Actions: asks(down + "/y")})
	for _, stale := range []bool{true, true, false} { // the last reading is not stale, although its time is earlier
		old := Reading{Origin: origin, Since: read.Add(-time.Second), Actions: asks(down + "/x"),
			Stale: func() bool { return stale }}
		want := map[bool]string{false: "erase /x"}[stale]
		if got := runWith(t, c.executor(l), c, old); got != want {
			t.Errorf("stale %v: did %q; %s", stale, got, list(t, l))
		}
	}
}

// For an unchanged reading, the Executor only reads the stored digest. The same is true if only
// lines without requests have changed.
func TestSecondReading(t *testing.T) {
	l, c := fresh(t), holding("/x")
	run(t, l, c, asks(down+"/x", down+"/n*", recrawl+"/n"))
	before, looks := entries(t, l), c.looks
	for range 3 {
		run(t, l, c, asks(down+"/x", down+"/n*", recrawl+"/n"))
	}
	run(t, l, c, asks(down+"/x", down+"/n*", recrawl+"/n", "ACAP-disallow-crawl: /z"))
	if now := entries(t, l); now != before || c.looks != looks {
		t.Errorf("%d entries more, and %d looks", now-before, c.looks-looks)
	}
}

// If a line has moved within the file, the request gets the new line number.
func TestMoved(t *testing.T) {
	l, c := fresh(t), holding("/x")
	run(t, l, c, asks(down+"/x"))
	if got := run(t, l, c, asks("ACAP-disallow-crawl: /z", down+"/x")); got != "" {
		t.Error(got)
	}
	if r := rows(t, l)[0]; r.From.Line != 4 || r.Source != site+"/robots.txt:4: ACAP-request-take-down: /x" ||
		r.State != Done {
		t.Errorf("%+v", r)
	}
}

// The time at which a request was first seen is the time of the reading. The request counts
// everything that was erased after that time, even if the Executor did not erase it.
func TestAsked(t *testing.T) {
	l, c := fresh(t), holding()
	read := time.Now().Add(-time.Minute).UTC()
	c.stones[site+"/x"] = []stone{{read.Add(-time.Second), 4}, {read.Add(time.Second), 2}}
	c.held[site+"/x"] = 1
	runWith(t, c.executor(l), c, Reading{Origin: origin, Since: read, Actions: asks(down + "/x")})
	if r := rows(t, l)[0]; !r.Asked.Equal(read) || r.Erased != 3 {
		t.Errorf("%+v", r)
	}
}

// If a line is removed before its request is executed, the request is not executed.
func TestWithdrawn(t *testing.T) {
	l, c := fresh(t), holding("/x", "/y")
	c.fail[site+"/x"] = errors.New("the disk is full")
	if err := c.executor(l).ExecuteReading(context.Background(),
		Reading{Origin: origin, Actions: asks(down+"/x", down+"/y")}); err == nil {
		t.Error("no error")
	}
	delete(c.fail, site+"/x")
	if got := run(t, l, c, nil); got != "" || c.held[site+"/x"] != 1 {
		t.Error(got)
	}
	if got := list(t, l); got != "take-down /x refused past, take-down /y done past" {
		t.Error(got)
	}
	if got := rows(t, l)[0].Why; got != "withdrawn before it was executed" {
		t.Error(got)
	}
}

// P1 2.6 (P09): a line with a URL that is too long does not prevent the execution of other
// requests.
func TestLongLine(t *testing.T) {
	l, c := fresh(t), holding("/x", "/y")
	long := "/" + strings.Repeat("a", 1<<16)
	if got := run(t, l, c, asks(down+long, recrawl+long, down+long+"*", down+"/"+strings.Repeat("é", 1<<13), down+
		"/x")); got != "erase /x" {
		t.Error(got)
	}
	if got := run(t, l, c, asks(down+"/x", down+"/y", down+long)); got != "erase /y" ||
		list(t, l) != "take-down /x done, take-down /y done" {
		t.Errorf("did %q; %s", got, list(t, l))
	}
}

func manyLines(action string, n int) (list []acap.Action) {
	for i := range n {
		list = append(list, acap.Action{Action: action, URL: fmt.Sprintf("%s/%d", site, i), Execute: true,
			Field: &acap.Field{URL: site + "/robots.txt", Line: i + 1}})
	}
	return list
}
