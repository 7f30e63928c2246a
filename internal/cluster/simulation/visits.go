package simulation

import (
	"time"

	"github.com/acapcrawl/acapcrawl/crawler"
)

// visits are the visits of a node, and the hosts that it will visit. They model Frontier and the visits of package
// crawler: a host that is due is leased; the time of its next request goes to the journal; the request leaves; the
// outcome goes to the journal.
type visits struct {
	slots []visit
	spare []uint32 // free slots
	hung  []uint32 // slots of visits that wait for the journal
	ready []uint32 // hosts that are due, in order
	first int      // of ready
	wheel
	continued time.Duration // when the process was last continued, or reached the journal again

	stamps  []uint32 // by partition: the last commit that wrote to its journal
	changes int      // in this commit
	done    int      // visits that ended in this commit
}

// visit is a visit in progress.
type visit struct {
	host     uint32
	state    visitState
	lost     bool // the partition has another owner
	trouble  bool
	failures uint8
	at       time.Duration // when the visit goes on, in true time
	sent     time.Duration // when the request left, in true time
	took     time.Duration
	rest     time.Duration // Retry-After
}

type visitState uint8

const (
	free      visitState = iota
	announced            // the request leaves when the journal has the time of the next one
	asked                // the request has left
)

func (v *visits) reset(s *Simulation) {
	if v.stamps == nil {
		v.stamps, v.pool = make([]uint32, s.o.Partitions), &s.pool
		v.slots, v.spare = make([]visit, s.o.Visits), make([]uint32, s.o.Visits)
	}
	v.wheel.clear(s.tick)
	clear(v.slots)
	v.spare = v.spare[:len(v.slots)]
	for i := range v.spare {
		v.spare[i] = uint32(i)
	}
	v.hung, v.ready, v.first, v.changes, v.done = v.hung[:0], v.ready[:0], 0, 0, 0
}

// tickOf returns the first tick that is not before a time.
func tickOf(at time.Duration) uint32 { return uint32(max(at+tick-1, 0) / tick) }

// await makes a host ready when it is due.
func (n *node) await(id uint32, h *host) {
	n.wheel.add(event{id, tickOf(time.Duration(h.due) - n.ahead)})
}

// advance does everything of one tick.
func (n *node) advance() {
	s := n.s
	end := time.Duration(s.tick) * tick
	for n.wheel.now < s.tick { // more than once after a pause
		for _, e := range n.wheel.take() {
			if e.what&visitBit == 0 {
				n.ready = append(n.ready, e.what)
				continue
			}
			n.proceed(e.what&^visitBit, end)
		}
	}
	s.now = end
	if n.connected() && n.remaining() > 0 {
		n.lease()
	}
	n.commit()
}

// proceed lets a visit go on.
func (n *node) proceed(slot uint32, end time.Duration) {
	v := &n.slots[slot]
	n.s.now = max(v.at, n.continued) // a process that was paused goes on when it is continued
	switch {
	case v.lost:
		n.release(slot)
	case !n.connected():
		n.hung = append(n.hung, slot)
	case v.state == announced:
		n.request(slot)
	default:
		n.finish(slot)
	}
	n.s.now = end
}

// unhang lets visits go on that have waited for the journal.
func (n *node) unhang() {
	if !n.runs() || !n.connected() {
		return
	}
	n.continued = n.s.now
	for _, slot := range n.hung {
		n.slots[slot].at = n.s.now + n.s.commitTime()
		n.plan(slot)
	}
	n.hung = n.hung[:0]
}

func (n *node) plan(slot uint32) { n.wheel.add(event{slot | visitBit, tickOf(n.slots[slot].at)}) }

// change counts a change that goes to the journal of a partition with the next commit.
func (n *node) change(p int) {
	n.changes++
	if stamp := n.s.tick + 1; n.stamps[p] != stamp {
		n.stamps[p] = stamp
		n.s.result.Messages++
	}
}

// lease begins visits while hosts are due and slots are free. It is Frontier.pick.
func (n *node) lease() {
	s := n.s
	for len(n.spare) > 0 && n.first < len(n.ready) && n.changes < maxChanges {
		id := n.ready[n.first]
		n.first++
		p, h := s.partition(id), &s.hosts[id]
		if n.parts[p] != open || h.flags&busy != 0 || h.left == 0 || time.Duration(h.due)-n.ahead > s.now {
			continue // it was in the wheel twice, since the node has got the partition again
		}
		if s.writer[p] != n.process { // the journal refuses the announcement
			n.lose(p)
			continue
		}
		slot := n.spare[len(n.spare)-1]
		n.spare = n.spare[:len(n.spare)-1]
		pace := h.pacing()
		s.pacing.Begin(&pace, n.Now())
		h.set(&pace)
		h.flags |= busy
		s.requested[p] = true
		n.visiting[p]++
		n.slots[slot] = visit{host: id, state: announced, failures: h.failures, at: s.now + s.commitTime()}
		n.change(p)
		n.plan(slot)
	}
	if n.first == len(n.ready) || n.first > 1<<16 {
		n.ready = append(n.ready[:0], n.ready[n.first:]...)
		n.first = 0
	}
}

// request sends the request of a visit if the lease permits it, as the gate does.
func (n *node) request(slot uint32) {
	v, s := &n.slots[slot], n.s
	h := &s.hosts[v.host]
	if n.remaining() <= 0 {
		if n.s.writer[s.partition(v.host)] == n.process {
			h.flags &^= busy
			n.wheel.add(event{v.host, s.tick + 1})
			h.due = int64(s.now + n.ahead)
		}
		n.release(slot)
		return
	}
	s.check(n, v.host)
	v.state, v.sent = asked, s.now
	v.took, v.trouble, v.rest = s.answer(h)
	v.at = s.now + v.took
	n.plan(slot)
}

// finish records the outcome of a visit.
func (n *node) finish(slot uint32) {
	v, s := &n.slots[slot], n.s
	id := v.host
	h, p := &s.hosts[id], s.partition(id)
	if !v.trouble && h.flags&policy == 0 {
		h.flags |= told
	}
	if s.writer[p] != n.process {
		n.lose(p)
		n.release(slot)
		return
	}
	n.conclude(v, h)
	h.flags &^= busy
	n.change(p)
	n.release(slot)
	if h.left > 0 {
		// the outcome must be in the journal before the host is leased again
		n.wheel.add(event{id, max(tickOf(time.Duration(h.due)-n.ahead), s.tick+1)})
	}
}

// conclude changes a host by the outcome of a visit. If the node did not have robots.txt, the visit has read that file
// instead of a page.
func (n *node) conclude(v *visit, h *host) {
	s, pace, now := n.s, h.pacing(), n.Now()
	e := crawler.End{State: crawler.Fetched, Asked: wall(int64(v.sent + n.ahead)), Delay: pace.Asks, Took: v.took,
		Status: 200}
	gone := true // a URL is visited
	switch {
	case v.trouble:
		e.Trouble, e.Status = true, 0
		if v.rest > 0 {
			e.Rest, e.Status = now.Add(v.rest), 503
		}
		s.pacing.End(&pace, &e, now)
		s.result.Failures++
		gone = pace.Failures%tries == 0
	case h.flags&policy == 0:
		s.pacing.Learn(&pace, crawler.Pace{Asked: now, Delay: time.Duration(h.asks) * time.Second})
		h.flags |= policy
		s.result.Policies++
		gone = false
	default:
		s.pacing.End(&pace, &e, now)
		s.result.Pages++
		n.done++
	}
	h.set(&pace)
	if gone {
		h.left--
		s.left[s.partition(v.host)]--
	}
}

// release frees the slot of a visit.
func (n *node) release(slot uint32) {
	v := &n.slots[slot]
	if p := n.s.partition(v.host); !v.lost {
		n.visiting[p]--
		defer n.closeIfDone(p)
	}
	v.state = free
	n.spare = append(n.spare, slot)
}

// commit ends the commit of a tick.
func (n *node) commit() {
	s := n.s
	if n.changes > 0 {
		s.result.Commits++
		s.result.Changes += n.changes
		s.result.LinkMessages += s.linkMessages(n.done)
	}
	n.changes, n.done = 0, 0
}
