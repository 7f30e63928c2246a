package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// bucket is a store in a key-value bucket of NATS. It is safe for concurrent use.
type bucket struct {
	kv      jetstream.KeyValue
	watcher jetstream.KeyWatcher
	clock   Clock
	answer  time.Duration // how long an answer is awaited
	changed chan struct{} // a value after each change that the servers announce
	done    chan struct{} // closed when the goroutine that reads the watcher has ended

	mu    sync.Mutex
	heard map[string]entry
}

// openBucket opens a bucket, and returns when it knows all its values.
func openBucket(ctx context.Context, js jetstream.JetStream, name string, clock Clock) (*bucket, error) {
	kv, err := js.KeyValue(ctx, name)
	if err != nil {
		return nil, err
	}
	b := &bucket{kv: kv, clock: clock, changed: make(chan struct{}, 1), done: make(chan struct{}),
		heard: map[string]entry{}, answer: answerTime}
	if b.watcher, err = kv.WatchAll(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	known := make(chan struct{})
	go b.watch(known)
	select {
	case <-known:
		return b, nil
	case <-b.done:
		return nil, ErrNoQuorum
	case <-ctx.Done():
		b.close()
		return nil, ctx.Err()
	}
}

// watch reads the announced changes. It closes known when it has all values that the bucket had at the beginning.
func (b *bucket) watch(known chan struct{}) {
	defer close(b.done)
	first := true
	for e := range b.watcher.Updates() {
		if e == nil {
			if first {
				close(known)
				first = false
			}
			continue
		}
		b.note(e)
		select {
		case b.changed <- struct{}{}:
		default:
		}
	}
}

func (b *bucket) note(e jetstream.KeyValueEntry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old, is := b.heard[e.Key()]; is && old.revision > e.Revision() {
		return
	}
	if e.Operation() != jetstream.KeyValuePut {
		delete(b.heard, e.Key())
		return
	}
	b.heard[e.Key()] = b.entry(e)
}

func (b *bucket) entry(e jetstream.KeyValueEntry) entry {
	return entry{key: e.Key(), value: e.Value(), revision: e.Revision(), stored: e.Created(), heard: b.clock.Elapsed()}
}

func (b *bucket) close() {
	_ = b.watcher.Stop() // an error means that the connection has ended, which stops it too
	<-b.done
}

func (b *bucket) create(ctx context.Context, key string, value []byte) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	return settled(ctx, func() (uint64, error) { return b.kv.Create(ctx, key, value) })
}

func (b *bucket) update(ctx context.Context, key string, value []byte, last uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	return settled(ctx, func() (uint64, error) { return b.kv.Update(ctx, key, value, last) })
}

// settled calls change, and repeats this while the servers are still storing another change of the same key or subject.
// They refuse every change until that one is stored, so its refusal does not say whether the key has changed: the other
// change may even be an earlier attempt of this node.
func settled(ctx context.Context, change func() (uint64, error)) (uint64, error) {
	for {
		revision, err := change()
		if errorCode(err) != changeInFlight {
			return revision, storeError(err)
		}
		if err := wait(ctx, flightPause); err != nil {
			return 0, unreachable(err)
		}
	}
}

// flightPause is how long a node waits while the servers store another change. That takes one round trip between them.
const flightPause = 10 * time.Millisecond

func (b *bucket) get(ctx context.Context, key string) (entry, error) {
	ctx, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	e, err := b.kv.Get(ctx, key)
	if err != nil {
		b.forget(key, err)
		return entry{}, storeError(err)
	}
	return b.entry(e), nil
}

// forget removes a value from the list of known values if err says that it has expired.
func (b *bucket) forget(key string, err error) {
	if !errors.Is(err, jetstream.ErrKeyNotFound) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.heard, key)
}

func (b *bucket) remove(ctx context.Context, key string, last uint64) error {
	ctx, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	_, err := settled(ctx, func() (uint64, error) { return 0, b.kv.Delete(ctx, key, jetstream.LastRevision(last)) })
	return err
}

func (b *bucket) list() []entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.heard))
}

// storeError turns an error of the client into one of those that a store returns.
func storeError(err error) error {
	switch {
	case errors.Is(err, jetstream.ErrKeyExists), errorCode(err) == wrongLastSequence:
		return errChanged
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyDeleted):
		return errMissing
	}
	return unreachable(err)
}

// Error codes of NATS.
const (
	// the last message of the subject is another one than expected
	wrongLastSequence = jetstream.JSErrCodeStreamWrongLastSequence
	// servers of a cluster are still storing another message of the subject
	changeInFlight = jetstream.JSErrCodeStreamWrongLastSequenceConstant
)

// errorCode returns the error code of NATS, or 0 if err does not come from a server.
func errorCode(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	return 0
}

// ahead returns by how much the clock of this machine is ahead of that of the server that stored e, at least. sent and
// answered are when the request was sent and when the answer arrived, by the clock of this machine.
func (e entry) ahead(sent, answered time.Time) time.Duration {
	switch {
	case e.stored.Before(sent):
		return sent.Sub(e.stored)
	case e.stored.After(answered):
		return answered.Sub(e.stored)
	}
	return 0
}
