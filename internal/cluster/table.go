package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Owner identifies one process of a node: Epoch is greater than that of every earlier process. The zero value means
// that nobody owns a partition.
type Owner struct {
	Node  string `json:"node"`
	Epoch uint64 `json:"epoch"`
}

func (o Owner) String() string { return fmt.Sprintf("node %s (epoch %d)", o.Node, o.Epoch) }

// compare orders owners by name and epoch.
func (o Owner) compare(p Owner) int {
	return cmp.Or(cmp.Compare(o.Node, p.Node), cmp.Compare(o.Epoch, p.Epoch))
}

// Table says who owns each partition. It changes by compare-and-set of the whole.
type Table struct {
	Owners []Owner // by partition
}

// storedTable is the form in which a Table is stored: each owner once, and for each partition the index of its owner,
// or -1.
type storedTable struct {
	Nodes  []Owner `json:"nodes"`
	Owners []int   `json:"owners"`
}

// MarshalJSON implements json.Marshaler.
func (t Table) MarshalJSON() ([]byte, error) {
	s := storedTable{Nodes: []Owner{}, Owners: make([]int, len(t.Owners))}
	index := map[Owner]int{{}: -1}
	for p, o := range t.Owners {
		i, known := index[o]
		if !known {
			i = len(s.Nodes)
			index[o], s.Nodes = i, append(s.Nodes, o)
		}
		s.Owners[p] = i
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Table) UnmarshalJSON(text []byte) error {
	var s storedTable
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	t.Owners = make([]Owner, len(s.Owners))
	for p, i := range s.Owners {
		if i < -1 || i >= len(s.Nodes) {
			return fmt.Errorf("partition %d has the owner %d of %d", p, i, len(s.Nodes))
		}
		if i >= 0 {
			t.Owners[p] = s.Nodes[i]
		}
	}
	return nil
}

// owned returns the partitions of an owner.
func (t *Table) owned(by Owner) (list []int) {
	for p, o := range t.Owners {
		if o == by {
			list = append(list, p)
		}
	}
	return list
}

// share returns how many of n partitions belong to the node self. nodes are the names of the nodes that take
// partitions.
func share(n int, nodes []string, self string) int {
	nodes = slices.Sorted(slices.Values(nodes))
	i := slices.Index(nodes, self)
	if i < 0 {
		return 0
	}
	s := n / len(nodes)
	if i < n%len(nodes) {
		s++
	}
	return s
}

// plan returns the partitions that self should claim, and those that it should hand over, so that in the end each node
// has its share. free reports whether the partitions of an owner may be claimed. Nodes begin to claim at different
// partitions, so that they seldom compete.
func plan(t *Table, nodes []string, self Owner, free func(Owner) bool) (claim, give []int) {
	own := t.owned(self)
	quota := share(len(t.Owners), nodes, self.Node)
	if len(own) >= quota {
		return nil, own[quota:]
	}
	rank := max(slices.Index(slices.Sorted(slices.Values(nodes)), self.Node), 0)
	first := rank * len(t.Owners) / max(len(nodes), 1)
	for i := range t.Owners {
		p := (first + i) % len(t.Owners)
		if o := t.Owners[p]; len(own)+len(claim) < quota && o != self && (o == Owner{} || free(o)) {
			claim = append(claim, p)
		}
	}
	slices.SortFunc(claim, cmp.Compare)
	return claim, nil
}
