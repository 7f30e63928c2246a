package chaos

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// actions returns two actions that count what is broken.
func actions(broken *int) []Action {
	begin := func(int) (func() error, error) {
		*broken++
		return func() error { *broken--; return nil }, nil
	}
	return []Action{
		{Name: "kill", Begin: begin, Targets: 3, Shortest: time.Second, Longest: 5 * time.Second},
		{Name: "pause", Begin: begin, Shortest: time.Minute, Longest: time.Minute},
	}
}

func run(t *testing.T, seed uint64) []Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	var broken int
	events, err := Run(ctx, seed, 10*time.Second, actions(&broken)...)
	if err != nil || broken != 0 {
		t.Errorf("%d things are broken: %v", broken, err)
	}
	return events
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		events := run(t, 1)
		if d := time.Since(begin); d != time.Hour {
			t.Errorf("it took %v", d)
		}
		seen := map[Event]int{}
		var end time.Time
		for i, e := range events {
			seen[Event{Name: e.Name, Target: e.Target}]++
			lasts, pause := e.To.Sub(e.From), e.From.Sub(end)
			if i > 0 && (pause < 5*time.Second || pause > 15*time.Second) {
				t.Errorf("a pause of %v before %v", pause, e)
			}
			if i < len(events)-1 && (lasts < time.Second || lasts > time.Minute) {
				t.Errorf("%v lasts %v", e, lasts)
			}
			end = e.To
		}
		if len(seen) != 4 {
			t.Errorf("what took place: %v", seen)
		}
		for i, e := range run(t, 1) { // an hour later
			if first := events[i]; e.Name != first.Name || e.Target != first.Target {
				t.Errorf("the same seed does %v instead of %v", e, first)
			}
		}
		same := func(a, b Event) bool { return a.Name == b.Name && a.Target == b.Target }
		if slices.EqualFunc(events, run(t, 2), same) {
			t.Error("another seed does the same")
		}
	})
}

func TestError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong := errors.New("it does not start")
		for _, begin := range []func(int) (func() error, error){
			func(int) (func() error, error) { return nil, wrong },
			func(int) (func() error, error) { return func() error { return wrong }, nil },
		} {
			events, err := Run(t.Context(), 1, time.Second, Action{Name: "kill", Begin: begin})
			if len(events) != 1 || !errors.Is(err, wrong) {
				t.Errorf("%v, %v", events, err)
			}
		}
	})
}
