package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
)

// pantry is a Handler for pages that require other resources.
type pantry struct {
	*shelf
	mu     sync.Mutex
	asked  []string
	answer func(address string) (Part, error)
	ctx    context.Context // the context of the last call of Part
}

func (p *pantry) Part(ctx context.Context, address string) (Part, error) {
	p.mu.Lock()
	p.asked, p.ctx = append(p.asked, address), ctx
	p.mu.Unlock()
	return p.answer(address)
}

// asks returns the resources that were requested since the last call of asks.
func (p *pantry) asks() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.asked
	p.asked = nil
	slices.Sort(list)
	return list
}

func status(code int) func(string) (Part, error) {
	return func(address string) (Part, error) {
		return Part{Hops: []gate.Hop{{URL: address, Status: code, Start: time.Now()}}}, nil
	}
}

// stock returns a function that crawls a site of ten pages, which require the same resources.
func stock(t *testing.T, c *crawl, p *pantry, s *site, had, missing []string) func(o Options) Summary {
	var links []string
	for i := range 10 {
		links = append(links, fmt.Sprintf("/%d", i))
		s.Page(links[i])
	}
	s.Page("/", links...)
	p.receive = func(pg *page.Page) (Receipt, error) {
		return Receipt{Links: pg.Links(page.Cut{}), Stored: true, Parts: had, Missing: missing}, nil
	}
	return func(o Options) Summary {
		t.Helper()
		g := gate.New(c.gate)
		defer g.Close()
		g.Use(c.rules)
		o.Concurrency, o.Depth, o.Pause = 4, -1, c.rules.pause
		o.Skipped = func(s Skip) { t.Errorf("%+v is reported", s) }
		sum, err := New(g, p, c.frontier, o).Run(context.Background(), []string{s.URL})
		must(t, err)
		must(t, c.frontier.Check())
		return sum
	}
}

func (c *crawl) part(t *testing.T, named string) Record {
	t.Helper()
	key, err := partKey(named)
	must(t, err)
	r, _, err := c.frontier.Get(key)
	must(t, err)
	return r
}

// A required resource is visited on its own when it is due, once for all pages that require it,
// whatever its host is. The visit does not count as a visit of a page.
func TestParts(t *testing.T) {
	s := newSite(t)
	c := newCrawl(t)
	elsewhere, odd := "http://parts.example/credit", "HTTP://parts.example/%7ecredit#top"
	p := &pantry{shelf: &c.handler, answer: status(200)}
	run := stock(t, c, p, s, []string{s.URL + "/1", elsewhere, odd, "mailto:x"}, nil)
	o := Options{Recrawl: Recrawl{Min: time.Hour, Max: 10 * time.Hour}, Scope: ScopeHost}
	if sum := run(o); sum.Fetched != 11 || sum.Waiting != 14 || sum.Queued != 0 || len(p.asks()) != 0 {
		t.Errorf("%+v, asked %v", sum, p.asked)
	}
	if s.Asked("/1") != 1 || c.handler.times[s.URL+"/1"] != 1 {
		t.Error("what is a page, too, was not visited as one")
	}
	later := func(d time.Duration) {
		t.Helper()
		_, err := c.frontier.Requeue(Filter{DueBy: time.Now().Add(d)})
		must(t, err)
	}
	later(time.Hour + time.Minute) // all pages and resources are due again
	if sum := run(o); sum.Fetched != 11 || !slices.Equal(p.asks(), []string{odd, s.URL + "/1", elsewhere}) {
		t.Errorf("%+v, asked %v", sum, p.asked)
	}

	// The interval between visits depends on the outcome of each visit.
	for i, step := range []struct {
		name   string
		answer func(string) (Part, error)
		state  State
		want   time.Duration
	}{
		{"changed", status(200), Fetched, time.Hour},
		{"unchanged", func(string) (Part, error) {
			return Part{Unchanged: true, Hops: []gate.Hop{{URL: elsewhere, Status: 304}}}, nil
		}, Fetched, 84 * time.Minute},
		{"gone", status(404), Fetched, 84 * time.Minute * 8 / 10},
		{"refused", func(string) (Part, error) {
			return Part{Err: &gate.Refusal{URL: elsewhere, Rule: gate.RuleAddress}}, nil
		}, Refused, 84 * time.Minute * 8 / 10},
		{"broken", func(string) (Part, error) { return Part{Err: errors.New("no such thing")}, nil }, Failed,
			84 * time.Minute * 8 / 10},
	} {
		later(11 * time.Hour)
		p.answer = step.answer
		run(o)
		if r := c.part(t, elsewhere); r.State != step.state || r.Interval != step.want ||
			r.Again.Sub(r.When).Round(time.Minute) != step.want.Round(time.Minute) {
			t.Errorf("%d %s: %+v, %s until %s", i, step.name, r, r.Interval, r.Again)
		}
	}
	p.asks()

	// A resource that no page requires any more is not visited until a page requires it again.
	later(11 * time.Hour)
	p.answer = func(string) (Part, error) { return Part{Needless: true}, nil }
	p.receive = nil
	run(o)
	if r := c.part(t, elsewhere); r.State != Outside || r.Why == "" || len(p.asks()) != 3 {
		t.Errorf("%+v, asked %v", r, p.asked)
	}
	o.Refetch, o.Scope = true, ScopeAny
	if run(o); len(p.asks()) != 0 {
		t.Errorf("asked %v", p.asked)
	}
	must(t, c.frontier.AddParts([]string{elsewhere}, nil, o.Recrawl))
	if r := c.part(t, elsewhere); r.State != Fetched || r.Interval != time.Hour {
		t.Errorf("%+v", r)
	}
}

// A resource that could not be received is requested again as soon as the delay of its host
// permits, and by the next run.
func TestMissingParts(t *testing.T) {
	s := newSite(t)
	c := newCrawl(t)
	elsewhere := "http://parts.example/credit"
	p := &pantry{shelf: &c.handler, answer: status(503)}
	run := stock(t, c, p, s, nil, []string{elsewhere})
	if sum := run(Options{}); sum.Fetched != 11 || sum.Errors != 0 || sum.Queued != 0 {
		t.Errorf("%+v", sum)
	}
	if asked := p.asks(); len(asked) != maxTries || c.part(t, elsewhere).State != Failed {
		t.Errorf("asked %v, %+v", asked, c.part(t, elsewhere))
	}
	p.answer = status(200)
	p.receive = func(*page.Page) (Receipt, error) { return Receipt{Parts: []string{elsewhere}}, nil }
	if sum := run(Options{}); sum.Fetched != 0 || len(p.asks()) != 1 || c.part(t, elsewhere).State != Fetched {
		t.Errorf("%+v, %+v", sum, c.part(t, elsewhere))
	}
	// the pages are visited again, but the resource is requested only once
	if run(Options{Refetch: true}); len(p.asks()) != 1 {
		t.Errorf("asked %v", p.asked)
	}
}

// If a resource failed before, and is received with a page, the crawler visits the resource again,
// because other pages wait for it.
func TestPartsThatCameBack(t *testing.T) {
	clock := newClock()
	f := newFrontier(t, FrontierOptions{Now: clock.now})
	const part = "http://h/part"
	recrawl := Recrawl{Min: time.Hour, Max: time.Hour}
	must(t, f.AddParts(nil, []string{part}, recrawl))
	must(t, f.AddParts([]string{part}, nil, recrawl)) // the resource is already queued
	clock.add(time.Second)
	finish(t, f, leaseURL(t, f, required+part), End{State: Failed, Why: "no answer"})
	must(t, f.AddParts(nil, []string{part}, recrawl)) // the resource has failed too often, so it is not queued again
	if l := next(t, f); l != nil {
		t.Fatalf("%s is due", l.URL)
	}
	must(t, f.AddParts([]string{part}, nil, recrawl))
	finish(t, f, leaseURL(t, f, required+part), End{State: Fetched})
	must(t, f.AddParts([]string{part}, nil, recrawl))
	if l := next(t, f); l != nil {
		t.Fatalf("%s is due", l.URL)
	}
	must(t, f.Check())
}

// If the handler cannot store a resource, the run ends and the next run visits the resource again.
// If the end of the run interrupts the visit of a resource, the next run visits the resource again,
// too.
func TestPartsThatCannotBeStored(t *testing.T) {
	c := newCrawl(t)
	const part = "http://parts.example/credit"
	must(t, c.frontier.AddParts(nil, []string{part}, Recrawl{}))
	_, err := c.frontier.AddSeeds("http://parts.example/")
	must(t, err)
	finish(t, c.frontier, leaseURL(t, c.frontier, "http://parts.example/"), End{State: Fetched})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := &pantry{shelf: &c.handler}
	visit := func(answer func(string) (Part, error)) error {
		p.answer = answer
		_, err := New(nil, p, c.frontier, Options{Grace: time.Millisecond}).Run(ctx, nil)
		if r := c.part(t, part); r.State != Queued {
			t.Errorf("%+v", r)
		}
		return err
	}
	if err := visit(func(string) (Part, error) { return Part{}, io.ErrShortWrite }); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
	if err := visit(func(string) (Part, error) {
		cancel()
		<-p.ctx.Done()
		return Part{}, nil
	}); err != nil {
		t.Error(err)
	}
}

// The limits of a run end visits of required resources too. Their requests are counted, but not as
// page requests.
func TestPartsWithinLimits(t *testing.T) {
	const bytes = 20_000
	for name, test := range map[string]struct {
		o     Options
		asked int  // how many of ten resources are requested
		page  bool // a page is due before the resources
	}{
		"none":             {Options{}, 10, false},
		"bytes":            {Options{MaxBytes: 1000}, 1, false},
		"bytes of several": {Options{MaxBytes: 3*bytes + 1}, 4, false},
		"bytes of all":     {Options{MaxBytes: 10 * bytes}, 10, false},
		"page requests":    {Options{MaxPages: 1}, 0, true},
		"none of a page":   {Options{MaxPages: 1}, 10, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := newSite(t), newCrawl(t)
			// only one address of the host is leased at a time, so the visits follow the order of
			// the queue
			c.frontier.o.PerHost = 1
			s.Page("/")
			p := &pantry{shelf: &c.handler, answer: func(address string) (Part, error) {
				now := time.Now()
				return Part{Hops: []gate.Hop{
					{URL: address, Status: 200, Start: now.Add(-time.Hour), Wire: make([]byte, bytes)},
					{URL: address, Status: 200, Start: now, Wire: make([]byte, bytes)},
				}}, nil
			}}
			g := gate.New(c.gate)
			defer g.Close()
			g.Use(c.rules)
			test.o.Concurrency, test.o.Pause = 1, c.rules.pause
			run := func(o Options, seeds ...string) Summary {
				sum, err := New(g, p, c.frontier, o).Run(context.Background(), seeds)
				must(t, err)
				must(t, c.frontier.Check())
				return sum
			}
			if !test.page {
				run(Options{Pause: c.rules.pause}, s.URL)
			}
			var parts []string
			for i := range 10 {
				parts = append(parts, fmt.Sprintf("%s/part%d", s.URL, i))
			}
			must(t, c.frontier.AddParts(nil, parts, Recrawl{}))
			if test.page {
				_, err := c.frontier.AddSeeds(s.URL)
				must(t, err)
			}
			sum := run(test.o, s.URL)
			want := Summary{Requests: test.asked, Bytes: int64(test.asked) * bytes, Hosts: 1, Queued: 10 - test.asked,
				Interrupted: test.page || test.o.MaxBytes > 0}
			if test.page {
				want.Requests, want.Bytes, want.Fetched = 1, sum.Bytes, 1
			}
			got := Summary{Requests: sum.Requests, Bytes: sum.Bytes, Hosts: sum.Hosts, Queued: sum.Queued,
				Interrupted: sum.Interrupted, Fetched: sum.Fetched}
			if asked := len(p.asks()); got != want || asked != test.asked {
				t.Errorf("%d asked for, %+v, want %+v", asked, got, want)
			}
			run(Options{Pause: c.rules.pause})
			if asked := len(p.asks()); asked != 10-test.asked {
				t.Errorf("the next run asked for %d", asked)
			}
		})
	}
}

// Offers that would change nothing are not sent to the writer.
func TestPartsKnown(t *testing.T) {
	f := newFrontier(t, FrontierOptions{})
	recrawl := Recrawl{Min: time.Hour, Max: time.Hour}
	had, missing := []string{"http://h/had"}, []string{"http://h/missing"}
	must(t, f.AddParts(had, missing, recrawl))
	written := 0
	f.inject = func() error {
		written++
		return nil
	}
	must(t, f.AddParts(nil, nil, recrawl))
	must(t, f.AddParts(had, missing, recrawl))
	if written != 0 {
		t.Errorf("%d transactions", written)
	}
	must(t, f.AddParts(nil, had, recrawl))
	if written != 1 {
		t.Errorf("%d transactions", written)
	}
}

// An offer of a resource that arrives during its visit is applied after the end of that visit.
func TestPartsOfferedDuringVisit(t *testing.T) {
	recrawl := Recrawl{Min: time.Hour, Max: time.Hour}
	part := []string{"http://h/part"}
	had := func(f *Frontier) error { return f.AddParts(part, nil, recrawl) }
	missing := func(f *Frontier) error { return f.AddParts(nil, part, recrawl) }
	for name, test := range map[string]struct {
		said []func(*Frontier) error
		end  End
		want State // state after the visit
	}{
		"needless, missing": {[]func(*Frontier) error{missing}, End{State: Outside, Why: "no page"}, Queued},
		"needless, had":     {[]func(*Frontier) error{had}, End{State: Outside, Why: "no page"}, Fetched},
		"needless, had and missing": {[]func(*Frontier) error{had, missing, had, missing},
			End{State: Outside, Why: "no page"}, Queued},
		"fetched, missing":           {[]func(*Frontier) error{missing}, End{State: Fetched}, Queued},
		"fetched, had":               {[]func(*Frontier) error{had}, End{State: Fetched}, Fetched},
		"failed, had":                {[]func(*Frontier) error{missing, had}, End{State: Failed, Why: "no"}, Queued},
		"failed, missing":            {[]func(*Frontier) error{missing}, End{State: Failed, Why: "no"}, Failed},
		"to be tried again, missing": {[]func(*Frontier) error{missing}, End{State: Queued}, Queued},
		"nothing":                    {nil, End{State: Outside, Why: "no page"}, Outside},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			f := newFrontier(t, FrontierOptions{Now: clock.now})
			state := func(want State) {
				t.Helper()
				if r, _, err := f.Get(required + part[0]); err != nil || r.State != want {
					t.Errorf("%+v, %v, want %s", r, err, want)
				}
			}
			must(t, missing(f))
			clock.add(time.Minute)
			l := leaseURL(t, f, required+part[0])
			for _, say := range test.said {
				must(t, say(f))
			}
			finish(t, f, l, test.end)
			state(test.want)
			clock.add(time.Minute)
			if test.want == Queued {
				finish(t, f, leaseURL(t, f, required+part[0]), End{State: Outside, Why: "no page"})
				state(Outside) // the offer was applied once only
			}
			if l := next(t, f); l != nil {
				t.Errorf("%s is due", l.URL)
			}
		})
	}

	// After a lease was returned, its address is visited later. So the offers made while it was
	// leased cause no second visit.
	f := newFrontier(t, FrontierOptions{Backoff: time.Nanosecond})
	must(t, missing(f))
	l := leaseURL(t, f, required+part[0])
	must(t, missing(f))
	_ = f.Return(l, nil)
	finish(t, f, leaseURL(t, f, required+part[0]), End{State: Fetched})
	if l := next(t, f); l != nil {
		t.Errorf("%s is due", l.URL)
	}
}

// Again queues visited pages at their depth. It does not queue pages that were never visited.
func TestAgain(t *testing.T) {
	f := newFrontier(t, FrontierOptions{})
	_, err := f.AddSeeds("http://h/1", "http://h/2")
	must(t, err)
	e := End{State: Fetched, Again: time.Now().Add(time.Hour), Interval: time.Hour}
	e.Offers = []Offer{{URL: "http://h/deep", Depth: 9, State: Deep, Why: "deep"}}
	finish(t, f, leaseURL(t, f, "http://h/1"), e)
	must(t, f.Again("http://h/1", "http://h/2", "http://h/deep", "http://h/unknown", "no address"))
	if n := f.Counts(); n.Queued != 2 || n.Deep != 1 || n.Waiting != 0 {
		t.Errorf("%+v", n)
	}
	must(t, f.Check())
}

// TestAgainDuringVisit checks that a page which Again names during its visit is visited once more. A page that is only
// queued is not.
func TestAgainDuringVisit(t *testing.T) {
	f := newFrontier(t, FrontierOptions{})
	_, err := f.AddSeeds("http://h/1", "http://h/2")
	must(t, err)
	e := End{State: Fetched, Again: time.Now().Add(time.Hour), Interval: time.Hour}
	l := leaseURL(t, f, "http://h/1")
	must(t, f.Again("http://h/1", "http://h/2"))
	finish(t, f, l, e)
	if n := f.Counts(); n.Queued != 2 || n.Waiting != 0 {
		t.Errorf("%+v", n)
	}
	must(t, f.Check())
	finish(t, f, leaseURL(t, f, "http://h/2"), e)
	finish(t, f, leaseURL(t, f, "http://h/1"), e)
	if n := f.Counts(); n.Queued != 0 || n.Waiting != 2 {
		t.Errorf("after the second visit: %+v", n)
	}
	must(t, f.Check())
}

// A version of the program without required resources can read the file of a version with them, and
// the reverse.
func TestPartsOnDisk(t *testing.T) {
	name := filepath.Join(t.TempDir(), "frontier.db")
	f := openFrontier(t, name, FrontierOptions{})
	_, err := f.AddSeeds("http://h/1", "https://h/2")
	must(t, err)
	must(t, f.AddParts([]string{"https://h/had"}, []string{"https://h/1", "http://g/%7Ex"}, Recrawl{Min: time.Hour}))
	closeFrontier(t, f)
	f = openFrontier(t, name, FrontierOptions{})
	var found []string
	must(t, f.Each("", func(r Record) error {
		found = append(found, fmt.Sprint(r.URL, " ", r.State))
		return nil
	}))
	want := []string{"http://h/1 queued", "https://h/2 queued", "part:http://g/~x http://g/%7Ex queued",
		"part:https://h/1 queued", "part:https://h/had fetched"}
	if !slices.Equal(found, want) {
		t.Errorf("found %q", found)
	}
	for _, key := range []string{"part:http://g/~x http://g/%7Ex", "part:https://h/1"} {
		address, named, is := partOf(key)
		u, err := url.Parse(address)
		if err != nil || !is || u.Path == "" || strings.Contains(named, " ") {
			t.Errorf("%s: %s, %s", key, address, named)
		}
		k := queueKey(u.Host, place{})
		if it, err := decodeItem(k, encodeItem(&Record{URL: key}, u.Host)); err != nil || it.url != key {
			t.Errorf("%+v, %v", it, err)
		}
	}
	if _, err := decodeItem(queueKey("h", place{}), []byte{0, 0, 4, '/'}); err == nil {
		t.Error("a scheme that there is not was read")
	}
}
