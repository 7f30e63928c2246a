package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// The status of a cluster lists of which partitions each node has the only pages, also of a node that has ended.
func TestStatusOneNode(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a", "b")
	stored := map[string]*cluster.Partitions{"a": {}, "b": {}}
	for _, capture := range f.object("archive", "ls")["captures"].([]any) {
		c := capture.(map[string]any)
		u, err := url.Parse(c["url"].(string))
		if err != nil {
			t.Fatal(err)
		}
		stored[c["node"].(string)].Add(address.Partition(u.Host, 12))
	}
	want := func(bRuns bool) string {
		text, err := json.Marshal([]cluster.Alone{{Node: "a", Running: true, Partitions: stored["a"].Ranges()},
			{Node: "b", Running: bRuns, Partitions: stored["b"].Ranges()}})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`"one_node":%s`, text)
	}
	if len(*stored["a"]) == 0 || len(*stored["b"]) == 0 {
		t.Fatal("one node has all pages, so this test proves little")
	}
	f.await("the status lists the partitions of both nodes", func() bool {
		return strings.Contains(f.run("cluster", "status", "--json").stdout, want(true))
	})
	if err := f.nodes["b"].Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	f.nodes["b"].Wait()
	if got := f.run("cluster", "status", "--json"); !strings.Contains(got.stdout, want(false)) {
		t.Errorf("b has ended: %+v, want %s", got, want(false))
	}
	got := f.run("cluster", "status")
	for _, line := range []string{"\n  a: " + rangesInWords(stored["a"].Ranges()) + "\n",
		"\n  b (does not run): " + rangesInWords(stored["b"].Ranges()) + "\n"} {
		if !strings.Contains(got.stdout, line) {
			t.Errorf("%q is not in %s", line, got.stdout)
		}
	}
}

func TestRangesInWords(t *testing.T) {
	var many [][2]int
	for p := 0; p < 100; p += 2 {
		many = append(many, [2]int{p, p})
	}
	for _, test := range []struct {
		ranges [][2]int
		want   string
	}{
		{[][2]int{{0, 340}, {512, 512}}, "0-340, 512"},
		{append(many[:11:11], [2]int{30, 1023}), "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 30-1023"},
		{many, "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, … and 38 more (--json lists all)"},
		{nil, "it has not reported its partitions yet"},
	} {
		if got := rangesInWords(test.ranges); got != test.want {
			t.Errorf("%v: %q", test.ranges, got)
		}
	}
}
