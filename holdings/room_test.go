package holdings

import (
	"sync"
	"sync/atomic"
	"testing"
)

// No more is taken at a time than there is; what is larger than all of it comes alone.
func TestRoom(t *testing.T) {
	r := newRoom(10)
	var used atomic.Int64
	var wg sync.WaitGroup
	for i := range int64(200) {
		wg.Go(func() {
			n := i % 14
			free := r.take(n)
			if now := used.Add(min(n, 10)); now > 10 {
				t.Errorf("%d of 10 are taken", now)
			}
			used.Add(-min(n, 10))
			free()
		})
	}
	wg.Wait()
	if r.free != 10 {
		t.Errorf("%d of 10 are free at the end", r.free)
	}
}
