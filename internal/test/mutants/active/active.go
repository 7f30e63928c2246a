// Package active stores which mutant of the engine is active. The mutated copies of the engine's
// files call this package at each branch. Apart from them, only the worker imports it. One case is
// decided at a time. While a case is decided, only On and the functions that call On may be called.
package active

import (
	"sync"
	"sync/atomic"
)

// On reports whether mutant n is active, and records that it was reached.
func On(n int) bool {
	if state.noting.Load() {
		state.note(n)
	}
	return state.on.Load() == int64(n)
}

// Zero returns v, or the zero value while mutant n is active.
func Zero[T any](n int, v T) T {
	if On(n) {
		var zero T
		return zero
	}
	return v
}

// Or returns v, or other while mutant n is active.
func Or[T any](n int, other, v T) T {
	if On(n) {
		return other
	}
	return v
}

// Lost returns key. While mutant n is active, it returns another key, which no caller looks up.
func Lost[T ~string](n int, key T) T {
	if On(n) {
		return "\x00lost"
	}
	return key
}

// Bits returns set. Each of the mutants first to first+count-1 belongs to one bit; while it is
// active, Bits returns set with this bit inverted.
func Bits[T ~uint8 | ~uint16 | ~uint32 | ~uint64](first, count int, set T) T {
	for i := range count {
		if On(first + i) {
			return set ^ 1<<i
		}
	}
	return set
}

// Table registers a function that initialises tables again, with the active mutant.
func Table(remake func()) { state.tables = append(state.tables, remake) }

// Set activates mutant n instead of any other, and initialises the tables again; 0 means no mutant.
func Set(n int) {
	state.on.Store(int64(n))
	for range 2 { // one table may be computed from another
		for _, remake := range state.tables {
			remake()
		}
	}
}

// Reached runs f and returns the mutants that it reached, in no particular order.
func Reached(f func()) []int {
	state.noting.Store(true)
	f()
	state.noting.Store(false)
	return state.taken()
}

// state is package state, because mutated code has no parameter for it.
var state switches

type switches struct {
	on     atomic.Int64
	noting atomic.Bool
	tables []func()

	mu    sync.Mutex // needed because a case may leave a goroutine running
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
