package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/cluster/server"
	"github.com/acapcrawl/acapcrawl/internal/conformance"
)

// The cluster of the demo: its hosts and its times, which are short so that nobody has to wait.
const (
	demoHosts     = 9
	demoDelay     = 150 * time.Millisecond
	demoLease     = 3 * time.Second
	demoMargin    = time.Second
	demoMaxNodes  = 9
	demoPartition = 64
)

// demoCluster is a cluster on this machine that crawls the newspaper at several addresses of loopback.
type demoCluster struct {
	c       *Command
	data    string
	servers string // address of the NATS server
	web     *demoWeb
	nodes   []*demoNode
}

// demoNode is a process of the demo's cluster.
type demoNode struct {
	name string
	cmd  *exec.Cmd
	err  bytes.Buffer
	done chan error
}

// runDemoCluster crawls the newspaper with several processes, and kills one of them half-way.
func (c *Command) runDemoCluster(ctx context.Context, r demoRequest) (err error) {
	if r.Nodes < 2 || r.Nodes > demoMaxNodes {
		return misuse("--nodes 3", "--nodes: %d is not a number from 2 to %d", r.Nodes, demoMaxNodes)
	}
	d := &demoCluster{c: c, data: r.Data}
	if d.data == "" {
		if d.data, err = os.MkdirTemp("", "acapcrawl-demo-"); err != nil {
			return err
		}
	}
	if d.web, err = serveDemoWeb(ctx); err != nil {
		return err
	}
	defer d.web.stop()
	var stop func()
	if d.servers, stop, err = server.Start(filepath.Join(d.data, "nats")); err != nil {
		return err
	}
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		for _, n := range d.nodes {
			<-n.done
		}
	}()
	return d.run(ctx, r.Nodes)
}

func (d *demoCluster) run(ctx context.Context, nodes int) error {
	out := d.c.Stdout
	fmt.Fprintf(out, "Serving a small newspaper at %d addresses, from %s to %s\n", demoHosts, d.web.seeds[0],
		d.web.seeds[demoHosts-1])
	fmt.Fprintf(out, "Running a NATS server at %s and %d nodes, which store pages in %s\n\n", d.servers, nodes, d.data)
	for i := range nodes {
		if err := d.start(ctx, string(rune('a'+i)), i == 0); err != nil {
			return err
		}
	}
	all, err := d.await(ctx, func(s cluster.Status) bool {
		return len(s.Nodes) == nodes && s.Partitions.Moving == 0 && d.web.requested() > demoHosts*5
	})
	if err != nil {
		return err
	}
	if err := d.c.printStatus(all); err != nil {
		return err
	}
	killed := d.nodes[1]
	fmt.Fprintf(out, "\nNode %s is killed now. The others take its partitions over when its lease has expired.\n",
		killed.name)
	if err := killed.cmd.Process.Kill(); err != nil {
		return err
	}
	for _, n := range d.nodes {
		if err := <-n.done; err != nil && n != killed && ctx.Err() == nil {
			return failure("", fmt.Errorf("node %s: %w: %s", n.name, err, errorIn(n.err.String())))
		}
		n.done <- nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fmt.Fprintf(out, "\nThe crawl has ended.\n%s\n", d.web.report())
	return nil
}

// errorIn returns the error message in the error output of a node.
func errorIn(text string) string {
	for line := range strings.Lines(text) {
		if why, is := strings.CutPrefix(line, "Error: "); is {
			return strings.TrimSpace(why)
		}
	}
	return strings.TrimSpace(text)
}

// start starts a node. The first one gets the seeds.
func (d *demoCluster) start(ctx context.Context, name string, first bool) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"crawl", "--cluster", d.servers, "--node", name, "--data", filepath.Join(d.data, name),
		"--delay", demoDelay.String(), "--lease", demoLease.String(), "--lease-margin", demoMargin.String(),
		"--partitions", fmt.Sprint(demoPartition)}
	if first {
		args = append(args, d.web.seeds...)
	}
	n := &demoNode{name: name, cmd: exec.CommandContext(ctx, program, args...), done: make(chan error, 1)}
	n.cmd.Stderr, n.cmd.Env = &n.err, d.c.Env
	n.cmd.Cancel = func() error { return n.cmd.Process.Signal(os.Interrupt) }
	n.cmd.WaitDelay = 20 * time.Second
	if err := n.cmd.Start(); err != nil {
		return err
	}
	d.nodes = append(d.nodes, n)
	go func() { n.done <- n.cmd.Wait() }()
	return nil
}

// await returns the status of the cluster when it satisfies a condition.
func (d *demoCluster) await(ctx context.Context, fn func(cluster.Status) bool) (s cluster.Status, err error) {
	for {
		s, err = cluster.QueryStatus(ctx, cluster.Options{Servers: d.servers})
		switch {
		case ctx.Err() != nil:
			return s, ctx.Err()
		case errors.Is(err, cluster.ErrNoCluster): // the first node has not made it yet
		case err != nil:
			return s, clusterFault(err)
		case fn(s):
			return s, nil
		}
		for _, n := range d.nodes {
			select {
			case err := <-n.done:
				n.done <- err
				return s, failure("", fmt.Errorf("node %s has ended: %s", n.name, errorIn(n.err.String())))
			default:
			}
		}
		sleep(ctx, pause)
	}
}

// demoWeb serves the newspaper at several addresses of loopback, and notes when which page was requested.
type demoWeb struct {
	seeds   []string
	servers []*http.Server

	mu       sync.Mutex
	times    map[string]int       // pages → how often they were requested
	last     map[string]time.Time // host → when it was requested last
	shortest time.Duration        // the shortest time between two requests to one host
}

func serveDemoWeb(ctx context.Context) (*demoWeb, error) {
	w := &demoWeb{times: map[string]int{}, last: map[string]time.Time{}}
	port := "0"
	for i := range demoHosts {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.%d:%s", i+1, port))
		if err != nil {
			w.stop()
			return nil, failure("acapcrawl demo", fmt.Errorf("the newspaper cannot be served at %d loopback "+
				"addresses, as this demo needs: %w", demoHosts, err))
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		site := conformance.NewSite()
		srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(
			func(rw http.ResponseWriter, req *http.Request) {
				w.note(req)
				site.ServeHTTP(rw, req)
			})}
		w.servers = append(w.servers, srv)
		w.seeds = append(w.seeds, "http://"+l.Addr().String()+"/")
		go srv.Serve(l) // returns when the server is closed
	}
	return w, nil
}

func (w *demoWeb) stop() {
	for _, s := range w.servers {
		s.Close()
	}
}

func (w *demoWeb) note(req *http.Request) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, known := w.last[req.Host]; known {
		if gap := now.Sub(before); w.shortest == 0 || gap < w.shortest {
			w.shortest = gap
		}
	}
	w.last[req.Host] = now
	if req.URL.Path != "/robots.txt" {
		w.times[req.Host+req.RequestURI]++
	}
}

func (w *demoWeb) requested() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, times := range w.times {
		n += times
	}
	return n
}

// report says what the newspaper saw.
func (w *demoWeb) report() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	again := 0
	for _, times := range w.times {
		if times > 1 {
			again++
		}
	}
	return fmt.Sprintf("%d pages were requested. %d of them were requested more than once: pages that answered 503, "+
		"targets of redirects, and what the killed node had in progress.\nThe shortest time between two requests to "+
		"one host was %s; the delay is %s.", len(w.times), again, w.shortest.Round(time.Millisecond), demoDelay)
}
