package cluster

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/acapcrawl/acapcrawl/crawler"
)

// watchClock returns a *ClockError if the clock of this machine differs too much from that of the servers by now. Until
// it does not, nothing is requested and the lease is not renewed, so that the other nodes take over.
func (r *rounds) watchClock(ctx context.Context) error {
	wrong := r.clockWrong.Load()
	for _, e := range r.link.nodes.list() {
		wrong = wrong || e.key == r.name && r.member.lease.ahead(e).Abs() > r.settings.Margin/2
	}
	if !wrong {
		return nil
	}
	err := r.checkClock(ctx)
	r.clockWrong.Store(err != nil)
	return err
}

// verify makes certain, after the node has taken a new lease, that no other node has written to the journals of the
// open partitions since. Until then nothing is requested.
func (r *rounds) verify(ctx context.Context, self Owner) error {
	var all errgroup.Group
	all.SetLimit(adoptSlots)
	for _, p := range r.inState(open, closing) {
		all.Go(func() error {
			err := r.journal.check(ctx, p)
			if errors.Is(err, errFenced) {
				r.frontier.Lose(p)
				r.forget(p)
				return nil
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verified = self
	return nil
}

// adopt rebuilds a partition from its journal and opens it.
func (r *rounds) adopt(ctx context.Context, p int) {
	r.slots <- struct{}{}
	defer func() { <-r.slots }()
	err := r.rebuild(ctx, p)
	if err == nil {
		var links *nats.Subscription
		links, err = r.link.nc.Subscribe(hintSubject(p), func(*nats.Msg) { r.mark(p) })
		r.mu.Lock()
		if part := r.parts[p]; part != nil && err == nil {
			part.links, part.state, part.dirty = links, open, true
		}
		r.mu.Unlock()
	}
	if err != nil {
		r.frontier.Lose(p)
		r.forget(p)
		if ctx.Err() == nil {
			r.log.Warn("a partition could not be taken over; this is tried again", "partition", p, "error", err)
		}
	}
	r.Node.look()
}

// rebuild makes the frontier have what the journal of a partition has.
func (r *rounds) rebuild(ctx context.Context, p int) error {
	if r.member.lease.remaining() <= 0 { // this goroutine may have waited for long
		return errLeaseLost
	}
	end, before, err := r.journal.fence(ctx, p)
	if err != nil {
		return err
	}
	position, _, known := r.frontier.Position(p)
	fresh := !known || position < end.base || position > before
	if fresh {
		position = end.base
	}
	records := r.journal.read(ctx, p, position, end.last)
	if position >= before { // there is nothing to read but the message with which this node has taken over
		records = only(crawler.JournalRecord{Position: end.last})
	}
	return r.frontier.Adopt(p, fresh, records)
}

// loseStored removes from the frontier what an earlier process of this node had and another node owns by now: its owner
// counts it. What nobody owns stays, because this node may take it over.
func (r *rounds) loseStored() {
	r.mu.Lock()
	owners := r.owners
	r.mu.Unlock()
	self := r.member.lease.owner()
	r.stored = slices.DeleteFunc(r.stored, func(p int) bool {
		if p >= len(owners) || owners[p].Node == "" || owners[p].Node == r.name && owners[p] != self {
			return false
		}
		if owners[p] != self {
			r.frontier.Lose(p)
		}
		return true
	})
}

// handOver ends the visits of a partition, and lets the next round give it back.
func (r *rounds) handOver(ctx context.Context, p int) {
	if err := r.frontier.Release(ctx, p); err != nil {
		if ctx.Err() == nil && !errors.Is(err, crawler.ErrLost) {
			r.log.Warn("the visits of a partition do not end; it is taken from its journal again", "partition", p,
				"error", err)
		}
		r.frontier.Lose(p)
		r.forget(p)
		return
	}
	r.mu.Lock()
	r.released = append(r.released, p)
	r.mu.Unlock()
	r.forget(p)
	r.Node.look()
}

func only(record crawler.JournalRecord) iter.Seq2[crawler.JournalRecord, error] {
	return func(yield func(crawler.JournalRecord, error) bool) { yield(record, nil) }
}
