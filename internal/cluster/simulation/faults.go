package simulation

import "time"

// planFaults plans the start of all nodes, and the first faults.
func (s *Simulation) planFaults() {
	s.serverAhead = s.skew()
	for i, n := range s.nodes {
		at := s.between(0, 5*time.Second)
		if i >= max(len(s.nodes)*9/10, 2) { // the last tenth joins a running crawl
			at = s.between(s.o.Lasts/20, s.o.Lasts/5)
		}
		s.schedule(at, n.begin)
	}
	if s.o.FaultEvery > 0 {
		s.again(s.o.FaultEvery, s.breakNode)
	}
	if s.o.StoreFault > 0 {
		s.again(s.o.StoreFault, s.breakStore)
		s.again(s.o.StoreFault/3, func() {
			s.result.Faults["another server leads, with another clock"]++
			s.serverAhead = s.skew()
		})
	}
}

// between draws a time.
func (s *Simulation) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.random.Float64()*float64(most-least))
}

// again calls fn at random times with a mean interval.
func (s *Simulation) again(mean time.Duration, fn func()) {
	s.schedule(s.now+time.Duration(s.random.ExpFloat64()*float64(mean)), func() {
		if s.now < s.o.Lasts-s.o.Quiet {
			fn()
			s.again(mean, fn)
		}
	})
}

// breakNode lets something happen to one node, if it is well.
func (s *Simulation) breakNode() {
	n := s.nodes[s.random.IntN(len(s.nodes))]
	if !n.runs() || n.cutTo || n.cutFrom || n.drain {
		return
	}
	later := func(least, most time.Duration, fn func()) { s.schedule(s.now+s.between(least, most), fn) }
	switch kind := s.random.IntN(20); {
	case kind < 5:
		s.result.Faults["a node is killed, and starts again after 1 to 10 min"]++
		n.end()
		later(time.Minute, 10*time.Minute, n.begin)
	case kind < 10:
		s.result.Faults["a node is stopped for 1 to 120 s, and goes on"]++
		process := n.process
		n.pause()
		later(time.Second, 2*time.Minute, func() {
			if n.process == process {
				n.resume()
			}
		})
	case kind < 18:
		to, from := kind != 13 && kind != 14 && kind != 15, kind < 16
		name := "a node does not reach the store for 5 s to 5 min, both ways"
		if !to {
			name = "a node does not hear the store for 5 s to 5 min, which hears it"
		} else if !from {
			name = "the store does not hear a node for 5 s to 5 min, which hears it"
		}
		s.result.Faults[name]++
		n.cut(to, from)
		later(5*time.Second, 5*time.Minute, n.mend)
	default:
		s.result.Faults["a node leaves, and joins again after 1 to 10 min"]++
		n.leave(s.between(time.Minute, 10*time.Minute))
	}
}

// leave lets a node hand over everything and end. It joins again after a pause.
func (n *node) leave(pause time.Duration) {
	s, process := n.s, n.process
	n.drain = true
	n.kick()
	var look func()
	look = func() {
		switch n.process {
		case process:
			s.schedule(s.now+time.Second, look)
		case 0:
			s.schedule(s.now+pause, n.begin)
		}
	}
	look()
}

// breakStore takes the quorum away for some time.
func (s *Simulation) breakStore() {
	if s.noQuorum {
		return
	}
	s.result.Faults["the store has no quorum for 10 s to 3 min"]++
	s.noQuorum = true
	s.schedule(s.now+s.between(10*time.Second, 3*time.Minute), func() {
		s.noQuorum = false
		for _, n := range s.nodes {
			n.unhang()
		}
	})
}
