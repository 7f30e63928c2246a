package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NodeStatus describes a node.
type NodeStatus struct {
	Node       string    `json:"node"`
	Epoch      uint64    `json:"epoch"`
	Partitions int       `json:"partitions"`
	LeaseUntil time.Time `json:"lease_until"` // when the lease expires if it is not renewed
	Queue      int       `json:"queue"`       // queued addresses
	Due        int       `json:"due"`         // hosts with queued addresses
	// Lag is the age of the oldest link from other partitions that is not queued, in seconds.
	Lag        float64 `json:"lag_s"`
	Version    string  `json:"version"`
	InProgress int     `json:"in_progress"` // visits
	Pages      int     `json:"pages"`       // page requests that the node has made
	Draining   bool    `json:"draining,omitempty"`
	Reader     bool    `json:"reader,omitempty"` // it only answers readers: its data directory is served
	Copies     string  `json:"copies,omitempty"` // where its pages are, see Report.Copies
}

// status returns the status of a node with this lease, which expires at the time until.
func (v leaseValue) status(partitions int, until time.Time) NodeStatus {
	return NodeStatus{Node: v.Node, Epoch: v.Epoch, Partitions: partitions, LeaseUntil: until.UTC(), Queue: v.Queue,
		Due: v.Due, Lag: v.Lag, Version: v.Version, InProgress: v.InProgress, Pages: v.Pages, Draining: v.Drain,
		Reader: v.Reader, Copies: v.Copies}
}

// Status describes a cluster and its nodes.
type Status struct {
	Cluster    string       `json:"cluster"` // identifies the cluster
	Quorum     bool         `json:"quorum"`
	Nodes      []NodeStatus `json:"nodes"` // by name
	Partitions struct {
		Total  int `json:"total"`
		Owned  int `json:"owned"`  // by a node that runs
		Moving int `json:"moving"` // being taken over or handed over
	} `json:"partitions"`
	Queue      *int `json:"queue"` // null if no node that crawls runs, because it is not known then
	InProgress int  `json:"in_progress"`
	// how many servers store each stream of the cluster; null if that cannot be found out, for example without a quorum
	Replicas *Replicas `json:"replicas"`
	// pages that are in the data directory of one node only; null without a quorum, because it is not known then
	OneNode []Alone `json:"one_node"`
}

// Replicas says how many servers store the streams of a cluster.
type Replicas struct {
	Fewest int `json:"fewest"` // that run and have all of a stream: of the stream for which these are the fewest
	Wanted int `json:"wanted"` // 1 if there is a single server, otherwise 3
}

// Alone says which pages would be lost with the data directory of a node. A partition of which two nodes have pages is
// listed for both, because nodes do not copy pages from each other.
type Alone struct {
	Node    string `json:"node"`
	Running bool   `json:"running"`
	// the first and the last partition of each range of successive partitions; null if the node has not reported it yet
	Partitions [][2]int `json:"partitions"`
}

// ErrNoCluster means that the servers have no cluster.
var ErrNoCluster = errNoCluster

// QueryStatus returns the status of a cluster. Without a quorum, it contains what running nodes
// answer, or what the servers said last.
func QueryStatus(ctx context.Context, o Options) (s Status, err error) {
	nc, err := dialServers(o)
	if err != nil {
		return s, err
	}
	l := &link{nc: nc}
	defer l.close()
	switch err := l.open(ctx, o.clock()); {
	case errors.Is(err, ErrNoQuorum):
		return statusOfNodes(ctx, nc)
	case err != nil:
		return s, err
	}
	settings, _, err := l.settings(ctx)
	if err != nil {
		return s, err
	}
	s.Cluster, s.Nodes = settings.ID, []NodeStatus{}
	s.Quorum = l.quorum(ctx)
	t, _, err := readTable(ctx, l.state)
	if errors.Is(err, errMissing) { // the first node is making it
		return s, errNoCluster
	} else if err != nil {
		return s, err
	}
	s.Partitions.Total = len(t.Owners)
	for _, e := range l.nodes.list() {
		v, err := readLease(e)
		if err != nil {
			return s, err
		}
		if v.Fenced {
			continue
		}
		s.add(v.status(len(t.owned(v.owner())), e.stored.Add(settings.Lease)))
		s.Partitions.Moving += v.Moving
	}
	slices.SortFunc(s.Nodes, func(a, b NodeStatus) int { return cmp.Compare(a.Node, b.Node) })
	if s.Quorum {
		s.OneNode = s.alone(l.progress())
		s.Replicas, _ = l.replicas(ctx) // the rest of the status is true without it
	}
	return s, nil
}

// alone returns what is on one node only, by the reports of all nodes that belong to the cluster.
func (s *Status) alone(reports []Progress) []Alone {
	list := []Alone{}
	for _, p := range reports {
		a := Alone{Node: p.Node,
			Running: slices.ContainsFunc(s.Nodes, func(n NodeStatus) bool { return n.Node == p.Node })}
		if p.Copies != "" {
			a.Partitions = p.Stored.Ranges()
		}
		if p.Copies != CopiesObjectStore && (a.Partitions == nil || len(a.Partitions) > 0) {
			list = append(list, a)
		}
	}
	return list
}

// askTime is how long answers of nodes are awaited if the stores of the cluster do not answer.
const askTime = time.Second

// statusOfNodes returns what the nodes say of themselves while the cluster has no quorum.
func statusOfNodes(ctx context.Context, nc *nats.Conn) (s Status, err error) {
	s.Nodes = []NodeStatus{}
	inbox := nc.NewRespInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return s, err
	}
	defer sub.Unsubscribe()
	if err := nc.PublishRequest(askSubject, inbox, nil); err != nil {
		return s, unreachable(err)
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil { // nobody else answers
			break
		}
		var a answerOfNode
		if json.Unmarshal(msg.Data, &a) != nil || ValidName(a.Node) != nil {
			continue // the message of a node of another version, or of no node
		}
		s.Cluster, s.Partitions.Total = a.Cluster, a.Total
		s.add(a.NodeStatus)
	}
	slices.SortFunc(s.Nodes, func(a, b NodeStatus) int { return cmp.Compare(a.Node, b.Node) })
	return s, nil
}

// add adds a node to a status. Its partitions count as owned only if its lease has not run out.
func (s *Status) add(n NodeStatus) {
	s.Nodes = append(s.Nodes, n)
	s.Partitions.Owned += n.Partitions
	s.InProgress += n.InProgress
	if n.Reader {
		return
	}
	if s.Queue == nil {
		s.Queue = new(int)
	}
	*s.Queue += n.Queue
}

// answerOfNode is what a node answers at askSubject.
type answerOfNode struct {
	NodeStatus
	Cluster string `json:"cluster"`
	Total   int    `json:"total"` // partitions of the cluster
}

// answerStatus answers who asks for the status of this node.
func (n *Node) answerStatus(msg *nats.Msg) {
	v := n.member.lease.current()
	v.Report = n.report()
	until := n.clock.Now().Add(n.remaining() + n.settings.Margin)
	answerOfNode{v.status(len(n.inState(open, closing)), until), n.settings.ID, n.settings.Partitions}.respond(msg)
}

func (a answerOfNode) respond(msg *nats.Msg) {
	if text, err := json.Marshal(a); err == nil {
		_ = msg.Respond(text) // if it fails, the list of nodes that was asked for lacks this one
	}
}

// quorum reports whether the servers can store anything.
func (l *link) quorum(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_, err := l.state.kv.PutString(ctx, clockPrefix+"status", "x")
	return err == nil
}

// DrainError says why a node cannot be drained or removed.
type DrainError struct{ Why string }

func (e *DrainError) Error() string { return e.Why }

// Drain makes a node hand over its partitions and end, and waits until the node has ended. progress is called
// with the number of partitions that the node still has; it may be nil.
func Drain(ctx context.Context, o Options, node string, progress func(left int)) error {
	l, err := connect(ctx, o)
	if err != nil {
		return err
	}
	defer l.close()
	others := 0
	epoch := uint64(0)
	for _, e := range l.nodes.list() {
		v, err := readLease(e)
		if err != nil {
			return err
		}
		switch {
		case v.Node == node && v.Reader:
			return &DrainError{fmt.Sprintf("%s crawls nothing: its data directory is only served", node)}
		case v.Node == node && !v.Fenced:
			epoch = v.Epoch
		case !v.Fenced && !v.Drain && !v.Reader:
			others++
		}
	}
	switch {
	case epoch == 0:
		return &DrainError{fmt.Sprintf("the cluster has no node called %s", node)}
	case others == 0:
		return &DrainError{fmt.Sprintf("%s is the last node, so nobody can take over its partitions", node)}
	}
	if _, err := l.state.kv.PutString(ctx, drainPrefix+node, strconv.FormatUint(epoch, 10)); err != nil {
		return storeError(err)
	}
	return l.awaitDrained(ctx, Owner{node, epoch}, progress)
}

// awaitDrained waits until a node has ended.
func (l *link) awaitDrained(ctx context.Context, o Owner, progress func(left int)) error {
	before := -1
	for {
		e, err := l.nodes.get(ctx, o.Node)
		if err == nil {
			v, readErr := readLease(e)
			if readErr != nil {
				return readErr
			}
			if v.owner() != o {
				err = errMissing
			}
		}
		if errors.Is(err, errMissing) {
			break
		} else if err != nil {
			return err
		}
		t, _, err := readTable(ctx, l.state)
		if err != nil {
			return err
		}
		if left := len(t.owned(o)); left != before && progress != nil {
			progress(left)
			before = left
		}
		if err := wait(ctx, retryPause); err != nil {
			return err
		}
	}
	err := l.state.kv.Delete(ctx, drainPrefix+o.Node)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		err = nil
	}
	return storeError(err)
}
