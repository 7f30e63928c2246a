package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

func TestPartitions(t *testing.T) {
	var s Partitions
	if got := fmt.Sprint(s.Ranges(), s.Has(0)); got != "[] false" {
		t.Error(got)
	}
	for _, p := range []int{16383, 7, 8, 0, 9, 300} {
		if before := s.Clone(); !s.Add(p) || s.Add(p) || before.Has(p) || !s.Has(p) {
			t.Errorf("%d is not added once", p)
		}
	}
	if got := fmt.Sprint(s.Ranges()); got != "[[0 0] [7 9] [300 300] [16383 16383]]" {
		t.Error(got)
	}
}

// TestOneNode checks that the status lists the partitions of which nodes have pages that are nowhere else, also of
// nodes that do not run, and that a report stays when a node confirms orders and when it is started again.
func TestOneNode(t *testing.T) {
	a, b, o := testOrders(t)
	check := func(what, want string) {
		t.Helper()
		s, err := QueryStatus(t.Context(), o)
		if text, _ := json.Marshal(s.OneNode); err != nil || string(text) != want {
			t.Errorf("%s: %s, %v", what, text, err)
		}
	}
	check("without pages", `[]`)
	for _, list := range []*Orders{a, b} {
		if err := list.Register(t.Context(), 0, false); err != nil {
			t.Fatal(err)
		}
	}
	a0, b0 := `{"node":"a","running":true,"partitions":null}`, `{"node":"b","running":false,"partitions":null}`
	check("before the first report", `[`+a0+`,`+b0+`]`)
	if err := a.Report(t.Context(), Stock{Copies: CopiesOneNode}); err != nil {
		t.Fatal(err)
	}
	check("a has no pages", `[`+b0+`]`)
	var stored Partitions
	for _, p := range []int{0, 1, 3} {
		stored.Add(p)
	}
	is := Stock{CopiesOneNode, stored}
	err := errors.Join(a.Report(t.Context(), is), b.Report(t.Context(), is), b.Confirm(t.Context(), 7))
	if err != nil {
		t.Fatal(err)
	}
	check("pages on both", `[{"node":"a","running":true,"partitions":[[0,1],[3,3]]},`+
		`{"node":"b","running":false,"partitions":[[0,1],[3,3]]}]`)
	if err := b.Report(t.Context(), Stock{CopiesObjectStore, stored}); err != nil {
		t.Fatal(err)
	}
	check("b has copies", `[{"node":"a","running":true,"partitions":[[0,1],[3,3]]}]`)
	again := o
	again.Node, again.Dir = "b", "dir-b"
	next, _, err := OpenOrders(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if err := errors.Join(next.Register(t.Context(), 0, true), next.Confirm(t.Context(), 9)); err != nil {
		t.Fatal(err)
	}
	if got := next.Reported(); got.Copies != CopiesObjectStore || !got.Stored.Has(3) {
		t.Errorf("the next process does not know what was reported: %+v", got)
	}
	check("the next process confirms orders", `[{"node":"a","running":true,"partitions":[[0,1],[3,3]]}]`)
	if err := Remove(t.Context(), o, "b"); err != nil {
		t.Fatal(err)
	}
	check("b is removed", `[{"node":"a","running":true,"partitions":[[0,1],[3,3]]}]`)
}
