package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/test/arrivals"
)

// proportions are the size and the times of a crawl by several nodes.
type proportions struct {
	web           arrivals.Options
	delay         time.Duration
	lease, margin time.Duration
	partitions    int
	limit         time.Duration // a crawl that takes longer hangs
}

// brief are proportions for tests that run always.
func brief() proportions {
	return proportions{delay: 500 * time.Millisecond, lease: 3 * time.Second, margin: time.Second, partitions: 64,
		limit: patience, web: arrivals.Options{Hosts: 20, Pages: 8, Seed: 1, CrawlDelay: time.Second,
			RetryAfter: time.Second, Slow: 200 * time.Millisecond, Redirects: true, Credits: true}}
}

// calm are proportions for tests in which no lease may end: it is so long that a busy machine does not matter.
func calm() proportions {
	p := brief()
	p.lease, p.margin = 30*time.Second, 5*time.Second
	return p
}

// joint is a crawl of a web by several nodes. Each node is a process with its own data directory.
type joint struct {
	t testing.TB
	proportions
	web     *arrivals.Web
	servers string
	dir     string
	scope   []string // further settings that decide what is crawled

	tasks    sync.WaitGroup
	starting sync.Mutex // held while a node is killed, and while supervise starts it again

	mu      sync.Mutex
	nodes   map[string]*crawlNode
	mishaps []mishap
}

// crawlNode is a process of a node.
type crawlNode struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
	err   error         // from Wait; valid when ended is closed
	dead  bool          // the test has killed the process
}

// mishap is something that a test did to the crawl. It explains that some pages are requested twice.
type mishap struct {
	until    time.Time // only requests that began before this may be repeated
	explains func(q arrivals.Request) bool
}

// newJoint starts a web. servers are the URLs of the NATS servers.
func newJoint(t testing.TB, p proportions, servers string) *joint {
	t.Helper()
	web, err := arrivals.Start(p.web)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	f := &joint{t: t, proportions: p, web: web, servers: servers, dir: t.TempDir(), nodes: map[string]*crawlNode{}}
	t.Cleanup(f.end)
	return f
}

// end kills the processes that still run. If the test has failed, it logs what the nodes printed.
func (f *joint) end() {
	f.tasks.Wait()
	for _, n := range f.running() {
		n.kill()
	}
	if !f.t.Failed() {
		return
	}
	logs, _ := filepath.Glob(filepath.Join(f.dir, "*.log"))
	for _, name := range logs {
		text, err := os.ReadFile(name)
		f.t.Logf("%s: %v\n%s", filepath.Base(name), err, text)
	}
}

func (f *joint) running() (list []*crawlNode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.nodes {
		select {
		case <-n.ended:
		default:
			list = append(list, n)
		}
	}
	return list
}

// data returns the data directory of a node.
func (f *joint) data(name string) string { return filepath.Join(f.dir, name) }

// settings returns the arguments of a crawl of the web, without those that concern the cluster.
func (f *joint) settings(name string) []string {
	return append([]string{"--data", f.data(name), "--report", f.data(name) + ".report", "--contact",
		"https://operator.example/", "--delay", f.delay.String(), "--scope", "any", "--depth", "-1",
		"--allow-private"}, f.scope...)
}

// node describes a process that is to be started.
type node struct {
	name    string
	servers string        // URLs of NATS servers; "": those of the joint
	ahead   time.Duration // by how much its clock is ahead
	args    []string      // further arguments
}

// command returns the command that runs a node.
func (f *joint) command(n node) *exec.Cmd {
	servers := f.servers
	if n.servers != "" {
		servers = n.servers
	}
	args := append([]string{"crawl", "--cluster", servers, "--node", n.name, "--partitions", strconv.Itoa(f.partitions),
		"--lease", f.lease.String(), "--lease-margin", f.margin.String()}, f.settings(n.name)...)
	program := "acapcrawl"
	if n.ahead != 0 {
		program = aheadProgram
	}
	cmd := exec.Command(program, append(args, n.args...)...)
	cmd.Env = append(os.Environ(), aheadVariable+"="+n.ahead.String())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// start starts a process that joins the crawl.
func (f *joint) start(n node) *crawlNode {
	f.t.Helper()
	p, err := f.tryStart(n)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// tryStart starts a process. Its output is added to the log of the node. A goroutine keeps the thread that has started
// the process, because the kernel would kill the process together with this thread.
func (f *joint) tryStart(n node) (*crawlNode, error) {
	cmd := f.command(n)
	log, err := os.OpenFile(f.data(n.name)+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	p := &crawlNode{name: n.name, cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer log.Close()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[n.name] = p
	return p, nil
}

// begin starts a first node with the home page of the web, and further nodes that join it.
func (f *joint) begin(names ...string) {
	f.t.Helper()
	for i, name := range names {
		n := node{name: name}
		if i == 0 {
			n.args = []string{f.web.Home()}
		}
		f.start(n)
	}
}

// kill ends the process with SIGKILL, and waits until it has ended.
func (n *crawlNode) kill() {
	n.dead = true
	_ = n.cmd.Process.Kill() // fails if it has ended
	<-n.ended
}

// node returns the process of a node that was started last.
func (f *joint) node(name string) *crawlNode {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[name]
}

// kill kills a node with SIGKILL.
func (f *joint) kill(name string) error {
	f.starting.Lock()
	f.node(name).kill()
	f.starting.Unlock()
	return f.addMishap(name, time.Now())
}

// stop stops a node with SIGSTOP.
func (f *joint) stop(name string) error {
	if err := f.node(name).signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return f.addMishap(name, time.Now())
}

// resume continues a node that was stopped.
func (f *joint) resume(name string) error { return f.node(name).signal(syscall.SIGCONT) }

// signal sends a signal to the process, unless it has ended.
func (n *crawlNode) signal(s os.Signal) error {
	if err := n.cmd.Process.Signal(s); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// addMishap notes that a node was stopped or killed. Then pages are requested again that the node has requested and
// not completed, by its file.
func (f *joint) addMishap(name string, at time.Time) error {
	open, err := f.queued(name)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mishaps = append(f.mishaps, mishap{at, func(q arrivals.Request) bool { return open[q.URL()] }})
	return nil
}

// queued returns the pages that a node which does not run at the moment has not completed.
func (f *joint) queued(name string) (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(f.data(name), "frontier.db"))
	open := map[string]bool{}
	if errors.Is(err, os.ErrNotExist) {
		return open, nil
	} else if err != nil {
		return nil, err
	}
	copied := filepath.Join(f.t.TempDir(), "frontier.db")
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		return nil, err
	}
	frontier, err := crawler.Open(copied, crawler.FrontierOptions{})
	if err != nil {
		return nil, err
	}
	defer frontier.Close()
	for _, url := range f.web.Pages() {
		r, found, err := frontier.Get(url)
		if err != nil {
			return nil, err
		}
		if found && r.State == crawler.Queued {
			open[url] = true
		}
	}
	return open, nil
}

// await waits until n requests match. It fails if no node runs any more.
func (f *joint) await(n int, match func(arrivals.Request) bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), f.limit)
	defer cancel()
	go func() {
		for _, node := range f.running() {
			select {
			case <-node.ended:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	if err := f.web.Await(ctx, n, match); err != nil {
		f.t.Fatal(err)
	}
}

// awaitHomes waits until the home page of each host was requested. From then on the delay of each host is known, so a
// node that takes a host over waits for one delay only. The crawl is then in the middle.
func (f *joint) awaitHomes() {
	f.t.Helper()
	f.await(f.proportions.web.Hosts, func(q arrivals.Request) bool { return q.Path == "/" })
}

// awaitEnd waits until all nodes that run have ended. Each must end with status 0.
func (f *joint) awaitEnd() {
	f.t.Helper()
	timer := time.NewTimer(f.limit)
	defer timer.Stop()
	for _, n := range f.running() {
		select {
		case <-n.ended:
		case <-timer.C:
			f.t.Fatalf("node %s does not end", n.name)
		}
		if n.err != nil && !n.dead {
			f.t.Errorf("node %s: %v", n.name, n.err)
		}
	}
}

// judge checks the requests of the whole crawl. Pages may be requested twice only if a mishap explains it.
func (f *joint) judge() *arrivals.Report {
	f.t.Helper()
	r := f.web.Judge(f.delay)
	f.mu.Lock()
	mishaps := slices.Clone(f.mishaps)
	f.mu.Unlock()
	explained := func(q arrivals.Request) bool {
		return slices.ContainsFunc(mishaps, func(e mishap) bool { return q.Start.Before(e.until) && e.explains(q) })
	}
	again := 0
	r.Repeated = slices.DeleteFunc(r.Repeated, func(list []arrivals.Request) bool {
		again += len(list) - 1
		return !slices.ContainsFunc(list[:len(list)-1], func(q arrivals.Request) bool { return !explained(q) })
	})
	if err := r.Err(); err != nil {
		f.t.Error(err)
	}
	f.t.Logf("%d requests, shortest gap %v, %d requests repeated because of %d mishaps", r.Requests, r.Shortest, again,
		len(mishaps))
	return r
}
