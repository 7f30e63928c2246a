package cluster

import (
	"fmt"
	"slices"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/natstest"
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

// TestReleasedIsNotIdle checks that a node does not say that it is idle while it hands over a partition: what is queued
// there is in nobody's frontier, but by the table the partition still belongs to the node.
func TestReleasedIsNotIdle(t *testing.T) {
	n := &Node{seeds: Seeds{"http://a.example/": 1}, pages: func() int { return 0 }}
	n.frontier = newFakeFrontier(n)
	if !n.report().Idle {
		t.Error("a node without anything to do is not idle")
	}
	n.released = []int{0}
	if n.report().Idle {
		t.Error("a node is idle that has released a partition")
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
