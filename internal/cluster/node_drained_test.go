package cluster

import (
	"fmt"
	"slices"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// TestDrainedNodeDoesNotEndTheCrawl checks that a node that has handed everything over does not say that the crawl has
// ended: the other nodes may be idle until they have opened what it had queued.
func TestDrainedNodeDoesNotEndTheCrawl(t *testing.T) {
	o := testOptions(natstest.One(t), "a", testSettings(4))
	a, fa := startNode(t, o)
	eventually(t, "a has all partitions", func() bool { return len(fa.owned()) == 4 })
	o.Node, o.Dir = "b", "dir-b"
	b, fb := startNode(t, o)
	eventually(t, "b has its share", func() bool { return len(fb.owned()) == 2 })
	seed := ""
	for i := 0; seed == ""; i++ {
		if host := fmt.Sprintf("h%d.example", i); slices.Contains(fb.owned(), b.Partition(host)) {
			seed = "http://" + host + "/"
		}
	}
	if err := b.AddSeeds(t.Context(), []string{seed}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b has queued the seed", func() bool { return fb.Counts().Queued == 1 })
	drained := make(chan error, 1)
	go func() { drained <- Drain(t.Context(), o, "b", nil) }()
	<-b.Ended()
	last := leaseOf(t, a, "b").revision
	eventually(t, "b reports again", func() bool { return leaseOf(t, a, "b").revision > last })
	if v, err := readLease(leaseOf(t, a, "b")); err != nil || !v.Idle || v.Done {
		t.Errorf("the report of the drained node: %+v, %v", v, err)
	}
	eventually(t, "a has queued the seed", func() bool { return fa.Counts().Queued == 1 })
	select {
	case <-a.Ended():
		t.Error("the crawl has ended, but an address is queued")
	default:
	}
	if err := b.Leave(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// TestNotIdle checks that a node does not say that it is idle while the table gives it a partition that it has released
// or could not open: what is queued there is in nobody's frontier.
func TestNotIdle(t *testing.T) {
	n := &Node{seeds: Seeds{"http://a.example/": 1}, pages: func() int { return 0 }}
	n.frontier = newFakeFrontier(n)
	n.member = &member{lease: &lease{value: leaseValue{Node: "a", Epoch: 7}}}
	n.owners = []Owner{{"a", 7}, {"a", 6}, {"b", 8}}
	n.parts = map[int]*part{0: {state: open}}
	if !n.report().Idle {
		t.Error("a node without anything to do is not idle")
	}
	for what, change := range map[string]func(){
		"released": func() { n.released = []int{0} },
		"absent":   func() { delete(n.parts, 0) },
		"opening":  func() { n.parts[0] = &part{state: opening} },
		"dirty":    func() { n.parts[0] = &part{state: open, dirty: true} },
	} {
		change()
		if n.report().Idle {
			t.Errorf("a node is idle, but one of its partitions is %s", what)
		}
		n.released, n.parts = nil, map[int]*part{0: {state: open}}
	}
}

// leaseOf returns the lease of a node as another one has heard of it.
func leaseOf(t *testing.T, n *Node, name string) entry {
	t.Helper()
	for _, e := range n.link.nodes.list() {
		if e.key == name {
			return e
		}
	}
	t.Fatalf("node %s has no lease", name)
	return entry{}
}
