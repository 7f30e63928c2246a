package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// member is the part of a node in the division of the partitions. It keeps the lease of the node, claims partitions
// and says which ones the node must hand over. It makes no decision by itself that needs time to pass: the caller
// calls round at least every third of the lease. A member is used by one goroutine, except for the lease.
type member struct {
	nodes, state store
	clock        Clock
	lease        *lease
	value        leaseValue // what never changes in the lease of this node

	table    Table
	revision uint64 // of table
	// owners in the table that are known not to run any more, with the time when this node learned of it
	dead  map[Owner]time.Duration
	since time.Duration  // when this node took its lease, by Clock.Elapsed
	past  map[Owner]bool // earlier leases of this process, whose requests this process itself has ended
}

// newMember returns the member for a node whose lease has the given length and margin.
func newMember(nodes, state store, clock Clock, length, margin time.Duration, v leaseValue) *member {
	return &member{nodes: nodes, state: state, clock: clock, value: v, dead: map[Owner]time.Duration{},
		past:  map[Owner]bool{},
		lease: &lease{store: nodes, clock: clock, length: length, margin: margin}}
}

// view is what a round has found.
type view struct {
	self    Owner
	own     []int        // partitions that this node owns
	give    []int        // those of own that it should hand over
	members []leaseValue // the leases of all nodes, by name, without those that have expired
	report  Report       // what the lease says of this node
}

// round renews the lease, or takes a new one if it was lost, and then claims partitions up to the share of this node.
// begun reports whether the lease is a new one: everything that this node owned before is lost, except what it claims
// again.
func (m *member) round(ctx context.Context, r Report, drain bool) (v view, begun bool, err error) {
	before := m.lease.owner()
	if before != (Owner{}) {
		err = m.lease.renew(ctx, r, drain)
	}
	if before == (Owner{}) || errors.Is(err, errLeaseLost) {
		if before != (Owner{}) {
			m.past[before] = true
		}
		begun, m.since = true, m.clock.Elapsed()
		err = m.lease.acquire(ctx, m.value)
	}
	if err != nil {
		return v, false, err
	}
	v.self = m.lease.owner()
	if v.members, err = m.members(ctx); err != nil {
		return v, begun, err
	}
	if err := m.readTable(ctx); err != nil {
		return v, begun, err
	}
	if err := m.noteDead(ctx, v.members); err != nil {
		return v, begun, err
	}
	busy := func() error {
		if !r.Idle {
			return nil
		}
		r.Idle, r.Work = false, r.Work+1
		return m.lease.renew(ctx, r, drain)
	}
	v.give, err = m.claim(ctx, v.self, v.members, busy)
	v.report = r
	v.own = m.table.owned(v.self)
	return v, begun, err
}

// members returns the leases that have not expired as far as this node knows. Only a lease that was not renewed for
// long is looked up, because the store does not announce that a lease expires. This node is always among them: the
// store may announce its new lease later, and until then the node would take its share for nothing and lose its
// partitions.
func (m *member) members(ctx context.Context) (list []leaseValue, err error) {
	list = append(list, m.lease.current())
	for _, e := range m.nodes.list() {
		if e.key == m.value.Node {
			continue
		}
		e, err := currentLease(ctx, m.nodes, m.clock, m.lease.length, e)
		if errors.Is(err, errMissing) {
			continue
		} else if err != nil {
			return nil, err
		}
		v, err := readLease(e)
		if err != nil {
			return nil, fmt.Errorf("the lease of node %s cannot be read: %w", e.key, err)
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b leaseValue) int { return cmp.Compare(a.Node, b.Node) })
	return list, nil
}

// currentLease returns the lease e, or the present one of that node if nothing was heard of e for the length of a
// lease. The error is errMissing if it has expired.
func currentLease(ctx context.Context, nodes store, clock Clock, length time.Duration, e entry) (entry, error) {
	if clock.Elapsed()-e.heard <= length {
		return e, nil
	}
	return nodes.get(ctx, e.key)
}

// crawling returns how many of the members are nodes that crawl.
func crawling(members []leaseValue) (n int) {
	for _, v := range members {
		if !v.Reader && !v.Fenced {
			n++
		}
	}
	return n
}

func (m *member) readTable(ctx context.Context) (err error) {
	t, revision, err := readTable(ctx, m.state)
	if err == nil {
		m.table, m.revision = t, revision
	}
	return err
}

// readTable returns the table of partitions with its revision.
func readTable(ctx context.Context, state store) (t Table, revision uint64, err error) {
	t, revision, err = readValue[Table](ctx, state, tableKey, "it is damaged")
	if err != nil {
		err = fmt.Errorf("the table of partitions cannot be read: %w", err)
	}
	return t, revision, err
}

// noteDead finds the owners in the table that do not run any more. An owner whose name has another lease, or a fenced
// one, has lost its own. If there is no lease with the name, this node stores a fenced one: that succeeds only if the
// store has let the owner's lease expire, whatever older state a read may show.
func (m *member) noteDead(ctx context.Context, members []leaseValue) error {
	leases := map[string]leaseValue{}
	for _, v := range members {
		leases[v.Node] = v
	}
	owners := map[Owner]bool{}
	for _, o := range m.table.Owners {
		owners[o] = o != Owner{}
	}
	for o := range m.dead {
		if !owners[o] {
			delete(m.dead, o)
		}
	}
	// in order, so that a simulation can be repeated
	for _, o := range slices.SortedFunc(maps.Keys(owners), Owner.compare) {
		if _, known := m.dead[o]; known || !owners[o] || o == m.lease.owner() {
			continue
		}
		v, held := leases[o.Node]
		switch {
		case held && !v.Fenced && v.Epoch == o.Epoch:
			continue
		case !held && m.clock.Elapsed()-m.since < m.lease.length/4:
			// If the servers were unreachable, all leases have expired. The other nodes need a moment to take new ones.
			continue
		case !held:
			text, err := json.Marshal(leaseValue{Node: o.Node, Fenced: true})
			if err != nil {
				return err
			}
			if _, err = m.nodes.create(ctx, o.Node, text); errors.Is(err, errChanged) {
				continue // the next round sees what is there
			} else if err != nil {
				return err
			}
		}
		m.dead[o] = m.clock.Elapsed()
	}
	return nil
}

// free reports whether the partitions of o may be claimed: its lease has expired, and the margin has passed since.
func (m *member) free(o Owner) bool {
	since, dead := m.dead[o]
	return m.past[o] || dead && m.clock.Elapsed()-since >= m.lease.margin
}

// claim claims partitions up to the share of this node, and returns those that it owns beyond its share.
//
// It calls busy before it claims any: a node that says that it is idle must say that it has work before a partition is
// its own, because nobody knows yet what is queued there (see Node.checkEnd).
func (m *member) claim(ctx context.Context, self Owner, members []leaseValue, busy func() error) (give []int,
	err error) {
	var names []string
	for _, v := range members {
		if !v.Fenced && !v.Drain && !v.Reader {
			names = append(names, v.Node)
		}
	}
	for {
		claim, give := plan(&m.table, names, self, m.free)
		if len(claim) == 0 {
			return give, nil
		}
		if err := busy(); err != nil {
			return nil, err
		}
		err := m.change(ctx, func(owners []Owner) {
			for _, p := range claim {
				owners[p] = self
			}
		})
		if !errors.Is(err, errChanged) {
			return nil, err
		}
		if err := m.readTable(ctx); err != nil {
			return nil, err
		}
	}
}

// change changes the table by compare-and-set. The error is errChanged if the table was changed meanwhile.
func (m *member) change(ctx context.Context, fn func([]Owner)) error {
	next := Table{slices.Clone(m.table.Owners)}
	fn(next.Owners)
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	revision, err := m.state.update(ctx, tableKey, text, m.revision)
	if err != nil {
		return err
	}
	m.table, m.revision = next, revision
	return nil
}

// release gives partitions back that this node owns and no longer uses.
func (m *member) release(ctx context.Context, partitions []int) error {
	self := m.lease.owner()
	for {
		if err := m.readTable(ctx); err != nil {
			return err
		}
		err := m.change(ctx, func(owners []Owner) {
			for _, p := range partitions {
				if owners[p] == self {
					owners[p] = Owner{}
				}
			}
		})
		if !errors.Is(err, errChanged) {
			return err
		}
	}
}
