package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Report is what a node says about itself with each renewal of its lease.
type Report struct {
	Queue      int  `json:"queue"`       // queued addresses
	Due        int  `json:"due"`         // hosts with queued addresses
	InProgress int  `json:"in_progress"` // visits
	Moving     int  `json:"moving"`      // partitions that it is taking over or handing over
	Idle       bool `json:"idle"`        // nothing is due soon or in progress
	// Work increases whenever a node that was idle gets work
	Work  uint64  `json:"work"`
	Lag   float64 `json:"lag_s"` // age of the oldest link from other partitions that it has not queued yet, in seconds
	Done  bool    `json:"done"`  // the node has found out that nothing in the cluster is left to do
	Pages int     `json:"pages"` // page requests that the node has made
	// Copies says where the pages of the node are: CopiesOneNode or CopiesObjectStore; "": the node does not say
	Copies string `json:"copies,omitempty"`
}

// Values of Report.Copies.
const (
	CopiesOneNode     = "one node"     // only in its data directory, so they are lost with it
	CopiesObjectStore = "object store" // in the object store, and their keys in the cluster
)

// leaseValue is the stored form of the lease of a node.
type leaseValue struct {
	Node    string `json:"node"`
	Dir     string `json:"dir"`     // identifies the data directory
	Epoch   uint64 `json:"epoch"`   // 0 in the first value of a lease: the epoch is then the revision
	Version string `json:"version"` // of the program
	Drain   bool   `json:"drain"`   // the node hands over all its partitions
	// Fenced: there is no such node. Another node has stored this value to make certain that the lease has expired
	Fenced bool `json:"fenced"`
	// Reader: the process owns no partitions, and only answers callers
	Reader bool `json:"reader,omitempty"`
	Report
}

// readLease returns the lease in e, with its epoch.
func readLease(e entry) (v leaseValue, err error) {
	err = json.Unmarshal(e.value, &v)
	v.Epoch = cmp.Or(v.Epoch, e.revision)
	return v, err
}

func (v leaseValue) owner() Owner { return Owner{v.Node, v.Epoch} }

// lease is the lease of this node. It is safe for concurrent use.
type lease struct {
	store          store
	clock          Clock
	length, margin time.Duration

	mu       sync.Mutex
	value    leaseValue
	revision uint64        // of the last value that this node knows to have stored
	until    time.Duration // when the node must stop, by Clock.Elapsed
	// when the last value was sent, and when its answer arrived, by Clock.Now
	sent, answered time.Time
}

// errLeaseLost means that this node has lost its lease: it has expired, or another node has taken it.
var errLeaseLost = errors.New("the lease of this node has ended")

// InUseError means that a node with the wanted name runs.
type InUseError struct {
	Node string
	Same bool // the earlier process had the same data directory, so its lease only has to expire
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("a node called %s is already in the cluster", e.Node)
}

// acquire takes the lease. The error is an *InUseError if a node with this name has one.
func (l *lease) acquire(ctx context.Context, v leaseValue) error {
	sent := l.clock.Elapsed()
	v.Epoch = 0
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var revision uint64
	for {
		if revision, err = l.store.create(ctx, v.Node, text); !errors.Is(err, errChanged) {
			break
		}
		e, err := l.store.get(ctx, v.Node)
		if errors.Is(err, errMissing) {
			continue // the lease has expired since
		} else if err != nil {
			return err
		}
		held, err := readLease(e)
		return cmp.Or(err, error(&InUseError{v.Node, held.Fenced || held.Dir == v.Dir}))
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	v.Epoch = revision
	l.value, l.revision, l.until = v, revision, sent+l.length-l.margin
	return nil
}

// await takes the lease like acquire. If an earlier process with the same data directory has it, await waits until that
// lease has ended; waiting, which may be nil, is called before.
func (l *lease) await(ctx context.Context, v leaseValue, waiting func()) error {
	told := false
	for {
		err := l.acquire(ctx, v)
		used := new(InUseError)
		if !errors.As(err, &used) || !used.Same {
			return err
		}
		if !told && waiting != nil {
			waiting()
		}
		told = true
		if err := wait(ctx, retryPause); err != nil {
			return err
		}
	}
}

// renew extends the lease. The error is errLeaseLost if the node no longer has it; then the node must take a new one.
// After any other error the lease may or may not be extended, and the node stops when its time has passed.
func (l *lease) renew(ctx context.Context, r Report, drain bool) error {
	l.mu.Lock()
	v := l.value
	l.mu.Unlock()
	v.Report, v.Drain = r, drain
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.replace(ctx, func(last uint64) error {
		sent, at := l.clock.Elapsed(), l.clock.Now()
		revision, err := l.store.update(ctx, v.Node, text, last)
		if err != nil {
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.value, l.revision, l.sent, l.answered = v, revision, at, l.clock.Now()
		l.until = max(l.until, sent+l.length-l.margin)
		return nil
	})
}

// renewAt returns when to renew the lease if it is renewed at the moment now, both by Clock.Elapsed: at most a third of
// its length later. Nodes that renew at the same moment, for example because the table has changed, do so at different
// moments the next time, because each has a phase of its own.
func (l *lease) renewAt(now time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	third := l.length / 3
	sum := sha256.Sum256([]byte(l.value.Node))
	phase := time.Duration(binary.BigEndian.Uint64(sum[:]) % uint64(third))
	return now + third - (now-phase+third)%third
}

// end gives the lease back.
func (l *lease) end(ctx context.Context) error {
	l.mu.Lock()
	name := l.value.Node
	l.until = 0
	l.mu.Unlock()
	return l.replace(ctx, func(last uint64) error { return l.store.remove(ctx, name, last) })
}

// replace calls fn with the revision of the stored lease, as far as this node knows it. If the store has another
// revision, because the answer to an earlier renewal did not arrive, it calls fn again with that one.
func (l *lease) replace(ctx context.Context, fn func(last uint64) error) error {
	l.mu.Lock()
	v, last := l.value, l.revision
	l.mu.Unlock()
	for {
		if err := fn(last); !errors.Is(err, errChanged) {
			return err
		}
		e, err := l.store.get(ctx, v.Node)
		if errors.Is(err, errMissing) {
			return errLeaseLost
		} else if err != nil {
			return err
		}
		if now, err := readLease(e); err != nil || now.owner() != v.owner() || now.Dir != v.Dir || e.revision <= last {
			return errLeaseLost
		}
		last = e.revision
	}
}

// ahead returns by how much the clock of this node is ahead of that of the servers, at least, as the last renewal
// shows. e is the stored lease of this node; if it is not of the last renewal, ahead returns 0.
func (l *lease) ahead(e entry) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.revision != l.revision || l.sent.IsZero() {
		return 0
	}
	return e.ahead(l.sent, l.answered)
}

// remaining returns how long requests may still be made. It is not positive if they may not.
func (l *lease) remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until - l.clock.Elapsed()
}

// owner returns the node with the epoch of this lease.
func (l *lease) owner() Owner {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value.owner()
}

// current returns the lease as this node has stored it last.
func (l *lease) current() leaseValue {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value
}
