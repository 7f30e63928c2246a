package holdings

import "sync"

// room bounds how many bytes are in use at a time.
type room struct {
	mu   sync.Mutex
	more *sync.Cond // there is more of it
	size int64
	free int64
}

func newRoom(size int64) *room {
	r := &room{size: size, free: size}
	r.more = sync.NewCond(&r.mu)
	return r
}

// take waits until n bytes are free, and gives the function that frees them again. What is larger than the room takes all of it.
func (r *room) take(n int64) (free func()) {
	n = min(n, r.size)
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.free < n {
		r.more.Wait()
	}
	r.free -= n
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.free += n
		r.more.Broadcast()
	}
}
