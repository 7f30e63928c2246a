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
	link     *link // without stores if the servers had no quorum when it was opened
	clock    Clock
	settings Settings
}

// Open connects to the cluster. Without a quorum the Caller knows only the nodes that answer it. The error wraps
// ErrNoQuorum if none does, or is ErrNoCluster.
func Open(ctx context.Context, o Options) (*Caller, error) {
	nc, err := dialServers(o)
	if err != nil {
		return nil, err
	}
	c := &Caller{link: &link{nc: nc}, clock: o.clock()}
	if err = c.link.open(ctx, c.clock); err == nil {
		c.settings, _, err = c.link.settings(ctx)
	}
	if errors.Is(err, ErrNoQuorum) {
		c.link.closeBuckets()
		if peers, askErr := c.Members(ctx); askErr == nil && len(peers) > 0 {
			return c, nil
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection.
func (c *Caller) Close() { c.link.close() }

// Quorum reports whether the servers had a quorum when the Caller was opened.
func (c *Caller) Quorum() bool { return c.link.nodes != nil }

// Members returns the nodes whose leases have not expired, by name. If the servers do not answer any more, it returns
// those that they announced last; without a quorum from the beginning, those that answer.
func (c *Caller) Members(ctx context.Context) (list []Peer, err error) {
	if !c.Quorum() {
		s, err := statusOfNodes(ctx, c.link.nc)
		for _, n := range s.Nodes {
			list = append(list, Peer{n.Node, n.Version, n.Reader})
		}
		return list, cmp.Or(err, ctx.Err())
	}
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
// Removed nodes are not included. Without a quorum they are not known.
func (c *Caller) Stopped(ctx context.Context) (list []string, err error) {
	if !c.Quorum() {
		return nil, nil
	}
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

// Owner returns the node that crawls a host, as the servers announced last; "" if none does, or without a quorum.
func (c *Caller) Owner(host string) (string, error) {
	if !c.Quorum() {
		return "", nil
	}
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
