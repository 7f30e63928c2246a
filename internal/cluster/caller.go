package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// Peer is a node that runs.
type Peer struct {
	Node    string
	Version string // of the program
	Reader  bool   // it only answers callers: it owns no partitions
}

// Caller is a connection of a process that calls nodes and is not a node itself. It is safe for concurrent use.
type Caller struct {
	link     *link
	clock    Clock
	settings Settings
}

// Open connects to the cluster. The error wraps ErrNoQuorum or is ErrNoCluster.
func Open(ctx context.Context, o Options) (*Caller, error) {
	l, settings, err := reach(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Caller{l, o.clock(), settings}, nil
}

// Close ends the connection.
func (c *Caller) Close() { c.link.close() }

// Members returns the nodes whose leases have not expired, by name. If the servers do not answer, it returns those
// that they announced last.
func (c *Caller) Members(ctx context.Context) (list []Peer, err error) {
	for _, e := range c.link.nodes.list() {
		now, err := currentLease(ctx, c.link.nodes, c.clock, c.settings.Lease, e)
		if errors.Is(err, errMissing) {
			continue
		} else if err == nil {
			e = now
		}
		v, err := readLease(e)
		if err != nil {
			return nil, fmt.Errorf("the lease of node %s cannot be read: %w", e.key, err)
		}
		if !v.Fenced && ValidName(v.Node) == nil {
			list = append(list, Peer{v.Node, v.Version, v.Reader})
		}
	}
	slices.SortFunc(list, func(a, b Peer) int { return cmp.Compare(a.Node, b.Node) })
	return list, ctx.Err()
}

// Stopped returns the names of the nodes that may have archived pages and do not run, as the servers announced last.
// Forgotten nodes are not included.
func (c *Caller) Stopped(ctx context.Context) (list []string, err error) {
	running, err := c.Members(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range c.link.progress() {
		if !slices.ContainsFunc(running, func(is Peer) bool { return is.Node == p.Node }) {
			list = append(list, p.Node)
		}
	}
	return list, nil
}

// Owner returns the node that crawls a host, as the servers announced last; "" if none does.
func (c *Caller) Owner(host string) (string, error) {
	for _, e := range c.link.state.list() {
		if e.key != tableKey {
			continue
		}
		var t Table
		if err := json.Unmarshal(e.value, &t); err != nil {
			return "", fmt.Errorf("the table of partitions is damaged: %w", err)
		}
		if len(t.Owners) == 0 {
			return "", nil
		}
		return t.Owners[address.Partition(host, len(t.Owners))].Node, nil
	}
	return "", nil
}

// Call opens a stream to a node. The context limits only the dialing.
func (c *Caller) Call(ctx context.Context, node string) (net.Conn, error) {
	return Dial(ctx, c.link.nc, callSubject(node, VerbService))
}
