package cluster

import "time"

// Clock is the clock of a node. Tests and the simulation replace it.
type Clock interface {
	// Now returns the time of day.
	Now() time.Time
	// Elapsed returns the time since some moment in the past. Unlike the monotonic clock of package time, it goes on
	// while the machine is suspended, so that a lease ends meanwhile.
	Elapsed() time.Duration
}

// SystemClock is the clock of the machine. Its time of day is ahead by Ahead, which only tests set.
type SystemClock struct{ Ahead time.Duration }

// Now implements Clock.
func (c SystemClock) Now() time.Time { return time.Now().Add(c.Ahead) }

// Elapsed implements Clock.
func (SystemClock) Elapsed() time.Duration { return sinceBoot() }
