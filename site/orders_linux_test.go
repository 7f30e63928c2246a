package site

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

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
	for i, n := range []*clusterNode{c.a, c.b} {
		n.await("the receipt does not list the nodes", func() bool {
			r, known := n.takeDownOf(p)
			return known && slices.Equal(r.NodesDone, []string{"a", "b"}) && len(r.NodesPending) == 0
		})
		n.await("files have the word of the page", func() bool { // a compaction that is interrupted leaves it there
			return len(tracesOf(t, c.dirs[i], p, "a.html", p.a)) == 0
		})
		n.end()
	}
	for _, dir := range c.dirs {
		if found := tracesOf(t, dir, p, "a.html", p.a); len(found) > 0 {
			t.Errorf("the word of the page is in %v", found)
		}
	}
}

// scripted makes the first node receive the page /b.html of a publisher that it crawls, as if scripts had made it from
// the page /a.html of the publisher moved. It returns that publisher, and the word that the scripts added.
func (c *twoNodes) scripted(t *testing.T) (p *clusterPublisher, word string) {
	t.Helper()
	for _, p = range c.publishers[1:] {
		if p != c.moved && c.a.reads(p) {
			break
		}
	}
	word = strings.ToLower("c" + rand.Text())
	hop := page.Hop{URL: p.origin + "/b.html", Method: http.MethodGet, Status: http.StatusOK, Start: time.Now(),
		Header:   http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body:     []byte(`<!DOCTYPE html><html lang=en><title>x</title><script src=/app.js></script>`),
		Rendered: []byte("<!DOCTYPE html><html lang=en><title>x</title><p>" + word),
		Made:     []string{c.moved.origin + "/a.html"}}
	if _, err := c.a.holdings.Receive(t.Context(), page.New([]page.Hop{hop})); err != nil {
		t.Fatal(err)
	}
	c.a.await("the page is not found", func() bool { return finds(t, c.a.Site, word) })
	return p, word
}

// TestTakeDownOfDataElsewhere checks that a page which scripts made from something on the host of another node is
// erased when that node reads a take-down of it, and is crawled again.
func TestTakeDownOfDataElsewhere(t *testing.T) {
	c := newTwoNodes(t, natstest.One(t))
	p, word := c.scripted(t)
	c.moved.setRobots("ACAP-crawler: *\nACAP-request-take-down: /a.html\n")
	c.b.readAgain(c.moved)
	c.a.await("the page is still shown", func() bool { return !finds(t, c.a.Site, word) })
	c.a.await("the page is not crawled again", func() bool { return finds(t, c.a.Site, p.b) })
	stones, err := c.a.archive.Tombstones(p.origin + "/b.html")
	if err != nil || len(stones) != 1 || stones[0].Reason != archive.ReasonDerived ||
		stones[0].Line != c.moved.origin+"/robots.txt:2: ACAP-request-take-down: /a.html" {
		t.Errorf("%+v, %v", stones, err)
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

// TestOtherNodeObeys checks that a node with copies obeys what another node reads and what is submitted at another
// node.
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

// TestTakeDownWithoutQuorum checks that the operator's take-downs are executed at once at a node when the servers do
// not answer, and at the other nodes when they answer again, in order.
func TestTakeDownWithoutQuorum(t *testing.T) {
	servers := natstest.Start(t, 3)
	c := newTwoNodes(t, servers.URL())
	p := c.moved
	made, word := c.scripted(t)
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
	if finds(t, c.a.Site, p.a) || finds(t, c.a.Site, p.b) || finds(t, c.a.Site, word) {
		t.Error("a page that is taken down, or that scripts made from one, is shown")
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
	// the client may send what it has tried to send before the withdrawal, and then the withdrawal
	c.b.await("a withdrawn request stays in force", func() bool {
		standing := false
		err := c.b.ledger.Each(actions.Filter{}, func(r actions.Request) error {
			standing = standing || r.Standing && r.URL == p.origin+"/b.html"
			return nil
		})
		return err == nil && !standing
	})
	c.a.await("what scripts made of the page is not crawled again", func() bool {
		return finds(t, c.a.Site, made.b) || finds(t, c.b.Site, made.b)
	})
}
