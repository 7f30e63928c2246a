package site

import (
	"slices"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// TestCreditElsewhere checks that a node gets a credit from a host of another node, although the host fails at first.
func TestCreditElsewhere(t *testing.T) {
	c := newTwoNodes(t, natstest.One(t))
	others := c.publishers[1:] // the first is answering a page
	i := slices.IndexFunc(others, func(p *clusterPublisher) bool { return c.a.reads(p) })
	if i < 0 {
		t.Fatal("the first node has lost all publishers")
	}
	own := others[i]
	c.moved.failures.Store(1)
	own.setRobots("ACAP-version: 1.1\nACAP-crawler: *\n" +
		"ACAP-allow-present-snippet: / must-include-resource=the-acap:credit:" + c.moved.origin + "/credit.txt\n")
	c.a.readAgain(own)
	page := own.origin + "/a.html"
	if _, err := c.a.Submit(t.Context(), actions.Submission{Action: acap.ReCrawl, URL: page}); err != nil {
		t.Fatal(err)
	}
	awaits := func() bool {
		list, err := c.a.archive.Awaits(page)
		if err != nil {
			t.Fatal(err)
		}
		return len(list) > 0
	}
	c.a.await("the page does not wait for the credit", awaits)
	c.a.await("the credit is not requested again", func() bool { return c.moved.credits.Load() > 0 })
	c.a.await("the page still waits for the credit", func() bool { return !awaits() })
	if n := c.moved.credits.Load(); n != 1 {
		t.Errorf("the credit was requested %d times", n)
	}
}

// TestOwnerEnds checks that a request succeeds although the node that makes it for another node ends.
func TestOwnerEnds(t *testing.T) {
	c := newTwoNodes(t, natstest.One(t))
	c.moved.hangs.Store(1)
	got := make(chan error, 1)
	go func() {
		_, err := c.a.gate.Get(t.Context(), gate.Part, c.moved.origin+"/credit.txt")
		got <- err
	}()
	c.a.await("the other node requests nothing", func() bool { return c.moved.hangs.Load() == 0 })
	c.b.end()
	if err := <-got; err != nil || c.moved.credits.Load() != 1 {
		t.Errorf("%d answers, %v", c.moved.credits.Load(), err)
	}
	if c.a.heldUntil(c.moved.host).IsZero() {
		t.Error("the node does not know when the earlier owner may have requested the host")
	}
}
