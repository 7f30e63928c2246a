package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// readValue returns the value of a key, which is stored as JSON, with its revision. The error is errMissing if there is
// none. damaged is the sentence about a value that cannot be read.
func readValue[T any](ctx context.Context, s store, key, damaged string) (v T, revision uint64, err error) {
	e, err := s.get(ctx, key)
	if err != nil {
		return v, 0, err
	}
	if err := json.Unmarshal(e.value, &v); err != nil {
		return v, 0, fmt.Errorf("%s: %w", damaged, err)
	}
	return v, e.revision, nil
}

// changeValue changes the value of a key by compare-and-set, and returns the new value. It calls fn with the stored
// value, or with the zero value if there is none, until nobody else changes it meanwhile. fn returns false if nothing
// is to be changed.
func changeValue[T any](ctx context.Context, s store, key, damaged string, fn func(*T) (bool, error)) (v T, err error) {
	for {
		v, revision, err := readValue[T](ctx, s, key, damaged)
		if err != nil && !errors.Is(err, errMissing) {
			return v, err
		}
		if changed, err := fn(&v); !changed || err != nil {
			return v, err
		}
		text, err := json.Marshal(v)
		if err != nil {
			return v, err
		}
		if revision == 0 {
			_, err = s.create(ctx, key, text)
		} else {
			_, err = s.update(ctx, key, text, revision)
		}
		if !errors.Is(err, errChanged) {
			return v, err
		}
	}
}
