package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// tick is how often a node looks for changes that nobody announces.
const tick = 200 * time.Millisecond

// Start begins to take over partitions. f must use the node as its journal. pages returns how many pages the process
// has requested so far.
func (n *Node) Start(f Frontier, pages func() int) {
	n.frontier, n.pages = f, pages
	// without this subscription, the node is only missing in the status of a cluster without a quorum
	_, _ = n.link.nc.Subscribe(askSubject, n.answerStatus)
	n.tasks.Go(n.run)
	n.tasks.Go(func() { n.keepReplicas(n.ctx) })
}

// Ready returns when the node has opened its share of the partitions for the first time.
func (n *Node) Ready(ctx context.Context) error {
	select {
	case <-n.ready:
		return nil
	case <-n.ctx.Done():
		return context.Cause(n.ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ended is closed when nothing in the cluster is due or in progress, or when the node is drained.
func (n *Node) Ended() <-chan struct{} { return n.ended }

// run keeps the lease and follows the table of partitions until the node leaves.
func (n *Node) run() {
	defer n.loseAll()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	r := &rounds{Node: n, slots: make(chan struct{}, adoptSlots), chores: make(chan struct{}, 1)}
	var err error
	if r.stored, err = n.frontier.Stored(); err != nil {
		n.log.Warn("the frontier cannot be read", "error", err)
	}
	for n.ctx.Err() == nil {
		r.look(n.ctx)
		select {
		case <-ticker.C:
		case <-n.kick:
		case <-n.link.state.changed:
		case <-n.link.nodes.changed:
		case <-n.ctx.Done():
		}
	}
}

// rounds is the state of run.
type rounds struct {
	*Node
	next    time.Duration // when the lease must be renewed, by Clock.Elapsed
	seen    string        // the members and the table at the last round
	view    view
	failing bool  // the last round has failed
	stored  []int // partitions that an earlier process left in the frontier and whose owner is not known yet
	slots   chan struct{}
	chores  chan struct{} // has a value while a goroutine does chores
	// Held while the node says whether it is idle: from the moment at which this is found out until the answer.
	saying sync.Mutex

	linksFail atomic.Bool // the last attempt to read links has failed, and the log says so
}

// look does a round if one is due or if something has changed, and then everything that follows from it. It must not
// wait for anything else than the round, because the lease would run out meanwhile.
func (r *rounds) look(ctx context.Context) {
	now := r.clock.Elapsed()
	report := r.report()
	seen := r.signature()
	r.mu.Lock()
	flipped, give := report.Idle != r.reported.Idle || r.over != r.reported.Done, len(r.released) > 0
	r.mu.Unlock()
	if now >= r.next || flipped || give || seen != r.seen {
		if err := r.round(ctx); err != nil {
			r.fail(ctx, err)
		} else {
			r.failing = false
			r.next, r.seen = r.member.lease.renewAt(now), seen
		}
	}
	r.noteSettings()
	r.reconcile(ctx)
	r.cleanJournal(ctx)
	select {
	case r.chores <- struct{}{}:
		r.tasks.Go(func() {
			r.queueLinks(ctx)
			r.checkEnd(ctx)
			<-r.chores
		})
	default:
	}
}

// fail reports an error, once until a round succeeds again.
func (r *rounds) fail(ctx context.Context, err error) {
	r.next = r.clock.Elapsed() + retryPause
	if ctx.Err() != nil || r.failing {
		return
	}
	r.failing = true
	r.log.Warn(r.failure(err), "error", err)
}

// failure says what the error of a round means.
func (n *Node) failure(err error) string {
	var used *InUseError
	var clock *ClockError
	switch {
	case errors.As(err, &used) && used.Same:
		return fmt.Sprintf("the lease of this node has run out, for example because the machine was suspended, and "+
			"the other nodes take over; this node takes part again within %s", n.settings.Lease)
	case errors.As(err, &used):
		return "another machine has taken the name of this node, so this one requests nothing"
	case errors.As(err, &clock):
		return "nothing is requested until the clock of this machine is right"
	}
	return "the cluster does not answer; nothing is requested when the lease has run out, until it answers again"
}

// signature changes when a node joins, leaves or is drained, and when the table changes.
func (r *rounds) signature() (s string) {
	parts := []string{fmt.Sprint(r.isLeaving())}
	for _, e := range r.link.nodes.list() {
		if v, err := readLease(e); err == nil {
			parts = append(parts, fmt.Sprint(v.Node, v.Epoch, v.Drain, v.Fenced, v.Idle, v.Done))
		}
	}
	for _, e := range r.link.state.list() {
		if !strings.HasPrefix(e.key, clockPrefix) && e.key != budgetKey {
			parts = append(parts, fmt.Sprint(e.key, e.revision))
		}
	}
	slices.Sort(parts)
	return fmt.Sprint(parts)
}

// report describes the node as it is now.
func (n *Node) report() Report {
	c := n.frontier.Counts()
	idle := n.frontier.Idle()
	n.mu.Lock()
	defer n.mu.Unlock()
	r := Report{Queue: c.Queued, Due: c.Hosts, InProgress: c.Leased, Work: n.work, Pages: n.pages(), Copies: n.copies,
		Lag: time.Duration(n.lag.Load()).Seconds(), Done: n.over}
	for _, p := range n.parts {
		if p.state != open {
			r.Moving++
		}
		idle = idle && p.state == open && !p.dirty
	}
	// By the table, this node may have partitions that are in nobody's frontier: they are handed over or could not be
	// opened yet. What is queued there is not idle.
	table := Table{n.owners}
	for _, p := range table.owned(n.member.lease.owner()) {
		idle = idle && n.parts[p] != nil
	}
	r.Idle = idle && n.adding == 0 && len(n.seeds) > 0 && len(n.released) == 0
	if n.reported.Idle && !r.Idle {
		r.Work++
	}
	return r
}

// round renews the lease, gives back released partitions, and claims others.
func (r *rounds) round(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	if err := r.watchClock(ctx); err != nil {
		return err
	}
	if err := r.readSeedsIfChanged(ctx); err != nil {
		return err
	}
	v, err := r.renew(ctx)
	if err != nil {
		return err
	}
	r.view = v
	r.mu.Lock()
	released, verified := r.released, r.verified == v.self
	r.mu.Unlock()
	if !verified {
		if err := r.verify(ctx, v.self); err != nil {
			return err
		}
	}
	r.frontier.Wake()
	if _, err := r.markLinks(ctx); err != nil { // an announcement may have been lost
		return err
	}
	if len(released) == 0 {
		return nil
	}
	if err := r.member.release(ctx, released); err != nil {
		return err
	}
	r.mu.Lock()
	r.released = r.released[len(released):]
	r.mu.Unlock()
	r.view.own = r.member.table.owned(v.self)
	return nil
}

// renew renews the lease, with a report on the node, and claims partitions.
func (r *rounds) renew(ctx context.Context) (view, error) {
	r.saying.Lock()
	defer r.saying.Unlock()
	report := r.report()
	r.mu.Lock()
	r.mayIdle = r.mayIdle || report.Idle
	r.mu.Unlock()
	v, _, err := r.member.round(ctx, report, r.isDrained())
	r.mu.Lock()
	defer r.mu.Unlock()
	report = v.report
	r.work = max(r.work, report.Work)
	if err != nil {
		return v, err
	}
	r.reported, r.mayIdle, r.owners, r.running = report, report.Idle, r.member.table.Owners, crawling(v.members)
	return v, nil
}

func (n *Node) inState(states ...partState) (list []int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for p, part := range n.parts {
		if slices.Contains(states, part.state) {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

// reconcile opens the partitions that the table gives to this node, and closes those that it must hand over.
func (r *rounds) reconcile(ctx context.Context) {
	own, give := map[int]bool{}, map[int]bool{}
	for _, p := range r.view.give {
		give[p] = true
	}
	r.mu.Lock()
	for _, p := range r.view.own {
		// a claim whose answer was lost, or a partition that could not be opened: there is nothing to hand over
		if give[p] && r.parts[p] == nil && !slices.Contains(r.released, p) {
			r.released = append(r.released, p)
		}
	}
	for _, p := range r.released {
		give[p] = true
	}
	r.mu.Unlock()
	// Without a valid lease the view may be old, and another node the owner: taking the journal over would only
	// disturb it.
	valid := r.member.lease.remaining() > 0
	for _, p := range r.view.own {
		own[p] = true
		if !give[p] && valid && r.begin(p) {
			r.tasks.Go(func() { r.adopt(ctx, p) })
		}
	}
	for _, p := range r.inState(open) {
		switch {
		case !own[p]:
			r.frontier.Lose(p)
			r.forget(p)
		case give[p] && r.move(p, open, closing):
			r.tasks.Go(func() { r.handOver(ctx, p) })
		}
	}
	r.loseStored()
	r.noteReady()
}

// noteReady closes r.ready when the node has opened its first partitions, or when there are more nodes than partitions.
func (r *rounds) noteReady() {
	none := len(r.view.own) == 0 && crawling(r.view.members) > r.settings.Partitions
	if len(r.inState(opening, closing)) > 0 || len(r.inState(open)) == 0 && !none {
		return
	}
	select {
	case <-r.ready:
	default:
		close(r.ready)
	}
}

// begin notes that a partition is being opened. It returns false if the partition is already known.
func (n *Node) begin(partition int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.parts[partition] != nil {
		return false
	}
	n.parts[partition] = &part{state: opening}
	return true
}

func (n *Node) move(partition int, from, to partState) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.parts[partition]
	if p == nil || p.state != from {
		return false
	}
	p.state = to
	return true
}

// forget ends everything that this node does with a partition.
func (n *Node) forget(partition int) {
	n.mu.Lock()
	p := n.parts[partition]
	delete(n.parts, partition)
	n.mu.Unlock()
	n.journal.drop(partition)
	if p != nil && p.links != nil {
		_ = p.links.Unsubscribe() // an error means that the connection is closed
	}
}

// mark notes that a partition may have new links.
func (n *Node) mark(partition int) {
	n.mu.Lock()
	if p := n.parts[partition]; p != nil {
		p.dirty = true
	}
	n.mu.Unlock()
	n.look()
}

func (n *Node) loseAll() {
	for _, p := range n.inState(opening, open, closing) {
		n.forget(p)
	}
}
