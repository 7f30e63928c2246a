package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/internal/test/arrivals"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// Three nodes crawl a web as politely as one, and request each page once. One node crawls the same web without a
// cluster: it stores the same pages, decides the same, and finds the same. Only redirects to other hosts differ, which
// one node follows at once.
func TestClusterCrawl(t *testing.T) {
	t.Parallel()
	p := calm()
	p.web.RetryAfter = 0 // it is demanded only once, so it would differ for the second crawl
	p.web.CrawlDelay = 0 // saves time; the other tests have it
	f := newJoint(t, p, natstest.One(t))
	f.scope = []string{"--exclude", "/closed/*3$"} // most links to these pages are on other hosts
	f.begin("a", "b", "c")
	f.awaitEnd()
	f.judge()
	names := []string{"a", "b", "c"}
	for _, name := range names {
		f.detach(name)
		if len(f.pages(name)) == 0 {
			t.Errorf("node %s has no pages", name)
		}
	}

	cmd := exec.CommandContext(t.Context(), "acapcrawl", append(append([]string{"crawl"}, f.settings("alone")...),
		f.web.Home())...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f.same("pages", f.pages, names)
	f.same("decisions", f.decisions, names)
	outside := func(line string) bool { return strings.Contains(line, `"out-of-scope"`) }
	if !slices.ContainsFunc(f.decisions("alone"), outside) {
		t.Error("nothing is out of scope")
	}
	for _, query := range []string{"page", "host 7", `"another page"`} {
		f.same("results of "+query, func(name string) []string { return f.results(name, query) }, names)
	}
}

// detach makes the data directory of a node that has ended one of a machine that crawls alone. Without its cluster a
// node shows nothing, since a page may have been taken down meanwhile.
func (f *joint) detach(name string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.data(name), "cluster.json")); err != nil {
		f.t.Fatal(err)
	}
}

// same compares what the data directories of nodes have together with what a crawl on one machine has.
func (f *joint) same(what string, of func(name string) []string, nodes []string) {
	f.t.Helper()
	count := map[string]int{}
	for _, name := range nodes {
		for _, line := range of(name) {
			count[line]++
		}
	}
	alone := of("alone")
	if len(alone) == 0 {
		f.t.Errorf("there are no %s", what)
	}
	for _, line := range alone {
		count[line]--
	}
	maps.DeleteFunc(count, func(line string, _ int) bool { return arrivals.Redirects(line) })
	for _, line := range slices.Sorted(maps.Keys(count)) {
		if n := count[line]; n != 0 {
			f.t.Errorf("%s: the cluster has this %d times more often than one machine: %s", what, n, line)
		}
	}
}

// list runs a verb on a data directory that prints a list in JSON, and returns the items without the given fields.
func (f *joint) list(name string, without []string, args ...string) (list []string) {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), "acapcrawl", append(args, "--json", "--data", f.data(name))...)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("%v: %v\n%s", args, err, failed.Bytes())
	}
	var items []map[string]any
	if err := json.Unmarshal(out, &items); err != nil {
		f.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	for _, item := range items {
		list = append(list, f.describe(item, without...))
	}
	return list
}

// describe returns the fields of an object, without some.
func (f *joint) describe(v map[string]any, without ...string) string {
	f.t.Helper()
	for _, name := range without {
		delete(v, name)
	}
	text, err := json.Marshal(v)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(text)
}

// pages describes the archived pages of a data directory, without the time of the crawl.
func (f *joint) pages(name string) []string {
	f.t.Helper()
	return f.list(name, []string{"fetched"}, "archive", "ls")
}

// decisions describes what a crawl has not done, and why.
func (f *joint) decisions(name string) (list []string) {
	f.t.Helper()
	file, err := os.Open(f.data(name) + ".report")
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var v map[string]any
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			f.t.Fatal(err)
		}
		list = append(list, f.describe(v, "time"))
	}
	return list
}

// results describes what a search finds, in no order: the order depends on what else is in the index.
func (f *joint) results(name, query string) []string {
	f.t.Helper()
	return f.list(name, []string{"fetched"}, "search", "--limit", "1000", query)
}
