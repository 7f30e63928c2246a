package cluster

import (
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

func TestBudgetIsShared(t *testing.T) {
	servers := natstest.One(t)
	s := testSettings(4)
	a, _ := startNode(t, testOptions(servers, "a", s))
	b, _ := startNode(t, testOptions(servers, "b", s))
	const limit = 50
	all, calls := 0, 0
	for n := a; ; calls++ {
		k, err := n.ReservePages(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			break
		}
		if all += k; n == a {
			n = b
		} else {
			n = a
		}
	}
	if all != limit || calls < 8 {
		t.Errorf("the nodes reserved %d of %d page requests in %d calls", all, limit, calls)
	}
	if err := a.ReturnPages(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if k, err := b.ReservePages(t.Context(), limit); k != 1 || err != nil {
		t.Errorf("of 3 returned page requests %d are reserved: %v", k, err)
	}
	for n, want := range map[*Node]int64{a: 20, b: 20} {
		if _, err := n.AddBytes(t.Context(), want); err != nil {
			t.Fatal(err)
		}
	}
	if sum, err := a.AddBytes(t.Context(), 0); err != nil || sum != 40 {
		t.Errorf("the nodes have received %d bytes: %v", sum, err)
	}
	for _, n := range []*Node{a, b} {
		if err := n.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := startNode(t, testOptions(servers, "c", s))
	if k, err := c.ReservePages(t.Context(), 4); k != 1 || err != nil {
		t.Errorf("a new crawl can reserve %d: %v", k, err)
	}
}
