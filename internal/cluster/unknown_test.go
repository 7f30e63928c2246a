package cluster

import (
	"context"
	"errors"
	"testing"

	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// A node does not know whether the servers have stored something if their answer did not arrive in time. These tests
// check what it does next.

// An empty message of the journal was stored although its time limit had passed. The node still owns the partition.
func TestAbandonedMessage(t *testing.T) {
	t.Parallel()
	a, fa := startNode(t, testOptions(natstest.One(t), "a", testSettings(1)))
	if err := a.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := messages(t, a)
	end := a.journal.part(0)
	end.mu.Lock()
	if err := a.journal.send(a.journal.message(0, end, nil)); err != nil { // nobody awaits it
		t.Fatal(err)
	}
	end.mu.Unlock()
	eventually(t, "the message is stored", func() bool { return messages(t, a) > before })
	if err := fa.write(0, fakePut{Address: "http://a.example/"}); err != nil {
		t.Error(err)
	}
	if len(fa.owned()) != 1 {
		t.Error("the node has lost the partition to itself")
	}
}

// Links that a node has queued and not removed are removed later, also by another node. Otherwise the crawl would never
// end.
func TestQueuedLinksAreRemoved(t *testing.T) {
	t.Parallel()
	a, fa := startNode(t, testOptions(natstest.One(t), "a", testSettings(1)))
	if err := a.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	fa.mu.Lock()
	fa.parts[0].links = 10 // the journal says that the first ten are queued
	fa.mu.Unlock()
	if err := a.Send(t.Context(), []crawler.Offer{{URL: "http://a.example/", State: crawler.Queued}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the links are removed", func() bool {
		left, err := a.link.linksLeft(t.Context())
		return err == nil && len(left) == 0
	})
	if len(fa.owned()) != 1 || len(fa.parts[0].addresses) != 0 {
		t.Error("the links were queued again")
	}
}

// The servers may have stored that a node is idle although the node does not know it. Then it says that it has work
// before it removes links. Otherwise the others would conclude that the crawl has ended.
func TestUnknownReport(t *testing.T) {
	t.Parallel()
	n, err := Join(t.Context(), testOptions(natstest.One(t), "a", testSettings(1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Abandon)
	n.frontier, n.seeds = newFakeFrontier(n), Seeds{"http://a.example/": crawler.FirstSeed}
	r := &rounds{Node: n}
	stored := func() leaseValue {
		e, err := n.link.nodes.get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		v, err := readLease(e)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	before := stored()
	if err := r.sayBusy(t.Context()); err != nil || stored().Report != before.Report {
		t.Errorf("a node that was never idle says %+v, %v", stored(), err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.renew(gone); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := r.sayBusy(t.Context()); err != nil || stored().Idle || stored().Work != before.Work+1 {
		t.Errorf("after a report without an answer: %+v, %v", stored(), err)
	}
}

// No consumer is left behind when a node has read journals: the servers permit few.
func TestNoConsumersAreLeft(t *testing.T) {
	t.Parallel()
	servers := natstest.One(t)
	a, fa := startNode(t, testOptions(servers, "a", testSettings(4)))
	if err := a.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for p := range 4 {
		if err := fa.write(p, fakePut{Address: "http://a.example/"}); err != nil {
			t.Fatal(err)
		}
	}
	b, fb := startNode(t, testOptions(servers, "b", testSettings(4)))
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b has its share", func() bool { return len(fb.owned()) == 2 })
	eventually(t, "no consumer is left", func() bool {
		info, err := b.link.journal.Info(t.Context())
		return err == nil && info.State.Consumers == 0
	})
}

// A node whose lease has run out takes no journal over, whatever it knew before: another node may be the owner.
func TestNoAdoptionWithoutLease(t *testing.T) {
	t.Parallel()
	n, err := Join(t.Context(), testOptions(natstest.One(t), "a", testSettings(1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Abandon)
	n.frontier = newFakeFrontier(n)
	r := &rounds{Node: n, slots: make(chan struct{}, 1), view: view{self: n.member.lease.owner(), own: []int{0}}}
	n.member.lease.mu.Lock()
	n.member.lease.until = 0
	n.member.lease.mu.Unlock()
	r.reconcile(t.Context())
	if list := n.inState(opening, open, closing); len(list) > 0 {
		t.Errorf("the node takes over %v", list)
	}
	if err := r.rebuild(t.Context(), 0); !errors.Is(err, errLeaseLost) {
		t.Errorf("the node takes the journal over: %v", err)
	}
}
