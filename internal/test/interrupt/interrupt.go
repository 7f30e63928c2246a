// Package interrupt chooses where the tests of crashes and faults interrupt a program. With the
// flag -every they interrupt it at every step, as .ci/nightly does. Otherwise they use a sample.
package interrupt

import "flag"

var every = flag.Bool("every", false, "interrupt at every step, not at a sample of the steps")

// stride is the distance between two steps of the sample.
const stride = 7

// Every reports whether the flag -every is set.
func Every() bool { return *every }

// A Point is a step of a program: the nth step of its kind, counted from 1.
type Point[K comparable] struct {
	Kind K
	Nth  int
}

// Points returns the points at which a test interrupts a program that takes these steps if it is
// not interrupted. With the flag -every these are all steps. Otherwise it returns the first step of
// each kind, which is often the only one at its place in the program, and every seventh step of each
// kind, counted from another one for each kind.
func Points[K comparable](steps []K) []Point[K] { return points(steps, *every) }

func points[K comparable](steps []K, every bool) (out []Point[K]) {
	offset, seen := map[K]int{}, map[K]int{}
	for _, kind := range steps {
		if seen[kind]++; seen[kind] == 1 {
			offset[kind] = (1 + 3*len(offset)) % stride
		}
		if every || seen[kind] == 1 || seen[kind]%stride == offset[kind] {
			out = append(out, Point[K]{kind, seen[kind]})
		}
	}
	return out
}
