package actions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestFailures(t *testing.T) {
	l, c := fresh(t), holding("/x", "/y")
	broken := errors.New("the disk is full")
	c.fail[site+"/x"], c.fail[site+"/n"] = broken, broken
	asked := asks(down+"/x", down+"/y", recrawl+"/n")
	if err := c.executor(l).ExecuteReading(context.Background(),
		Reading{Origin: origin, Actions: asked}); !errors.Is(err, broken) || len(c.did) != 3 {
		t.Errorf("did %q, %v", c.did, err)
	}
	if got := list(t, l); got != "take-down /x failed, take-down /y done, re-crawl /n failed" {
		t.Error(got)
	}
	delete(c.fail, site+"/x") // after a failure the other requests are executed, and the failed re-crawl is paused
	if got := run(t, l, c, asked); got != "erase /x" ||
		list(t, l) != "take-down /x done, take-down /y done, re-crawl /n failed" {
		t.Errorf("did %q; %s", got, list(t, l))
	}
}

// A failed request is tried again after a pause that doubles up to an hour.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, c := fresh(t), holding()
		x := c.executor(l)
		c.fail[site+"/n"] = errors.New("the disk is full")
		runWith(t, x, c, Reading{Origin: origin, Actions: asks(recrawl + "/n")})
		for _, wait := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute,
			16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
			time.Sleep(wait - time.Second)
			c.did = nil
			if err := x.Resume(context.Background()); err != nil || len(c.did) != 0 {
				t.Errorf("before %v: did %q, %v", wait, c.did, err)
			}
			time.Sleep(time.Second)
			if err := x.Resume(context.Background()); err != nil || len(c.did) != 1 {
				t.Errorf("after %v: did %q, %v", wait, c.did, err)
			}
		}
	})
}

// P1 2.6 (P04): a re-crawl is executed once while its line stays, and again after Limits.Again.
// Removing and restoring the line does not shorten that time.
func TestCoolDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, c := fresh(t), holding()
		x := NewExecutor(l, c, c, Limits{Again: 24 * time.Hour})
		reading := Reading{Origin: origin, Actions: asks(recrawl + "/n")}
		heed := func(r Reading, want string) {
			t.Helper()
			if got := runWith(t, x, c, r); got != want {
				t.Errorf("did %q, want %q", got, want)
			}
		}
		resume := func(want string) {
			t.Helper()
			c.did = nil
			if err := errors.Join(x.Resume(context.Background()), x.Settle(context.Background())); err != nil {
				t.Error(err)
			}
			if got := strings.Join(c.did, ", "); got != want {
				t.Errorf("resumed: did %q, want %q", got, want)
			}
		}
		heed(reading, "promote /n")
		time.Sleep(24*time.Hour - time.Second)
		heed(reading, "")
		resume("")
		time.Sleep(time.Second)
		heed(reading, "promote /n")
		time.Sleep(24 * time.Hour)
		resume("promote /n")
		for range 5 { // remove the line and restore it, several times
			time.Sleep(time.Minute)
			heed(Reading{Origin: origin}, "")
			resume("")
			heed(reading, "")
		}
		time.Sleep(24 * time.Hour)
		resume("promote /n")
		heed(reading, "")
		heed(Reading{Origin: origin}, "")
		time.Sleep(48 * time.Hour)
		resume("")
	})
}

// A re-crawl is done only after its page was visited.
func TestSettle(t *testing.T) {
	l, c := fresh(t), holding()
	x := c.executor(l)
	c.absent = true
	runWith(t, x, c, Reading{Origin: origin, Actions: asks(recrawl+"/a", recrawl+"/b", recrawl+"/c", recrawl+"/d")})
	if got := list(t, l); got != "re-crawl /a running, re-crawl /b running, re-crawl /c running, re-crawl /d running" {
		t.Error(got)
	}
	c.visits[site+"/a"] = Visit{Status: 410}
	c.visits[site+"/b"] = Visit{Refused: true, Why: "it is out of the scope of the crawl"}
	c.visits[site+"/c"] = Visit{Status: 503, Failed: true, Why: "it answers 503"}
	if err := x.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := list(t, l); got != "re-crawl /a done, re-crawl /b refused, re-crawl /c failed, re-crawl /d running" {
		t.Error(got)
	}
	all := rows(t, l)
	if all[0].Status != 410 || all[1].Why == "" || all[2].Status != 503 || all[2].NotBefore.IsZero() {
		t.Errorf("%+v", all)
	}
}

// If no crawl runs, re-crawls stay due, and the next crawl executes them.
func TestNoCrawl(t *testing.T) {
	l, c := fresh(t), holding("/x")
	if got := runWith(t, NewExecutor(l, c, nil, Limits{}), c,
		Reading{Origin: origin, Actions: asks(recrawl+"/n", down+"/x")}); got != "erase /x" {
		t.Error(got)
	}
	if got := list(t, l); got != "take-down /x done, re-crawl /n due" {
		t.Error(got)
	}
	c.did = nil
	if err := c.executor(l).Resume(context.Background()); err != nil || strings.Join(c.did, ", ") != "promote /n" {
		t.Errorf("did %q, %v", c.did, err)
	}
}

// P1 2.6 (P09): the number of running re-crawls is limited for each origin and in all. When some
// are done, the next ones start.
func TestPending(t *testing.T) {
	l, c := fresh(t), holding()
	c.absent = true
	x := NewExecutor(l, c, c, Limits{Pending: 30, PendingAll: 50})
	reading := Reading{Origin: origin, Actions: manyLines("re-crawl", 40)}
	runWith(t, x, c, reading)
	if len(c.did) != 30 {
		t.Errorf("%d executed", len(c.did))
	}
	other := reading
	other.Origin = "http://other.example"
	runWith(t, x, c, other)
	if len(c.did) != 20 {
		t.Errorf("%d executed of another origin", len(c.did))
	}
	count := func(origin string, s State) (n int) {
		for _, r := range rows(t, l) {
			if r.Origin == origin && r.State == s {
				n++
			}
		}
		return n
	}
	if n, m := count(origin, Refused), count(other.Origin, Due); n != 10 || m != 10 {
		t.Errorf("%d refused, and %d of another origin due", n, m)
	}
	c.absent, c.did = false, nil
	if err := errors.Join(x.Settle(context.Background()), x.Resume(context.Background())); err != nil ||
		len(c.did) != 10 {
		t.Errorf("%d executed then, %v", len(c.did), err)
	}
}

// A publisher who changes the lines all the time gets no more re-crawls within a day than one who
// does not.
func TestDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, c := fresh(t), holding()
		x := NewExecutor(l, c, c, Limits{Pending: 100, Day: 250, Listed: 20})
		all := manyLines("re-crawl", 1000)
		n := 0
		for i := range 10 {
			time.Sleep(time.Hour)
			runWith(t, x, c, Reading{Origin: origin, Actions: all[100*i : 100*i+100]})
			n += len(c.did)
		}
		if n != 250 || len(rows(t, l)) != 270 {
			t.Errorf("%d executed, %d rows", n, len(rows(t, l)))
		}
		time.Sleep(24 * time.Hour)
		// the requests of the last reading are compared again
		runWith(t, x, c, Reading{Origin: origin, Actions: all[900:]})
		if len(c.did) != 100 {
			t.Errorf("%d executed the next day", len(c.did))
		}
	})
}

// Of ten thousand requests without effect, the ledger lists only a few and counts the others. It
// lists each request that erases something.
func TestFlood(t *testing.T) {
	l, c := fresh(t), holding()
	const lines = 20_000
	for i := 0; i < lines; i += 10 {
		c.held[fmt.Sprintf("%s/%d", site, i)] = 1
	}
	x := NewExecutor(l, c, c, Limits{Listed: 100})
	runWith(t, x, c, Reading{Origin: origin, Actions: manyLines("take-down", lines)})
	if len(c.did) != lines/10 || len(c.held) != 0 {
		t.Errorf("%d erased, %d held", len(c.did), len(c.held))
	}
	before := entries(t, l)
	if n := len(rows(t, l)); n != lines/10+100 || before != 3*lines/10+100+2 {
		t.Errorf("%d rows, %d entries", n, before)
	}
	runWith(t, x, c, Reading{Origin: origin, Actions: manyLines("take-down", lines)})
	if n := entries(t, l); n != before || len(c.did) != 0 {
		t.Errorf("%d entries more, and did %d", n-before, len(c.did))
	}
}

// Requests that were due when the process ended are due again in the next process.
func TestDied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	l, c := open(t, path), holding("/x")
	asked := asks(down+"/x", recrawl+"/n")
	if due, err := c.executor(l).observe(Reading{Origin: origin, Actions: asked}); err != nil || !due {
		t.Fatal(due, err)
	}
	l.Close()
	l = open(t, path)
	if got := run(t, l, c, asked); got != "erase /x, promote /n" {
		t.Error(got)
	}
}

// If the line of a take-down is removed while the take-down is executed, the request is not in
// force afterwards. When the line is restored, the new request erases only what is stored then.
func TestGoesMeanwhile(t *testing.T) {
	l, c := fresh(t), holding("/x")
	slow := &slowCrew{crew: c, at: make(chan bool), on: make(chan bool)}
	x := NewExecutor(l, slow, c, Limits{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := x.ExecuteReading(context.Background(),
			Reading{Origin: origin, Actions: asks(down + "/x")}); err != nil {
			t.Error(err)
		}
	})
	<-slow.at
	wg.Go(func() { // read the policy without the line in another goroutine
		if err := NewExecutor(l, c, c, Limits{}).ExecuteReading(context.Background(),
			Reading{Origin: origin}); err != nil {
			t.Error(err)
		}
	})
	close(slow.on)
	wg.Wait()
	if got := list(t, l); got != "take-down /x done past" {
		t.Error(got)
	}
	if r := rows(t, l)[0]; r.Erased != 1 {
		t.Errorf("%+v", r)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if err := x.ExecuteReading(ended, Reading{Origin: origin}); err != nil {
		t.Error("whose turn it is at once waits for nobody:", err)
	}
}

// slowCrew waits before it erases.
type slowCrew struct {
	*crew
	at, on chan bool
}

func (c *slowCrew) Erase(ctx context.Context, url, why, line string) (int, error) {
	close(c.at)
	<-c.on
	return c.crew.Erase(ctx, url, why, line)
}

// A take-down that leaves a copy behind has failed.
func TestLeft(t *testing.T) {
	l, c := fresh(t), holding("/x")
	x := NewExecutor(l, keeper{c}, c, Limits{})
	if err := x.ExecuteReading(context.Background(), Reading{Origin: origin, Actions: asks(down + "/x")}); err == nil ||
		!strings.Contains(err.Error(), "a copy is held") {
		t.Error(err)
	}
	if got := list(t, l); got != "take-down /x failed" {
		t.Error(got)
	}
}

// If one page cannot be checked, the requests for other pages are executed, and the error is a
// Failure.
func TestBlind(t *testing.T) {
	l, c := fresh(t), holding("/x", "/y")
	damaged := errors.New("the record is damaged")
	c.fail[site+"/x"] = damaged
	x := NewExecutor(l, blind{c, damaged}, c, Limits{})
	// the second reading lacks the line of the damaged page
	for _, asked := range [][]string{{down + "/x", down + "/y"}, {down + "/y"}} {
		err := x.ExecuteReading(context.Background(), Reading{Origin: origin, Actions: asks(asked...)})
		if f, is := errors.AsType[*Failure](err); !is || !errors.Is(f, damaged) {
			t.Error(err)
		}
	}
	if got := list(t, l); got != "take-down /x failed, take-down /y done" {
		t.Error(got)
	}
}

// blind is a crew that cannot check whether a page is stored if erasing the page fails.
type blind struct {
	*crew
	err error
}

func (b blind) Holds(url string) (bool, error) {
	if b.fail[url] != nil {
		return false, b.err
	}
	return b.crew.Holds(url)
}

func (b blind) Verify(url string, since time.Time) (Evidence, error) {
	if b.fail[url] != nil {
		return Evidence{}, b.err
	}
	return b.crew.Verify(url, since)
}

// keeper is a crew that erases nothing.
type keeper struct{ *crew }

func (keeper) Erase(context.Context, string, string, string) (int, error) { return 0, nil }

// After a compaction, requests that were executed before the compaction began get a Gone date.
// Requests that were executed later wait for the next compaction.
func TestCompacted(t *testing.T) {
	l, c := fresh(t), holding("/x", "/y")
	x := c.executor(l)
	runWith(t, x, c, Reading{Origin: origin, Actions: asks(down + "/x")})
	began := time.Now()
	runWith(t, x, c, Reading{Origin: origin, Actions: asks(down+"/x", down+"/y")})
	if err := x.Compacted(context.Background(), began); err != nil {
		t.Fatal(err)
	}
	if all := rows(t, l); all[0].Gone.IsZero() || !all[1].Gone.IsZero() {
		t.Errorf("%+v", all)
	}
	c.began = time.Now() // a second compaction that was not reported because the process ended
	if err := x.Resume(context.Background()); err != nil {
		t.Fatal(err)
	}
	if all := rows(t, l); all[1].Gone.IsZero() {
		t.Errorf("%+v", all)
	}
}

// If something other than the Executor erases data because of a line, the erasure is noted with the
// request of that line.
func TestNoteErased(t *testing.T) {
	l, c := fresh(t), holding()
	x := c.executor(l)
	run(t, l, c, asks(down+"/x"))
	tell := func(path string) {
		t.Helper()
		c.stones[site+path] = append(c.stones[site+path], stone{time.Now(), 1})
		if err := errors.Join(x.NoteErased(origin, site+path, "robots.txt:3"),
			x.NoteErased(origin, site+path, "robots.txt:3")); err != nil {
			t.Error(err)
		}
	}
	before := entries(t, l)
	tell("/x")
	tell("/more") // the request for this URL is not listed
	if all := rows(t, l); len(all) != 2 || all[0].Erased != 1 || all[1].Erased != 1 || all[1].State != Done ||
		!all[1].Gone.IsZero() || entries(t, l) != before+2 {
		t.Errorf("%+v", all)
	}
}
