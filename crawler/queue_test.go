package crawler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
)

// promoter is a Queue with the methods that the tests need in addition.
type promoter interface {
	Queue
	Promote(address string) error
}

// queueTest is a queue under test, with a clock that the test sets.
type queueTest struct {
	*testing.T
	promoter
	*clock
}

// testQueue tests what every implementation of Queue guarantees. The function open returns an empty
// queue.
func testQueue(t *testing.T, open func(*testing.T, FrontierOptions) promoter) {
	for name, test := range map[string]func(*queueTest){
		"order": testQueueOrder, "leases": testQueueLeases, "pace": testQueuePace, "retries": testQueueRetries,
		"selection": testQueueSelection, "requeue": testQueueRequeue, "take-downs": testQueueTakeDowns,
		"redirects": testQueueRedirects, "required resources": testQueueParts, "skipped": testQueueSkipped,
		"notes":     testQueueNotes,
		"re-crawls": testQueuePromoted,
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			o := FrontierOptions{Now: c.now, Backoff: time.Second, Patience: time.Nanosecond}
			switch name {
			case "pace":
				o.Delay, o.PerHost = time.Minute, 2
			case "skipped":
				o.MaxHost = 3
			}
			test(&queueTest{t, open(t, o), c})
		})
	}
	t.Run("a crawl", func(t *testing.T) {
		s := newSite(t)
		s.Page("/", "/a", "/b", "/private", "/old")
		s.Page("/a", "/b", "/c")
		s.Page("/b")
		s.Redirect("/old", "/c")
		s.Page("/c")
		q := open(t, FrontierOptions{PerHost: 4})
		g := gate.New(gate.Options{PerHost: 4, AllowPrivate: true})
		defer g.Close()
		g.Use(rules{text: "User-agent: *\nDisallow: /private\n"})
		sum, err := New(g, &shelf{}, q, Options{Concurrency: 4, Depth: 2}).Run(context.Background(), []string{s.URL})
		if err != nil || sum.Fetched != 4 || sum.Refused.Crawl != 1 || sum.Redirected != 1 || sum.Queued != 0 {
			t.Errorf("%+v, %v", sum, err)
		}
		if c := q.Counts(); c.Fetched != 5 || c.Refused != 1 || c.Queued != 0 || c.Leased != 0 {
			t.Errorf("%+v", c)
		}
		must(t, q.Close())
	})
}

// leases leases n addresses, in any order, and returns the leases by address.
func (q *queueTest) leases(n int) map[string]*Lease {
	all := map[string]*Lease{}
	for range n {
		if l := q.next(); l != nil {
			all[l.URL] = l
		}
	}
	if len(all) != n {
		q.Fatalf("leased %v", all)
	}
	return all
}

// patience is the time after which the test fails, because a call does not return.
const patience = time.Minute

// next returns a lease, or nil if nothing is due now.
func (q *queueTest) next() *Lease {
	q.Helper()
	ctx, cancel := context.WithTimeout(q.Context(), 20*time.Millisecond)
	defer cancel()
	l, err := q.Next(ctx)
	if err != nil && !errors.Is(err, ErrIdle) && ctx.Err() == nil {
		q.Fatal(err)
	}
	return l
}

// leaseURL leases the next address that is due, which must be want.
func (q *queueTest) leaseURL(want string) *Lease {
	q.Helper()
	ctx, cancel := context.WithTimeout(q.Context(), patience)
	defer cancel()
	l, err := q.Next(ctx)
	if err != nil || l.URL != want {
		q.Fatalf("leased %+v, %v; want %s", l, err, want)
	}
	return l
}

func (q *queueTest) finish(l *Lease, e End) {
	q.Helper()
	must(q, errors.Join(q.Done(l, e), q.Flush()))
}

func (q *queueTest) offer(offers ...Offer) int {
	q.Helper()
	n, err := q.Offer(offers...)
	must(q, err)
	return n
}

// rest visits every address that is due and returns the addresses in the order of the visits.
func (q *queueTest) rest() (urls []string) {
	q.Helper()
	for l := q.next(); l != nil; l = q.next() {
		urls = append(urls, l.URL)
		q.finish(l, End{State: Fetched})
	}
	return urls
}

func (q *queueTest) want(want ...string) {
	q.Helper()
	if got := q.rest(); !slices.Equal(got, want) {
		q.Errorf("visited %v, want %v", got, want)
	}
}

func link1(url string, depth int) Offer {
	return Offer{URL: url, Depth: depth, From: FirstSeed, State: Queued}
}

func testQueueOrder(q *queueTest) {
	must(q, q.Begin(Selection{Seeds: []string{"http://h/"}}))
	listed := link1("http://h/listed", 1)
	listed.Listed = true
	if n := q.offer(link1("http://h/deep", 2), link1("http://h/a", 1), listed, link1("http://h/a", 1),
		link1("http://h/", 1)); n != 3 {
		q.Errorf("%d added", n)
	}
	l := q.leaseURL("http://h/")
	if l.Depth != 0 || l.Host != "h" || l.From != FirstSeed || l.Recrawl {
		q.Errorf("%+v", l)
	}
	q.finish(l, End{State: Fetched, Offers: []Offer{link1("http://h/deep", 1)}})
	q.want("http://h/listed", "http://h/a", "http://h/deep")
	if r, found, err := q.Get("http://h/deep"); err != nil || !found || r.Depth != 1 || r.State != Fetched {
		q.Errorf("%+v %v %v", r, found, err)
	}
	if q.offer(link1("http://h/a", 1), Offer{URL: "http://h/", Seed: true, State: Queued}) != 0 {
		q.Error("what was fetched is queued again")
	}
	if _, err := q.Next(q.Context()); !errors.Is(err, ErrIdle) {
		q.Errorf("an empty queue: %v", err)
	}
}

func testQueueLeases(q *queueTest) {
	must(q, q.Begin(Selection{Seeds: []string{"http://h/1"}, Exact: true}))
	q.offer(link1("http://h/2", 1), link1("http://g/", 1))
	both := q.leases(2)
	l, other := both["http://h/1"], both["http://g/"]
	if second := q.next(); second != nil {
		q.Fatalf("%s is leased while its host is visited", second.URL)
	}
	if c := q.Counts(); c.Leased != 2 || c.Queued != 3 {
		q.Errorf("%+v", c)
	}
	must(q, q.Return(l, nil))
	l = q.leaseURL("http://h/1")
	q.finish(l, End{State: Refused, Why: "no", Status: 0})
	q.finish(other, End{State: Fetched, Status: 200})
	if r, _, err := q.Get("http://h/1"); err != nil || r.State != Refused || r.Why != "no" {
		q.Errorf("%+v, %v", r, err)
	}
	q.want("http://h/2")
	if c := q.Counts(); c.Queued != 0 || c.Fetched != 2 || c.Refused != 1 || c.Leased != 0 || c.Hosts != 0 {
		q.Errorf("%+v", c)
	}
}

func testQueuePace(q *queueTest) {
	must(q, q.Begin(Selection{Seeds: []string{"http://h/1", "http://h/2", "http://h/3", "http://h/4", "http://h/5"}}))
	l := q.leaseURL("http://h/1")
	if l.Met {
		q.Error("the delay of an unknown host is known")
	}
	must(q, q.Return(l, &Pace{Asked: q.now(), Delay: 2 * time.Minute}))
	if q.next() != nil {
		q.Fatal("leased right after robots.txt was requested")
	}
	q.add(2 * time.Minute)
	first := q.leaseURL("http://h/1")
	if !first.Met || first.Pause != 2*time.Minute {
		q.Errorf("%+v", first)
	}
	if q.next() != nil {
		q.Fatal("leased within the delay")
	}
	q.add(2 * time.Minute)
	second := q.leaseURL("http://h/2")
	q.finish(first, End{State: Fetched, Asked: q.now()}) // End.Delay is zero: the host no longer asks for a delay
	q.finish(second, End{State: Fetched, Asked: q.now()})
	q.add(time.Minute)
	third := q.leaseURL("http://h/3")
	q.finish(third, End{State: Fetched, Asked: q.now()})
	q.add(59 * time.Second)
	if q.next() != nil {
		q.Fatal("leased within the delay of the crawl")
	}
	q.add(time.Second)
	third = q.leaseURL("http://h/4")
	q.finish(third, End{State: Fetched, Asked: q.now(), Trouble: true, Rest: q.now().Add(time.Hour)})
	q.add(59 * time.Minute)
	if q.next() != nil {
		q.Fatal("leased although the host asked for a rest")
	}
	q.add(time.Minute)
	q.finish(q.leaseURL("http://h/5"), End{State: Fetched})
}

func testQueueRetries(q *queueTest) {
	must(q, q.Begin(Selection{Seeds: []string{"http://h/1"}}))
	q.offer(link1("http://h/2", 1))
	q.finish(q.leaseURL("http://h/1"), End{State: Queued, Status: 500})
	q.want("http://h/2")
	q.add(time.Second)
	l := q.leaseURL("http://h/1")
	if l.Tries != 1 {
		q.Errorf("%d tries", l.Tries)
	}
	q.finish(l, End{State: Queued, Status: 500, Retry: q.now().Add(time.Hour)})
	q.add(time.Hour - time.Second)
	if q.next() != nil {
		q.Fatal("tried again too soon")
	}
	q.add(time.Second)
	q.finish(q.leaseURL("http://h/1"), End{State: Failed, Status: 500, Why: "no"})
	must(q, q.Begin(Selection{Seeds: []string{"http://h/1"}})) // the operator names the seed again
	q.want("http://h/1")
}

func testQueueSelection(q *queueTest) {
	must(q, q.Begin(Selection{Seeds: []string{"http://a/", "http://b/"}}))
	numbers, err := q.SeedNumbers()
	must(q, err)
	if len(numbers) != 2 || numbers["http://a/"] < FirstSeed || numbers["http://a/"] == numbers["http://b/"] {
		q.Fatalf("%v", numbers)
	}
	from := func(seed, url string) Offer { return Offer{URL: url, Depth: 1, From: numbers[seed], State: Queued} }
	q.offer(from("http://a/", "http://a/1"), from("http://b/", "http://b/1"), from("http://b/", "http://a/2"))
	must(q, q.Begin(Selection{Seeds: []string{"http://a/"}}))
	q.want("http://a/", "http://a/1")
	if n, err := q.Others(); n != 3 || err != nil {
		q.Errorf("%d others, %v", n, err)
	}
	q.offer(from("http://a/", "http://a/2")) // the address is now found from a selected seed too
	q.want("http://a/2")
	must(q, q.Begin(Selection{}))
	if got := q.rest(); len(got) != 2 {
		q.Errorf("the rest is %v", got)
	}
	if n, err := q.Others(); n != 0 || err != nil {
		q.Errorf("%d others, %v", n, err)
	}
}

func testQueueRequeue(q *queueTest) {
	must(q, q.Begin(Selection{Seeds: []string{"http://h/", "http://g/"}}))
	at := q.now()
	both := q.leases(2)
	q.finish(both["http://h/"], End{State: Fetched, Again: at.Add(time.Hour), Interval: time.Hour, Offers: []Offer{
		{URL: "http://h/far", Depth: 9, From: FirstSeed, State: Deep, Why: "far"},
		{URL: "http://x/", Depth: 1, State: Outside, Why: "other"}}})
	q.finish(both["http://g/"], End{State: Failed, Why: "no answer", Again: at})
	if c := q.Counts(); c.Waiting != 2 || !c.NextAgain.Equal(at) || c.Deep != 1 || c.Outside != 1 {
		q.Errorf("%+v", c)
	}
	requeue := func(f Filter, want ...string) {
		q.Helper()
		if n, err := q.Requeue(f); err != nil || n != len(want) {
			q.Errorf("%+v: %d, %v", f, n, err)
		}
		got := q.rest()
		if slices.Sort(got); !slices.Equal(got, want) {
			q.Errorf("%+v queued %v, want %v", f, got, want)
		}
	}
	requeue(Filter{DueBy: at.Add(time.Hour), States: []State{Failed}}, "http://g/")
	requeue(Filter{DueBy: at.Add(time.Hour - 1)})
	requeue(Filter{DueBy: at.Add(time.Hour)}, "http://h/")
	extent := Extent{Scope: ScopeHost, Depth: 8, Seeds: []string{"http://g/", "http://h/"}}
	requeue(Filter{States: []State{Deep, Outside, Trapped}, Within: &extent})
	extent.Depth = -1
	requeue(Filter{States: []State{Deep, Outside, Trapped}, Within: &extent}, "http://h/far")
	requeue(Filter{Prefix: "http://h", States: []State{Fetched}}, "http://h/", "http://h/far")
	extent.Exclude = []string{"/far"}
	requeue(Filter{States: []State{Fetched}, Within: &extent}, "http://g/", "http://h/")
	if n, err := q.Requeue(Filter{Within: &Extent{Scope: "nowhere"}}); n != 0 || err == nil {
		q.Errorf("an unknown scope queued %d", n)
	}
	must(q, q.Begin(Selection{Seeds: []string{"http://g/"}}))
	requeue(Filter{Selected: true, States: []State{Fetched}}, "http://g/")
	numbers, err := q.SeedNumbers()
	must(q, err)
	requeue(Filter{Prefix: "http://h/far", From: numbers["http://g/"]}, "http://h/far")
}

func testQueueTakeDowns(q *queueTest) {
	must(q, q.Begin(Selection{Seeds: []string{"http://h/1", "http://h/2", "http://h/3"}}))
	q.finish(q.leaseURL("http://h/1"), End{State: Refused, Why: "taken down", TakenDown: true})
	q.finish(q.next(), End{State: Refused, Why: "taken down", TakenDown: true, Led: "http://h/9"})
	q.rest()
	for after, want := range map[string]string{"": "http://h/1 http://h/9", "http://h/1": "http://h/9",
		"http://h/9": ""} {
		if down, err := q.Barred("http://h/", after); err != nil || strings.Join(down, " ") != want {
			q.Errorf("after %q: %v, %v", after, down, err)
		}
	}
	if n, err := lift(q, "", func(address string) bool { return address != "http://h/9" }); n != 1 || err != nil {
		q.Errorf("%d lifted, %v", n, err)
	}
	l := q.next()
	if r, _, err := q.Get(l.URL); err != nil || r.TakenDown != "" || r.Led != "" {
		q.Errorf("%+v, %v", r, err)
	}
	q.finish(l, End{State: Fetched})
	if down, err := q.Barred("", ""); err != nil || len(down) != 1 || down[0] != "http://h/1" {
		q.Errorf("%v, %v", down, err)
	}
}

func testQueueRedirects(q *queueTest) {
	must(q, q.Begin(Selection{Seeds: []string{"http://h/"}}))
	q.offer(link1("http://h/target", 1), link1("http://h/other", 1))
	q.finish(q.leaseURL("http://h/"), End{State: Fetched, Status: 200, Final: "http://h/target"})
	for _, url := range []string{"http://h/", "http://h/target"} {
		if r, _, err := q.Get(url); err != nil || r.State != Fetched || r.Status != 200 {
			q.Errorf("%+v, %v", r, err)
		}
	}
	q.want("http://h/other")
}

func testQueueParts(q *queueTest) {
	must(q, q.Begin(Selection{Seeds: []string{"http://h/"}}))
	again := q.now().Add(time.Hour)
	q.finish(q.leaseURL("http://h/"), End{State: Fetched, Offers: []Offer{
		{URL: required + "http://h/read", State: Fetched, Revisit: again, Interval: time.Hour},
		{URL: required + "http://h/missing", State: Queued}}})
	if q.next() != nil {
		q.Error("a missing resource is requested at once")
	}
	q.add(time.Second)
	l := q.leaseURL(required + "http://h/missing")
	// a page requires the resource again while the resource is visited
	q.offer(Offer{URL: required + "http://h/missing", State: Queued})
	q.finish(l, End{State: Fetched})
	q.add(time.Second)
	q.want(required + "http://h/missing")
	if n, err := q.Requeue(Filter{DueBy: again}); n != 1 || err != nil {
		q.Errorf("%d due, %v", n, err)
	}
	q.want(required + "http://h/read")
}

func testQueueSkipped(q *queueTest) {
	var skipped []string
	must(q, q.Begin(Selection{Seeds: []string{"http://h/"},
		Skipped: func(r Record) { skipped = append(skipped, fmt.Sprint(r.URL, " ", r.State)) }}))
	far := Offer{URL: "http://x/", Depth: 1, State: Outside, Why: "other"}
	q.finish(q.leaseURL("http://h/"),
		End{State: Fetched, Offers: []Offer{far, far, link1("http://h/1", 1), link1("http://h/2", 1),
			link1("http://h/3", 1), link1("http://h/4", 1)}})
	if want := []string{"http://x/ out-of-scope", "http://h/3 trap"}; !slices.Equal(skipped, want) {
		q.Errorf("%v, want %v", skipped, want)
	}
	if c := q.Counts(); c.Beyond != 2 || c.Queued != 2 {
		q.Errorf("%+v", c)
	}
	q.want("http://h/1", "http://h/2")
}

func testQueueNotes(q *queueTest) {
	if _, found, err := q.Extent(); found || err != nil {
		q.Errorf("%v, %v", found, err)
	}
	e := Extent{Scope: ScopeAny, Depth: 3, Include: []string{"/a"}, Seeds: []string{"http://h/"}}
	must(q, q.SetExtent(e))
	if got, found, err := q.Extent(); !found || err != nil || !got.equal(e) {
		q.Errorf("%+v, %v, %v", got, found, err)
	}
	must(q, q.Close())
	if _, _, err := q.Get("http://h/"); err == nil {
		q.Error("a closed queue answers")
	}
}

func testQueuePromoted(q *queueTest) {
	must(q, q.Begin(Selection{Seeds: []string{"http://h/"}}))
	q.offer(link1("http://h/1", 1))
	must(q, q.Promote("http://h/2"))
	must(q, q.Begin(Selection{Promoted: true}))
	if l := q.leaseURL("http://h/2"); !l.Recrawl || l.Depth != 1 {
		q.Errorf("%+v", l)
	} else {
		q.finish(l, End{State: Queued, Status: 500})
	}
	q.want()
	q.add(time.Second)
	q.want("http://h/2")
	must(q, q.Begin(Selection{}))
	l := q.leaseURL("http://h/")
	// a re-crawl request names the address while it is visited, so the address must be visited
	// again
	must(q, q.Promote("http://h/"))
	q.finish(l, End{State: Fetched})
	if l = q.leaseURL("http://h/"); !l.Recrawl {
		q.Errorf("%+v", l)
	}
	q.finish(l, End{State: Fetched})
	q.want("http://h/1")
}

// losing is a queue that loses its first lease.
type losing struct {
	*memoryQueue
	late bool // the lease is lost when it ends, and not before its first request
	lost *Lease
}

func (q *losing) Next(ctx context.Context) (*Lease, error) {
	l, err := q.memoryQueue.Next(ctx)
	if err == nil && l.Met && q.lost == nil {
		q.lost = l
		if !q.late {
			ended := make(chan struct{})
			close(ended)
			l.Ended = ended
		}
	}
	return l, err
}

func (q *losing) Done(l *Lease, e End) error {
	if l == q.lost {
		return errors.Join(q.Return(l, nil), ErrLost)
	}
	return q.memoryQueue.Done(l, e)
}

// A visit whose lease is lost makes no request. If the lease is lost later, the visit has no
// effect. The next owner of the lease repeats the visit.
func TestLostLease(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := newSite(t)
		s.Page("/")
		q := &losing{memoryQueue: newMemoryQueue(FrontierOptions{}), late: late}
		g := gate.New(gate.Options{AllowPrivate: true})
		g.Use(rules{})
		sum, err := New(g, &shelf{}, q, Options{}).Run(context.Background(), []string{s.URL})
		g.Close()
		if want := map[bool]int{false: 1, true: 2}[late]; err != nil || sum.Fetched != 1 || sum.Interrupted ||
			s.Asked("/") != want {
			t.Errorf("%d requests, %+v, %v", s.Asked("/"), sum, err)
		}
	}
}
