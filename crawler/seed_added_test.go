package crawler

import (
	"context"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/page"
)

// In a cluster another machine may add a seed during a run. Then its pages are in scope, and so are links to them that
// were out of scope before.
func TestSeedAddedDuringRun(t *testing.T) {
	s, other := newSite(t), newSite(t)
	away := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	s.Page("/", "/a", away+"/linked")
	s.Page("/a")
	other.Page("/", "/found")
	other.Page("/found")
	other.Page("/linked")
	c := newCrawl(t)
	c.o.Concurrency = 1
	if _, err := c.frontier.AddSeeds(s.URL); err != nil {
		t.Fatal(err)
	}
	c.handler.receive = func(p *page.Page) (Receipt, error) {
		if p.URL().Path == "/a" { // after the home page, whose link to the other site is out of scope
			if _, err := c.frontier.AddSeeds(away); err != nil {
				return Receipt{}, err
			}
		}
		return Receipt{Links: p.Links(page.Cut{}), Stored: true}, nil
	}
	c.run(t, context.Background())
	for _, path := range []string{"/", "/found", "/linked"} {
		if n := other.Asked(path); n != 1 {
			t.Errorf("%s of the new seed was requested %d times", path, n)
		}
	}
}
