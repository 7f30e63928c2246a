package main

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/arrivals"
	"github.com/acapcrawl/acapcrawl/internal/test/chaos"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
	"github.com/acapcrawl/acapcrawl/internal/test/oneway"
)

// clusterVariable is the environment variable that enables the long tests of clusters. Its value is how long
// TestClusterRandom does harm.
const clusterVariable = "ACAPCRAWLTEST_CLUSTER"

// lengthy returns the proportions of the acceptance: 300 hosts with a delay of 2 s, and the usual lease. Without the
// environment variable it skips the test.
func lengthy(t *testing.T) (p proportions, harm time.Duration) {
	t.Helper()
	said := os.Getenv(clusterVariable)
	if said == "" {
		t.Skip("it takes minutes, so it runs only with " + clusterVariable + "=10m")
	}
	harm, err := time.ParseDuration(said)
	if err != nil {
		t.Fatal(err)
	}
	return proportions{delay: 2 * time.Second, lease: 30 * time.Second, margin: 5 * time.Second, partitions: 1024,
		limit: 20 * time.Minute, web: arrivals.Options{Hosts: 300, Pages: 10, Seed: 1, CrawlDelay: 3 * time.Second,
			RetryAfter: 5 * time.Second, Slow: time.Second, Redirects: true, Credits: true}}, harm
}

// beginFull starts three servers and three nodes, and waits until the crawl is in the middle.
func beginFull(t *testing.T) (*joint, *natstest.Cluster) {
	p, _ := lengthy(t)
	servers := natstest.StartProcesses(t, 3)
	f := newJoint(t, p, servers.URL())
	f.begin("a")
	f.await(1, func(arrivals.Request) bool { return true })
	f.start(node{name: "b"})
	f.start(node{name: "c"})
	f.awaitHomes()
	f.watchLeases()
	return f, servers
}

// Each node is killed in a crawl of its own, and started again when the others have taken over.
func TestClusterLongKill(t *testing.T) {
	for _, name := range []string{"a", "b", "c"} {
		t.Run(name, func(t *testing.T) {
			f, _ := beginFull(t)
			f.killInMiddle(name)
			f.awaitOwners(func(n string) bool { return n != name })
			f.start(node{name: name})
			f.awaitEnd()
			f.judge()
		})
	}
}

// Nodes are killed while they read robots.txt files that redirect to hosts of other partitions: the node that asks or
// the owner of the other host. They are started again at once.
func TestClusterLongErrands(t *testing.T) {
	p, _ := lengthy(t)
	f := newJoint(t, p, natstest.StartProcesses(t, 3).URL())
	f.begin("a")
	f.await(1, func(arrivals.Request) bool { return true })
	f.start(node{name: "b"})
	f.start(node{name: "c"})
	f.awaitOwners(func(string) bool { return true })
	f.watchLeases()
	for i, name := range []string{"b", "c", "b", "c"} {
		f.await(3*i+2, func(q arrivals.Request) bool { return q.Path == "/robots.txt" && q.Status == http.StatusFound })
		if err := f.kill(name); err != nil {
			t.Fatal(err)
		}
		f.start(node{name: name})
	}
	f.awaitEnd()
	f.judge()
}

// The server that leads is killed, for each of the streams, and started again. No node loses its lease, so no page is
// requested twice.
func TestClusterLongLeader(t *testing.T) {
	f, servers := beginFull(t)
	for _, stream := range []string{"acapcrawl_journal", "KV_" + nodesBucket, "acapcrawl_links", "KV_acapcrawl_state",
		""} {
		leader := servers.AwaitLeader(stream)
		before := len(f.web.Requests())
		servers.Kill(leader)
		servers.AwaitLeader(stream)
		if len(f.running()) > 0 { // the crawl goes on without the server
			f.await(before+50, func(arrivals.Request) bool { return true })
		}
		servers.Restart(leader)
		servers.AwaitWhole()
	}
	f.awaitEnd()
	f.judge()
}

// A node is stopped for a minute.
func TestClusterLongStop(t *testing.T) {
	f, _ := beginFull(t)
	if err := f.stop("b"); err != nil {
		t.Fatal(err)
	}
	rest(t.Context(), time.Minute)
	if err := f.resume("b"); err != nil {
		t.Fatal(err)
	}
	f.awaitEnd()
	f.judge()
}

// rest waits for a time in which nothing happens that a test could wait for.
func rest(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// One direction between a node and all servers is dropped, one after the other.
func TestClusterLongOneWay(t *testing.T) {
	p, _ := lengthy(t)
	servers := natstest.StartProcesses(t, 3)
	f := newJoint(t, p, servers.URL())
	proxies, urls := f.proxies(servers.Addr(0), servers.Addr(1), servers.Addr(2))
	f.start(node{name: "a", args: []string{f.web.Home()}})
	f.start(node{name: "b", servers: urls})
	f.start(node{name: "c"})
	f.awaitHomes()
	f.watchLeases()
	f.dropUntilReplaced("b", proxies, oneway.ToClient)
	f.awaitOwners(func(string) bool { return true })
	f.dropUntilReplaced("b", proxies, oneway.ToServer)
	f.awaitEnd()
	f.judge()
}

// The clocks of two nodes differ by 2 s from that of the servers, in both directions. The third node is killed.
func TestClusterLongClocks(t *testing.T) {
	p, _ := lengthy(t)
	f := newJoint(t, p, natstest.StartProcesses(t, 3).URL())
	f.start(node{name: "a", ahead: 2 * time.Second, args: []string{f.web.Home()}})
	f.start(node{name: "b"})
	f.start(node{name: "c", ahead: -2 * time.Second})
	f.awaitHomes()
	f.watchLeases()
	f.killInMiddle("b")
	f.awaitEnd()
	f.judge()
}

// The quorum is lost for longer than the lease.
func TestClusterLongQuorum(t *testing.T) {
	f, servers := beginFull(t)
	f.loseQuorum(servers)
	f.awaitEnd()
	f.judge()
}

// All of that at random, with a seed that the log names.
func TestClusterRandom(t *testing.T) {
	p, harm := lengthy(t)
	p.web.Pages = max(40, int(harm/(8*time.Second))) // so that the crawl does not end before
	p.limit += harm
	servers := natstest.StartProcesses(t, 3)
	f := newJoint(t, p, servers.URL())
	names := []string{"a", "b", "c"}
	proxies := map[string][]*oneway.Proxy{}
	nodes := map[string]node{}
	for i, name := range names {
		n := node{name: name, ahead: time.Duration(i-1) * 2 * time.Second}
		proxies[name], n.servers = f.proxies(servers.Addr(0), servers.Addr(1), servers.Addr(2))
		nodes[name] = n // as it is started again
		if i == 0 {
			n.args = []string{f.web.Home()}
		}
		f.start(n)
	}
	f.awaitHomes()
	f.watchLeases()
	ctx, cancel := context.WithTimeout(t.Context(), harm)
	defer cancel()
	f.tasks.Go(func() { f.supervise(t.Context(), nodes) })
	go func() { // there is nothing to harm when the crawl has ended
		f.awaitAnyEnd(ctx)
		cancel()
	}()
	seed := uint64(time.Now().UnixNano())
	events, err := chaos.Run(ctx, seed, 10*time.Second, f.harms(names, nodes, proxies, servers)...)
	t.Logf("seed %d", seed)
	for _, e := range events {
		t.Log(e)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.awaitEnd()
	f.judge()
}

// supervise starts nodes again that could not join because the servers did not answer, as the supervisor of a machine
// does. It returns when ctx ends.
func (f *joint) supervise(ctx context.Context, nodes map[string]node) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		for name, n := range nodes {
			f.starting.Lock()
			if p := f.node(name); p.gaveUp() && !p.dead {
				f.t.Logf("%s: the servers did not answer node %s; it is started again",
					time.Now().Format(time.TimeOnly), name)
				if _, err := f.tryStart(n); err != nil {
					f.t.Error(err)
				}
			}
			f.starting.Unlock()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// gaveUp reports whether the process has ended because the servers did not answer.
func (n *crawlNode) gaveUp() bool {
	select {
	case <-n.ended:
		return n.cmd.ProcessState.ExitCode() == statusFailed
	default:
		return false
	}
}

// awaitAnyEnd waits until a node has ended by itself, because nothing is left to crawl, or ctx ends.
func (f *joint) awaitAnyEnd(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		f.mu.Lock()
		for _, n := range f.nodes {
			select {
			case <-n.ended:
				if !n.dead && !n.gaveUp() {
					f.mu.Unlock()
					return
				}
			default:
			}
		}
		f.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// harms are the actions of TestClusterRandom.
func (f *joint) harms(names []string, nodes map[string]node, proxies map[string][]*oneway.Proxy,
	servers *natstest.Cluster) []chaos.Action {
	drop := func(d oneway.Direction) func(int) (func() error, error) {
		return func(i int) (func() error, error) {
			for _, p := range proxies[names[i]] {
				p.Drop(d)
			}
			return func() error {
				for _, p := range proxies[names[i]] {
					p.Heal()
				}
				return nil
			}, nil
		}
	}
	whole := func(repair func()) func() error {
		return func() error {
			repair()
			servers.AwaitWhole()
			return nil
		}
	}
	l := f.lease
	return []chaos.Action{
		{Name: "kill node", Targets: 3, Shortest: 0, Longest: 2 * l, Begin: func(i int) (func() error, error) {
			return func() error {
				_, err := f.tryStart(nodes[names[i]])
				return err
			}, f.kill(names[i])
		}},
		{Name: "stop node", Targets: 3, Shortest: l / 10, Longest: 2 * l, Begin: func(i int) (func() error, error) {
			return func() error { return f.resume(names[i]) }, f.stop(names[i])
		}},
		{Name: "kill server", Targets: 3, Longest: l, Begin: func(i int) (func() error, error) {
			servers.Kill(i)
			return whole(func() { servers.Restart(i) }), nil
		}},
		{Name: "stop server", Targets: 3, Longest: l, Begin: func(i int) (func() error, error) {
			servers.Pause(i)
			return whole(func() { servers.Resume(i) }), nil
		}},
		{Name: "lose quorum", Targets: 3, Longest: 2 * l, Begin: func(i int) (func() error, error) {
			j := (i + 1) % 3
			servers.Kill(i)
			servers.Kill(j)
			return whole(func() {
				servers.Restart(i)
				servers.Restart(j)
			}), nil
		}},
		{Name: "drop to node", Targets: 3, Longest: 2 * l, Begin: drop(oneway.ToClient)},
		{Name: "drop to servers", Targets: 3, Longest: 2 * l, Begin: drop(oneway.ToServer)},
	}
}
