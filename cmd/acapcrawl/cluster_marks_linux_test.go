package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/test/fakes3"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// markedPage is a page whose address, title and text have words that occur nowhere else.
type markedPage struct{ url, path, title, text string }

// markedHost is a web site with pages of that kind.
type markedHost struct {
	origin string
	pages  []markedPage

	mu     sync.Mutex
	robots string
	read   chan time.Time // receives when robots is read for the first time
}

// setRobots changes robots.txt. The channel that it returns receives when it is read for the first time since.
func (h *markedHost) setRobots(text string) (read <-chan time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.robots, h.read = text, make(chan time.Time, 1)
	return h.read
}

func (h *markedHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		h.mu.Lock()
		defer h.mu.Unlock()
		fmt.Fprint(w, h.robots)
		select {
		case h.read <- time.Now():
		default:
		}
		return
	}
	i := slices.IndexFunc(h.pages, func(p markedPage) bool { return p.path == r.URL.Path })
	if i < 0 {
		http.NotFound(w, r)
		return
	}
	fmt.Fprintf(w, "<!DOCTYPE html><html lang=en><title>%s</title><p>A gull read %s.</html>", h.pages[i].title,
		h.pages[i].text)
}

// markedCluster is a cluster of three nodes on three servers, with copies of the pages in an object store. The nodes
// have crawled all pages of the hosts, and go on with a host that has none.
type markedCluster struct {
	*running
	nats   *natstest.Cluster
	store  *fakes3.Server
	secret []byte
	hosts  []*markedHost

	mu     sync.Mutex
	sealed map[string][]byte // what the servers had of keys: node.number → encrypted key
}

func newMarkedCluster(t *testing.T, names ...string) *markedCluster {
	t.Helper()
	c := &markedCluster{nats: natstest.StartProcesses(t, 3), store: fakes3.Start(t), secret: make([]byte, 32),
		sealed: map[string][]byte{}}
	rand.Read(c.secret)
	dir := t.TempDir()
	c.running = &running{t: t, servers: c.nats.URL(), dir: filepath.Join(dir, "nodes"), nodes: map[string]*exec.Cmd{},
		env:   []string{"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"},
		flags: []string{"--lease", "4s", "--lease-margin", "1s", "--config", filepath.Join(dir, "c.yaml")}}
	c.write(filepath.Join(dir, "key"), base64.StdEncoding.EncodeToString(c.secret))
	c.write(filepath.Join(dir, "c.yaml"), fmt.Sprintf("cluster_key_file: %s\ns3: {endpoint: '%s', bucket: %s}\n",
		filepath.Join(dir, "key"), c.store.URL, fakes3.Bucket))
	c.serve()
	for _, name := range names[1:] {
		c.start(name)
	}
	c.await("the nodes share the partitions", func() bool {
		return strings.Count(c.run("cluster", "status", "--json").stdout, `"partitions":6,`) == 2
	})
	c.copies(names[0]) // makes the bucket
	natstest.Watch(t, c.servers, "acapcrawl_keys", func(key string, value []byte, _ uint64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sealed[key] = value
	})
	var seeds []string
	for _, h := range c.hosts {
		for _, p := range h.pages {
			seeds = append(seeds, p.url)
		}
	}
	for i := range 600 { // the crawl needs a second for each
		seeds = append(seeds, fmt.Sprintf("http://%s/none/%d", c.slow, i))
	}
	c.start(names[0], seeds...)
	c.await("all pages are found", func() bool {
		return strings.Count(c.run("search", "--json", "--limit", "100", "gull").stdout, `"url"`) == 3*len(c.hosts)
	})
	return c
}

func (c *markedCluster) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// serve starts the hosts, and one that has a Crawl-delay and no pages.
func (c *markedCluster) serve() {
	c.t.Helper()
	mark := func() string { return strings.ToLower(rand.Text()) }
	for i := range 9 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.78.0.%d:0", i+1))
		if err != nil {
			c.t.Fatal(err)
		}
		h := &markedHost{origin: "http://" + l.Addr().String()}
		h.setRobots("ACAP-crawler: *\n")
		if i == 8 {
			h.setRobots("User-agent: *\nCrawl-delay: 1\n")
			c.slow = l.Addr().String()
		} else {
			for range 3 {
				path := "/" + mark()
				h.pages = append(h.pages, markedPage{h.origin + path, path, mark(), mark()})
			}
			c.hosts = append(c.hosts, h)
		}
		server := &http.Server{Handler: h}
		go server.Serve(l)
		c.t.Cleanup(func() { server.Close() })
	}
}

// holders returns the nodes that have archived a page and run.
func (c *markedCluster) holders(p markedPage) (nodes []string) {
	c.t.Helper()
	for _, item := range c.object("archive", "ls")["captures"].([]any) {
		one := item.(map[string]any)
		if node := one["node"].(string); one["url"] == p.url && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// own calls a verb about the data directory of one node, which its process executes.
func (c *markedCluster) own(name string, args ...string) answer {
	return call(c.t.Context(), c.data(name), args...)
}

// shows reports whether a node itself shows a page, as a copy or as a result of a search.
func (c *markedCluster) shows(name string, p markedPage) bool {
	c.t.Helper()
	shown, found := c.own(name, "show", p.url), c.own(name, "search", p.text)
	for _, a := range []answer{shown, found} {
		if a.status == statusUsage || a.status == statusFailed {
			c.t.Errorf("node %s: %+v", name, a)
		}
	}
	return strings.Contains(shown.stdout, p.text) || strings.Contains(found.stdout, p.title)
}

// destroyed returns the keys of a node, in parts, that it had before and has no more.
func (c *markedCluster) destroyed(name string, before [][]byte) (gone [][]byte) {
	c.t.Helper()
	now := keysOf(c.t, c.data(name))
	for _, part := range before {
		if !slices.ContainsFunc(now, func(b []byte) bool { return bytes.Equal(b, part) }) {
			gone = append(gone, part)
		}
	}
	return gone
}

// removedCopies returns the encrypted keys of nodes that the servers had and have no more.
func (c *markedCluster) removedCopies(names ...string) (gone [][]byte) {
	c.t.Helper()
	var held [][]byte
	for _, name := range names {
		held = append(held, c.copies(name)...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, sealed := range c.sealed {
		node, _, numbered := strings.Cut(name, ".")
		if numbered && slices.Contains(names, node) &&
			!slices.ContainsFunc(held, func(b []byte) bool { return bytes.Equal(b, sealed) }) {
			gone = append(gone, sealed)
		}
	}
	return gone
}

// copies returns the encrypted keys of a node that the servers have.
func (c *markedCluster) copies(name string) (sealed [][]byte) {
	c.t.Helper()
	check, err := archive.SecretCheck(c.secret)
	if err != nil {
		c.t.Fatal(err)
	}
	keys := cluster.NewPageKeys(cluster.Options{Servers: c.servers, Node: name}, check)
	defer keys.Close()
	for k, err := range keys.All(c.t.Context()) {
		if err != nil {
			c.t.Fatal(err)
		}
		sealed = append(sealed, k.Sealed)
	}
	return sealed
}

// traces returns where something of a page is: its words in any file or object, also spelt backwards as in the
// dictionaries of the index, and its path in the files of indexes and in objects.
func (c *markedCluster) traces(p markedPage) (found []string) {
	c.t.Helper()
	var words [][]byte
	for _, word := range []string{p.title, p.text} {
		back := []byte(word)
		slices.Reverse(back)
		words = append(words, []byte(word), back)
	}
	found = append(c.places(words...), c.objectsWith([]byte(p.path)))
	for name := range c.nodes {
		found = append(found, contains(filepath.Join(c.data(name), "index"), []byte(p.path)))
	}
	return slices.DeleteFunc(found, func(name string) bool { return name == "" })
}

// places returns one file of the nodes, one of the servers, and one object that contain one of the parts.
func (c *markedCluster) places(parts ...[]byte) (found []string) {
	found = []string{contains(c.dir, parts...), contains(c.nats.Dir(), parts...), c.objectsWith(parts...)}
	return slices.DeleteFunc(found, func(name string) bool { return name == "" })
}

// objectsWith returns the name of an object that contains one of the parts.
func (c *markedCluster) objectsWith(parts ...[]byte) (found string) {
	for name, object := range c.store.Objects() {
		if slices.ContainsFunc(parts, func(part []byte) bool { return bytes.Contains(object, part) }) {
			found = name
		}
	}
	return found
}
