package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// PageKey is the encrypted copy of the key of a page.
type PageKey struct {
	ID     uint64
	Sealed []byte
}

// PageKeys stores encrypted copies of the keys of the pages of a node, in a bucket of the cluster. It connects to the
// servers when it is used for the first time. It is safe for concurrent use.
type PageKeys struct {
	o     Options
	check []byte

	mu     sync.Mutex
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
}

// ErrClusterKey means that the keys of the cluster are encrypted with another key.
var ErrClusterKey = errors.New("the pages of this cluster are encrypted with another key than that of cluster_key_file")

const (
	keysBucket  = "acapcrawl_keys"
	keysStream  = "KV_" + keysBucket
	keysPrefix  = "$KV." + keysBucket + "."
	checkKey    = "-check"    // identifies the key of the cluster
	fillerKey   = "-filler"   // see Compact
	removeSlots = 16          // keys that are removed at the same time
	fillerBytes = 10 << 20    // more than the 8 MB after which a server compacts the log of a stream
	compactTime = time.Minute // how long Compact waits until all servers have caught up
)

// NewPageKeys returns the keys of the node o.Node. check identifies the key of the cluster with which they are
// encrypted; it is the same on all nodes.
func NewPageKeys(o Options, check []byte) *PageKeys {
	return &PageKeys{o: o, check: check}
}

// Close ends the connection.
func (p *PageKeys) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nc != nil {
		p.nc.Close()
		p.nc = nil
	}
}

// Check returns ErrClusterKey if the other nodes use another key.
func (p *PageKeys) Check(ctx context.Context) error { return p.open(ctx) }

// open connects to the servers, makes the bucket if there is none, and checks that all nodes use the same key.
func (p *PageKeys) open(ctx context.Context) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nc != nil {
		return nil
	}
	nc, err := dialServers(p.o)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			nc.Close()
		}
	}()
	l := &link{nc: nc}
	if l.js, err = jetstream.New(nc, jetstream.WithPublishAsyncTimeout(answerTime)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	stream, err := l.js.Stream(ctx, keysStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		c := keyValueStream(keysBucket, 0)
		c.DenyDelete = false // removed keys are overwritten
		if err = l.createStream(ctx, c); err == nil {
			stream, err = l.js.Stream(ctx, keysStream)
		}
	}
	if err != nil {
		return unreachable(err)
	}
	if err := checkClusterKey(ctx, l.js, stream, p.check); err != nil {
		return err
	}
	p.nc, p.js, p.stream = nc, l.js, stream
	return nil
}

// checkClusterKey compares what identifies the key of this node with that of the other nodes.
func checkClusterKey(ctx context.Context, js jetstream.JetStream, stream jetstream.Stream, check []byte) error {
	subject := keysPrefix + checkKey
	_, err := settled(ctx, func() (uint64, error) { // nodes that start together store it at the same time
		_, err := js.Publish(ctx, subject, check, jetstream.WithExpectLastSequencePerSubject(0))
		return 0, err
	})
	if !errors.Is(err, errChanged) {
		return err
	}
	m, err := stream.GetLastMsgForSubject(ctx, subject)
	switch {
	case err != nil:
		return unreachable(err)
	case string(m.Data) != string(check):
		return ErrClusterKey
	}
	return nil
}

func (p *PageKeys) subject(id uint64) string {
	return keysPrefix + p.o.Node + "." + strconv.FormatUint(id, 10)
}

// Put stores keys, and returns when most servers have them on disk. If replace is false and one of the keys exists, the
// error wraps fs.ErrExist.
func (p *PageKeys) Put(ctx context.Context, keys []PageKey, replace bool) error {
	if err := p.open(ctx); err != nil {
		return err
	}
	if replace { // first, because an earlier value would only be dropped, and not overwritten
		ids := make([]uint64, len(keys))
		for i, k := range keys {
			ids[i] = k.ID
		}
		if err := p.Remove(ctx, ids); err != nil {
			return err
		}
	}
	acks := make([]jetstream.PubAckFuture, len(keys))
	var err error
	for i, k := range keys {
		acks[i], err = p.js.PublishAsync(p.subject(k.ID), k.Sealed, jetstream.WithExpectLastSequencePerSubject(0))
		if err != nil {
			return unreachable(err)
		}
	}
	for _, a := range acks {
		select {
		case <-a.Ok():
		case err := <-a.Err():
			if storeError(err) == errChanged {
				return fmt.Errorf("the cluster has a key already: %w", fs.ErrExist)
			}
			return unreachable(err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Remove removes keys, and overwrites them in the store of the servers. A missing key is not an error.
func (p *PageKeys) Remove(ctx context.Context, ids []uint64) error {
	if err := p.open(ctx); err != nil {
		return err
	}
	var all errgroup.Group
	all.SetLimit(removeSlots)
	for _, id := range ids {
		all.Go(func() error { return p.removeKey(ctx, p.subject(id)) })
	}
	return all.Wait()
}

// removeKey overwrites all values of a subject. There is more than one only if another process stores one meanwhile.
func (p *PageKeys) removeKey(ctx context.Context, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for {
		m, err := p.stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil {
			err = p.stream.SecureDeleteMsg(ctx, m.Sequence)
		}
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound), err == nil:
		case errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful): // perhaps somebody else has removed it
			if waitErr := wait(ctx, retryPause); waitErr != nil {
				return err
			}
		default:
			return unreachable(err)
		}
	}
}

// Compact waits until no file of the servers has a key that was removed before the call. A server overwrites a removed
// key in its store, but the log of the stream still has the message with which the key was stored. The server compacts
// that log some minutes later, or when it has 8 MB. Compact therefore fills the log. It fails if a server of the stream
// does not run, because that server has the key on its disk.
func (p *PageKeys) Compact(ctx context.Context) error {
	if err := p.open(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, compactTime)
	defer cancel()
	info, err := p.awaitServers(ctx)
	if err != nil || info.Config.Replicas < 2 { // one server has no log
		return err
	}
	size := min(1<<20, int(p.nc.MaxPayload())-4096)
	filler := make([]byte, size)
	for i := range filler {
		filler[i] = byte(rand.Uint32())
	}
	for range fillerBytes/size + 1 {
		if _, err := p.js.Publish(ctx, keysPrefix+fillerKey, filler); err != nil {
			return unreachable(err)
		}
	}
	if err := p.removeFiller(ctx); err != nil {
		return err
	}
	if _, err := p.awaitServers(ctx); err != nil {
		return err
	}
	return wait(ctx, 2*time.Second) // servers compact their logs a moment after they have caught up
}

func (p *PageKeys) removeFiller(ctx context.Context) error {
	return unreachable(p.stream.Purge(ctx, jetstream.WithPurgeSubject(keysPrefix+fillerKey)))
}

// awaitServers waits until all servers that have the stream run and have caught up.
func (p *PageKeys) awaitServers(ctx context.Context) (*jetstream.StreamInfo, error) {
	for {
		info, err := p.stream.Info(ctx)
		if err != nil {
			return nil, unreachable(err)
		}
		behind := ""
		if info.Cluster != nil {
			for _, r := range info.Cluster.Replicas {
				if r.Offline {
					return nil, fmt.Errorf("the NATS server %s does not run, so erased keys may be on its disk", r.Name)
				}
				if !r.Current || r.Lag > 0 {
					behind = r.Name
				}
			}
		}
		if behind == "" {
			return info, nil
		}
		if err := wait(ctx, retryPause); err != nil {
			return nil, fmt.Errorf("the NATS server %s has not caught up: %w", behind, err)
		}
	}
}

// All returns all keys of the node.
func (p *PageKeys) All(ctx context.Context) iter.Seq2[PageKey, error] {
	return func(yield func(PageKey, error) bool) {
		if err := p.open(ctx); err != nil {
			yield(PageKey{}, err)
			return
		}
		kv, err := p.js.KeyValue(ctx, keysBucket)
		if err != nil {
			yield(PageKey{}, unreachable(err))
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		w, err := kv.Watch(ctx, p.o.Node+".*", jetstream.IgnoreDeletes())
		if err != nil {
			yield(PageKey{}, unreachable(err))
			return
		}
		defer w.Stop()
		for e := range w.Updates() {
			if e == nil {
				return
			}
			id, err := strconv.ParseUint(strings.TrimPrefix(e.Key(), p.o.Node+"."), 10, 64)
			if err != nil {
				continue
			}
			if !yield(PageKey{id, e.Value()}, nil) {
				return
			}
		}
		yield(PageKey{}, cmp.Or(ctx.Err(), ErrNoQuorum))
	}
}
