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

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/present"
)

// testPartitions is the number of partitions in the clusters of these tests.
const testPartitions = 4

// clusterPublisher is a web site with pages /a.html and /b.html, each with a word that occurs nowhere else, and a
// credit. The page /slow.html is answered when the test ends, so that the crawl does not end.
type clusterPublisher struct {
	origin, host string
	robots       atomic.Pointer[string]
	reads        atomic.Int64 // of robots.txt
	failures     atomic.Int64 // how often /credit.txt fails before it is answered
	credits      atomic.Int64 // answers with the credit
	hangs        atomic.Int64 // how often /credit.txt is not answered before
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
		case "/credit.txt":
			if p.hangs.Add(-1) >= 0 {
				<-r.Context().Done()
				return
			}
			if p.failures.Add(-1) >= 0 {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			p.credits.Add(1)
			io.WriteString(w, "The Harbour Press")
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
	cfg, err := config.Load(config.Input{Flags: map[string]any{"data": dir, "delay": "0", "depth": "0",
		"timeout": "10m", "cluster": servers, "node": name, "partitions": testPartitions, "lease": "3s",
		"lease_margin": "1s"}})
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
	var err error
	n.await("the policy is not read", func() bool { // on a busy machine the lease may run out for a moment
		_, err = n.session.readAgain(n.t.Context(), p.origin)
		return !errors.Is(err, gate.ErrPaused)
	})
	if err != nil {
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
