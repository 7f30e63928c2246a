package cluster

import (
	"bytes"
	"crypto/rand"
	"errors"
	"slices"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// testOrders returns the orders of a new cluster, for the data directories of two nodes.
func testOrders(t *testing.T) (a, b *Orders, o Options) {
	t.Helper()
	o = Options{Servers: natstest.One(t), Node: "a", Dir: "dir-a", Settings: testSettings(4)}
	n, err := Join(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Abandon)
	a = n.Orders()
	apart := o
	apart.Node, apart.Dir = "b", "dir-b"
	b, id, err := OpenOrders(t.Context(), apart)
	if err != nil || id != n.Settings().ID {
		t.Fatal(id, err)
	}
	t.Cleanup(b.Close)
	return a, b, o
}

func publish(t *testing.T, o *Orders, kind, key, data string, after uint64) uint64 {
	t.Helper()
	position, err := o.Publish(t.Context(), kind, key, []byte(data), after)
	if err != nil {
		t.Fatal(err)
	}
	return position
}

// TestOrders checks that an order replaces the last one with its key only, and that a node reads all that are left.
func TestOrders(t *testing.T) {
	a, b, _ := testOrders(t)
	first := publish(t, a, "policy", "http://a.example", "one", 0)
	second := publish(t, b, "policy", "http://b.example", "other", 0)
	if _, err := b.Publish(t.Context(), "policy", "http://a.example", []byte("late"),
		0); !errors.Is(err, ErrOvertaken) {
		t.Errorf("an order that does not know the last one: %v", err)
	}
	third := publish(t, b, "policy", "http://a.example", "two", first)
	fourth := publish(t, a, "request", "http://a.example", "same key, other kind", 0)
	end, err := b.Mark(t.Context())
	if err != nil || end <= fourth {
		t.Errorf("the mark is %d after %d, %v", end, fourth, err)
	}
	var got []Order
	for from := uint64(1); ; {
		next, known, err := a.Next(t.Context(), "", from)
		if err != nil {
			t.Fatal(err)
		}
		if !known {
			break
		}
		got, from = append(got, next), next.Position+1
	}
	want := []Order{{second, "policy", "http://b.example", []byte("other")}, {third, "policy", "http://a.example",
		[]byte("two")}, {fourth, "request", "http://a.example", []byte("same key, other kind")},
		{end, markKind, "b", nil}}
	if !slices.EqualFunc(got, want, func(x, y Order) bool {
		return x.Position == y.Position && x.Kind == y.Kind && x.Key == y.Key && bytes.Equal(x.Data, y.Data)
	}) {
		t.Errorf("got %+v", got)
	}
	if next, known, err := b.Next(t.Context(), "request", 1); err != nil || !known || next.Position != fourth {
		t.Errorf("the first request is %+v, %t, %v", next, known, err)
	}
	last, known, err := b.Last(t.Context(), "policy", "http://a.example")
	if err != nil || !known || last.Position != third {
		t.Errorf("the last policy is %+v, %t, %v", last, known, err)
	}
	if _, known, err := b.Last(t.Context(), "policy", "http://c.example"); err != nil || known {
		t.Errorf("an order that nobody published: %t, %v", known, err)
	}
	large := make([]byte, 2<<20)
	if _, err := rand.Read(large); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Publish(t.Context(), "policy", "http://large.example", large, 0); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large order: %v", err)
	}
}

// TestOrdersProgress checks that the cluster knows which data directories have executed which orders, and that one that
// it has removed is not used any more.
func TestOrdersProgress(t *testing.T) {
	a, b, o := testOrders(t)
	for _, list := range []*Orders{a, b} {
		if err := list.Register(t.Context(), 0, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Confirm(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the progress is not known", func() bool {
		n := a.Nodes()
		return len(n) == 2 && n[0].Node == "a" && n[0].Dir == "dir-a" && n[0].Position == 0 && n[1].Node == "b" &&
			n[1].Dir == "dir-b" && n[1].Position == 7
	})
	if err := b.Register(t.Context(), 0, true); err != nil {
		t.Error(err)
	}
	refused := new(DrainError)
	if err := Remove(t.Context(), o, "a"); !errors.As(err, &refused) {
		t.Errorf("a node that runs is removed: %v", err)
	}
	if err := Remove(t.Context(), o, "b"); err != nil {
		t.Fatal(err)
	}
	if err := Remove(t.Context(), o, "b"); !errors.As(err, &refused) {
		t.Errorf("an unknown node is removed: %v", err)
	}
	eventually(t, "the node is removed", func() bool { return len(a.Nodes()) == 1 })
	removed := new(RemovedError)
	if err := b.Register(t.Context(), 7, true); !errors.As(err, &removed) {
		t.Errorf("the data directory of a removed node: %v", err)
	}
	other := &Orders{link: b.link, node: b.node, dir: "dir-c"}
	if err := other.Register(t.Context(), 3, false); err != nil {
		t.Errorf("a new data directory: %v", err)
	}
	if err := b.Register(t.Context(), 7, true); !errors.As(err, &removed) {
		t.Errorf("a data directory that another one has replaced: %v", err)
	}
}
