package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/acapcrawl/acapcrawl/acap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	site   = "http://quay.example"
	origin = site
)

func open(t *testing.T, path string) *Ledger {
	t.Helper()
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// asks are the requests of a robots.txt.
func asks(lines ...string) []acap.Action {
	text := "ACAP-version: 1.1\nACAP-crawler: *\n" + strings.Join(lines, "\n") + "\n"
	return acap.Parse(site+"/robots.txt", []byte(text)).Policy(acap.Crawler{Names: []string{"gazer"}}).Actions()
}

const (
	down    = "ACAP-request-take-down: "
	recrawl = "ACAP-request-re-crawl: "
)

// crew executes requests, and notes what it did.
type crew struct {
	did  []string
	fail map[string]error
}

func (c *crew) Erase(_ context.Context, url, why, line string) (int, error) {
	if why == "" || !strings.Contains(line, "robots.txt:") {
		return 0, fmt.Errorf("no reason or line: %q, %q", why, line)
	}
	c.did = append(c.did, "erase "+strings.TrimPrefix(url, site))
	return 1, c.fail[url]
}

func (c *crew) Promote(url string) error {
	c.did = append(c.did, "promote "+strings.TrimPrefix(url, site))
	return c.fail[url]
}

// run executes what is asked and tells what was done.
func run(t *testing.T, l *Ledger, c *crew, asked []acap.Action) string {
	t.Helper()
	c.did = nil
	if err := l.Run(context.Background(), origin, asked, c, c); err != nil {
		t.Fatal(err)
	}
	return strings.Join(c.did, ", ")
}

// list writes the ledger: action, path, state, whether it stands.
func list(t *testing.T, l *Ledger) string {
	t.Helper()
	all, err := l.List()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, r := range all {
		if r.ID != uint64(i+1) || r.Origin != origin || r.Asked.IsZero() || r.Source == "" || (r.State == Done) == r.Done.IsZero() {
			t.Errorf("%+v", r)
		}
		s := fmt.Sprintf("%s %s %s", r.Action, strings.TrimPrefix(r.URL, site), r.State)
		if !r.Standing {
			s += " past"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	l, c := open(t, path), &crew{}
	for i, step := range []struct {
		asked     []acap.Action
		did, list string
	}{
		{nil, "", ""},
		{asks(recrawl+"/n", down+"/x"), "erase /x, promote /n", "take-down /x done, re-crawl /n done"},                                                                // X31: take-downs first
		{asks(recrawl+"/n", down+"/x"), "erase /x", "take-down /x done, re-crawl /n done"},                                                                            // P04
		{asks("ACAP-disallow-crawl: /n", recrawl+"/n", down+"/x"), "erase /x", "take-down /x done, re-crawl /n done"},                                                 // it was done
		{asks(recrawl+"/n", down+"/x"), "erase /x", "take-down /x done, re-crawl /n done"},                                                                            // and the line stood all along
		{nil, "", "take-down /x done past, re-crawl /n done past"},                                                                                                    // P05
		{asks(recrawl + "/n"), "promote /n", "take-down /x done past, re-crawl /n done past, re-crawl /n done"},                                                       // a new appearance
		{asks(recrawl+"/n", recrawl+"/n"), "", "take-down /x done past, re-crawl /n done past, re-crawl /n done"},                                                     // once
		{asks(down+"/n*", down+"/y"), "erase /y", "take-down /x done past, re-crawl /n done past, re-crawl /n done past, take-down /n%2A refused, take-down /y done"}, // P01
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

func TestRefusedByPolicy(t *testing.T) { // P08
	l, c := open(t, filepath.Join(t.TempDir(), "actions.db")), &crew{}
	refused := asks("ACAP-disallow-crawl: /n", recrawl+"/n")
	if got := run(t, l, c, refused); got != "" || list(t, l) != "re-crawl /n refused" {
		t.Errorf("did %q; %s", got, list(t, l))
	}
	if all, _ := l.List(); all[0].Why == "" {
		t.Error("without a reason")
	}
	if got := run(t, l, c, asks(recrawl+"/n")); got != "promote /n" || list(t, l) != "re-crawl /n done" {
		t.Errorf("did %q; %s", got, list(t, l))
	}
}

// The same request where it may be asked and where it may not is executed, in whatever order they stand.
func TestTwice(t *testing.T) {
	yes := acap.Action{Action: acap.TakeDown, URL: site + "/x", Field: &acap.Field{URL: site + "/robots.txt", Line: 3}, Execute: true}
	no := yes
	no.Execute, no.Why = false, "it stands in a file of another host"
	for _, asked := range [][]acap.Action{{yes, no}, {no, yes}} {
		l, c := open(t, filepath.Join(t.TempDir(), "actions.db")), &crew{}
		if got := run(t, l, c, asked); got != "erase /x" || list(t, l) != "take-down /x done" {
			t.Errorf("did %q; %s", got, list(t, l))
		}
	}
}

func TestFailures(t *testing.T) {
	l, c := open(t, filepath.Join(t.TempDir(), "actions.db")), &crew{fail: map[string]error{}}
	broken := errors.New("the disk is full")
	c.fail[site+"/x"], c.fail[site+"/n"] = broken, broken
	asked := asks(down+"/x", down+"/y", recrawl+"/n")
	if err := l.Run(context.Background(), origin, asked, c, c); !errors.Is(err, broken) || len(c.did) != 3 {
		t.Errorf("did %q, %v", c.did, err)
	}
	if got := list(t, l); got != "take-down /x failed, take-down /y done, re-crawl /n failed" {
		t.Error(got)
	}
	delete(c.fail, site+"/x") // a re-crawl that fails is no reason to stop
	if got := run(t, l, c, asked); got != "erase /x, erase /y, promote /n" {
		t.Error(got)
	}
	c.fail = nil
	if got := run(t, l, c, asked); got != "erase /x, erase /y, promote /n" || list(t, l) != "take-down /x done, take-down /y done, re-crawl /n done" {
		t.Errorf("did %q; %s", got, list(t, l))
	}
}

// What was due when the process died is due again.
func TestDied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	l, c := open(t, path), &crew{}
	asked := asks(down+"/x", recrawl+"/n")
	if due, err := l.Observe(origin, asked, time.Now()); err != nil || len(due) != 2 {
		t.Fatal(due, err)
	}
	l.Close()
	l = open(t, path)
	if got := run(t, l, c, asked); got != "erase /x, promote /n" {
		t.Error(got)
	}
}

func TestOriginsApart(t *testing.T) {
	l, c := open(t, filepath.Join(t.TempDir(), "actions.db")), &crew{}
	run(t, l, c, asks(down+"/x"))
	for _, other := range []string{"http://quay.example:81", "http://quay", "http://quay.exampl"} {
		if err := l.Run(context.Background(), other, nil, c, c); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, l); got != "take-down /x done" {
		t.Error(got)
	}
}

// P09: re-crawls are bounded and go on with the next reading; take-downs are not bounded.
func TestFlood(t *testing.T) {
	l, c := open(t, filepath.Join(t.TempDir(), "actions.db")), &crew{}
	var asked []acap.Action
	for i := range MaxRecrawls + 10 {
		for _, action := range []string{acap.ReCrawl, acap.TakeDown} {
			asked = append(asked, acap.Action{Action: action, URL: fmt.Sprintf("%s/%d", site, i), Execute: true, Field: &acap.Field{URL: site + "/robots.txt", Line: i + 1}})
		}
	}
	run(t, l, c, asked)
	if n := len(c.did); n != 2*MaxRecrawls+10 {
		t.Errorf("%d executed", n)
	}
	run(t, l, c, asked)
	if n := len(c.did); n != MaxRecrawls+20 {
		t.Errorf("then %d executed", n)
	}
}

func TestJSON(t *testing.T) {
	l, c := open(t, filepath.Join(t.TempDir(), "actions.db")), &crew{}
	run(t, l, c, asks(down+"/x"))
	all, _ := l.List()
	data, err := json.Marshal(all[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"id", "action", "url", "origin", "source", "state", "asked", "done"} {
		if !strings.Contains(string(data), `"`+key+`":`) {
			t.Errorf("%s has no %s", data, key)
		}
	}
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	open(t, path)
	if _, err := Open(path); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
}
