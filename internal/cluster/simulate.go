package cluster

import (
	"context"
	"encoding/json"
	"time"
)

// Store is a store of a cluster in a simulation. Its methods are those of the key-value buckets that a node uses. The
// errors ErrChanged and ErrMissing mean what they mean there.
type Store interface {
	// Create stores a value under a key that has none, otherwise it returns ErrChanged.
	Create(key string, value []byte) (revision uint64, err error)
	// Update replaces a value whose revision is last, otherwise it returns ErrChanged.
	Update(key string, value []byte, last uint64) (revision uint64, err error)
	// Get returns a value, or ErrMissing.
	Get(key string) (Value, error)
	// Remove deletes a value whose revision is last, otherwise it returns ErrChanged.
	Remove(key string, last uint64) error
	// List returns the values as the node last heard of them.
	List() []Value
}

// Value is a value in a Store.
type Value struct {
	Key      string
	Text     []byte
	Revision uint64
	Heard    time.Duration // when the node learned of the value, by Clock.Elapsed
}

// The errors of a Store.
var (
	ErrChanged = errChanged
	ErrMissing = errMissing
)

// storeOf makes a store of a Store.
type storeOf struct{ Store }

func (v Value) entry() entry {
	return entry{key: v.Key, value: v.Text, revision: v.Revision, heard: v.Heard}
}

func (s storeOf) create(_ context.Context, key string, value []byte) (uint64, error) {
	return s.Create(key, value)
}

func (s storeOf) update(_ context.Context, key string, value []byte, last uint64) (uint64, error) {
	return s.Update(key, value, last)
}

func (s storeOf) get(_ context.Context, key string) (entry, error) {
	v, err := s.Get(key)
	return v.entry(), err
}

func (s storeOf) remove(_ context.Context, key string, last uint64) error { return s.Remove(key, last) }

func (s storeOf) list() []entry {
	values := s.List()
	list := make([]entry, len(values))
	for i, v := range values {
		list[i] = v.entry()
	}
	return list
}

// Member is the part of a node that keeps its lease and divides the partitions, for a simulation of many nodes in
// virtual time. See Node for a node that crawls.
type Member struct{ m *member }

// View is what a Member knows after a round.
type View struct {
	Self Owner
	Own  []int // partitions that the node owns
	Give []int // those of Own that it should hand over
}

// NewMember returns a member whose stores are nodes, which has the leases, and state, which has the table.
func NewMember(nodes, state Store, clock Clock, length, margin time.Duration, node, dir string) *Member {
	return &Member{newMember(storeOf{nodes}, storeOf{state}, clock, length, margin, leaseValue{Node: node, Dir: dir})}
}

// Round renews the lease, or takes a new one, and claims partitions up to the share of the node.
func (m *Member) Round(r Report, drain bool) (View, error) {
	v, _, err := m.m.round(context.Background(), r, drain)
	return View{v.self, v.own, v.give}, err
}

// RenewAt returns when to renew the lease if it is renewed at the moment now, by Clock.Elapsed.
func (m *Member) RenewAt(now time.Duration) time.Duration { return m.m.lease.renewAt(now) }

// Release gives back partitions in the table, and returns those that the node still owns.
func (m *Member) Release(partitions []int) (own []int, err error) {
	if err := m.m.release(context.Background(), partitions); err != nil {
		return nil, err
	}
	return m.m.table.owned(m.Owner()), nil
}

// End gives the lease back.
func (m *Member) End() error { return m.m.lease.end(context.Background()) }

// Remaining returns how long requests may still be made. It is not positive if they may not.
func (m *Member) Remaining() time.Duration { return m.m.lease.remaining() }

// Owner returns the node with the epoch of its lease.
func (m *Member) Owner() Owner { return m.m.lease.owner() }

// EmptyTable returns the key and the first value of the table of a cluster.
func EmptyTable(partitions int) (key string, text []byte, err error) {
	text, err = json.Marshal(Table{make([]Owner, partitions)})
	return tableKey, text, err
}

// Announced returns what other nodes react to in the value of a lease. They learn of every renewal, and most renewals
// change nothing else.
func Announced(v Value) (s Lease, err error) {
	l, err := readLease(v.entry())
	return Lease{l.owner(), l.Drain, l.Fenced, l.Idle, l.Done}, err
}

// Lease is what the value of a lease says about a node.
type Lease struct {
	Owner
	Drain, Fenced, Idle, Done bool
}
