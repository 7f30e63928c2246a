package index

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestResults checks that results are returned best first, and those with the same score in order,
// however many are read.
func TestResults(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, atOnce - 1, atOnce, atOnce + 1, 3000} {
		for _, levels := range []int{1, 3, 50, 1 << 30} {
			scores := make([]float32, 2*n)
			var docs []uint32
			for i := range scores {
				if len(docs) < n && (random.IntN(2) == 0 || i >= n) {
					docs = append(docs, uint32(i))
				}
				scores[i] = float32(random.IntN(levels)) / 7
			}
			want := slices.Clone(docs)
			slices.SortStableFunc(want, func(a, b uint32) int { return cmp.Compare(scores[b], scores[a]) })
			best, worst := bestOf(docs, scores)
			r := results{heap: best, bound: worst}
			if worst > 0 {
				r.others = func() (results, error) { return results{heap: behind(docs, scores, worst)}, nil }
			}
			left := heaps{r}
			for i, doc := range want {
				if k, err := left.best(); err != nil || k != 0 {
					t.Fatalf("%d results, %d levels: number %d is in heap %d, %v", n, levels, i, k, err)
				}
				if got := left.pop(0); got != (result{scores[doc], 0, doc}) {
					t.Fatalf("%d results, %d levels: number %d is %v, want %d with %v", n, levels, i, got, doc,
						scores[doc])
				}
			}
			if k, err := left.best(); k >= 0 || err != nil {
				t.Fatalf("%d results, %d levels: more are left, %v", n, levels, err)
			}
		}
	}
}
