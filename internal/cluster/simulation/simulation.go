package simulation

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// Simulation is a cluster in virtual time.
type Simulation struct {
	o      Options
	random *rand.Rand
	pacing *crawler.Pacing
	now    time.Duration // true time
	tick   uint32        // the commit in which now is
	timers timers
	serial int // number of timers made
	result Result

	hosts        []host
	perPartition int
	pool         pool
	nodes        []*node
	names        map[string]int // name of a node → its index
	keys         []string       // the keys of all stores, in order
	processes    int            // number of processes started

	nodeServer, stateServer *server
	serverAhead             time.Duration // of the clock of the server that leads
	noQuorum                bool
	said                    map[string]cluster.Lease // what the leases say
	leases                  []serverLease            // by node
	table                   []cluster.Owner          // as stored

	// by partition
	writer     []int           // process that may write to its journal
	requested  []bool          // a request to a host of it may have been made
	handedOver []bool          // the last owner has ended all its visits
	left       []int           // URLs that were not visited
	idleSince  []time.Duration // when the process of its owner was killed; 0: it is open
}

// New makes a simulation.
func New(o Options) (*Simulation, error) {
	if o.Nodes < 1 || o.Nodes > math.MaxUint16 || o.Hosts < 1 || o.Hosts >= visitBit || o.Partitions < 1 ||
		o.Visits < 1 {
		return nil, fmt.Errorf("%d nodes, %d hosts, %d partitions and %d visits cannot be simulated", o.Nodes, o.Hosts,
			o.Partitions, o.Visits)
	}
	s := &Simulation{o: o, random: rand.New(rand.NewPCG(o.Seed, 1)), names: map[string]int{},
		pool: pool{chunks: make([]chunk, 1)}, said: map[string]cluster.Lease{}, leases: make([]serverLease, o.Nodes),
		writer:    make([]int, o.Partitions),
		requested: make([]bool, o.Partitions), handedOver: make([]bool, o.Partitions), left: make([]int, o.Partitions),
		idleSince: make([]time.Duration, o.Partitions), perPartition: (o.Hosts + o.Partitions - 1) / o.Partitions}
	s.result = Result{Options: o, Gaps: noGaps, Across: noGaps, Faults: map[string]int{}}
	s.pacing = crawler.NewPacing(crawler.FrontierOptions{Delay: o.Delay, Backoff: time.Second, Adaptive: true},
		s.random.Float64)
	s.hosts = makeHosts(&o, rand.New(rand.NewPCG(o.Seed, 2)))
	for i := range s.hosts {
		s.left[s.partition(uint32(i))] += int(s.hosts[i].left)
	}
	s.nodeServer = &server{s: s, ttl: o.Lease, leases: true, values: map[string]stored{}}
	s.stateServer = &server{s: s, values: map[string]stored{}}
	key, text, err := cluster.EmptyTable(o.Partitions)
	if err != nil {
		return nil, err
	}
	if _, err := s.stateServer.put(key, text); err != nil {
		return nil, err
	}
	s.keys = append(s.keys, key)
	for i := range o.Nodes {
		n := &node{s: s, name: fmt.Sprintf("n%d", i), index: i}
		s.nodes, s.names[n.name], s.keys = append(s.nodes, n), i, append(s.keys, n.name)
	}
	slices.Sort(s.keys)
	s.planFaults()
	return s, nil
}

// Run runs the simulation to its end, or until ctx ends. progress, if not nil, is called after each minute of virtual
// time.
func (s *Simulation) Run(ctx context.Context, progress func(Result)) Result {
	const minute = uint32(time.Minute / tick)
	before := 0
	for end := uint32(s.o.Lasts / tick); s.tick < end && ctx.Err() == nil; {
		s.tick++
		s.coordinate(time.Duration(s.tick) * tick)
		for _, n := range s.nodes {
			if n.runs() {
				n.advance()
			}
		}
		if s.tick%minute == 0 {
			s.result.Lasted = s.now
			s.result.Minutes = append(s.result.Minutes, s.result.Requests-before)
			before = s.result.Requests
			if progress != nil {
				progress(s.result)
			}
		}
	}
	for _, n := range s.nodes {
		for p, state := range n.parts {
			if state == open && s.table[p] == n.member.Owner() {
				s.result.Open++
			}
		}
		if n.process != 0 {
			n.end()
		}
	}
	s.result.Lasted = s.now
	s.result.finish(s.hosts)
	return s.result
}

// coordinate runs timers and the loops of nodes, in the order of their times, until end.
func (s *Simulation) coordinate(end time.Duration) {
	for {
		var next *node
		at := end + 1
		for _, n := range s.nodes {
			if n.runs() && n.wake < at {
				next, at = n, n.wake
			}
		}
		switch {
		case len(s.timers) > 0 && s.timers[0].at <= min(at, end):
			t := heap.Pop(&s.timers).(timer)
			s.now = max(s.now, t.at)
			t.fn()
		case next != nil && at <= end:
			s.now = max(s.now, at)
			next.continueLoop()
		default:
			s.now = end
			return
		}
	}
}

// skew draws how far a clock is ahead.
func (s *Simulation) skew() time.Duration {
	return time.Duration((s.random.Float64() - .5) * float64(s.o.Margin))
}

// commitTime draws the time from a change to its acknowledgement by the journal.
func (s *Simulation) commitTime() time.Duration {
	return tick + fastest + time.Duration(s.random.Int64N(int64(4*time.Millisecond)))
}

// replay returns how long a node reads the journal of a partition.
func (s *Simulation) replay(p int) time.Duration {
	if !s.requested[p] {
		return fastest
	}
	first, end := s.hostsOf(p)
	return time.Duration(float64(s.left[p]+int(end-first)) / float64(s.o.Replay) * float64(time.Second))
}

// linkMessages returns the number of messages for the links of some pages of one commit: one for each partition that
// gets links.
func (s *Simulation) linkMessages(pages int) float64 {
	all := float64(s.o.Partitions)
	return all * (1 - math.Pow(1-1/all, float64(pages)*s.o.Links))
}

// timer is something that happens at a time.
type timer struct {
	at     time.Duration
	serial int
	fn     func()
}

func (s *Simulation) schedule(at time.Duration, fn func()) {
	s.serial++
	heap.Push(&s.timers, timer{at, s.serial, fn})
}

type timers []timer

func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	return t[i].at < t[j].at || t[i].at == t[j].at && t[i].serial < t[j].serial
}
func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *timers) Push(x any)   { *t = append(*t, x.(timer)) }
func (t *timers) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}
