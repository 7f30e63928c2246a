package interrupt

import (
	"slices"
	"testing"
)

// The sample contains the first and every seventh step of each kind.
func TestPoints(t *testing.T) {
	var steps []string
	for i := range 50 {
		steps = append(steps, "write")
		if i%3 == 0 {
			steps = append(steps, "sync")
		}
		if i == 40 {
			steps = append(steps, "rename")
		}
	}
	want := []Point[string]{{"write", 1}, {"sync", 1}, {"write", 8}, {"sync", 4}, {"write", 15}, {"write", 22},
		{"write", 29}, {"sync", 11}, {"write", 36}, {"rename", 1}, {"write", 43}, {"write", 50}}
	if got := points(steps, false); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := points(steps, true); len(got) != len(steps) {
		t.Errorf("%v", got)
	}
}
