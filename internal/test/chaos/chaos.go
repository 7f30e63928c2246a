// Package chaos does harmful things at random while a test runs, one after the other, and keeps a
// record of them. The same seed does the same things in the same order.
package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Action is something that goes wrong and is repaired. The test supplies its functions.
type Action struct {
	Name string
	// Begin breaks something. target is a random number below Targets. Begin returns the function that
	// repairs it, or nil if nothing needs repair.
	Begin   func(target int) (repair func() error, err error)
	Targets int
	// The time between Begin and the repair is random between the two.
	Shortest, Longest time.Duration
}

// Event is an action that took place.
type Event struct {
	Name     string
	Target   int
	From, To time.Time // before Begin was called, and after the repair
}

// String returns the event as text.
func (e Event) String() string {
	return fmt.Sprintf("%s %s %d, repaired after %v", e.From.Format("15:04:05.000"), e.Name, e.Target,
		e.To.Sub(e.From).Round(time.Millisecond))
}

// step is what happens next.
type step struct {
	action       Action
	target       int
	lasts, pause time.Duration // until the repair, and after it
}

// next returns the next step. It always takes the same number of random numbers.
func next(random *rand.Rand, actions []Action, pause time.Duration) step {
	s := step{action: actions[random.IntN(len(actions))]}
	s.target = random.IntN(max(s.action.Targets, 1))
	s.lasts = s.action.Shortest + fraction(random, s.action.Longest-s.action.Shortest)
	s.pause = pause/2 + fraction(random, pause)
	return s
}

func fraction(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Float64() * float64(d))
}

// Run does actions until ctx ends, with pauses between half and one and a half of pause. It repairs
// what it broke before it returns. It returns what took place, and the first error of an action.
func Run(ctx context.Context, seed uint64, pause time.Duration, actions ...Action) ([]Event, error) {
	random := rand.New(rand.NewPCG(seed, 0))
	var events []Event
	for {
		s := next(random, actions, pause)
		if !wait(ctx, s.pause) {
			return events, nil
		}
		e := Event{Name: s.action.Name, Target: s.target, From: time.Now()}
		repair, err := s.action.Begin(s.target)
		if err == nil && repair != nil {
			wait(ctx, s.lasts)
			err = repair()
		}
		e.To = time.Now()
		events = append(events, e)
		if err != nil {
			return events, fmt.Errorf("%s %d: %w", e.Name, e.Target, err)
		}
	}
}

// wait waits for d. It returns false if ctx ended earlier.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
