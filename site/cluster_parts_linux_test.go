package site

import (
	"slices"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/internal/natstest"
)

// credited is a cluster of two nodes. A page of the first requires a credit from a host of the second.
type credited struct {
	*twoNodes
	page string
}

func newCredited(t *testing.T) *credited {
	t.Helper()
	c := newTwoNodes(t, natstest.One(t))
	others := c.publishers[1:] // the first is answering a page
	i := slices.IndexFunc(others, func(p *clusterPublisher) bool { return c.a.reads(p) })
	if i < 0 {
		t.Fatal("the first node has lost all publishers")
	}
	others[i].setRobots("ACAP-version: 1.1\nACAP-crawler: *\n" +
		"ACAP-allow-present-snippet: / must-include-resource=the-acap:credit:" + c.moved.origin + "/credit.txt\n")
	c.a.readAgain(others[i])
	return &credited{c, others[i].origin + "/a.html"}
}

// crawl requests that the page is crawled again, and returns the number of the request.
func (c *credited) crawl() uint64 {
	c.a.t.Helper()
	r, err := c.a.Submit(c.a.t.Context(), actions.Submission{Action: acap.ReCrawl, URL: c.page})
	if err != nil {
		c.a.t.Fatal(err)
	}
	return r.ID
}

// awaits reports whether the page waits for the credit.
func (c *credited) awaits() bool {
	c.a.t.Helper()
	list, err := c.a.archive.Awaits(c.page)
	if err != nil {
		c.a.t.Fatal(err)
	}
	return len(list) > 0
}

// TestCreditElsewhere checks that a node gets a credit from a host of another node, although the host fails at first.
func TestCreditElsewhere(t *testing.T) {
	c := newCredited(t)
	c.moved.failures.Store(1)
	c.crawl()
	c.a.await("the page does not wait for the credit", c.awaits)
	c.a.await("the credit is not requested again", func() bool { return c.moved.credits.Load() > 0 })
	c.a.await("the page still waits for the credit", func() bool { return !c.awaits() })
	if n := c.moved.credits.Load(); n != 1 {
		t.Errorf("the credit was requested %d times", n)
	}
}

// TestCreditOwnerEnds checks that a visit gets a credit although the node that is requesting it for the visit ends.
func TestCreditOwnerEnds(t *testing.T) {
	c := newCredited(t)
	c.moved.hangs.Store(1)
	id := c.crawl()
	c.a.await("the credit is not requested", func() bool { return c.moved.hangs.Load() == 0 })
	c.b.end()
	c.a.await("the page is not crawled", func() bool {
		r, err := oneRequest(c.a.Site, id)
		return err == nil && r.State == actions.Done
	})
	if c.awaits() || c.moved.credits.Load() != 1 {
		t.Errorf("the visit ended without the credit, which was requested %d times", c.moved.credits.Load())
	}
}
