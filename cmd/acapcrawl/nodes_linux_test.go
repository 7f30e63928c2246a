package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// running is a cluster of nodes, which are processes, that have crawled some hosts. The crawl goes on until the test
// ends.
type running struct {
	t       *testing.T
	servers string // of NATS
	dir     string
	port    string
	hosts   []string // addresses of the hosts, with port
	slow    string   // address of a host without pages that has a Crawl-delay
	flags   []string // of all nodes; nil: a lease of a minute
	env     []string // further environment variables of the nodes
	nodes   map[string]*exec.Cmd
	admin   string // address of health and metrics of serve --cluster
}

const runningHosts = 6

// newRunning starts the nodes with these names, and waits until they have crawled the hosts.
func newRunning(t *testing.T, names ...string) *running {
	t.Helper()
	f := &running{t: t, servers: natstest.One(t), dir: t.TempDir(), nodes: map[string]*exec.Cmd{}}
	f.serveHosts()
	var seeds []string
	for _, host := range f.hosts {
		seeds = append(seeds, "http://"+host+"/")
	}
	for i := range 600 { // the crawl needs a second for each
		seeds = append(seeds, fmt.Sprintf("http://%s/none/%d", f.slow, i))
	}
	for _, name := range names[1:] {
		f.start(name)
	}
	if len(names) > 1 {
		f.await("the nodes share the partitions", func() bool {
			got := f.run("cluster", "status", "--json")
			return strings.Count(got.stdout, fmt.Sprintf(`"partitions":%d,`, 12/(len(names)-1))) == len(names)-1
		})
	}
	f.start(names[0], seeds...)
	f.await("all pages are found", func() bool {
		return strings.Count(f.run("search", "--json", "gull").stdout, `"url"`) == runningHosts
	})
	return f
}

// serveHosts starts the hosts: the same server at several loopback addresses.
func (f *running) serveHosts() {
	f.t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "ACAP-crawler: *\nACAP-disallow-present: /shy.html\n")
		if r.Host == f.slow {
			fmt.Fprint(w, "\nUser-agent: *\nCrawl-delay: 1\n")
		}
	})
	mux.HandleFunc("/shy.html", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<!DOCTYPE html><html lang=en><title>Shy</title><p>A tern.</html>")
	})
	mux.HandleFunc("/twin.html", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<!DOCTYPE html><html lang=en><title>Twin</title><p>A puffin.</html>")
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<!DOCTYPE html><html lang=en><title>Pier %s</title><p>A gull sat at %[1]s."+
			"<a href=/shy.html>x</a></html>", r.Host)
	})
	server := &http.Server{Handler: mux}
	for i := range runningHosts + 1 {
		l, err := net.Listen("tcp", net.JoinHostPort(fmt.Sprintf("127.77.0.%d", i+1), f.port))
		if err != nil {
			f.t.Fatal(err)
		}
		if _, f.port, err = net.SplitHostPort(l.Addr().String()); err != nil {
			f.t.Fatal(err)
		}
		if f.slow = l.Addr().String(); i < runningHosts {
			f.hosts = append(f.hosts, f.slow)
		}
		go server.Serve(l)
	}
	f.t.Cleanup(func() { server.Close() })
}

// data returns the data directory of a node.
func (f *running) data(name string) string { return filepath.Join(f.dir, name) }

// start starts a node, which is killed when the test ends.
func (f *running) start(name string, seeds ...string) {
	f.t.Helper()
	flags := f.flags
	if flags == nil {
		flags = []string{"--lease", "1m", "--lease-margin", "10s"}
	}
	f.process(name,
		slices.Concat([]string{"crawl", "--node", name, "--partitions", "12", "--delay", "0", "--depth", "1"},
			flags, seeds)...)
}

// process runs a verb as the process of a node.
func (f *running) process(name string, args ...string) (said *lockedBuffer) {
	f.t.Helper()
	cmd := exec.Command("acapcrawl", append(args, "--cluster", f.servers, "--data", f.data(name))...)
	cmd.Env = append(os.Environ(), f.env...)
	said = &lockedBuffer{}
	cmd.Stderr, cmd.Stdout = said, said
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.nodes[name] = cmd
	f.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if f.t.Failed() {
			f.t.Logf("node %s: %s", name, said)
		}
	})
	return said
}

// await waits until a condition is met.
func (f *running) await(what string, met func() bool) {
	f.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !met(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("waited too long until %s", what)
		}
	}
}

// run runs a verb that asks the nodes.
func (f *running) run(args ...string) answer {
	var stdout, stderr bytes.Buffer
	c := Command{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Env: []string{"HOME=" + f.dir}}
	args = append(args[:len(args):len(args)], "--cluster", f.servers)
	ctx, cancel := context.WithTimeout(f.t.Context(), 2*time.Minute)
	defer cancel()
	status := c.Main(ctx, args)
	return answer{status, stdout.String(), stderr.String()}
}

// listedCapture is a capture that a node lists.
type listedCapture struct{ URL, Node string }

// listed returns the captures that the nodes list. answered is false if none answers, for example because the lease of
// a node has run out on a busy machine.
func (f *running) listed() (captures []listedCapture, answered bool) {
	var list struct{ Captures []listedCapture }
	err := json.Unmarshal([]byte(f.run("archive", "ls", "--json").stdout), &list)
	return list.Captures, err == nil
}

// captures returns the number of captures that the nodes list; -1 if none answers.
func (f *running) captures() int {
	list, answered := f.listed()
	if !answered {
		return -1
	}
	return len(list)
}

// object runs a verb with --json, and returns the object that it prints.
func (f *running) object(args ...string) (out map[string]any) {
	f.t.Helper()
	got := f.run(append(args, "--json")...)
	if err := json.Unmarshal([]byte(got.stdout), &out); err != nil {
		f.t.Fatalf("%v: %v\n%+v", args, err, got)
	}
	return out
}

// count returns how often each value of a field occurs in a list of objects.
func count(list any, field string) map[string]int {
	n := map[string]int{}
	for _, item := range list.([]any) {
		n[fmt.Sprint(item.(map[string]any)[field])]++
	}
	return n
}

// wholly checks that all nodes have answered.
func (f *running) wholly(out map[string]any, nodes int) {
	f.t.Helper()
	s, _ := out["shards"].(map[string]any)
	if s["answered"] != float64(nodes) || s["total"] != float64(nodes) || s["missing"] != nil {
		f.t.Errorf("shards: %v", out["shards"])
	}
}

// Verbs with --cluster answer from all nodes.
func TestNodesAnswer(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a", "b", "c")
	home, shy := "http://"+f.hosts[2]+"/", "http://"+f.hosts[2]+"/shy.html"

	t.Run("search", func(t *testing.T) {
		all := f.object("search", "gull")
		f.wholly(all, 3)
		if urls := count(all["results"], "url"); len(urls) != runningHosts {
			t.Error(urls)
		}
		var paged []string
		for skip := 0; skip < runningHosts; skip += 2 {
			part := f.object("search", "gull", "--limit", "2", "--skip", fmt.Sprint(skip))
			for _, r := range part["results"].([]any) {
				paged = append(paged, r.(map[string]any)["url"].(string))
			}
		}
		var whole []string
		for _, r := range all["results"].([]any) {
			whole = append(whole, r.(map[string]any)["url"].(string))
		}
		if !slices.Equal(paged, whole) {
			t.Errorf("in parts %v, at once %v", paged, whole)
		}
		got := f.run("search", "tern", "--why")
		if got.status != statusNothing || !strings.Contains(got.stdout, "ACAP-disallow-present: /shy.html") {
			t.Error(got)
		}
		if got := f.run("search", "xyz"); got.status != statusNothing || got.stdout != "" {
			t.Error(got)
		}
	})
	t.Run("show", func(t *testing.T) {
		if got := f.run("show", home); got.status != statusDone ||
			!strings.Contains(got.stdout, "A gull sat at "+f.hosts[2]) {
			t.Error(got)
		}
		f.wholly(f.object("show", home), 3)
		if got := f.run("show", shy); got.status != statusRefused || got.stdout != "" ||
			!strings.Contains(got.stderr, "robots.txt:2: ACAP-disallow-present: /shy.html") {
			t.Error(got)
		}
		if got := f.run("show", home+"none.html"); got.status != statusNothing {
			t.Error(got)
		}
		if got := f.object("show", shy); got["reason"] != "prohibition" {
			t.Error(got)
		}
	})
	t.Run("explain", func(t *testing.T) {
		out := f.object("explain", shy)
		f.wholly(out, 3)
		if d := out["decisions"].(map[string]any); len(d) < 14 {
			t.Errorf("%d usages", len(d))
		}
		if got := f.run("explain", "--usage", "present", shy); got.status != statusRefused ||
			!strings.Contains(got.stdout, "robots.txt:2") {
			t.Error(got)
		}
		if got := f.run("explain", "http://127.77.9.9/"); got.status != statusNothing {
			t.Error(got)
		}
		if got := f.run("explain", "--page", home); got.status != statusUsage {
			t.Error(got)
		}
	})
	t.Run("archive", func(t *testing.T) {
		list := f.object("archive", "ls")
		f.wholly(list, 3)
		if urls := count(list["captures"], "url"); len(urls) != 2*runningHosts {
			t.Error(urls)
		}
		if nodes := count(list["captures"], "node"); len(nodes) < 2 {
			t.Errorf("all pages are on one node: %v", nodes)
		}
		if got := f.run("archive", "ls"); strings.Count(got.stdout, "\n") != 2*runningHosts {
			t.Error(got)
		}
		stats := f.object("archive", "stats")
		f.wholly(stats, 3)
		if stats["captures"] != float64(2*runningHosts) {
			t.Error(stats)
		}
		if got := f.run("archive", "stats"); !strings.Contains(got.stdout, "12 captures of 12 resources") {
			t.Error(got)
		}
		for _, verb := range []string{"verify", "compact"} {
			out := f.object("archive", verb)
			f.wholly(out, 3)
			if nodes := count(out["nodes"], "node"); len(nodes) != 3 {
				t.Error(out)
			}
		}
		if got := f.run("archive", "verify"); strings.Count(got.stdout, ": Every digest") != 3 {
			t.Error(got)
		}
		f.wholly(f.object("archive", "erasures"), 3)
	})
	t.Run("sweep", func(t *testing.T) {
		out := f.object("sweep", "--dry-run")
		f.wholly(out, 3)
		if nodes := count(out["nodes"], "status"); nodes["0"] != 3 {
			t.Error(out)
		}
	})
	t.Run("actions", func(t *testing.T) {
		f.wholly(f.object("actions", "ls"), 3)
		if got := f.run("actions", "run", "--no-refresh"); got.status != statusDone ||
			strings.Count(got.stdout, ": ") < 3 {
			t.Error(got)
		}
		if got := f.run("actions", "show", "a:7"); got.status != statusNothing {
			t.Error(got)
		}
	})
	t.Run("twins", func(t *testing.T) { // pages that look the same are one result, also if several nodes have them
		var seeds []string
		for _, host := range f.hosts {
			seeds = append(seeds, "http://"+host+"/twin.html")
		}
		f.start("d", seeds...)
		where := map[string]bool{} // nodes
		f.await("the twins are archived", func() bool {
			clear(where)
			n := 0
			list, _ := f.listed()
			for _, c := range list {
				if strings.HasSuffix(c.URL, "/twin.html") {
					n++
					where[c.Node] = true
				}
			}
			return n == runningHosts
		})
		if len(where) < 2 {
			t.Errorf("all twins are on one node: %v", where)
		}
		f.await("one result has the addresses of all twins", func() bool { // a page is indexed a moment later
			var list struct{ Results []struct{ Also []string } }
			err := json.Unmarshal([]byte(f.run("search", "--json", "puffin").stdout), &list)
			return err == nil && len(list.Results) == 1 && len(list.Results[0].Also) == runningHosts-1
		})
	})
}

// A node that hangs is missing in the answers, which arrive nevertheless.
func TestNodeHangs(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a", "b")
	if err := f.nodes["b"].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, args := range [][]string{{"search", "gull"}, {"archive", "ls"}, {"sweep", "--dry-run"}, {"actions", "ls"}} {
		all.Go(func() {
			got := f.run(append(args, "--json")...)
			if got.status > statusNothing ||
				!strings.Contains(got.stdout, `"shards":{"answered":1,"total":2,"missing":[{"node":"b"`) ||
				!strings.Contains(got.stderr, "only 1 of 2 nodes answered") {
				t.Errorf("%v: %+v", args, got)
			}
		})
	}
	all.Wait()
	if err := f.nodes["b"].Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.await("the node answers again", func() bool {
		return strings.Contains(f.run("search", "gull", "--json").stdout, `"shards":{"answered":2,"total":2}`)
	})
}

// Without a node, verbs fail with status 4.
func TestNoNode(t *testing.T) {
	t.Parallel()
	f := &running{t: t, servers: natstest.One(t), dir: t.TempDir(), nodes: map[string]*exec.Cmd{}}
	if got := f.run("search", "gull"); got.status != statusFailed ||
		!strings.Contains(got.stderr, "no cluster of acapcrawl yet") {
		t.Errorf("without a cluster: %+v", got)
	}
	f.start("a")
	f.await("the node runs", func() bool { return f.run("archive", "ls").status == statusDone })
	if got := f.run("cluster", "status"); !strings.Contains(got.stdout, "\n0 addresses are queued, ") {
		t.Errorf("%+v", got)
	}
	f.nodes["a"].Process.Signal(os.Interrupt)
	f.nodes["a"].Wait()
	if got := f.run("cluster", "status"); got.status != statusDone ||
		!strings.Contains(got.stdout, "it is not known how many addresses are queued") {
		t.Errorf("%+v", got)
	}
	if queue, is := f.object("cluster", "status")["queue"]; !is || queue != nil {
		t.Errorf("queue: %v", queue)
	}
	if got := f.run("cluster", "status", "--cluster-credentials", "none.creds"); got.status != statusUsage ||
		!strings.Contains(got.stderr, "cluster_credentials: open none.creds: ") {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{{"search", "gull"}, {"show", "http://127.77.0.1/"},
		{"explain", "http://127.77.0.1/"},
		{"archive", "ls"}, {"archive", "stats"}, {"archive", "verify"}, {"sweep"}, {"actions", "ls"}} {
		if got := f.run(args...); got.status != statusFailed ||
			!strings.Contains(got.stderr, "no node of the cluster runs") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
