package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/fakes3"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
	"github.com/acapcrawl/acapcrawl/internal/test/s3servers"
)

// lostNode is a cluster with one node whose pages have copies.
type lostNode struct {
	t        *testing.T
	h        *harbour
	objects  func() map[string][]byte
	s3       string // settings of the object store
	nats     string // directory of the NATS server
	dir      string // directory of everything else
	settings string
}

func newLostNode(t *testing.T) *lostNode {
	return newLostNodeWith(t, fakes3.Start(t))
}

func newLostNodeWith(t *testing.T, store *fakes3.Server) *lostNode {
	n := newLostNodeAt(t, fmt.Sprintf("endpoint: '%s', bucket: %s", store.URL, fakes3.Bucket))
	n.objects = store.Objects
	return n
}

// newLostNodeOn keeps the copies in a server of another project.
func newLostNodeOn(t *testing.T, name string) *lostNode {
	store := s3servers.Start(t, name)
	n := newLostNodeAt(t, fmt.Sprintf("endpoint: '%s', bucket: %s, region: us-east-1, unversioned: true", store.URL,
		s3servers.Bucket))
	n.objects = func() map[string][]byte {
		all := map[string][]byte{}
		if err := filepath.WalkDir(store.Dir, func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(store.Dir, at)
			if err == nil {
				all[name], err = os.ReadFile(at)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
		return all
	}
	return n
}

func newLostNodeAt(t *testing.T, s3 string) *lostNode {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	n := &lostNode{t: t, h: startHarbour(t), s3: s3, nats: t.TempDir(), dir: t.TempDir()}
	url := natstest.OneIn(t, n.nats)
	n.settings = filepath.Join(n.dir, "c.yaml")
	n.write("c.yaml", fmt.Sprintf("cluster: %s\nnode: b\ncluster_key_file: %s\nlease: 3s\nlease_margin: 1s\n"+
		"wait: 0s\npartitions: 4\ns3: {%s, prefix: one}\n", url, filepath.Join(n.dir, "key"), s3))
	n.write("key", base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("0123456789abcdef"), 2))+"\n")
	return n
}

func (n *lostNode) write(name, text string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func (n *lostNode) data(name string) string { return filepath.Join(n.dir, name) }

// call calls a verb with the settings of the node.
func (n *lostNode) call(data string, want int, args ...string) string {
	n.t.Helper()
	said := call(n.t.Context(), n.data(data), append(args, "--config", n.settings)...)
	if said.status != want {
		n.t.Fatal(args, said)
	}
	return said.stdout + said.stderr
}

// alone calls a verb that reads the data directory without the cluster.
func (n *lostNode) alone(data string, want int, args ...string) string {
	n.t.Helper()
	n.write("alone.yaml", fmt.Sprintf("s3: {%s, prefix: one}\n", n.s3))
	said := call(n.t.Context(), n.data(data), append(args, "--config", n.data("alone.yaml"))...)
	if said.status != want {
		n.t.Fatal(args, said)
	}
	return said.stdout + said.stderr
}

// serve serves the data directory while fn runs, so that verbs with --cluster find a node.
func (n *lostNode) serve(data string, fn func()) {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	ended := make(chan answer, 1)
	go func() { ended <- call(ctx, n.data(data), "serve", "--listen", "127.0.0.1:0", "--config", n.settings) }()
	stop := sync.OnceValue(func() answer {
		cancel()
		return <-ended
	})
	defer stop()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		said := call(ctx, n.data(data), "archive", "stats", "--config", n.settings)
		if said.status == statusDone {
			break
		}
		if time.Now().After(deadline) {
			n.t.Fatal(said, stop())
		}
	}
	fn()
}

// keysOf returns the keys of a data directory in parts.
func keysOf(t *testing.T, data string) (parts [][]byte) {
	t.Helper()
	keys, err := os.ReadFile(filepath.Join(data, "keys.db"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 32; i+16 <= len(keys); i += 16 {
		if part := keys[i : i+16]; bytes.Count(part, []byte{0}) < 8 {
			parts = append(parts, part)
		}
	}
	return parts
}

// contains reports whether a file below dir contains one of the parts.
func contains(dir string, parts ...[]byte) (name string) {
	_ = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		text, _ := os.ReadFile(at)
		for _, part := range parts {
			if bytes.Contains(text, part) {
				name = at
			}
		}
		return nil
	})
	return name
}

// TestLostNode crawls, erases a page, loses the data directory, and recovers it.
func TestLostNode(t *testing.T) {
	newLostNode(t).loseAndRecover(t)
}

// TestLostNodeOnServers is TestLostNode and TestStaleNode with real object stores.
func TestLostNodeOnServers(t *testing.T) {
	for _, name := range s3servers.Names {
		t.Run(name, func(t *testing.T) { newLostNodeOn(t, name).loseAndRecover(t) })
		t.Run(name+", stale", func(t *testing.T) { newLostNodeOn(t, name).returnStale(t) })
	}
}

func (n *lostNode) loseAndRecover(t *testing.T) {
	ferry, knots, retracted := n.h.URL+"/news/ferry.html", n.h.URL+"/essays/knots.html", n.h.URL+"/retracted.html"
	n.call("old", statusDone, "crawl", "--delay", "0", "--depth", "0", ferry, knots, retracted)
	n.h.change(func() { n.h.robots += "ACAP-request-take-down: /retracted.html\n" })
	n.call("old", statusDone, "crawl", "--delay", "0", "--depth", "0", "--refetch")
	var list, body string
	n.serve("old", func() {
		list, body = n.call("old", statusDone, "archive", "ls"), n.call("old", statusDone, "show", knots)
	})
	if !strings.Contains(list, knots) || strings.Contains(list, retracted) {
		t.Fatal(list)
	}
	erased := n.alone("old", statusDone, "archive", "verify", "--erased", retracted)
	parts := keysOf(t, n.data("old"))
	for name, object := range n.objects() {
		if !strings.HasPrefix(name, "one/nodes/b/") || bytes.Contains(object, []byte("ferry")) {
			t.Errorf("object %s", name)
		}
		for _, part := range parts {
			if bytes.Contains(object, part) {
				t.Errorf("object %s has a key", name)
			}
		}
	}
	if name := contains(n.nats, parts...); name != "" {
		t.Errorf("%s has a key that is not encrypted", name)
	}
	n.lose()

	n.call("new", statusUsage, "archive", "recover", "--node", "c")
	said := n.call("new", statusDone, "archive", "recover")
	if !strings.Contains(said, "contains the data directory of node b") {
		t.Error(said)
	}
	n.call("new", statusUsage, "archive", "recover")
	n.alone("new", statusDone, "archive", "verify")
	n.serve("new", func() {
		said := call(t.Context(), n.data("new"), "show", knots, "--config", n.settings)
		if said.status == statusDone || strings.Contains(said.stdout, "knot") {
			t.Error("a page is shown before its policy was read again:", said)
		}
	})
	n.call("new", statusDone, "crawl", "--delay", "0", "--depth", "0", "--refetch", ferry)
	n.serve("new", func() {
		if got := n.call("new", statusDone, "show", knots); got != body {
			t.Errorf("it shows\n%s\nwant\n%s", got, body)
		}
		if said := n.call("new", statusDone, "search", "knot"); !strings.Contains(said, knots) {
			t.Error(said)
		}
	})
	if got := n.alone("new", statusDone, "archive", "verify", "--erased",
		retracted); strings.SplitAfter(got, "\n")[0] !=
		strings.SplitAfter(erased, "\n")[0] {
		t.Errorf("it says\n%s\nwant\n%s", got, erased)
	}
}

// lose loses the data directory.
func (n *lostNode) lose() {
	n.t.Helper()
	if err := os.RemoveAll(n.data("old")); err != nil {
		n.t.Fatal(err)
	}
}

// TestStaleNode recovers a node whose data directory appears again: the old directory changes nothing.
func TestStaleNode(t *testing.T) {
	newLostNode(t).returnStale(t)
}

func (n *lostNode) returnStale(t *testing.T) {
	ferry, knots := n.h.URL+"/news/ferry.html", n.h.URL+"/essays/knots.html"
	n.call("old", statusDone, "crawl", "--delay", "0", "--depth", "0", ferry)
	n.call("new", statusDone, "archive", "recover")
	objects := len(n.objects())
	said := n.call("old", statusUsage, "crawl", "--delay", "0", "--depth", "0", knots)
	if !strings.Contains(said, "continued from another data directory") {
		t.Error(said)
	}
	if got := len(n.objects()); got != objects {
		t.Errorf("%d objects, want %d", got, objects)
	}
	n.call("new", statusDone, "crawl", "--delay", "0", "--depth", "0", knots)
	n.alone("new", statusDone, "archive", "verify")
}

// TestUnfitStore checks that a node uses no object store that keeps old versions of objects, or that replaces objects
// although the request forbids it.
func TestUnfitStore(t *testing.T) {
	store := fakes3.Start(t)
	n := newLostNodeWith(t, store)
	ferry := n.h.URL + "/news/ferry.html"
	for _, versioning := range []string{"Enabled", "Suspended", "NotImplemented"} {
		store.Change(func() { store.Versioning = versioning })
		said := n.call("none", statusUsage, "crawl", "--delay", "0", "--depth", "0", ferry)
		if !strings.Contains(said, "old versions of objects") {
			t.Error(said)
		}
	}
	store.Change(func() {
		store.Versioning = ""
		store.Fail = func(_ http.ResponseWriter, r *http.Request, _ string) bool {
			r.Header.Del("If-None-Match")
			return false
		}
	})
	if said := n.call("other", statusUsage, "crawl", "--delay", "0", "--depth", "0", ferry); !strings.Contains(said,
		"If-None-Match") {
		t.Error(said)
	}
	for name, object := range n.objects() {
		if strings.Contains(name, "/bodies/") || bytes.Contains(object, []byte("ferry")) {
			t.Errorf("the object %s is stored", name)
		}
	}
	store.Change(func() { store.Fail = nil })
	n.call("other", statusDone, "crawl", "--delay", "0", "--depth", "0", ferry)
	store.Change(func() { store.Versioning = "Enabled" })
	if err := os.RemoveAll(n.data("other")); err != nil {
		t.Fatal(err)
	}
	n.call("new", statusUsage, "archive", "recover")
	store.Change(func() { store.Versioning = "" })
	n.call("new", statusDone, "archive", "recover")
}

// TestClusterKeyFile checks keys of a cluster that cannot be used.
func TestClusterKeyFile(t *testing.T) {
	n := newLostNode(t)
	ferry := n.h.URL + "/news/ferry.html"
	for _, text := range []string{"", "short", strings.Repeat("g", 64), strings.Repeat("0", 62)} {
		n.write("key", text)
		if said := n.call("none", statusUsage, "crawl", ferry); !strings.Contains(said, "openssl rand") {
			t.Error(said)
		}
	}
	if err := os.Remove(n.data("key")); err != nil {
		t.Fatal(err)
	}
	n.call("none", statusUsage, "crawl", ferry)
	n.write("key", strings.Repeat("01", 32))
	if err := os.Chmod(n.data("key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if said := n.call("old", statusDone, "crawl", "--delay", "0", "--depth", "0", ferry); !strings.Contains(said,
		"chmod 600") {
		t.Error(said)
	}
	n.write("key", strings.Repeat("02", 32))
	if said := n.call("old", statusUsage, "crawl", ferry); !strings.Contains(said, "another key of the cluster") {
		t.Error(said)
	}
	if said := n.call("other", statusUsage, "crawl", "--node", "c", "--delay", "0", "--depth", "0",
		ferry); !strings.Contains(said, "another key") {
		t.Error(said)
	}
	n.call("new", statusUsage, "archive", "recover")
	n.write("key", strings.Repeat("01", 32))
	n.call("new", statusDone, "archive", "recover")
}
