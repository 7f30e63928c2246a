package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/acapcrawl/acapcrawl/crawler"
)

// queueLinks queues links that other partitions have sent, and removes them from the stream.
func (r *rounds) queueLinks(ctx context.Context) {
	list := r.takeDirty()
	if len(list) == 0 {
		return
	}
	subjects, err := r.link.linksLeft(ctx)
	if err != nil {
		r.redo(ctx, err, list...)
		return
	}
	var all errgroup.Group
	all.SetLimit(adoptSlots)
	for _, p := range list {
		if subjects[linksSubject(p)] == 0 {
			continue
		}
		all.Go(func() error {
			if err := r.queueLinksTo(ctx, p); err != nil {
				r.redo(ctx, err, p)
			} else {
				r.linksFail.Store(false)
			}
			return nil
		})
	}
	_ = all.Wait() // redo has taken care of the errors
	r.lag.Store(0)
}

// queueLinksTo queues the links to one partition, and removes them. There may be links that it only has to remove: an
// attempt to do so has failed, or the node that queued them has ended before.
func (r *rounds) queueLinksTo(ctx context.Context, partition int) error {
	position, err := r.receiveLinks(ctx, partition)
	if err != nil {
		return err
	}
	if err := r.sayBusy(ctx); err != nil {
		return err
	}
	return r.removeLinks(ctx, partition, position)
}

// takeDirty returns the open partitions that may have links, which are then no longer marked.
func (n *Node) takeDirty() (list []int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for p, part := range n.parts {
		if part.state == open && part.dirty {
			part.dirty = false
			list = append(list, p)
		}
	}
	return list
}

// redo marks partitions again, for the next tick, because their links could not be read or removed.
func (r *rounds) redo(ctx context.Context, err error, partitions ...int) {
	if ctx.Err() == nil && !errors.Is(err, crawler.ErrLost) && !r.linksFail.Swap(true) {
		r.log.Warn("links from other partitions could not be read; this is tried again", "partitions", len(partitions),
			"first", partitions[0], "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range partitions {
		if p := r.parts[n]; p != nil {
			p.dirty = true
		}
	}
}

// sayBusy stores that this node has work, if the servers may have a report that says that it is idle. It must be called
// after links are queued and before they are removed from the stream: whoever sees the stream empty and the report
// unchanged knows that the node has got no work (see checkEnd).
func (r *rounds) sayBusy(ctx context.Context) error {
	r.saying.Lock()
	defer r.saying.Unlock()
	r.mu.Lock()
	report := r.reported
	if !r.mayIdle {
		r.mu.Unlock()
		return nil
	}
	r.work++
	report.Idle, report.Work = false, r.work
	r.mu.Unlock()
	if err := r.member.lease.renew(ctx, report, r.isDrained()); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reported, r.mayIdle = report, false
	return nil
}

// checkEnd finds out whether the crawl has ended: all nodes say that they are idle, no link is on its way, and then
// all nodes still say the same. A node that gets links says that it has work before it removes the links from the
// stream. So if the stream was empty between two equal reports of all nodes, none of them has got work.
//
// A drained node that has handed everything over ends too, but does not say that the crawl has ended: the others may be
// idle until they have opened what it had.
func (r *rounds) checkEnd(ctx context.Context) {
	if r.isDrained() && r.isEmpty() {
		r.finish(false)
		return
	}
	ended, err := r.hasEnded(ctx)
	switch {
	case ended:
		r.finish(true)
	case err != nil && ctx.Err() == nil:
		r.log.Debug("it cannot be found out whether the crawl has ended; this is tried again", "error", err)
	}
}

// isEmpty reports whether the node has no partition any more.
func (r *rounds) isEmpty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	table := Table{r.owners}
	return len(r.parts)+len(r.released)+len(table.owned(r.member.lease.owner())) == 0
}

func (r *rounds) hasEnded(ctx context.Context) (bool, error) {
	r.mu.Lock()
	done, idle := r.done, r.reported.Idle
	r.mu.Unlock()
	if done || !idle {
		return false, nil
	}
	before, idle, said := r.allIdle(r.link.nodes.list())
	if !idle || said {
		return idle, nil
	}
	if left, err := r.markLinks(ctx); left || err != nil {
		return false, err
	}
	table, _, err := readTable(ctx, r.link.state)
	if err != nil || !allOwned(table, before) {
		return false, err
	}
	var now []entry
	for _, name := range slices.Sorted(maps.Keys(before)) {
		e, err := r.link.nodes.get(ctx, name)
		if errors.Is(err, errMissing) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		now = append(now, e)
	}
	after, idle, _ := r.allIdle(now)
	return idle && maps.Equal(before, after), nil
}

// idleness is what a node has said when it was idle.
type idleness struct {
	epoch, work uint64
}

// allIdle reports whether all nodes in list say that they are idle. said is true if one of them has found out that
// the crawl has ended.
func (r *rounds) allIdle(list []entry) (nodes map[string]idleness, idle, said bool) {
	nodes = map[string]idleness{}
	for _, e := range list {
		v, err := readLease(e)
		if err != nil || !v.Fenced && !v.Reader && !v.Idle {
			return nil, false, false
		}
		said = said || v.Done
		if !v.Fenced && !v.Reader {
			nodes[v.Node] = idleness{v.Epoch, v.Work}
		}
	}
	_, here := nodes[r.name]
	return nodes, here, said
}

// allOwned reports whether every partition belongs to one of the nodes.
func allOwned(t Table, nodes map[string]idleness) bool {
	for _, o := range t.Owners {
		if n, is := nodes[o.Node]; !is || n.epoch != o.Epoch {
			return false
		}
	}
	return true
}

// finish notes that nothing is left to do, in the cluster if over is true, otherwise on this node.
func (n *Node) finish(over bool) {
	n.mu.Lock()
	first := !n.done
	if first {
		n.done, n.over = true, over
		close(n.ended)
	}
	n.mu.Unlock()
	if first {
		n.look()
	}
}

// AddSeeds adds seeds, in normal form, to those of the cluster, and sends them to the nodes that crawl them.
func (n *Node) AddSeeds(ctx context.Context, seeds []string) error {
	n.mu.Lock()
	n.adding++
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.adding--
	}()
	all, err := n.link.addSeeds(ctx, seeds, crawler.FirstSeed)
	if err != nil {
		return err
	}
	if err := n.setSeeds(all); err != nil {
		return err
	}
	var offers []crawler.Offer
	for _, s := range seeds {
		offers = append(offers, crawler.Offer{URL: s, Seed: true, State: crawler.Queued, From: all[s]})
	}
	return n.Send(ctx, offers)
}

// readSeeds reads the seeds of the cluster.
func (n *Node) readSeeds(ctx context.Context) error {
	all, err := n.link.seeds(ctx)
	if err != nil {
		return err
	}
	return n.setSeeds(all)
}

func (n *Node) setSeeds(all Seeds) error {
	n.mu.Lock()
	known := maps.Equal(n.seeds, all)
	n.mu.Unlock()
	if known {
		return nil
	}
	if err := n.frontier.SetSeeds(all); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seeds = all
	return nil
}

// readSeedsIfChanged makes the frontier know the seeds that the servers have announced.
func (n *Node) readSeedsIfChanged(ctx context.Context) error {
	for _, e := range n.link.state.list() {
		if e.key != seedsKey {
			continue
		}
		var all Seeds
		if err := json.Unmarshal(e.value, &all); err != nil {
			return err
		}
		return n.setSeeds(all)
	}
	return nil
}

func (n *Node) knowsSeed(seed string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seeds[seed] != 0
}

// AwaitSeed waits until the cluster has a seed.
func (n *Node) AwaitSeed(ctx context.Context) error {
	for {
		n.mu.Lock()
		known := len(n.seeds)
		n.mu.Unlock()
		if known > 0 {
			return nil
		}
		if err := wait(ctx, tick/2); err != nil {
			return err
		}
	}
}
