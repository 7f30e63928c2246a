package cluster

import "context"

// budget is what the nodes of a cluster have used of what a crawl may use. It begins anew when a node joins a cluster
// in which no other node runs.
type budget struct {
	Pages int   `json:"pages"` // page requests that nodes have reserved
	Bytes int64 `json:"bytes"` // bytes of bodies that nodes have received
}

// ReservePages reserves page requests, of which all nodes together may make limit. It returns the number of reserved
// requests: at most a quarter of the node's share of the rest, so that no node runs out of them while another has many.
// 0 means that none are left.
func (n *Node) ReservePages(ctx context.Context, limit int) (reserved int, err error) {
	n.mu.Lock()
	nodes := max(n.running, 1)
	n.mu.Unlock()
	_, err = n.changeBudget(ctx, func(b *budget) {
		left := max(limit-b.Pages, 0)
		reserved = min(max(left/(4*nodes), 1), left)
		b.Pages += reserved
	})
	return reserved, err
}

// ReturnPages gives back page requests that this node has reserved but not made.
func (n *Node) ReturnPages(ctx context.Context, unused int) error {
	if unused == 0 {
		return nil
	}
	_, err := n.changeBudget(ctx, func(b *budget) { b.Pages -= unused })
	return err
}

// AddBytes adds to the number of bytes that all nodes have received, and returns the sum.
func (n *Node) AddBytes(ctx context.Context, received int64) (int64, error) {
	b, err := n.changeBudget(ctx, func(b *budget) { b.Bytes += received })
	return b.Bytes, err
}

// changeBudget changes the budget by compare-and-set.
func (n *Node) changeBudget(ctx context.Context, fn func(*budget)) (budget, error) {
	return changeValue(ctx, n.link.state, budgetKey, "the budget of the cluster is damaged",
		func(b *budget) (bool, error) {
			before := *b
			fn(b)
			return *b != before, nil
		})
}

// resetBudget begins a new budget if no other node runs.
func (n *Node) resetBudget(ctx context.Context) error {
	for _, e := range n.link.nodes.list() {
		if v, err := readLease(e); err != nil || v.Node != n.name && !v.Fenced {
			return err
		}
	}
	_, err := n.changeBudget(ctx, func(b *budget) { *b = budget{} })
	return err
}
