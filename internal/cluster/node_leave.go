package cluster

import (
	"context"
	"errors"
	"strconv"
)

// cleanAfter is the size of a journal in bytes from which on its live part may be written again, so that the rest can
// be removed. A cluster has a thousand journals, so this limits what is stored in vain to some gigabytes.
const cleanAfter = 2 << 20

// cleanJournal shortens the journal of one partition, if it has grown much.
func (r *rounds) cleanJournal(ctx context.Context) {
	r.mu.Lock()
	running := r.cleaning
	r.mu.Unlock()
	if running {
		return
	}
	for _, p := range r.inState(open) {
		if !r.journal.grown(p) {
			continue
		}
		r.mu.Lock()
		r.cleaning = true
		r.mu.Unlock()
		r.tasks.Go(func() {
			if err := r.clean(ctx, p); err != nil && ctx.Err() == nil {
				r.log.Warn("a journal could not be shortened; this is tried again", "partition", p, "error", err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.cleaning = false
		})
		return
	}
}

func (r *rounds) clean(ctx context.Context, p int) error {
	before := r.journal.size(p)
	from, err := r.frontier.Rewrite(p)
	if err != nil {
		return err
	}
	return r.journal.shorten(ctx, p, from, before)
}

// grown reports whether a journal has grown so much since it was shortened that it should be shortened again: by twice
// of what was then written again.
func (j *journal) grown(partition int) bool {
	end := j.part(partition)
	if end == nil || !end.mu.TryLock() {
		return false
	}
	defer end.mu.Unlock()
	return end.bytes > cleanAfter && end.bytes > 3*end.live
}

func (n *Node) isLeaving() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leaving
}

// isDrained reports whether this node must hand over all its partitions.
func (n *Node) isDrained() bool {
	if n.isLeaving() {
		return true
	}
	epoch := strconv.FormatUint(n.member.lease.owner().Epoch, 10)
	for _, e := range n.link.state.list() {
		if e.key == drainPrefix+n.name && string(e.value) == epoch {
			return true
		}
	}
	return false
}

// Leave hands over all partitions, gives the lease back and ends the connection. If ctx ends before, the other nodes
// take the partitions over when the lease has expired. The visits must have ended.
func (n *Node) Leave(ctx context.Context) error {
	n.mu.Lock()
	n.leaving = true
	n.mu.Unlock()
	n.look()
	err := n.awaitEmpty(ctx)
	n.stop(errLeft)
	n.tasks.Wait()
	if err == nil {
		err = n.member.lease.end(ctx)
	}
	n.link.close()
	return err
}

var errLeft = errors.New("the node has left the cluster")

// awaitEmpty waits until the table gives no partition to this node.
func (n *Node) awaitEmpty(ctx context.Context) error {
	for n.frontier != nil {
		n.mu.Lock()
		left := len(n.parts) + len(n.released)
		n.mu.Unlock()
		if left == 0 {
			return nil
		}
		if err := wait(ctx, tick/4); err != nil {
			return err
		}
	}
	return nil
}

// Abandon ends the connection at once. The other nodes take the partitions over when the lease has expired.
func (n *Node) Abandon() {
	n.stop(errLeft)
	n.tasks.Wait()
	n.link.close()
}
