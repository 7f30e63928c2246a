package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/test/arrivals"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
	"github.com/acapcrawl/acapcrawl/internal/test/oneway"
)

// A node is killed in the middle. The others request what it had left, and only what was in progress twice.
func TestClusterKill(t *testing.T) {
	t.Parallel()
	f := newJoint(t, brief(), natstest.One(t))
	f.begin("a", "b", "c")
	f.awaitHomes()
	f.watchLeases()
	f.killInMiddle("b")
	f.awaitEnd()
	f.judge()
}

// killInMiddle kills a node that has pages left.
func (f *joint) killInMiddle(name string) {
	f.t.Helper()
	if err := f.kill(name); err != nil {
		f.t.Fatal(err)
	}
	if left, err := f.queued(name); err != nil || len(left) == 0 {
		f.t.Errorf("the killed node %s had %d pages left, %v", name, len(left), err)
	}
}

// A node stops for longer than its lease and continues. Meanwhile the others have taken over its hosts.
func TestClusterStop(t *testing.T) {
	t.Parallel()
	f := newJoint(t, brief(), natstest.One(t))
	f.begin("a", "b", "c")
	f.awaitHomes()
	f.watchLeases()
	f.stopUntilReplaced("c")
	f.awaitEnd()
	f.judge()
}

// stopUntilReplaced stops a node until others have requested half of the pages that it had left.
func (f *joint) stopUntilReplaced(name string) {
	f.t.Helper()
	if err := f.stop(name); err != nil {
		f.t.Fatal(err)
	}
	stopped := time.Now()
	left, err := f.queued(name)
	if err != nil || len(left) == 0 {
		f.t.Errorf("the stopped node had %d pages left, %v", len(left), err)
	}
	f.await(len(left)/2, func(q arrivals.Request) bool { return left[q.URL()] && q.Start.After(stopped) })
	if err := f.resume(name); err != nil {
		f.t.Fatal(err)
	}
}

// Clocks differ by almost as much as the margin permits, and the node in the middle is killed. So hosts move to
// machines with another time of day.
func TestClusterClocks(t *testing.T) {
	t.Parallel()
	p := brief()
	f := newJoint(t, p, natstest.One(t))
	ahead := p.margin/2 - 100*time.Millisecond
	f.start(node{name: "a", ahead: ahead, args: []string{f.web.Home()}})
	f.start(node{name: "b"})
	f.start(node{name: "c", ahead: -ahead})
	f.awaitHomes()
	f.watchLeases()
	f.killInMiddle("b")
	f.awaitEnd()
	f.judge()
}

// A node whose clock differs by more does not start.
func TestClusterWrongClock(t *testing.T) {
	t.Parallel()
	p := brief()
	f := newJoint(t, p, natstest.One(t))
	for _, ahead := range []time.Duration{p.margin, -p.margin} {
		cmd := f.command(node{name: "a", ahead: ahead, args: []string{f.web.Home()}})
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != statusFailed || len(f.web.Requests()) > 0 {
			t.Errorf("%v, %d requests\n%s", err, len(f.web.Requests()), out)
		}
	}
}

// The network drops what the servers send to a node, or what the node sends to the servers. The others take over.
func TestClusterOneWay(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]oneway.Direction{"to the node": oneway.ToClient,
		"to the servers": oneway.ToServer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := natstest.One(t)
			f := newJoint(t, brief(), servers)
			proxies, urls := f.proxies(strings.TrimPrefix(servers, "nats://"))
			f.start(node{name: "a", args: []string{f.web.Home()}})
			f.start(node{name: "b", servers: urls})
			f.start(node{name: "c"})
			f.awaitHomes()
			f.watchLeases()
			f.dropUntilReplaced("b", proxies, d)
			f.awaitEnd()
			f.judge()
		})
	}
}

// proxies returns proxies for servers, host:port, and their URLs.
func (f *joint) proxies(servers ...string) (list []*oneway.Proxy, urls string) {
	f.t.Helper()
	var all []string
	for _, server := range servers {
		p, err := oneway.Start(server)
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(p.Close)
		list, all = append(list, p), append(all, "nats://"+p.Addr())
	}
	return list, strings.Join(all, ",")
}

// dropUntilReplaced drops a direction between a node and the servers until others have taken over its hosts.
func (f *joint) dropUntilReplaced(name string, proxies []*oneway.Proxy, d oneway.Direction) {
	f.t.Helper()
	for _, p := range proxies {
		p.Drop(d)
	}
	f.awaitOwners(func(n string) bool { return n != name })
	before := len(f.web.Requests())
	f.await(before+f.proportions.web.Hosts/2, func(arrivals.Request) bool { return true })
	for _, p := range proxies {
		p.Heal()
	}
}

// awaitOwners waits until all partitions belong to nodes for which is returns true.
func (f *joint) awaitOwners(is func(name string) bool) {
	f.t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(f.limit); ; <-tick.C {
		s, err := cluster.QueryStatus(f.t.Context(), cluster.Options{Servers: f.servers})
		owned := 0
		for _, n := range s.Nodes {
			if is(n.Node) {
				owned += n.Partitions
			}
		}
		if err == nil && owned == f.partitions {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("%d of %d partitions are owned: %+v, %v", owned, f.partitions, s, err)
		}
	}
}

// Two of three servers are killed for longer than the lease. Nothing is requested meanwhile, but the archive can be
// searched. Then the crawl goes on by itself.
func TestClusterQuorum(t *testing.T) {
	t.Parallel()
	servers := natstest.StartProcesses(t, 3)
	f := newJoint(t, brief(), servers.URL())
	f.begin("a", "b", "c")
	f.awaitHomes()
	f.watchLeases()
	f.loseQuorum(servers)
	f.awaitEnd()
	f.judge()
}

// loseQuorum kills two of three servers, and starts them again after a time longer than the lease.
func (f *joint) loseQuorum(servers *natstest.Cluster) {
	f.t.Helper()
	servers.Kill(0)
	servers.Kill(1)
	expired := time.Now().Add(f.lease) // the last renewal was sent before
	ctx, cancel := context.WithDeadline(f.t.Context(), expired.Add(2*time.Second))
	defer cancel()
	<-ctx.Done() // nothing happens that the test could wait for

	if len(f.list("a", nil, "search", "page")) == 0 {
		f.t.Error("the search finds nothing")
	}
	search := exec.CommandContext(f.t.Context(), "acapcrawl", "search", "page", "--cluster", f.servers)
	if out, err := search.CombinedOutput(); err != nil || !strings.Contains(string(out), "only nodes that answer") ||
		!strings.Contains(string(out), "http://") {
		f.t.Errorf("a search by the nodes: %v\n%s", err, out)
	}
	f.start(node{name: "d"}) // it asks again and again
	to := time.Now()
	for _, q := range f.web.Requests() {
		if q.Start.After(expired) {
			f.t.Errorf("%s was requested %s after the end of the lease", q.URL(), q.Start.Sub(expired))
		}
	}
	servers.Restart(0)
	servers.Restart(1)
	f.await(1, func(q arrivals.Request) bool { return q.Start.After(to) })
}

// A crawl that is started without servers ends with status 4.
func TestClusterWithoutServers(t *testing.T) {
	t.Parallel()
	f := newJoint(t, brief(), "nats://127.0.0.1:1")
	cmd := f.command(node{name: "a", args: []string{f.web.Home()}})
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != statusFailed || len(f.web.Requests()) > 0 {
		t.Errorf("%v, %d requests\n%s", err, len(f.web.Requests()), out)
	}
}

// A node joins a crawl, and another one is drained. No page is lost, and none is requested twice.
func TestClusterMembers(t *testing.T) {
	t.Parallel()
	f := newJoint(t, calm(), natstest.One(t))
	f.begin("a", "b", "c")
	f.awaitHomes()
	f.start(node{name: "d"})
	f.awaitOwners(func(string) bool { return true })
	out, err := exec.CommandContext(t.Context(), "acapcrawl", "cluster", "drain", "b", "--cluster",
		f.servers).CombinedOutput()
	if err != nil {
		t.Errorf("drain: %v\n%s", err, out)
	}
	f.awaitEnd()
	f.judge()
	f.detach("d")
	if len(f.pages("d")) == 0 {
		t.Error("the node that joined has no pages")
	}
}
