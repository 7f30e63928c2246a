package simulation

import (
	"time"

	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// node is one machine. Its process may end and be started again.
type node struct {
	s     *Simulation
	name  string
	index int

	process int           // identifies the running process; 0: there is none
	ahead   time.Duration // of its clock, compared with true time
	paused  bool          // the process does not run until it is continued
	cutTo   bool          // what it sends to the store is lost
	cutFrom bool          // what the store sends to it is lost

	member        *cluster.Member
	leases, state *client
	loop

	parts    []partState
	visiting []int32 // visits by partition
	visits
}

type partState uint8

const (
	foreign partState = iota // another node owns the partition, as far as this node knows
	opening                  // being rebuilt from the journal
	open
	closing // being handed over
)

// Now implements cluster.Clock.
func (n *node) Now() time.Time { return wall(int64(n.s.now + n.ahead)) }

// Elapsed implements cluster.Clock.
func (n *node) Elapsed() time.Duration { return n.s.now + time.Duration(n.index+1)*time.Hour }

// runs reports whether the process makes progress.
func (n *node) runs() bool { return n.process != 0 && !n.paused }

// connected reports whether the node can write to journals.
func (n *node) connected() bool { return !n.cutTo && !n.cutFrom && !n.s.noQuorum }

// listens reports whether changes in the store reach the node.
func (n *node) listens() bool { return n.runs() && !n.cutFrom }

// begin starts a process.
func (n *node) begin() {
	s := n.s
	s.processes++
	n.process, n.paused = s.processes, false
	n.ahead = s.skew()
	margin := s.o.Margin
	if s.o.Broken.NoMargin {
		margin = 0
	}
	n.leases = &client{n: n, server: s.nodeServer, heard: map[string]cluster.Value{}, count: &s.result.Operations}
	n.state = &client{n: n, server: s.stateServer, heard: map[string]cluster.Value{}, count: &s.result.Operations}
	n.member = cluster.NewMember(n.leases, n.state, n, s.o.Lease, margin, n.name, n.name)
	n.parts, n.visiting = make([]partState, s.o.Partitions), make([]int32, s.o.Partitions)
	n.visits.reset(s)
	n.refresh()
	n.startLoop()
}

// end ends the process at once.
func (n *node) end() {
	for p, state := range n.parts {
		if state != foreign {
			n.s.idleSince[p] = n.s.now
		}
	}
	n.process = 0
	n.stopLoop()
	n.visits.reset(n.s)
	clear(n.parts)
}

// pause stops the process, and resume lets it go on.
func (n *node) pause() { n.paused = true }

func (n *node) resume() {
	n.paused = false
	n.refresh()
	n.unhang()
}

// cut loses what the node sends, or what is sent to it, or both.
func (n *node) cut(to, from bool) { n.cutTo, n.cutFrom = to, from }

func (n *node) mend() {
	n.cut(false, false)
	n.refresh()
	n.unhang()
}

// refresh tells the node of all changes that it has not heard of.
func (n *node) refresh() {
	if !n.listens() {
		return
	}
	for _, server := range []*server{n.s.nodeServer, n.s.stateServer} {
		for _, key := range n.s.keys {
			if v, is := server.live(key); is {
				n.hear(server, cluster.Value{Key: key, Text: v.text, Revision: v.revision})
			}
		}
	}
	n.kick()
}

func (n *node) hear(b *server, v cluster.Value) {
	c := n.state
	if b.leases {
		c = n.leases
	}
	if c.heard[v.Key].Revision < v.Revision {
		v.Heard = n.Elapsed()
		c.heard[v.Key] = v
	}
}

// remaining returns how long the node may make requests. It is Node.remaining of package cluster.
func (n *node) remaining() time.Duration {
	if n.s.o.Broken.NoLease {
		return time.Hour
	}
	if n.verified == (cluster.Owner{}) || n.verified != n.member.Owner() {
		return 0
	}
	return n.member.Remaining()
}

// lose forgets a partition. Its visits change nothing any more.
func (n *node) lose(p int) {
	n.parts[p], n.visiting[p] = foreign, 0
	for i := range n.slots {
		if v := &n.slots[i]; v.state != free && n.s.partition(v.host) == p {
			v.lost = true
		}
	}
}
