package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The record of an address that a re-crawl request names holds the outcome of its visit.
func TestPromotedOutcomes(t *testing.T) {
	s := newSite(t)
	trapped := "/in/today/in/today/in/today/x"
	s.Page("/in/", "/in/a", "/in/b")
	s.Page("/in/a", "/in/from-a")
	s.Page("/in/new", "/in/from-new")
	s.Page("/out/held")
	s.Page("/out/excluded")
	s.Handle("/in/down", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	c := newCrawl(t)
	c.rules = rules{text: "User-agent: *\nDisallow: /in/private\n", down: "unread.example"}
	c.o.Scope, c.o.Exclude = ScopePrefix, []string{"/*excluded"}
	c.run(t, context.Background(), s.URL+"/in/")
	c.o.Held = func(address string) (bool, error) {
		return strings.HasSuffix(address, "/held") || strings.HasSuffix(address, "excluded"), nil
	}
	began := time.Now()
	want := map[string]struct {
		state    State
		status   int
		why      string
		requests int
	}{
		"/in/a":         {Fetched, 200, "", 2},
		"/in/new":       {Fetched, 200, "", 1},
		"/in/gone":      {Fetched, 404, "", 1},
		"/in/private":   {Refused, 0, "Disallow: /in/private", 0},
		"/in/down":      {Failed, 503, "503", maxTries},
		"/in/excluded":  {Outside, 0, "excluded by the pattern", 0},
		"/out/held":     {Fetched, 200, "", 1},
		"/out/excluded": {Outside, 0, "excluded by the pattern", 0},
		"/out/x":        {Outside, 0, "not in the scope", 0},
		trapped:         {Trapped, 0, "a trap", 0},
	}
	for path := range want {
		must(t, c.frontier.Promote(s.URL+path))
		if r, found, err := c.frontier.Get(s.URL + path); err != nil || !found || r.State != Queued {
			t.Errorf("%s before its turn: %+v, %v", path, r, err)
		}
	}
	// this crawl sets no scope for promoted addresses: it uses the scope of the crawl before
	for path, w := range want {
		c.o.Scope, c.o.Exclude, c.o.Promoted = ScopeAny, nil, true
		c.run(t, context.Background())
		r, _, err := c.frontier.Get(s.URL + path)
		if err != nil || r.State != w.state || r.Status != w.status || !strings.Contains(r.Why, w.why) ||
			(w.why == "") != (r.Why == "") || r.When.Before(began) {
			t.Errorf("%s: %+v, %v; want %+v", path, r, err, w)
		}
		if n := s.Asked(path); n != w.requests {
			t.Errorf("%s was requested %d times, want %d", path, n, w.requests)
		}
	}
	if s.Asked("/in/from-new") != 0 || s.Asked("/in/b") != 1 || c.state(t, s.URL+"/in/from-new") != Queued {
		t.Errorf("more than what is asked for was visited: %v", s.requests())
	}
	// /in/down is visited again, since its host would otherwise be paused for longer than a run
	// waits
	s.Page("/in/down")
	c.o.Scope, c.o.Exclude, c.o.Promoted = ScopePrefix, []string{"/*excluded"}, false
	c.run(t, context.Background())
	if s.Asked("/in/from-new") != 1 {
		t.Error("the link of a page that was asked for is not visited by the next crawl")
	}

	down := "http://unread.example/x"
	must(t, c.frontier.Promote(down))
	c.o.Held = func(string) (bool, error) { return true, nil }
	c.o.Promoted = true
	if c.run(t, context.Background()); c.state(t, down) != Unreachable {
		t.Errorf("a page whose policy cannot be read is %s", c.state(t, down))
	}
	c.o.Held = func(string) (bool, error) { return false, errors.New("the disk is broken") }
	must(t, c.frontier.Promote(s.URL+"/out/held"))
	c.o.Skipped, c.o.Pause = nil, c.rules.pause
	if _, err := New(nil, &c.handler, c.frontier, c.o).Run(context.Background(), nil); err == nil ||
		c.state(t, s.URL+"/out/held") != Queued {
		t.Errorf("it cannot be found out whether it is held: %v, %s", err, c.state(t, s.URL+"/out/held"))
	}
}

func TestPromotedTooDeep(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/a")
	s.Page("/a", "/b")
	s.Page("/b")
	c := newCrawl(t)
	c.o.Depth = 0
	c.run(t, context.Background(), s.URL)
	must(t, errors.Join(c.frontier.Promote(s.URL+"/a"), c.frontier.Promote(s.URL+"/b")))
	c.run(t, context.Background())
	if c.state(t, s.URL+"/a") != Deep || c.state(t, s.URL+"/b") != Deep {
		t.Errorf("%v", s.requests())
	}
	c.o.Depth = 1 // a promoted address to which no page links counts as a link of a seed
	must(t, errors.Join(c.frontier.Promote(s.URL+"/a"), c.frontier.Promote(s.URL+"/b")))
	c.run(t, context.Background())
	if s.Asked("/a") != 1 || s.Asked("/b") != 1 {
		t.Errorf("%v", s.requests())
	}
}

// If a run ends at a limit, promoted addresses stay at the front of the queue for the next run.
func TestPromotedBeyondTheBudget(t *testing.T) {
	s := newSite(t)
	s.Page("/", "/a", "/b", "/c")
	for _, path := range []string{"/a", "/b", "/c"} {
		s.Page(path)
	}
	c := newCrawl(t)
	c.o.Concurrency = 1
	c.run(t, context.Background(), s.URL)
	for _, path := range []string{"/a", "/b", "/c"} {
		must(t, c.frontier.Promote(s.URL+path))
	}
	c.gate.MaxPages = 2
	c.run(t, context.Background())
	states := []State{c.state(t, s.URL+"/a"), c.state(t, s.URL+"/b"), c.state(t, s.URL+"/c")}
	if slices.Sort(states); !slices.Equal(states, []State{Fetched, Fetched, Queued}) {
		t.Errorf("%v", states)
	}
	c.gate.MaxPages, c.o.Promoted = 0, true
	if c.run(t, context.Background()); len(s.requests()) != 7 {
		t.Errorf("%v", s.requests())
	}
}

func TestPromotedOnly(t *testing.T) {
	clock := newClock()
	name := filepath.Join(t.TempDir(), "frontier.db")
	o := FrontierOptions{Now: clock.now, Working: 2}
	f := openFrontier(t, name, o)
	var all []string
	for i := range 6 {
		all = append(all, fmt.Sprintf("http://h%d/1", i), fmt.Sprintf("http://h%d/2", i))
	}
	_, err := f.AddLinks(1, all...)
	must(t, err)
	for _, address := range []string{"http://h1/2", "http://h2/new", "http://h3/1", "http://h4/1", "http://h5/1",
		"http://h9/new"} {
		must(t, errors.Join(f.Promote(address), f.Promote(address)))
	}
	l := next(t, f) // lease some address of the host, so that the host is in memory
	_ = f.Return(l, nil)
	must(t, f.Begin(Selection{Promoted: true}))
	visit := func(end End, want ...string) {
		t.Helper()
		var got []string
		for l := next(t, f); l != nil; l = next(t, f) {
			if got = append(got, l.URL); !l.Recrawl {
				t.Errorf("nobody asks for %s", l.URL)
			}
			e := end
			e.Offers = []Offer{{URL: l.URL + "/link", Depth: 1, State: Queued},
				{URL: "http://other/" + l.URL[7:], Depth: 1, State: Queued}}
			finish(t, f, l, e)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("visited %v, want %v", got, want)
		}
	}
	later := clock.now().Add(time.Minute)
	visit(End{State: Queued, Status: 503, Retry: later}, "http://h1/2", "http://h2/new", "http://h3/1", "http://h4/1",
		"http://h5/1", "http://h9/new")
	closeFrontier(t, f)
	f = openFrontier(t, name, o)
	must(t, f.Begin(Selection{Promoted: true}))
	visit(End{State: Fetched})
	clock.add(time.Hour)
	must(t, f.Promote("http://h1/2")) // a re-crawl request names the address already, so it is not visited twice
	visit(End{State: Fetched}, "http://h1/2", "http://h2/new", "http://h3/1", "http://h4/1", "http://h5/1",
		"http://h9/new")
	must(t, f.Begin(Selection{}))
	rest := 0
	for l := next(t, f); l != nil; l = next(t, f) {
		rest++
		finish(t, f, l, End{State: Fetched})
	}
	if rest != 8+12 || f.Counts().Queued != 0 {
		t.Errorf("%d others were visited, %+v", rest, f.Counts())
	}
}

// A visit that began before the re-crawl request does not fulfil it.
func TestPromotedWhileVisited(t *testing.T) {
	f := newFrontier(t, FrontierOptions{Backoff: time.Nanosecond})
	_, err := f.AddSeeds("http://h/1", "http://h/2")
	must(t, err)
	l := leaseURL(t, f, "http://h/1")
	must(t, f.Promote("http://h/1"))
	finish(t, f, l, End{State: Fetched, Status: 200, Final: "http://h/final"})
	l = leaseURL(t, f, "http://h/1")
	finish(t, f, l, End{State: Queued, Status: 503})
	finish(t, f, leaseURL(t, f, "http://h/2"), End{State: Fetched})
	finish(t, f, leaseURL(t, f, "http://h/1"), End{State: Fetched, Status: 404})
	if r, _, err := f.Get("http://h/1"); err != nil || r.State != Fetched || r.Status != 404 || next(t, f) != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPromotedBeyondTheHost(t *testing.T) {
	f := newFrontier(t, FrontierOptions{MaxHost: 2})
	_, err := f.AddSeeds("http://h/1", "http://h/2")
	must(t, err)
	if err := f.Promote("http://h/3"); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "http://h/3") {
		t.Error(err)
	}
	must(t, errors.Join(f.Promote("http://h/2"), f.Promote("http://g/1")))
	if _, found, err := f.Get("http://h/3"); found || err != nil || f.Counts().Queued != 3 {
		t.Errorf("%+v, %v", f.Counts(), err)
	}
	if err := f.Promote("mailto:a@b"); err == nil || errors.Is(err, ErrFull) {
		t.Error(err)
	}
}
