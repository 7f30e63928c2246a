package crawler

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/internal/memory"
	"github.com/acapcrawl/acapcrawl/internal/test/squeeze"
	"github.com/acapcrawl/acapcrawl/page"
)

// Eight hosts send a decompression bomb at the same time. Only one page at a time is decompressed
// and passed to the handler, and in the end all are.
func TestLargePagesOneAtATime(t *testing.T) {
	bomb := squeeze.Bytes(t, "gzip", []byte(strings.Repeat("<br>", 400_000)))
	c := newCrawl(t)
	c.o.Concurrency, c.o.Depth = 8, 0
	c.o.Budget = memory.NewBudget(1) // the smallest possible memory budget
	var at, most atomic.Int32
	c.handler.receive = func(pg *page.Page) (Receipt, error) {
		if pg.Last().URL[len(pg.Last().URL)-1] == '/' {
			most.Store(max(most.Load(), at.Add(1)))
			at.Add(-1)
		}
		return Receipt{Cut: true}, nil
	}
	var seeds []string
	for range 8 {
		s := newSite(t)
		s.Handle("/", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		})
		s.Page("/small")
		seeds = append(seeds, s.URL+"/", s.URL+"/small")
	}
	sum := c.run(t, t.Context(), seeds...)
	if sum.Fetched != 16 || sum.Cut != 16 || most.Load() != 1 {
		t.Errorf("%d fetched, %d cut, %d at a time", sum.Fetched, sum.Cut, most.Load())
	}
	if got := c.o.Budget.Most(); got != 32<<20 {
		t.Errorf("%d bytes of room were taken", got)
	}
}

// Pages that wait for memory are returned to the queue when the crawl ends, and the next crawl
// visits them.
func TestWaitingForRoomEnds(t *testing.T) {
	large := strings.Repeat("<br>", 500_000)
	c := newCrawl(t)
	c.o.Depth, c.o.Budget, c.o.Grace = 0, memory.NewBudget(1), 1
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c.handler.receive = func(*page.Page) (Receipt, error) {
		stop() // the other pages wait until this one ends
		return Receipt{}, nil
	}
	var seeds []string
	for range 4 {
		s := newSite(t)
		s.Handle("/", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, large)
		})
		seeds = append(seeds, s.URL+"/")
	}
	first := c.run(t, ctx, seeds...)
	c.handler.receive = func(*page.Page) (Receipt, error) { return Receipt{}, nil }
	second := c.run(t, t.Context())
	if first.Fetched == 0 || first.Fetched+second.Fetched != 4 || second.Queued != 0 {
		t.Errorf("%d pages, then %d; %d are left", first.Fetched, second.Fetched, second.Queued)
	}
}

// A page that holds the whole memory budget can request a large required resource. At the same time
// the crawler can request that resource on its own.
func TestLargePartsNeedNoRoom(t *testing.T) {
	s := newSite(t)
	s.Handle("/part", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(squeeze.Bytes(t, "gzip", slices.Repeat([]byte("a part "), 500_000)))
	})
	b := memory.NewBudget(1)
	ctx, lease := b.Lease(t.Context())
	defer lease.Release()
	if err := lease.Hold(ctx, 1<<40); err != nil {
		t.Fatal(err)
	}
	g := gate.New(gate.Options{AllowPrivate: true})
	defer g.Close()
	g.Use(rules{})
	for _, ctx := range []context.Context{ctx, b.Require(t.Context())} {
		trace, err := g.Get(ctx, gate.Part, s.URL+"/part")
		if err != nil || len(trace.Hops[0].Body) != 3_500_000 {
			t.Errorf("%v: %d bytes", err, len(trace.Hops[0].Body))
		}
	}
}
