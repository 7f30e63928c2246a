package actions

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// shelf is an Eraser and a Recrawler that holds one page. Its clock is set by the test.
type shelf struct {
	*clock
	held    bool
	stones  []time.Time
	pending bool
	fail    error
	visited time.Time
}

func (s *shelf) Erase(context.Context, string, string, string) (int, error) {
	if s.fail != nil || !s.held {
		return 0, s.fail
	}
	s.held, s.pending, s.stones = false, true, append(s.stones, s.now)
	return 1, nil
}

func (s *shelf) Holds(string) (bool, error) { return s.held, nil }

func (s *shelf) Verify(_ string, since time.Time) (v Evidence, err error) {
	v.Pending = s.pending
	for _, at := range s.stones {
		if !at.Before(since) {
			v.Erased.Captures++
			v.Erased.Keys++
		}
	}
	return v, nil
}

func (s *shelf) Promote(string) error {
	s.visited = s.now
	return nil
}

func (s *shelf) Visited(_ string, since time.Time) (Visit, bool, error) {
	return Visit{At: s.visited, Status: 200}, !s.visited.Before(since), nil
}

func (d *desk) shelf(held bool) (*shelf, *Executor) {
	s := &shelf{clock: d.clock, held: held}
	return s, NewExecutor(d.Ledger, s, s, Limits{Again: time.Hour})
}

func resume(t *testing.T, x *Executor) {
	t.Helper()
	if err := errors.Join(x.Resume(t.Context()), x.Settle(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// If a take-down is executed after the clock was set back, its receipt lists what the take-down
// erased. The request gets a Gone date only after a compaction that came after the erasure.
func TestClockBackTakeDown(t *testing.T) {
	d := newDesk(t, Options{})
	s, x := d.shelf(true)
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "k")
	later := d.clock.now
	d.clock.pass(-time.Hour)
	resume(t, x)
	if r := d.get(t, 1); r.State != Done || r.Erased != 1 || !r.Gone.IsZero() {
		t.Errorf("%+v", r)
	}
	// this compaction came before the erasure, although its time is later
	if err := x.Compacted(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if r := d.get(t, 1); !r.Gone.IsZero() {
		t.Errorf("%+v", r)
	}
	s.pending = false
	if err := x.Compacted(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if got := d.receipt(t, 1); got.Erased.Captures != 1 ||
		!slices.Contains(got.Verified.How, "the files were rewritten") {
		t.Errorf("%+v", got)
	}
}

// Requests that failed or were running when the clock was set back are executed at once. The
// Executor does not wait until the clock reaches the old time again.
func TestClockBackAgain(t *testing.T) {
	d := newDesk(t, Options{})
	s, x := d.shelf(true)
	s.fail = errors.New("the disk is full")
	d.submit(t, d.ours, acap.TakeDown, site+"/x", "k")
	if err := x.Resume(t.Context()); !errors.Is(err, s.fail) {
		t.Fatal(err)
	}
	d.submit(t, d.ours, acap.ReCrawl, site+"/n", "k2")
	if _, err := x.Execute(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	d.clock.pass(-48 * time.Hour)
	s.fail, s.visited = nil, d.clock.now
	resume(t, x)
	for id := uint64(1); id <= 2; id++ {
		if r := d.get(t, id); r.State != Done {
			t.Errorf("%+v", r)
		}
	}
}

// If a page was erased before its take-down was requested, the request gets no Gone date while the
// files may contain traces. The receipt claims only what the take-down did.
func TestErasedBefore(t *testing.T) {
	d := newDesk(t, Options{})
	s, x := d.shelf(false)
	s.pending = true
	read := Reading{Origin: site, Since: d.clock.now, Actions: policyOf(down + "/line").Actions()}
	if err := x.ExecuteReading(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	d.submit(t, d.ours, acap.TakeDown, site+"/channel", "k")
	resume(t, x)
	for id := uint64(1); id <= 2; id++ {
		if r := d.get(t, id); r.State != Done || !r.Gone.IsZero() {
			t.Errorf("%+v", r)
		}
	}
	s.pending = false
	d.clock.pass(time.Second)
	if err := x.Compacted(t.Context(), d.clock.now); err != nil {
		t.Fatal(err)
	}
	d.submit(t, d.ours, acap.TakeDown, site+"/never", "k2")
	resume(t, x)
	for id := uint64(1); id <= 3; id++ {
		got := d.receipt(t, id)
		if r := d.get(t, id); r.Gone.IsZero() || *got.Erased != (Erasure{}) ||
			!slices.Equal(got.Verified.How, []string{"nothing of it is held", "the index has no entry of it"}) {
			t.Errorf("%+v, %+v", r, got)
		}
	}
}

// If a take-down erased something and then failed, and its line is removed, the take-down is
// reported as executed, not as withdrawn before it was executed.
func TestLapsedAfterErasing(t *testing.T) {
	d := newDesk(t, Options{})
	s, x := d.shelf(true)
	s.fail = errors.New("the disk is full")
	read := Reading{Origin: site, Since: d.clock.now, Actions: policyOf(down + "/x").Actions()}
	if err := x.ExecuteReading(t.Context(), read); !errors.Is(err, s.fail) {
		t.Fatal(err)
	}
	s.held, s.pending, s.stones = false, true, append(s.stones, s.now)
	if err := x.ExecuteReading(t.Context(), Reading{Origin: site, Since: d.clock.now}); err != nil {
		t.Fatal(err)
	}
	if r := d.get(t, 1); r.Standing || r.State != Done || r.Erased != 1 || r.Why != "" || !r.Gone.IsZero() {
		t.Errorf("%+v", r)
	}
}

func (d *desk) receipt(t *testing.T, id uint64) (r Receipt) {
	t.Helper()
	doc, known, err := d.Receipt(id)
	if err != nil || !known {
		t.Fatal(known, err)
	}
	var out struct{ Receipt Receipt }
	if err := json.Unmarshal(doc, &out); err != nil {
		t.Fatal(err)
	}
	return out.Receipt
}
