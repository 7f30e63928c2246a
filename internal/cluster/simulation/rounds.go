package simulation

import (
	"iter"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// loop is the goroutine of a node that keeps the lease and follows the table. It models Node.run of package cluster.
type loop struct {
	resumeLoop func() (time.Duration, bool)
	stopLoop   func()
	yield      func(time.Duration) bool
	gone       bool          // the process has ended
	wake       time.Duration // when the loop goes on
	idle       bool          // the loop waits for news
	deadline   time.Duration // of the round

	next     time.Duration // when the lease must be renewed
	news     bool          // something has changed since the last round
	drain    bool
	verified cluster.Owner
	view     cluster.View
	released []int // partitions that must be given back
	waiting  []int // partitions to open
	adopting int
}

func (n *node) startLoop() {
	n.loop = loop{wake: n.s.now}
	resume, stop := iter.Pull(func(yield func(time.Duration) bool) {
		n.yield = yield
		n.run()
	})
	n.resumeLoop = resume
	n.stopLoop = func() {
		n.gone = true
		stop()
	}
}

// continueLoop lets the loop run until it waits again.
func (n *node) continueLoop() {
	wake, more := n.resumeLoop()
	if !more {
		n.process = 0
		n.visits.reset(n.s)
		return
	}
	n.wake = wake
}

// sleep lets virtual time pass. It returns false if the process has ended.
func (n *node) sleep(until time.Duration) bool {
	if !n.gone && !n.yield(max(until, n.s.now)) {
		n.gone = true
	}
	return !n.gone
}

// kick makes the loop look around.
func (n *node) kick() {
	n.news = true
	if n.idle {
		n.wake = min(n.wake, n.s.now+fastest)
	}
}

func (n *node) run() {
	for !n.gone {
		n.look()
		if n.drain && len(n.view.Own)+len(n.released) == 0 && !slices.ContainsFunc(n.parts, func(p partState) bool {
			return p != foreign
		}) {
			if n.deadline = n.s.now + answerTime; n.member.End() == nil {
				return
			}
		}
		n.idle = true
		until := n.next
		if n.news {
			until = min(until, n.s.now+retryPause)
		}
		n.sleep(until)
		n.idle = false
	}
}

func (n *node) look() {
	now, began := n.s.now, n.Elapsed()
	if now >= n.next || len(n.released) > 0 || n.news {
		n.news = false
		n.deadline = now + 2*answerTime
		if err := n.round(); err != nil {
			n.news = true
			n.next = n.s.now + retryPause
		} else {
			n.next = now + n.member.RenewAt(began) - began
		}
	}
	if !n.gone {
		n.reconcile()
	}
}

// round renews the lease, gives back released partitions, and claims others.
func (n *node) round() error {
	count := &n.s.result.Operations
	count.Rounds++
	nothing := func() error { return nil }
	if err := n.state.call(&count.StreamInfos, nothing); err != nil { // whether partitions have new links
		return err
	}
	v, err := n.member.Round(cluster.Report{}, n.drain)
	if err != nil {
		return err
	}
	n.view = v
	if n.verified != v.Self {
		if err := n.verify(); err != nil {
			return err
		}
		n.verified = v.Self
	}
	if len(n.released) == 0 {
		return nil
	}
	released := slices.Clone(n.released)
	own, err := n.member.Release(released)
	if err != nil {
		return err
	}
	n.released = n.released[len(released):]
	n.view.Own = own
	return nil
}

// verify looks whether another node has written to the journals of the partitions since the node had its last lease.
func (n *node) verify() error {
	var list []int
	for p, state := range n.parts {
		if state == open || state == closing {
			list = append(list, p)
		}
	}
	for some := range slices.Chunk(list, adoptSlots) {
		n.s.result.Operations.JournalReads += len(some) - 1
		err := n.state.call(&n.s.result.Operations.JournalReads, func() error {
			for _, p := range some {
				if n.s.writer[p] != n.process {
					n.lose(p)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reconcile opens the partitions that the table gives to this node, and closes those that it must hand over.
func (n *node) reconcile() {
	own, give := make([]bool, len(n.parts)), make([]bool, len(n.parts))
	for _, p := range n.view.Give {
		if give[p] = true; n.parts[p] == foreign && slices.Contains(n.view.Own, p) && !slices.Contains(n.released, p) {
			n.released = append(n.released, p)
			n.kick()
		}
	}
	for _, p := range n.released {
		give[p] = true
	}
	for _, p := range n.view.Own {
		own[p] = true
		if !give[p] && n.parts[p] == foreign {
			n.parts[p] = opening
			n.waiting = append(n.waiting, p)
		}
	}
	for p, state := range n.parts {
		switch {
		case state != open:
		case !own[p]:
			n.lose(p)
		case give[p]:
			n.parts[p] = closing
			n.closeIfDone(p)
		}
	}
	n.openSome()
}

// closeIfDone gives a partition that is being handed over back if no visit of it is left.
func (n *node) closeIfDone(p int) {
	if n.parts[p] != closing || n.visiting[p] > 0 {
		return
	}
	n.parts[p] = foreign
	n.s.handedOver[p] = true
	n.released = append(n.released, p)
	n.kick()
}

// openSome begins to open partitions while there are free slots.
func (n *node) openSome() {
	for n.adopting < adoptSlots && len(n.waiting) > 0 {
		p := n.waiting[0]
		n.waiting = n.waiting[1:]
		n.adopting++
		n.task(fastest, func() { n.fence(p) })
	}
}

// task does something later, when the process runs and reaches the store.
func (n *node) task(pause time.Duration, fn func()) {
	process := n.process
	n.s.schedule(n.s.now+pause, func() {
		switch {
		case n.process != process:
		case !n.runs() || !n.connected():
			n.task(retryPause, fn)
		default:
			fn()
		}
	})
}

// fence writes the first message of this process to a journal, and then reads the journal.
func (n *node) fence(p int) {
	n.s.writer[p] = n.process
	n.s.result.Operations.JournalReads++
	n.s.result.Messages++
	n.task(n.s.replay(p), func() { n.open(p) })
}

// open permits visits of the hosts of a partition, as Frontier.Adopt does at its end.
func (n *node) open(p int) {
	n.adopting--
	if n.parts[p] == opening {
		n.parts[p] = open
		n.adoptHosts(p)
	}
	n.kick()
	n.openSome()
}

func (n *node) adoptHosts(p int) {
	s := n.s
	since, with := n.Now(), s.handedOver[p]
	for id, end := s.hostsOf(p); id < end; id++ {
		h := &s.hosts[id]
		if h.flags&busy != 0 {
			h.flags &^= busy
			s.result.Repeated++
		}
		if !with {
			h.flags &^= policy
		}
		if s.requested[p] && !s.o.Broken.NoWait {
			pace := h.pacing()
			s.pacing.Adopt(&pace, since)
			h.set(&pace)
		}
		if h.left > 0 {
			n.await(id, h)
		}
	}
	if idle := &s.idleSince[p]; *idle > 0 {
		s.result.Recovery = append(s.result.Recovery, s.now-*idle)
		*idle = 0
	}
	s.handedOver[p] = false
}
