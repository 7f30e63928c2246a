package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// replicas is how many servers store each stream, if the servers are a cluster of at least so many.
const replicas = 3

// replicasEvery is how often a node looks whether the streams can have more replicas.
const replicasEvery = 10 * time.Second

// streams are the names of all streams of a cluster. Without copies of pages there is no stream of keys.
func streams() []string {
	return []string{"KV_" + nodesBucket, "KV_" + stateBucket, "KV_" + doneBucket, ordersStream, journalStream,
		linksStream, keysStream}
}

// createStream creates a stream with three replicas, or with one if the servers know fewer than three of them. If there
// are more later, a node raises the number, see keepReplicas.
func (l *link) createStream(ctx context.Context, c jetstream.StreamConfig) error {
	c.Storage = jetstream.FileStorage
	for _, c.Replicas = range []int{replicas, 1} {
		_, err := l.js.CreateStream(ctx, c)
		if !tooFew(err) {
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				return nil // another node made it at the same time
			}
			return err
		}
	}
	return fmt.Errorf("the stream %s cannot be made", c.Name)
}

// tooFew reports whether err means that there are fewer servers than wanted replicas.
func tooFew(err error) bool {
	code := errorCode(err)
	return code == tooFewPeers || code == notClustered
}

// Error codes of NATS servers that do not have the wanted number of replicas.
const (
	tooFewPeers  = 10005
	notClustered = 10074
)

// eachStream calls fn for each stream of the cluster.
func (l *link) eachStream(ctx context.Context, fn func(*jetstream.StreamInfo) error) error {
	for _, name := range streams() {
		s, err := l.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) && name == keysStream {
			continue
		} else if err != nil {
			return unreachable(err)
		}
		if err := fn(s.CachedInfo()); err != nil {
			return err
		}
	}
	return nil
}

// replicas returns how many complete replicas the streams have, and should have.
func (l *link) replicas(ctx context.Context) (*Replicas, error) {
	return countReplicas(func(fn func(*jetstream.StreamInfo) error) error { return l.eachStream(ctx, fn) },
		func() error { return wait(ctx, retryPause) })
}

// replicaLooks is how often countReplicas looks at a replica that runs and is behind.
const replicaLooks = 5

// countReplicas is replicas with a function that calls another one for each stream. A replica that runs is behind for a
// moment after each change, so it is looked at again, after pause, before it counts as incomplete.
func countReplicas(eachStream func(func(*jetstream.StreamInfo) error) error, pause func() error) (*Replicas, error) {
	whole := wholeReplicas{}
	for look := 1; ; look++ {
		r, behind := &Replicas{replicas, 1}, false
		err := eachStream(func(is *jetstream.StreamInfo) error {
			n, late := whole.add(is)
			r.Fewest, behind = min(r.Fewest, n), behind || late
			if clustered(is) {
				r.Wanted = replicas
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if !behind || look == replicaLooks {
			return r, nil
		}
		if err := pause(); err != nil {
			return nil, err
		}
	}
}

// wholeReplicas notes which replicas, by stream and server, were complete at one of several looks.
type wholeReplicas map[[2]string]bool

// add returns how many servers run and have all of a stream. behind reports whether one that runs does not.
func (w wholeReplicas) add(is *jetstream.StreamInfo) (n int, behind bool) {
	n = 1 // the leader
	if is.Cluster == nil {
		return n, false
	}
	for _, p := range is.Cluster.Replicas {
		key := [2]string{is.Config.Name, p.Name}
		w[key] = w[key] || p.Current
		switch {
		case p.Offline:
		case w[key]:
			n++
		default:
			behind = true
		}
	}
	return n, behind
}

// clustered reports whether the servers of a stream are a cluster.
func clustered(is *jetstream.StreamInfo) bool { return is.Cluster != nil && is.Cluster.Name != "" }

// keepReplicas raises the number of replicas of the streams until ctx ends or all have enough. Of the nodes that crawl,
// only the first one does so. A stream has too few if one of three servers was not known when it was made.
func (n *Node) keepReplicas(ctx context.Context) {
	for wait(ctx, replicasEvery) == nil {
		if !n.isFirst() {
			continue
		}
		done, err := n.link.raiseReplicas(ctx)
		if err != nil && ctx.Err() == nil {
			n.log.Debug("the streams cannot get more replicas now; this is tried again", "error", err)
		}
		if done && err == nil {
			return
		}
	}
}

// isFirst reports whether this node is the first by name of those that crawl.
func (n *Node) isFirst() bool {
	for _, e := range n.link.nodes.list() {
		if v, err := readLease(e); err == nil && !v.Fenced && !v.Reader && v.Node < n.name {
			return false
		}
	}
	return true
}

// raiseReplicas gives each stream as many replicas as it should have. done reports whether there is nothing left to do.
func (l *link) raiseReplicas(ctx context.Context) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*answerTime)
	defer cancel()
	done = true
	err = l.eachStream(ctx, func(is *jetstream.StreamInfo) error {
		c := is.Config
		if !clustered(is) || c.Replicas >= replicas {
			return nil
		}
		c.Replicas = replicas
		_, err := l.js.UpdateStream(ctx, c)
		if tooFew(err) {
			done, err = false, nil
		}
		return unreachable(err)
	})
	return done, err
}
