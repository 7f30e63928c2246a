// Package active says which mutant of the engine is on. The mutated copies of the engine's files
// ask it at each branch; nothing else imports it but the worker. One case is decided at a time;
// only On may be called while one is.
package active

import (
	"sync"
	"sync/atomic"
)

// On reports whether mutant n is the one that is on, and notes that it was asked.
func On(n int) bool {
	if state.noting.Load() {
		state.note(n)
	}
	return state.on.Load() == int64(n)
}

// Zero gives the zero value instead of v while mutant n is on.
func Zero[T any](n int, v T) T {
	if On(n) {
		var zero T
		return zero
	}
	return v
}

// Or gives other instead of v while mutant n is on.
func Or[T any](n int, other, v T) T {
	if On(n) {
		return other
	}
	return v
}

// Lost gives a key that nothing looks for instead of key while mutant n is on.
func Lost[T ~string](n int, key T) T {
	if On(n) {
		return "\x00lost"
	}
	return key
}

// Bits gives set with one bit changed while one of the mutants from first on is on: the bit of its
// number, less than count.
func Bits[T ~uint8 | ~uint16 | ~uint32 | ~uint64](first, count int, set T) T {
	for i := range count {
		if On(first + i) {
			return set ^ 1<<i
		}
	}
	return set
}

// Table registers a function that makes tables anew, with whatever mutant is on.
func Table(remake func()) { state.tables = append(state.tables, remake) }

// Set turns mutant n on and all others off, and makes the tables anew; 0 turns all off.
func Set(n int) {
	state.on.Store(int64(n))
	for range 2 { // one table may be made from another
		for _, remake := range state.tables {
			remake()
		}
	}
}

// Reached runs f and gives the mutants that were asked for, in no order.
func Reached(f func()) []int {
	state.noting.Store(true)
	f()
	state.noting.Store(false)
	return state.taken()
}

// The one piece of package state: mutated code has nobody to hand it a value.
var state switches

type switches struct {
	on     atomic.Int64
	noting atomic.Bool
	tables []func()

	mu    sync.Mutex // a case may leave something running behind it
	noted map[int]bool
}

func (s *switches) note(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noted == nil {
		s.noted = map[int]bool{}
	}
	s.noted[n] = true
}

func (s *switches) taken() (out []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.noted {
		out = append(out, n)
	}
	s.noted = nil
	return out
}
