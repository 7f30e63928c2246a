package web

import (
	"sync"
	"time"
)

// failures are the times of the last failed authentications of each client. It is safe for concurrent use.
type failures struct {
	mu sync.Mutex
	of map[string][]time.Time // oldest first, at most mostFails
}

// waitTime returns how long a client must wait before it may try again, or 0.
func (f *failures) waitTime(client string, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wait(client, now)
}

// add counts a failure. If there is no room for another client, it is not counted: waitTime then makes all unknown
// clients wait.
func (f *failures) add(client string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.append(client, now)
}

// append does what add does. f.mu must be locked.
func (f *failures) append(client string, now time.Time) {
	if f.of == nil {
		f.of = map[string][]time.Time{}
	}
	list, known := f.of[client]
	if !known && len(f.of) >= remembered {
		return
	}
	list = append(list, now)
	f.of[client] = list[max(0, len(list)-mostFails):]
}

// tryAdd counts a failure, unless the client must wait; then it returns how long.
func (f *failures) tryAdd(client string, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if wait := f.wait(client, now); wait > 0 {
		return wait
	}
	f.append(client, now)
	return 0
}

// removeLast removes the last failure of a client.
func (f *failures) removeLast(client string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if list := f.of[client]; len(list) > 0 {
		f.of[client] = list[:len(list)-1]
	}
}

// wait returns how long a client must wait. f.mu must be locked.
func (f *failures) wait(client string, now time.Time) time.Duration {
	list, known := f.of[client]
	if !known && len(f.of) >= remembered {
		for name, other := range f.of {
			if len(other) == 0 || now.Sub(other[len(other)-1]) >= failPeriod {
				delete(f.of, name)
			}
		}
		if len(f.of) >= remembered {
			return failPeriod
		}
	}
	if len(list) < mostFails {
		return 0
	}
	return max(0, failPeriod-now.Sub(list[0]))
}
