package site

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/address"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/natstest"
	"github.com/acapcrawl/acapcrawl/present"
	"github.com/acapcrawl/acapcrawl/terms"
)

// testPartitions is the number of partitions in the clusters of these tests.
const testPartitions = 4

// clusterPublisher is a web site with pages /a.html and /b.html, each with a word that occurs nowhere else. The page
// /slow.html is answered when the test ends, so that the crawl does not end.
type clusterPublisher struct {
	origin, host string
	robots       atomic.Pointer[string]
	reads        atomic.Int64 // of robots.txt
	a, b         string       // the words
}

// newClusterPublishers returns web sites on loopback, one in each partition of a cluster.
func newClusterPublishers(t *testing.T) (list []*clusterPublisher) {
	t.Helper()
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	found := map[int]bool{}
	for i := 2; len(found) < testPartitions; i++ {
		host := fmt.Sprintf("127.0.0.%d", i)
		n := address.Partition(host, testPartitions)
		if found[n] {
			continue
		}
		found[n] = true
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		p := &clusterPublisher{origin: "http://" + l.Addr().String(), host: l.Addr().String(),
			a: strings.ToLower("a" + rand.Text()), b: strings.ToLower("b" + rand.Text())}
		p.setRobots("ACAP-crawler: *\n")
		s := &http.Server{Handler: p.handler(end)}
		go s.Serve(l)
		t.Cleanup(func() { s.Close() })
		list = append(list, p)
	}
	return list
}

func (p *clusterPublisher) setRobots(robots string) { p.robots.Store(&robots) }

func (p *clusterPublisher) handler(end <-chan struct{}) http.Handler {
	text := func(w http.ResponseWriter, word string) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!DOCTYPE html><html lang=en><title>%s</title><p>A page about %[1]s.</html>", word)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			p.reads.Add(1)
			io.WriteString(w, *p.robots.Load())
		case "/a.html":
			text(w, p.a)
		case "/b.html":
			text(w, p.b)
		case "/slow.html":
			select {
			case <-end:
			case <-r.Context().Done():
			}
		default:
			http.NotFound(w, r)
		}
	})
}

// clusterNode is a node of a test.
type clusterNode struct {
	*Site
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

// nodeConfig returns the settings of a node.
func nodeConfig(t *testing.T, servers, name, dir string) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Input{Flags: map[string]any{"data": dir, "delay": "0", "depth": "0", "timeout": "10m",
		"cluster": servers, "node": name, "partitions": testPartitions, "lease": "3s", "lease_margin": "1s"}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// startNode starts the crawl of a node, and returns when other methods of its site may be used.
func startNode(t *testing.T, servers, name, dir string, seeds ...string) *clusterNode {
	t.Helper()
	s, err := Open(nodeConfig(t, servers, name, dir), Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	n := &clusterNode{Site: s, t: t, done: make(chan error, 1)}
	ctx, stop := context.WithCancel(t.Context())
	n.stop = stop
	go func() {
		_, err := s.Crawl(ctx, CrawlOptions{Seeds: seeds})
		n.done <- err
	}()
	t.Cleanup(n.end)
	n.await("it has not joined", func() bool {
		node := s.node.Load()
		if node == nil {
			return false
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		return node.Ready(soon) == nil
	})
	return n
}

// end ends the crawl and closes the data directory. Further calls do nothing.
func (n *clusterNode) end() {
	n.t.Helper()
	if n.stop == nil {
		return
	}
	n.stop()
	n.stop = nil
	if err := <-n.done; err != nil {
		n.t.Error(err)
	}
	if err := n.Close(); err != nil {
		n.t.Error(err)
	}
}

// await waits until done returns true.
func (n *clusterNode) await(problem string, done func() bool) {
	n.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); !done(); <-tick.C {
		select {
		case err := <-n.done:
			n.done <- err
			n.t.Fatalf("%s, and the crawl has ended: %v", problem, err)
		default:
		}
		if time.Now().After(end) {
			n.t.Fatal(problem)
		}
	}
}

// finds reports whether a search finds a word.
func finds(t *testing.T, s *Site, word string) bool {
	t.Helper()
	found, err := s.Search(t.Context(), present.Query{Text: word}, present.Reader{})
	if err != nil {
		t.Fatal(err)
	}
	return len(found.Results) > 0
}

// owns reports whether the node reads the policy of a publisher.
func (n *clusterNode) reads(p *clusterPublisher) bool {
	n.t.Helper()
	u, err := url.Parse(p.origin)
	if err != nil {
		n.t.Fatal(err)
	}
	return !n.foreign(u)
}

// readAgain makes the node read a policy again.
func (n *clusterNode) readAgain(p *clusterPublisher) {
	n.t.Helper()
	if _, err := n.session.readAgain(n.t.Context(), p.origin); err != nil {
		n.t.Fatal(err)
	}
}

// filesWith returns the files below a directory that contain a text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) { // a running node replaces files
			return nil
		}
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// tracesOf returns the files of a data directory that contain the word of a page, also spelt backwards as in the
// dictionaries of the index, and the files of the index that contain the address of the page.
func tracesOf(t *testing.T, dir string, p *clusterPublisher, page, word string) []string {
	t.Helper()
	letters := []byte(word)
	slices.Reverse(letters)
	return slices.Concat(filesWith(t, dir, word), filesWith(t, dir, string(letters)),
		filesWith(t, filepath.Join(dir, "index"), p.origin+"/"+page))
}

// twoNodes is a cluster of two nodes. The first has crawled all pages, and the second then took over the partition of
// the publisher moved.
type twoNodes struct {
	servers    string
	dirs       [2]string
	a, b       *clusterNode
	moved      *clusterPublisher
	publishers []*clusterPublisher
}

func newTwoNodes(t *testing.T, servers string) *twoNodes {
	t.Helper()
	c := &twoNodes{servers: servers, dirs: [2]string{t.TempDir(), t.TempDir()}, publishers: newClusterPublishers(t)}
	var seeds []string
	for _, p := range c.publishers {
		seeds = append(seeds, p.origin+"/a.html", p.origin+"/b.html")
	}
	seeds = append(seeds, c.publishers[0].origin+"/slow.html")
	c.a = startNode(t, servers, "a", c.dirs[0], seeds...)
	c.a.await("the pages are not found", func() bool {
		return !slices.ContainsFunc(c.publishers, func(p *clusterPublisher) bool {
			return !finds(t, c.a.Site, p.a) || !finds(t, c.a.Site, p.b)
		})
	})
	c.b = startNode(t, servers, "b", c.dirs[1])
	c.b.await("the second node gets no partition of a publisher", func() bool {
		for _, p := range c.publishers[1:] {
			if c.b.reads(p) {
				c.moved = p
			}
		}
		return c.moved != nil
	})
	return c
}

// TestTakeDownElsewhere checks that a take-down that one node reads is executed by the node that has the copies: within
// five seconds it shows nothing, and after a compaction no file contains anything of the page.
func TestTakeDownElsewhere(t *testing.T) {
	c := newTwoNodes(t, natstest.One(t))
	p := c.moved
	if err := c.a.holdings.Flush(); err != nil {
		t.Fatal(err)
	}
	if len(tracesOf(t, c.dirs[0], p, "a.html", p.a)) == 0 {
		t.Fatal("the word of the page is in no file, so this test proves nothing")
	}
	p.setRobots("ACAP-crawler: *\nACAP-request-take-down: /a.html\n")
	began := time.Now()
	c.b.readAgain(p)
	c.a.await("the page is still shown", func() bool { return !finds(t, c.a.Site, p.a) })
	t.Logf("hidden after %s", time.Since(began))
	c.a.await("the page is still stored", func() bool {
		held, err := c.a.archive.Holds(p.origin + "/a.html")
		return err == nil && !held
	})
	c.a.await("another page of the site is not shown again", func() bool { return finds(t, c.a.Site, p.b) })
	for _, n := range []*clusterNode{c.a, c.b} {
		n.await("the receipt does not list the nodes", func() bool {
			r, known := n.takeDownOf(p)
			return known && slices.Equal(r.NodesDone, []string{"a", "b"}) && len(r.NodesPending) == 0
		})
		n.end()
	}
	for _, dir := range c.dirs {
		if found := tracesOf(t, dir, p, "a.html", p.a); len(found) > 0 {
			t.Errorf("the word of the page is in %v", found)
		}
	}
}

// takeDownOf returns the last request to take down the page /a.html of a publisher.
func (n *clusterNode) takeDownOf(p *clusterPublisher) (r actions.Request, known bool) {
	n.t.Helper()
	if err := n.ledger.Each(actions.Filter{}, func(is actions.Request) error {
		if is.URL == p.origin+"/a.html" && is.Action == acap.TakeDown && is.Spread != nil {
			r, known = is, true
		}
		return nil
	}); err != nil {
		n.t.Fatal(err)
	}
	return r, known
}

// TestOtherNodeObeys checks that a node with copies obeys what another node reads and what is submitted at another node.
func TestOtherNodeObeys(t *testing.T) {
	c := newTwoNodes(t, natstest.One(t))
	p := c.moved
	p.setRobots("ACAP-crawler: *\nACAP-disallow-present: /a.html\n")
	reads := p.reads.Load()
	c.b.readAgain(p)
	c.a.await("a page that may not be presented is shown", func() bool { return !finds(t, c.a.Site, p.a) })
	c.a.await("the other page is not shown", func() bool { return finds(t, c.a.Site, p.b) })
	if got := p.reads.Load(); got != reads+1 {
		t.Errorf("robots.txt was read %d times", got-reads)
	}
	p.setRobots("ACAP-crawler: *\n")
	c.b.readAgain(p)
	c.a.await("a page that may be presented again is not shown", func() bool { return finds(t, c.a.Site, p.a) })

	r, err := c.b.Submit(t.Context(), actions.Submission{Action: acap.TakeDown, URL: p.origin + "/b.html"})
	if err != nil || r.State != actions.Done {
		t.Fatalf("%+v, %v", r, err)
	}
	c.a.await("a page that the operator took down at another node is shown", func() bool {
		held, err := c.a.archive.Holds(p.origin + "/b.html")
		return err == nil && !held && !finds(t, c.a.Site, p.b)
	})
	c.b.await("the request does not list the nodes", func() bool {
		r, err = oneRequest(c.b.Site, r.ID)
		return err == nil && r.Spread != nil && slices.Equal(r.NodesDone, []string{"a", "b"})
	})
	if !finds(t, c.a.Site, p.a) {
		t.Error("another page is not shown")
	}
	if _, err := c.b.ledger.Withdraw(r.ID, nil); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(p.origin + "/b.html")
	if err != nil {
		t.Fatal(err)
	}
	c.a.await("the withdrawal has not reached the other node", func() bool {
		return terms.TakenDown(t.Context(), c.a.LastPolicies(), u.String()) == nil
	})
}

// oneRequest returns a request of the ledger.
func oneRequest(s *Site, id uint64) (r actions.Request, err error) {
	err = s.ledger.Each(actions.Filter{}, func(is actions.Request) error {
		if is.ID == id {
			r = is
		}
		return nil
	})
	return r, err
}

// TestTakeDownWhileDown checks that a node that did not run during take-downs shows nothing until it has executed them,
// also those whose lines were removed since.
func TestTakeDownWhileDown(t *testing.T) {
	c := newTwoNodes(t, natstest.One(t))
	p := c.moved
	c.a.end()
	p.setRobots("ACAP-crawler: *\nACAP-request-take-down: /a.html\n")
	c.b.readAgain(p)
	p.setRobots("ACAP-crawler: *\n")
	c.b.readAgain(p)
	r, err := c.b.Submit(t.Context(), actions.Submission{Action: acap.TakeDown, URL: p.origin + "/b.html"})
	if err != nil {
		t.Fatal(err)
	}
	c.b.await("the request does not list the node that does not run", func() bool {
		r, err = oneRequest(c.b.Site, r.ID)
		return err == nil && r.Spread != nil && slices.Equal(r.NodesPending, []string{"a"}) &&
			slices.Equal(r.NodesDone, []string{"b"})
	})

	apart := c.openApart(t, "")
	for _, p := range c.publishers {
		if finds(t, apart, p.a) || finds(t, apart, p.b) {
			t.Error("a node that does not reach the cluster shows a page")
		}
	}
	if err := apart.Close(); err != nil {
		t.Fatal(err)
	}

	apart = c.openApart(t, c.servers)
	for _, of := range c.publishers {
		if finds(t, apart, of.a) != (of != p) || finds(t, apart, of.b) != (of != p) {
			t.Errorf("shown: %t, %t; taken down: %t", finds(t, apart, of.a), finds(t, apart, of.b), of == p)
		}
	}
	for _, page := range []string{"/a.html", "/b.html"} {
		if held, err := apart.archive.Holds(p.origin + page); held || err != nil {
			t.Errorf("%s: held %t, %v", page, held, err)
		}
	}
	c.b.await("the request lists the node that has executed it", func() bool {
		r, err = oneRequest(c.b.Site, r.ID)
		return err == nil && len(r.NodesPending) == 0
	})
	if _, err := apart.Compact(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := apart.Close(); err != nil {
		t.Fatal(err)
	}
	for page, word := range map[string]string{"a.html": p.a, "b.html": p.b} {
		if found := tracesOf(t, c.dirs[0], p, page, word); len(found) > 0 {
			t.Errorf("the word of %s is in %v", page, found)
		}
	}
}

// openApart opens the data directory of the first node, which does not crawl.
func (c *twoNodes) openApart(t *testing.T, servers string) *Site {
	t.Helper()
	cfg := nodeConfig(t, c.servers, "", c.dirs[0])
	cfg.Cluster.Servers = servers
	s, err := Open(cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTakeDownWithoutQuorum checks that the operator's take-downs are executed at once at a node when the servers do not
// answer, and at the other nodes when they answer again, in order.
func TestTakeDownWithoutQuorum(t *testing.T) {
	servers := natstest.Start(t, 3)
	c := newTwoNodes(t, servers.URL())
	p := c.moved
	servers.Kill(0)
	servers.Kill(1)
	var ids []uint64
	for _, page := range []string{"/a.html", "/b.html"} {
		r, err := c.a.Submit(t.Context(), actions.Submission{Action: acap.TakeDown, URL: p.origin + page})
		if err != nil || r.State != actions.Done {
			t.Fatalf("%+v, %v", r, err)
		}
		ids = append(ids, r.ID)
	}
	if finds(t, c.a.Site, p.a) || finds(t, c.a.Site, p.b) {
		t.Error("a page that is taken down is shown")
	}
	if !finds(t, c.a.Site, c.publishers[0].a) {
		t.Error("reading does not go on")
	}
	if _, err := c.a.ledger.Withdraw(ids[1], nil); err != nil {
		t.Fatal(err)
	}
	servers.Restart(0)
	servers.Restart(1)
	c.b.await("the requests have not reached the other node", func() bool {
		r, known := c.b.takeDownOf(p)
		return known && r.Standing && r.State == actions.Done
	})
	if err := c.b.ledger.Each(actions.Filter{}, func(r actions.Request) error {
		if r.Standing && r.URL == p.origin+"/b.html" {
			t.Error("a withdrawn request is in force")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
