package cluster

import (
	"context"
	"errors"
	"time"
)

// store holds small values under keys and changes them by compare-and-set, as a key-value bucket of NATS does. Methods
// other than list ask the leader of the bucket, so that they never return an old state.
type store interface {
	// create stores a value under a key that has none; otherwise the error is errChanged.
	create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// update replaces a value whose revision is last; otherwise the error is errChanged.
	update(ctx context.Context, key string, value []byte, last uint64) (revision uint64, err error)
	// get returns the value of a key. The error is errMissing if there is none.
	get(ctx context.Context, key string) (entry, error)
	// remove deletes the value of a key whose revision is last; otherwise the error is errChanged.
	remove(ctx context.Context, key string, last uint64) error
	// list returns all values as last heard of. It may be late, and values that have expired may be in it.
	list() []entry
}

// entry is the value of a key in a store.
type entry struct {
	key      string
	value    []byte
	revision uint64        // increases with every change in the store
	stored   time.Time     // by the clock of the server
	heard    time.Duration // when this process learned of it, by Clock.Elapsed
}

var (
	errChanged = errors.New("somebody else has changed the value")
	errMissing = errors.New("there is no such value")
)
