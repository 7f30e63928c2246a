package site

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSorter checks that lines are sorted whether they fit into memory or not, and that no file
// remains.
func TestSorter(t *testing.T) {
	for _, test := range []struct{ lines, length int }{{0, 0}, {1, 10}, {1000, 10}, {2000, 50_000}} {
		dir := t.TempDir()
		s := &sorter{dir: dir}
		var want []string
		random := rand.New(rand.NewPCG(1, 2))
		for range test.lines {
			line := fmt.Sprint(random.IntN(500)) + strings.Repeat("x", random.IntN(test.length))
			want = append(want, line)
			if err := s.add(line); err != nil {
				t.Fatal(err)
			}
		}
		if spilt := test.lines*test.length > 2*sorterMemory; spilt != (len(s.runs) > 0) {
			t.Errorf("%d lines: %d files", test.lines, len(s.runs))
		}
		var out bytes.Buffer
		if err := s.write(&out); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		if got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"); test.lines > 0 &&
			!slices.Equal(got, want) || test.lines == 0 && out.Len() > 0 {
			t.Errorf("%d lines are not sorted", test.lines)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	if err := (&sorter{dir: "/nowhere"}).spill(); err == nil {
		t.Error("a directory that is not there takes lines")
	}
}
