package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/acapcrawl/acapcrawl/acap"
)

func TestMain(m *testing.M) {
	if step := os.Getenv(childStep); step != "" {
		os.Exit(child(os.Getenv(childDir), step))
	}
	goleak.VerifyTestMain(m)
}

const (
	site   = "http://quay.example"
	origin = site
)

func open(t *testing.T, path string) *Ledger { return openAt(t, path, Options{}) }

// asks returns the action requests in a robots.txt with the given lines.
func asks(lines ...string) []acap.Action {
	text := "ACAP-version: 1.1\nACAP-crawler: *\n" + strings.Join(lines, "\n") + "\n"
	return acap.Parse(site+"/robots.txt", []byte(text)).Policy(acap.Crawler{Names: []string{"gazer"}}).Actions()
}

const (
	down    = "ACAP-request-take-down: "
	recrawl = "ACAP-request-re-crawl: "
)

// crew is an Eraser and a Recrawler for tests. It holds copies in memory, and records its calls.
type crew struct {
	mu     sync.Mutex
	did    []string
	held   map[string]int // number of copies by URL
	stones map[string][]stone
	fail   map[string]error
	visits map[string]Visit // results of visits by URL; a visit of any other URL ends with status 200 at once
	absent bool             // URLs that are not in visits are never visited
	looks  int              // number of calls of Holds
	began  time.Time        // when the last compaction began
}

type stone struct {
	when   time.Time
	copies int
}

func holding(paths ...string) *crew {
	c := &crew{held: map[string]int{}, stones: map[string][]stone{}, fail: map[string]error{},
		visits: map[string]Visit{}}
	for _, p := range paths {
		c.held[site+p] = 1
	}
	return c
}

func (c *crew) Erase(_ context.Context, url, why, line string) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if why != TakenDown || !strings.Contains(line, site+"/") {
		return 0, fmt.Errorf("no reason or line: %q, %q", why, line)
	}
	c.did = append(c.did, "erase "+strings.TrimPrefix(url, site))
	if err := c.fail[url]; err != nil {
		return 0, err
	}
	n := c.held[url]
	if n > 0 {
		c.stones[url] = append(c.stones[url], stone{time.Now(), n})
	}
	delete(c.held, url)
	return n, nil
}

func (c *crew) Holds(url string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	return c.held[url] > 0, nil
}

func (c *crew) Verify(url string, since time.Time) (v Evidence, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v.Compacted = c.began
	for _, s := range c.stones[url] {
		if !s.when.Before(since) {
			v.Erased.Captures += s.copies
			v.Erased.Keys++
		}
	}
	if c.held[url] > 0 {
		v.Left = []string{"a copy is held"}
	}
	return v, nil
}

func (c *crew) Promote(url string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.did = append(c.did, "promote "+strings.TrimPrefix(url, site))
	return c.fail[url]
}

func (c *crew) Visited(url string, since time.Time) (Visit, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, is := c.visits[url]; is {
		v.At = since
		return v, true, nil
	}
	return Visit{At: since, Status: 200}, !c.absent, nil
}

func (c *crew) executor(l *Ledger) *Executor { return NewExecutor(l, c, c, Limits{}) }

// run executes the requests and returns what the crew did.
func run(t *testing.T, l *Ledger, c *crew, asked []acap.Action) string {
	t.Helper()
	return runWith(t, c.executor(l), c, Reading{Origin: origin, Actions: asked})
}

func runWith(t *testing.T, x *Executor, c *crew, r Reading) string {
	t.Helper()
	c.did = nil
	if err := errors.Join(x.ExecuteReading(context.Background(), r), x.Settle(context.Background())); err != nil {
		t.Fatal(err)
	}
	return strings.Join(c.did, ", ")
}

func rows(t *testing.T, l *Ledger) (all []Request) {
	t.Helper()
	all, err := l.List()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// entries returns the length of the chain.
func entries(t *testing.T, l *Ledger) (n int) {
	t.Helper()
	err := l.view(func(t *txn) error {
		n = t.tx.Bucket(bChain).Stats().KeyN
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// list returns the requests in the ledger as text: action, path, state, and "past" if a request is
// not in force.
func list(t *testing.T, l *Ledger) string {
	t.Helper()
	var out []string
	for i, r := range rows(t, l) {
		if r.ID != uint64(i+1) || r.Origin != origin || r.Asked.IsZero() || r.Source == "" || r.State == Done &&
			r.Done.IsZero() {
			t.Errorf("%+v", r)
		}
		s := fmt.Sprintf("%s %s %s", r.Action, strings.TrimPrefix(r.URL, site), r.State)
		if !r.Standing {
			s += " past"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestJSON(t *testing.T) {
	l, c := open(t, filepath.Join(t.TempDir(), "actions.db")), holding("/x")
	run(t, l, c, asks(down+"/x"))
	all := rows(t, l)
	data, err := json.Marshal(all[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"id", "action", "url", "origin", "source", "state", "asked", "done"} {
		if !strings.Contains(string(data), `"`+key+`":`) {
			t.Errorf("%s has no %s", data, key)
		}
	}
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.db")
	open(t, path)
	if _, err := Open(path, Options{}); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
}
