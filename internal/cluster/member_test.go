package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// fakeClock is a clock that a test moves.
type fakeClock struct{ at *time.Duration }

func (c fakeClock) Now() time.Time         { return time.Unix(1_800_000_000, 0).Add(*c.at) }
func (c fakeClock) Elapsed() time.Duration { return *c.at }

// fakeStore is a store in memory whose values expire. cut makes it unreachable.
type fakeStore struct {
	at   *time.Duration
	ttl  time.Duration // 0: values do not expire
	rev  uint64
	m    map[string]entry
	cut  bool
	lost bool    // the next change is stored, but its answer is lost
	old  []entry // what list returns if the store has announced nothing since; nil: it announces changes at once

	expiring bool // a value expires just after a node was told that it is there
}

var errCut = errors.New("the store cannot be reached")

func (s *fakeStore) live(key string) (entry, bool) {
	e, is := s.m[key]
	if is && s.ttl > 0 && *s.at-e.heard >= s.ttl {
		delete(s.m, key)
		is = false
	}
	return e, is
}

func (s *fakeStore) put(key string, value []byte) (uint64, error) {
	s.rev++
	s.m[key] = entry{key: key, value: value, revision: s.rev, heard: *s.at}
	if s.lost {
		s.lost = false
		return 0, errCut
	}
	return s.rev, nil
}

func (s *fakeStore) create(_ context.Context, key string, value []byte) (uint64, error) {
	if s.cut {
		return 0, errCut
	}
	if _, is := s.live(key); is {
		if s.expiring {
			s.expiring = false
			delete(s.m, key)
		}
		return 0, errChanged
	}
	return s.put(key, value)
}

func (s *fakeStore) update(_ context.Context, key string, value []byte, last uint64) (uint64, error) {
	if s.cut {
		return 0, errCut
	}
	if e, is := s.live(key); !is || e.revision != last {
		return 0, errChanged
	}
	return s.put(key, value)
}

func (s *fakeStore) get(_ context.Context, key string) (entry, error) {
	if s.cut {
		return entry{}, errCut
	}
	e, is := s.live(key)
	if !is {
		return e, errMissing
	}
	return e, nil
}

func (s *fakeStore) remove(_ context.Context, key string, last uint64) error {
	if e, is := s.live(key); s.cut || !is || e.revision != last {
		return errChanged
	}
	delete(s.m, key)
	return nil
}

func (s *fakeStore) list() (all []entry) {
	if s.old != nil {
		return s.old
	}
	for _, e := range s.m {
		all = append(all, e)
	}
	return all
}

const (
	testLease  = 30 * time.Second
	testMargin = 5 * time.Second
)

// world is a cluster of members in virtual time.
type world struct {
	t       *testing.T
	at      time.Duration
	nodes   *fakeStore
	state   *fakeStore
	members map[string]*member
	cut     map[string]bool // the node does not reach the stores
}

func newWorld(t *testing.T, partitions int) *world {
	w := &world{t: t, members: map[string]*member{}, cut: map[string]bool{}}
	w.nodes = &fakeStore{at: &w.at, ttl: testLease, m: map[string]entry{}}
	w.state = &fakeStore{at: &w.at, m: map[string]entry{}}
	text, err := json.Marshal(Table{make([]Owner, partitions)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.state.create(t.Context(), tableKey, text); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) add(name, dir string) *member {
	m := newMember(w.nodes, w.state, fakeClock{&w.at}, testLease, testMargin, leaseValue{Node: name, Dir: dir})
	w.members[name] = m
	return m
}

// round lets a node do a round and hand over at once what it must.
func (w *world) round(name string) (view, error) {
	m := w.members[name]
	w.nodes.cut, w.state.cut = w.cut[name], w.cut[name]
	defer func() { w.nodes.cut, w.state.cut = false, false }()
	v, _, err := m.round(w.t.Context(), Report{}, false)
	if err == nil && len(v.give) > 0 {
		err = m.release(w.t.Context(), v.give)
		v.own = m.table.owned(v.self)
	}
	return v, err
}

func (w *world) mustRound(name string) view {
	w.t.Helper()
	v, err := w.round(name)
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	return v
}

// A node that starts takes its lease also if that of its earlier process expires between two requests about it.
func TestLeaseExpiresMeanwhile(t *testing.T) {
	w := newWorld(t, 16)
	w.add("a", "dir-a")
	w.mustRound("a")
	w.add("a", "dir-a")
	w.nodes.expiring = true
	w.mustRound("a")
	w.add("a", "dir-a")
	if _, err := w.round("a"); err == nil {
		t.Error("the lease of a process that runs was taken")
	}
}

func TestNodesShareThePartitions(t *testing.T) {
	w := newWorld(t, 16)
	w.add("a", "dir-a")
	if v := w.mustRound("a"); len(v.own) != 16 {
		t.Fatalf("one node owns %d of 16 partitions", len(v.own))
	}
	w.add("b", "dir-b")
	w.add("c", "dir-c")
	for range 4 {
		for _, name := range []string{"a", "b", "c"} {
			w.mustRound(name)
		}
		w.at += testLease / 3
	}
	for name, want := range map[string]int{"a": 6, "b": 5, "c": 5} {
		if v := w.mustRound(name); len(v.own) != want {
			t.Errorf("%s owns %d partitions, want %d", name, len(v.own), want)
		}
	}
}

func TestNameInUse(t *testing.T) {
	w := newWorld(t, 4)
	w.add("a", "dir-a")
	w.mustRound("a")
	for dir, same := range map[string]bool{"dir-b": false, "dir-a": true} {
		w.members["a2"] = newMember(w.nodes, w.state, fakeClock{&w.at}, testLease, testMargin,
			leaseValue{Node: "a", Dir: dir})
		_, err := w.round("a2")
		var used *InUseError
		if !errors.As(err, &used) || used.Same != same {
			t.Errorf("%s: %v", dir, err)
		}
	}
	w.at += testLease
	if _, err := w.round("a2"); err != nil {
		t.Errorf("the lease has expired, but: %v", err)
	}
}

// The successor begins at the end of the lease and the margin; the owner stops a margin before the end.
func TestSuccessorWaits(t *testing.T) {
	w := newWorld(t, 8)
	a := w.add("a", "dir-a")
	w.add("b", "dir-b")
	w.mustRound("a")
	w.mustRound("b")
	w.mustRound("a")
	w.mustRound("b")
	a.lease.renew(t.Context(), Report{}, false)
	renewed := w.at
	w.cut["a"] = true
	for len(w.mustRound("b").own) < 8 {
		if a.lease.remaining() > 0 && w.at >= renewed+testLease-testMargin {
			t.Fatalf("a may still request %s after its renewal", w.at-renewed)
		}
		if w.at > renewed+2*testLease {
			t.Fatal("b never takes over")
		}
		w.at += time.Second / 2
	}
	if got := w.at - renewed; got < testLease+testMargin || got > testLease+testMargin+2*time.Second {
		t.Errorf("b takes over %s after the last renewal", got)
	}
	w.cut["a"] = false
	v, begun, err := a.round(t.Context(), Report{}, false)
	if !errors.As(err, new(*InUseError)) { // the fenced lease must expire first
		t.Errorf("a returns with %v, %v, %v", v, begun, err)
	}
	w.at += testLease
	if v := w.mustRound("a"); len(v.own) != 0 {
		t.Errorf("a takes %v although b has not handed over anything", v.own)
	}
}

// A renewal whose answer is lost was stored, so the next one must go on from it.
func TestLostAnswer(t *testing.T) {
	w := newWorld(t, 4)
	a := w.add("a", "dir-a")
	w.mustRound("a")
	epoch := a.lease.owner()
	w.at += testLease / 3
	w.nodes.lost = true
	if _, err := w.round("a"); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	before := a.lease.remaining()
	w.at += time.Second
	if v := w.mustRound("a"); v.self != epoch || len(v.own) != 4 || a.lease.remaining() <= before {
		t.Errorf("after a lost answer: %v, remaining %s, was %s", v, a.lease.remaining(), before)
	}
}

// A node that was cut off for long takes a new lease, and its own partitions without the wait for another node.
func TestOwnPartitionsAgain(t *testing.T) {
	w := newWorld(t, 4)
	a := w.add("a", "dir-a")
	first := w.mustRound("a").self
	w.at += 2 * testLease
	if a.lease.remaining() > 0 {
		t.Fatal("the lease goes on")
	}
	v := w.mustRound("a")
	if v.self == first || v.self.Epoch <= first.Epoch || len(v.own) != 4 {
		t.Errorf("%v after %v", v, first)
	}
}

// A node keeps its partitions if the store has announced that its lease has expired, and not yet that it has a new one.
func TestLateAnnouncement(t *testing.T) {
	w := newWorld(t, 4)
	w.add("a", "dir-a")
	w.mustRound("a")
	w.at += 2 * testLease
	w.nodes.old = []entry{}
	if v := w.mustRound("a"); len(v.own) != 4 || len(v.members) != 1 {
		t.Errorf("the node owns %v of the cluster of %v", v.own, v.members)
	}
}

// When the servers were unreachable for longer than the leases, the node that reaches them first leaves the others
// time to take new leases.
func TestFirstAfterOutage(t *testing.T) {
	w := newWorld(t, 4)
	w.add("a", "dir-a")
	w.add("b", "dir-b")
	for range 3 {
		w.mustRound("a")
		w.mustRound("b")
	}
	w.at += 2 * testLease
	w.mustRound("a")
	w.at += time.Second
	w.mustRound("a")
	if v := w.mustRound("b"); len(v.own) != 2 {
		t.Errorf("b owns %v", v.own)
	}
	w.at += 2 * testMargin
	if v := w.mustRound("a"); len(v.own) != 2 {
		t.Errorf("a owns %v", v.own)
	}
}

// In any order of rounds, cuts and pauses, no two nodes may request at the same time, and a partition has its new owner
// at least two margins after the last moment at which the old one could request.
func TestNeverTwoOwners(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, 12)
		names := []string{"a", "b", "c", "d"}
		last := make([]time.Duration, 12) // when a partition could last be requested
		by := make([]Owner, 12)
		released := make([]bool, 12)
		for _, n := range names {
			w.add(n, "dir-"+n)
		}
		for range 400 {
			name := names[random.IntN(len(names))]
			switch random.IntN(12) {
			case 0:
				w.cut[name] = !w.cut[name]
			case 1:
				w.at += time.Duration(random.Int64N(int64(2 * testLease)))
			default:
				w.at += time.Duration(random.Int64N(int64(testLease / 8)))
				w.nodes.lost = random.IntN(10) == 0
				m := w.members[name]
				before := slices.Clone(m.table.owned(m.lease.owner()))
				v, err := w.round(name)
				w.nodes.lost = false
				if err != nil {
					continue
				}
				for _, p := range before {
					if !slices.Contains(v.own, p) {
						released[p] = true
					}
				}
			}
			for _, n := range names {
				m := w.members[n]
				for _, p := range m.table.owned(m.lease.owner()) {
					if m.lease.remaining() <= 0 {
						continue
					}
					if by[p] != m.lease.owner() && by[p].Node != n && !released[p] && by[p] != (Owner{}) &&
						w.at-last[p] < 2*testMargin {
						t.Fatalf("seed %d: partition %d goes from %s to %s after %s", seed, p, by[p], m.lease.owner(),
							w.at-last[p])
					}
					by[p], last[p], released[p] = m.lease.owner(), w.at, false
				}
			}
		}
	}
}

func TestTableForm(t *testing.T) {
	table := Table{[]Owner{{"a", 7}, {}, {"b", 9}, {"a", 7}}}
	text, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	var again Table
	if err := json.Unmarshal(text, &again); err != nil || !slices.Equal(again.Owners, table.Owners) {
		t.Errorf("%s becomes %v, %v", text, again, err)
	}
	for _, bad := range []string{`{"nodes":[],"owners":[0]}`, `{"nodes":[],"owners":[-2]}`, `[]`} {
		if json.Unmarshal([]byte(bad), &again) == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	big := Table{make([]Owner, 1024)}
	for p := range big.Owners {
		big.Owners[p] = Owner{fmt.Sprintf("node%d", p%100), uint64(p % 100)}
	}
	if text, _ := json.Marshal(big); len(text) > 16<<10 {
		t.Errorf("the table of 1024 partitions and 100 nodes has %d bytes", len(text))
	}
}
