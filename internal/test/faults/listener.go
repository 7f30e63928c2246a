package faults

import (
	"net"
	"sync"
)

// listener answers connections until it is closed, and counts requests. Its methods may be called
// concurrently.
type listener struct {
	net     net.Listener
	running sync.WaitGroup

	mu    sync.Mutex
	open  map[net.Conn]bool // nil if closed
	asked map[string]int
	news  *sync.Cond // signals that the field asked has changed
}

func newListener(l net.Listener) *listener {
	own := &listener{net: l, open: map[net.Conn]bool{}, asked: map[string]int{}}
	own.news = sync.NewCond(&own.mu)
	return own
}

// note counts a request for path and returns the number of requests for it so far.
func (l *listener) note(path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[path]++
	l.news.Broadcast()
	return l.asked[path]
}

// Await waits until a path was requested n times.
func (l *listener) Await(path string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.asked[path] < n {
		l.news.Wait()
	}
}

// serve calls answer for each connection, and closes the connection after that.
func (l *listener) serve(answer func(net.Conn)) {
	l.running.Go(func() {
		for {
			c, err := l.net.Accept()
			if err != nil {
				return
			}
			l.mu.Lock()
			if l.open == nil {
				l.mu.Unlock()
				_ = c.Close()
				return
			}
			l.open[c] = true
			l.running.Go(func() {
				answer(c)
				_ = c.Close()
				l.mu.Lock()
				delete(l.open, c)
				l.mu.Unlock()
			})
			l.mu.Unlock()
		}
	})
}

// Asked returns how often a path was requested so far.
func (l *listener) Asked(path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[path]
}

// Close closes every connection and waits until their handlers have returned.
func (l *listener) Close() error {
	l.mu.Lock()
	for c := range l.open {
		_ = c.Close() // makes pending reads and writes fail
	}
	l.open = nil
	l.mu.Unlock()
	err := l.net.Close()
	l.running.Wait()
	return err
}
