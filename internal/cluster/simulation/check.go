package simulation

import (
	"fmt"
	"math"
	"time"
)

// Violation is a request that should not have left.
type Violation struct {
	At        time.Duration
	Node      string
	Host      int
	Partition int
	Why       string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: node %s requests host %d of partition %d: %s", v.At, v.Node, v.Host, v.Partition, v.Why)
}

// mostViolations is how many violations a Result describes.
const mostViolations = 10

// gaps are the shortest of some intervals between two requests to the same host.
type gaps struct {
	Shortest time.Duration // start of a request to the start of the next
	Spare    time.Duration // least time that an interval was longer than the delay of the host
	Count    int
}

var noGaps = gaps{Shortest: math.MaxInt64, Spare: math.MaxInt64}

func (g *gaps) note(gap, delay time.Duration) {
	g.Shortest, g.Spare = min(g.Shortest, gap), min(g.Spare, gap-delay)
	g.Count++
}

// check records a request of a node to a host which leaves now, and whether it may.
func (s *Simulation) check(n *node, id uint32) {
	h := &s.hosts[id]
	now, p, owner := s.now, s.partition(id), n.member.Owner()
	if lease := &s.leases[n.index]; !lease.held || lease.epoch != owner.Epoch {
		s.violate(n, id, "its lease does not exist in the store")
	} else if s.expired(lease.expires) {
		s.violate(n, id, "its lease has expired in the store")
	}
	if o := s.table[p]; o != owner {
		s.violate(n, id, fmt.Sprintf("the table gives the partition to %s, not to %s", o, owner))
	}
	if h.last >= 0 {
		gap, delay := now-time.Duration(h.last), s.delay(h)
		s.result.Gaps.note(gap, delay)
		if int(h.by) != n.index {
			s.result.Across.note(gap, delay)
		}
		if gap < delay {
			s.violate(n, id, fmt.Sprintf("only %s after the request of node %s; its delay is %s", gap,
				s.nodes[h.by].name, delay))
		}
	}
	s.result.Requests++
	h.last, h.by = int64(now), uint16(n.index)
}

func (s *Simulation) violate(n *node, id uint32, why string) {
	s.result.Violations++
	if len(s.result.First) < mostViolations {
		s.result.First = append(s.result.First, Violation{s.now, n.name, int(id), s.partition(id), why})
	}
}
