package simulation

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/acapcrawl/acapcrawl/crawler"
)

// host is a host with what the journal of its partition says about it. A host has no URL but only a number of them.
type host struct {
	due      int64  // when it may be requested, by the clock of the node that said so
	last     int64  // when the last request to it left, in true time; -1: never
	left     uint32 // URLs that were not visited
	pace     uint16 // adaptive delay in milliseconds
	by       uint16 // node that made the last request
	asks     uint8  // Crawl-delay of its robots.txt in seconds
	heard    uint8  // Crawl-delay that the crawler knows, in seconds
	failures uint8
	flags    uint8
}

// The flags of a host.
const (
	slow   = 1 << iota // answers late
	down               // does not answer
	known              // the Crawl-delay is known
	policy             // the owner of the partition has robots.txt
	busy               // the owner visits it
	told               // a node has received its robots.txt
)

// start is the time of day at which a simulation begins.
var start = time.Unix(1_800_000_000, 0)

func wall(at int64) time.Time { return start.Add(time.Duration(at)) }

// pacing returns what package crawler decides by.
func (h *host) pacing() crawler.HostPace {
	return crawler.HostPace{Due: wall(h.due), Asks: time.Duration(h.heard) * time.Second, Known: h.flags&known != 0,
		Pace: time.Duration(h.pace) * time.Millisecond, Failures: int(h.failures)}
}

// set records what package crawler has decided. An adaptive delay is rounded up to milliseconds.
func (h *host) set(p *crawler.HostPace) {
	h.due, h.heard = int64(p.Due.Sub(start)), uint8(p.Asks/time.Second)
	h.pace = uint16((p.Pace + time.Millisecond - 1) / time.Millisecond)
	h.failures = uint8(min(p.Failures, math.MaxUint8))
	if p.Known {
		h.flags |= known
	}
}

// makeHosts makes hosts whose numbers of URLs follow a Pareto distribution.
func makeHosts(o *Options, random *rand.Rand) []host {
	const exponent = 1.2
	hosts := make([]host, o.Hosts)
	sizes, total := make([]float32, o.Hosts), 0.0
	for i := range hosts {
		h := &hosts[i]
		h.last = -1
		sizes[i] = float32(min(math.Pow(1-random.Float64(), -1/exponent), float64(o.Largest)))
		total += float64(sizes[i])
		switch kind := random.Float64(); {
		case kind < o.Down:
			h.flags = down
		case kind < o.Down+o.Slow:
			h.flags = slow
		case kind < o.Down+o.Slow+o.Delayed:
			h.asks = uint8(10 + random.IntN(51))
		}
	}
	left := o.URLs
	for i := range hosts {
		n := min(int(float64(sizes[i])*float64(o.URLs)/total), o.Largest)
		hosts[i].left = uint32(n)
		left -= n
	}
	for i := 0; left > 0; i, left = i+1, left-1 { // what rounding and Largest have left over
		hosts[i%len(hosts)].left++
	}
	return hosts
}

// delay returns the time that must pass between two requests to a host. Its Crawl-delay counts as soon as any node has
// received robots.txt, whether or not the node could record it.
func (s *Simulation) delay(h *host) time.Duration {
	if h.flags&told == 0 {
		return s.o.Delay
	}
	return max(s.o.Delay, time.Duration(h.asks)*time.Second)
}

// partition returns the partition of a host. Hosts are in the order of their partitions.
func (s *Simulation) partition(h uint32) int { return int(h) / s.perPartition }

// hostsOf returns the range of the hosts of a partition.
func (s *Simulation) hostsOf(partition int) (first, end uint32) {
	return uint32(min(partition*s.perPartition, len(s.hosts))), uint32(min((partition+1)*s.perPartition, len(s.hosts)))
}

// answer draws how long a host takes to answer. trouble says that it does not answer, or that it answers 503 with the
// Retry-After rest.
func (s *Simulation) answer(h *host) (took time.Duration, trouble bool, rest time.Duration) {
	switch {
	case h.flags&down != 0:
		return 10 * time.Second, true, 0
	case h.flags&slow != 0:
		took = 5*time.Second + time.Duration(s.random.Int64N(int64(25*time.Second)))
	default:
		took = 20*time.Millisecond + time.Duration(s.random.ExpFloat64()*float64(280*time.Millisecond))
	}
	if s.random.Float64() < s.o.Busy {
		trouble, rest = true, 10*time.Second+time.Duration(s.random.Int64N(int64(110*time.Second)))
	}
	return took, trouble, rest
}
