package simulation

import (
	"time"

	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// Options describe a simulation.
type Options struct {
	Seed       uint64
	Nodes      int
	Hosts      int
	URLs       int
	Partitions int
	Lasts      time.Duration // virtual time

	Lease, Margin time.Duration
	Delay         time.Duration // shortest delay between two requests to a host
	Visits        int           // visits of a node at the same time

	Largest    int           // most URLs of a host
	Delayed    float64       // share of hosts that ask for a Crawl-delay of 10 to 60 s
	Slow       float64       // share of hosts that answer after 5 to 30 s
	Down       float64       // share of hosts that do not answer
	Busy       float64       // share of answers that are 503 with a Retry-After of 10 to 120 s
	Replay     int           // records of a journal that a node applies in a second
	Links      float64       // links of a page to other partitions that were not sent before
	FaultEvery time.Duration // mean time between two faults of nodes; 0: there are none
	StoreFault time.Duration // mean time between two faults of the store; 0: there are none

	// no new fault in this time at the end; ten minutes later everything works
	Quiet time.Duration

	Broken Broken
}

// Broken switches safety off, to show that the simulation notices.
type Broken struct {
	NoMargin bool // the lease has no margin
	NoLease  bool // requests leave although the lease has ended
	NoWait   bool // a new owner does not wait for the delay of a host
}

// Default returns options for a number of nodes, hosts and URLs.
func Default(nodes, hosts, urls int) Options {
	return Options{Seed: 1, Nodes: nodes, Hosts: hosts, URLs: urls, Partitions: cluster.DefaultPartitions,
		Lasts: time.Hour, Lease: cluster.DefaultLease, Margin: cluster.DefaultMargin, Delay: time.Second, Visits: 512,
		Largest: 100_000, Delayed: .05, Slow: .01, Down: .02, Busy: .002, Replay: 100_000, Links: 2,
		FaultEvery: 6000 * time.Second / time.Duration(nodes), StoreFault: 30 * time.Minute}
}

// The times of the model.
const (
	tick       = 10 * time.Millisecond  // time between two commits of a node, which is also how often it leases
	fastest    = time.Millisecond       // shortest time of a request to the store with its answer
	jitter     = 10 * time.Millisecond  // of the mean of what it takes longer
	answerTime = 4 * time.Second        // how long a node waits for an answer of the store
	retryPause = 250 * time.Millisecond // after a failed round
	adoptSlots = 8                      // partitions that a node opens at the same time
	maxChanges = 512                    // in one commit
	tries      = 3                      // failures of a host after which a URL is given up
)
