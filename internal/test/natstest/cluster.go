package natstest

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// Cluster is a cluster of NATS servers with JetStream. Servers are numbered from 0. Its methods may
// be called concurrently, but only one at a time for the same server. Methods that fail end the test.
type Cluster struct {
	t     testing.TB
	place place
	start func(place) (node, error)

	mu    sync.Mutex
	nodes []node // nil: does not run
	quiet []bool // paused
}

// Start starts a cluster of n servers in this process. Kill shuts them down in an orderly way.
func Start(t testing.TB, n int) *Cluster {
	t.Helper()
	return newCluster(t, n, n, startLocal)
}

// StartSome starts the first servers of a cluster of n in this process. The others have never run; Restart starts them.
func StartSome(t testing.TB, n, first int) *Cluster {
	t.Helper()
	return newCluster(t, n, first, startLocal)
}

// StartProcesses starts a cluster of n servers, each in a process of its own. The process runs the
// test binary again, so TestMain must call Main first. The processes end with the test, also if the
// test process is killed.
func StartProcesses(t testing.TB, n int) *Cluster {
	t.Helper()
	return newCluster(t, n, n, startProcess)
}

func newCluster(t testing.TB, n, first int, start func(place) (node, error)) *Cluster {
	t.Helper()
	c := &Cluster{t: t, start: start, nodes: make([]node, n), quiet: make([]bool, n)}
	c.place = place{Host: reserve(t), Size: n, StoreDir: t.TempDir()}
	t.Cleanup(func() {
		for i := range c.nodes {
			c.Kill(i)
		}
	})
	// A server waits for no other, but all start at the same time, so that the first election succeeds.
	var wg sync.WaitGroup
	errs := make([]error, first)
	for i := range first {
		wg.Go(func() { errs[i] = c.run(i) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	c.AwaitWhole()
	return c
}

// run starts server i.
func (c *Cluster) run(i int) error {
	p := c.place
	p.Index = i
	n, err := c.start(p)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[i] = n
	return nil
}

// Dir returns the directory with the files of all servers.
func (c *Cluster) Dir() string { return c.place.StoreDir }

// Len returns the number of servers, whether they run or not.
func (c *Cluster) Len() int { return len(c.nodes) }

// Addr returns the address of server i for clients, host:port. It never changes.
func (c *Cluster) Addr(i int) string { return c.place.client(i) }

// URL returns the URLs of all servers, separated by commas.
func (c *Cluster) URL() string {
	var urls []string
	for i := range c.nodes {
		urls = append(urls, "nats://"+c.Addr(i))
	}
	return strings.Join(urls, ",")
}

// Kill ends server i: a process with SIGKILL, whether it is paused or not. It returns when the
// server has ended. It does nothing if the server does not run.
func (c *Cluster) Kill(i int) {
	c.mu.Lock()
	n := c.nodes[i]
	c.nodes[i], c.quiet[i] = nil, false
	c.mu.Unlock()
	if n != nil {
		n.kill()
	}
}

// Restart starts server i again with its address and its data. It kills the server first if it
// runs. It returns when the server accepts connections, which is before it has caught up: see
// AwaitWhole.
func (c *Cluster) Restart(i int) {
	c.t.Helper()
	c.Kill(i)
	if err := c.run(i); err != nil {
		c.t.Fatal(err)
	}
}

// Pause stops the process of server i with SIGSTOP: it keeps its connections, and does nothing.
func (c *Cluster) Pause(i int) {
	c.t.Helper()
	c.signal(i, true, node.pause)
}

// Resume continues the process of server i after Pause.
func (c *Cluster) Resume(i int) {
	c.t.Helper()
	c.signal(i, false, node.resume)
}

func (c *Cluster) signal(i int, quiet bool, send func(node) error) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes[i] == nil {
		c.t.Fatalf("server %d does not run", i)
	}
	if err := send(c.nodes[i]); err != nil {
		c.t.Fatal(err)
	}
	c.quiet[i] = quiet
}

// awake returns the servers that run and are not paused.
func (c *Cluster) awake() map[int]node {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := map[int]node{}
	for i, n := range c.nodes {
		if n != nil && !c.quiet[i] {
			list[i] = n
		}
	}
	return list
}

// Leader returns the server that leads a stream, or the cluster (its meta group) if stream is "". A
// key-value bucket B is the stream KV_B. Leader returns -1 if there is no leader: no server says
// that it leads, two do (a paused leader does so for a moment after Resume), or too few servers run
// for a quorum of the cluster.
func (c *Cluster) Leader(stream string) int {
	awake, leader := c.awake(), -1
	if 2*len(awake) <= len(c.nodes) {
		return -1
	}
	for i, n := range awake {
		switch {
		case n.ask(askLeads+stream) == 0:
		case leader >= 0:
			return -1
		default:
			leader = i
		}
	}
	return leader
}

// AwaitLeader waits until a stream, or the cluster, has a leader among the servers that run, and
// returns it. An election takes 4 to 9 seconds after the leader was killed or paused.
func (c *Cluster) AwaitLeader(stream string) int {
	c.t.Helper()
	leader := -1
	c.await("there is no leader of "+stream, func() bool {
		leader = c.Leader(stream)
		return leader >= 0
	})
	return leader
}

// AwaitWhole waits until all servers that run are healthy: the leader of the cluster knows them all,
// and each has recovered its streams and caught up with their leaders.
func (c *Cluster) AwaitWhole() {
	c.t.Helper()
	c.await("the cluster is not whole", func() bool {
		awake, leader := c.awake(), c.Leader("")
		if leader < 0 || awake[leader] == nil || awake[leader].ask(askPeers) < len(awake) {
			return false
		}
		for _, n := range awake {
			if n.ask(askHealthy) == 0 {
				return false
			}
		}
		return true
	})
}

// await asks the servers again and again until done returns true.
func (c *Cluster) await(problem string, done func() bool) {
	c.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); !done(); <-tick.C {
		if time.Now().After(end) {
			c.t.Fatal(problem)
		}
	}
}
