package cluster

import (
	"context"
	"fmt"
	"net"
)

// Service is the name of a service that nodes offer to other nodes and processes.
type Service string

const (
	ErrandService Service = "errand" // makes requests to hosts for nodes that do not own them
	VerbService   Service = "verb"   // runs verbs for callers, and answers readers
)

func callSubject(node string, s Service) string { return callPrefix + node + "." + string(s) }

// Listen accepts calls of other nodes and of other processes, until the node leaves or the listener is closed. Whoever
// may publish at the subjects of the cluster can call; only the servers restrict this.
func (n *Node) Listen(s Service) (net.Listener, error) {
	return Listen(n.link.nc, callSubject(n.name, s))
}

// CallOwner calls the node that owns the partition of a host. The error wraps ErrNobody if no node owns it now, or if
// this node owns it itself.
func (n *Node) CallOwner(ctx context.Context, host string, s Service) (net.Conn, error) {
	p := n.Partition(host)
	n.mu.Lock()
	owner := Owner{}
	if p < len(n.owners) {
		owner = n.owners[p]
	}
	n.mu.Unlock()
	if owner == (Owner{}) || owner.Node == n.name {
		return nil, fmt.Errorf("%w: partition %d has no other owner at the moment", ErrNobody, p)
	}
	return Dial(ctx, n.link.nc, callSubject(owner.Node, s))
}
