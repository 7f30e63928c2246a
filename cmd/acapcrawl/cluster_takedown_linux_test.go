package main

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// hiddenWithin is how long a page may be shown after its take-down was read or submitted.
const hiddenWithin = 5 * time.Second

// Take-downs during a crawl of three processes: in robots.txt while a node with the page is down, in robots.txt while
// two nodes have the page, and submitted at a node without it while one of those with it is down. Within five seconds
// no node shows the page, nor does one that returns, and after the compactions nothing of it is left in any file and
// object.
func TestClusterTakeDown(t *testing.T) {
	t.Parallel()
	c := newMarkedCluster(t, "a", "b", "c")
	host := c.hosts[0]
	gone, read, submitted := host.pages[0], host.pages[1], host.pages[2]
	first := c.holders(gone)
	if len(first) != 1 {
		t.Fatalf("nodes %v have a page that was requested once", first)
	}
	before := map[string][][]byte{}
	second := c.moveHost(host, first[0])
	for _, name := range []string{first[0], second} {
		before[name] = keysOf(t, c.data(name))
	}

	c.takeDown(host, gone)
	c.awaitErased(second, gone)
	c.serveAgain(first[0], gone, read)
	c.crawlAgain(first[0], gone)
	c.awaitErased(first[0], gone)

	for _, p := range []markedPage{read, submitted} {
		if nodes := c.holders(p); !slices.Equal(nodes, slices.Sorted(slices.Values([]string{first[0], second}))) {
			t.Fatalf("nodes %v have %s", nodes, p.url)
		}
	}
	c.takeDown(host, gone, read)
	third := c.other(first[0], second)
	c.kill(first[0])
	began := time.Now()
	if said := c.own(third, "actions", "submit", "take-down", submitted.url); said.status != statusDone {
		t.Fatal(said)
	}
	c.awaitHidden(submitted, began)
	c.crawlAgain(first[0], submitted)
	c.awaitSpread()
	for _, name := range []string{first[0], second} {
		for _, p := range host.pages {
			c.awaitErased(name, p)
		}
	}
	c.checkTraces(host.pages, before)
	if len(c.traces(c.hosts[1].pages[0])) == 0 {
		t.Error("a page that is not taken down is in no file either, so this test proves nothing")
	}
}

// other returns the node that is none of two.
func (c *markedCluster) other(one, two string) string {
	for name := range c.nodes {
		if name != one && name != two {
			return name
		}
	}
	return ""
}

// moveHost kills the node that has crawled a host, and waits until another one has crawled it again, which it returns.
func (c *markedCluster) moveHost(h *markedHost, from string) (to string) {
	c.t.Helper()
	c.kill(from)
	c.await("the others have its partitions", func() bool {
		return strings.Count(c.run("cluster", "status", "--json").stdout, `"partitions":6,`) == 2
	})
	for name := range c.nodes {
		if name == from {
			continue
		}
		for _, p := range h.pages {
			if said := c.own(name, "actions", "submit", "re-crawl", p.url); said.status != statusDone {
				c.t.Fatal(said)
			}
		}
		break
	}
	c.await("the pages are crawled again", func() bool {
		for _, p := range h.pages {
			nodes := c.holders(p)
			if len(nodes) != 1 || !c.shows(nodes[0], p) {
				return false
			}
			to = nodes[0]
		}
		return true
	})
	return to
}

// kill kills a node with SIGKILL.
func (c *markedCluster) kill(name string) {
	c.nodes[name].Process.Kill()
	c.nodes[name].Wait()
}

// takeDown writes lines into robots.txt that request to take pages down, and makes the owner read it. The last page
// must then be hidden in time.
func (c *markedCluster) takeDown(h *markedHost, pages ...markedPage) {
	c.t.Helper()
	text := "ACAP-crawler: *\n"
	for _, p := range pages {
		text += "ACAP-request-take-down: " + p.path + "\n"
	}
	read := h.setRobots(text)
	ran, late := make(chan answer), time.After(patience)
	run := func() { ran <- c.run("actions", "run", "--origin", h.origin) }
	go run()
	for {
		select {
		case at := <-read:
			c.awaitHidden(pages[len(pages)-1], at)
			if said := <-ran; said.status != statusDone {
				c.t.Error(said)
			}
			return
		case said := <-ran: // the host may have no owner for a moment, because a node has come back
			c.t.Log("robots.txt was not read: ", said)
			go run()
		case <-late:
			c.t.Fatal("robots.txt is not read")
		}
	}
}

// alive returns the nodes that run.
func (c *markedCluster) alive() (names []string) {
	for name, cmd := range c.nodes {
		if cmd.ProcessState == nil {
			names = append(names, name)
		}
	}
	return names
}

// awaitHidden waits until no node that runs shows a page, and checks how long that takes.
func (c *markedCluster) awaitHidden(p markedPage, since time.Time) {
	c.t.Helper()
	c.await("no node shows the page", func() bool {
		return !slices.ContainsFunc(c.alive(), func(name string) bool { return c.shows(name, p) })
	})
	took := time.Since(since)
	c.t.Logf("hidden on %d nodes after %s", len(c.alive()), took.Round(time.Millisecond))
	if took > hiddenWithin {
		c.t.Errorf("%s was shown for %s", p.url, took)
	}
	if said := c.run("show", p.url); said.status == statusDone || strings.Contains(said.stdout, p.text) {
		c.t.Errorf("the cluster shows it: %+v", said)
	}
}

// serveAgain serves the data directory of a node that was killed. It never shows the page gone, and shows the page kept
// again.
func (c *markedCluster) serveAgain(name string, gone, kept markedPage) {
	c.t.Helper()
	said := c.process(name, "serve", "--listen", "127.0.0.1:0", "--config", c.flags[len(c.flags)-1])
	at := ""
	c.await("the node answers", func() bool {
		if found := regexp.MustCompile(`Answering at (http://[^;]+);`).FindStringSubmatch(said.String()); found != nil {
			at = found[1]
		}
		return at != ""
	})
	c.await("the node shows another page", func() bool {
		for _, path := range []string{"/raw/20991231000000/" + gone.url, "/search?q=" + gone.text} {
			if status, _, text := c.get(at + path); strings.Contains(text, gone.title) {
				c.t.Errorf("%s: %d %s", path, status, text)
			}
		}
		return !c.shows(name, gone) && c.shows(name, kept)
	})
	if status, _, text := c.get(at + "/raw/20991231000000/" + kept.url); status != http.StatusOK ||
		!strings.Contains(text, kept.text) {
		c.t.Errorf("%d %s", status, text)
	}
	c.nodes[name].Process.Signal(os.Interrupt)
	c.nodes[name].Wait()
}

// crawlAgain lets a node crawl that was ended. It never shows the page gone, and shows its other pages again.
func (c *markedCluster) crawlAgain(name string, gone markedPage) {
	c.t.Helper()
	c.start(name)
	c.await("the node crawls again and shows its pages", func() bool {
		found := c.run("search", gone.text)
		if shown := c.run("show", gone.url); strings.Contains(found.stdout+shown.stdout, gone.title) {
			c.t.Errorf("it is shown: %+v %+v", found, shown)
		}
		return strings.Count(c.run("cluster", "status", "--json").stdout, `"partitions":4,`) == 3 &&
			strings.Contains(c.own(name, "search", "gull").stdout, "http")
	})
	if c.shows(name, gone) {
		c.t.Error("the node that returned shows what was taken down")
	}
}

// awaitErased waits until a node has erased a page and compacted its files.
func (c *markedCluster) awaitErased(name string, p markedPage) {
	c.t.Helper()
	c.await(fmt.Sprintf("node %s has erased %s", name, p.url), func() bool {
		return strings.Contains(c.own(name, "archive", "verify", "--erased", p.url).stdout,
			"no file contains anything of it")
	})
}

// awaitSpread waits until all requests are executed at all nodes.
func (c *markedCluster) awaitSpread() {
	c.t.Helper()
	c.await("all nodes have executed the requests", func() bool {
		said := c.run("actions", "ls", "--json")
		return strings.Contains(said.stdout, "nodes_done") && !strings.Contains(said.stdout, `"nodes_pending":["`)
	})
}

// checkTraces checks that nothing of pages is left, and that the keys of nodes that were destroyed since are nowhere.
func (c *markedCluster) checkTraces(pages []markedPage, before map[string][][]byte) {
	c.t.Helper()
	for _, p := range pages {
		if found := c.traces(p); len(found) > 0 {
			c.t.Errorf("something of %s is in %v", p.url, found)
		}
	}
	var names []string
	var parts [][]byte
	for name, keys := range before {
		names = append(names, name)
		gone := c.destroyed(name, keys)
		if len(gone) < 2*3*len(pages) {
			c.t.Errorf("node %s has destroyed %d halves of keys", name, len(gone))
		}
		parts = append(parts, gone...)
	}
	copies := c.removedCopies(names...)
	if len(copies) < 2*3*len(pages) {
		c.t.Errorf("the servers have removed %d keys", len(copies))
	}
	if found := c.places(append(parts, copies...)...); len(found) > 0 {
		c.t.Errorf("keys that were destroyed are in %v", found)
	}
	c.t.Logf("%d halves of keys and %d encrypted keys are nowhere", len(parts), len(copies))
}
