package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/natstest"
)

// running is a cluster of nodes, which are processes, that have crawled some hosts. The crawl goes on, because a page is
// not answered before the test ends.
type running struct {
	t       *testing.T
	servers string // of NATS
	dir     string
	port    string
	hosts   []string // addresses of the hosts, with port
	nodes   map[string]*exec.Cmd
}

const runningHosts = 6

// newRunning starts the nodes with these names, and waits until they have crawled the hosts.
func newRunning(t *testing.T, names ...string) *running {
	t.Helper()
	f := &running{t: t, servers: natstest.One(t), dir: t.TempDir(), nodes: map[string]*exec.Cmd{}}
	f.serveHosts()
	seeds := []string{"http://" + f.hosts[0] + "/held.html"}
	for _, host := range f.hosts {
		seeds = append(seeds, "http://"+host+"/")
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
	over := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "ACAP-crawler: *\nACAP-disallow-present: /shy.html\n")
	})
	mux.HandleFunc("/held.html", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/shy.html", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<!DOCTYPE html><html lang=en><title>Shy</title><p>A tern.</html>")
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<!DOCTYPE html><html lang=en><title>Pier %s</title><p>A gull sat at %[1]s.<a href=/shy.html>x</a></html>",
			r.Host)
	})
	server := &http.Server{Handler: mux}
	for i := range runningHosts {
		l, err := net.Listen("tcp", net.JoinHostPort(fmt.Sprintf("127.77.0.%d", i+1), f.port))
		if err != nil {
			f.t.Fatal(err)
		}
		if _, f.port, err = net.SplitHostPort(l.Addr().String()); err != nil {
			f.t.Fatal(err)
		}
		f.hosts = append(f.hosts, l.Addr().String())
		go server.Serve(l)
	}
	f.t.Cleanup(func() {
		close(over)
		server.Close()
	})
}

// data returns the data directory of a node.
func (f *running) data(name string) string { return filepath.Join(f.dir, name) }

// start starts a node, which is killed when the test ends.
func (f *running) start(name string, seeds ...string) {
	f.t.Helper()
	cmd := exec.Command("acapcrawl", append([]string{"crawl", "--cluster", f.servers, "--node", name, "--data", f.data(name),
		"--partitions", "12", "--lease", "10s", "--lease-margin", "2s", "--delay", "0", "--depth", "1"}, seeds...)...)
	said := &bytes.Buffer{}
	cmd.Stderr = said
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

// object runs a verb with --json, and returns the object that it prints.
func (f *running) object(args ...string) (out map[string]any) {
	f.t.Helper()
	got := f.run(append(args, "--json")...)
	if err := json.Unmarshal([]byte(got.stdout), &out); err != nil {
		f.t.Fatalf("%v: %v\n%+v", args, err, got)
	}
	return out
}

func TestNodesSearchAndShow(t *testing.T) {
	t.Parallel()
	f := newRunning(t, "a", "b")
	got := f.run("search", "gull")
	t.Log(got)
	got = f.run("search", "gull", "--json", "--limit", "2", "--skip", "1")
	t.Log(got)
	for _, host := range f.hosts {
		got := f.run("show", "http://"+host+"/")
		t.Log(got)
	}
	t.Log(f.run("show", "http://"+f.hosts[2]+"/", "--json"))
	t.Log(f.run("show", "http://"+f.hosts[2]+"/shy.html", "--json"))
	t.Log(f.run("show", "http://"+f.hosts[2]+"/shy.html"))
	t.Log(f.run("show", "http://"+f.hosts[2]+"/none.html"))
}
