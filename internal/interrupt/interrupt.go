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
// not interrupted. With the flag -every these are all steps. Otherwise it returns every seventh
// step of each kind, starting with another one for each kind, and at least one step of each kind.
func Points[K comparable](steps []K) []Point[K] { return points(steps, *every) }

func points[K comparable](steps []K, every bool) []Point[K] {
	counts := map[K]int{}
	for _, kind := range steps {
		counts[kind]++
	}
	var out []Point[K]
	first, seen := map[K]int{}, map[K]int{}
	for _, kind := range steps {
		if seen[kind]++; seen[kind] == 1 {
			first[kind] = len(first) * 3 % min(stride, counts[kind])
		}
		if every || (seen[kind]-1)%stride == first[kind] {
			out = append(out, Point[K]{kind, seen[kind]})
		}
	}
	return out
}
