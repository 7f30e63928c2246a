package crawler

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

func TestRevive(t *testing.T) {
	c := newClock()
	name := filepath.Join(t.TempDir(), "frontier.db")
	f := openFrontier(t, name, FrontierOptions{Now: c.now})
	_, err := f.AddSeeds("http://h/1", "http://h/2", "http://h/3", "http://h/4")
	must(t, err)
	start := c.now()
	for i, e := range []End{
		{State: Fetched, Again: start.Add(2 * time.Hour), Interval: 2 * time.Hour},
		{State: Fetched, Again: start.Add(time.Hour), Interval: time.Hour},
		{State: Failed, Why: "no answer", Again: start.Add(3 * time.Hour), Interval: time.Hour},
		{State: Fetched},
	} {
		finish(t, f, leaseURL(t, f, fmt.Sprintf("http://h/%d", i+1)), e)
	}
	closeFrontier(t, f)
	f = openFrontier(t, name, FrontierOptions{Now: c.now})
	if n := f.Counts(); n.Waiting != 3 || n.Fetched != 3 || n.Failed != 1 || !n.NextAgain.Equal(start.Add(time.Hour)) {
		t.Fatalf("counts %+v", n)
	}
	revive := func(at time.Duration, want int) {
		t.Helper()
		if n, err := f.Requeue(Filter{DueBy: start.Add(at)}); err != nil || n != want {
			t.Fatalf("%d addresses came back after %s, %v", n, at, err)
		}
	}
	revive(time.Hour-1, 0)
	c.add(24 * time.Hour)
	if l := next(t, f); l != nil {
		t.Fatalf("%s came back by itself", l.URL)
	}
	revive(time.Hour, 1)
	if r, _, err := f.Get("http://h/2"); err != nil || r.State != Queued || !r.Again.IsZero() ||
		r.Interval != time.Hour {
		t.Errorf("record %+v, %v", r, err)
	}
	must(t, f.Promote("http://h/1")) // a re-crawl request names the page before it is due
	if n := f.Counts(); n.Waiting != 1 || n.Queued != 2 {
		t.Errorf("counts %+v", n)
	}
	finish(t, f, leaseURL(t, f, "http://h/1"), End{State: Fetched, Again: start.Add(5 * time.Hour),
		Interval: 4 * time.Hour})
	finish(t, f, leaseURL(t, f, "http://h/2"), End{State: Refused, Why: "no"})
	revive(4*time.Hour, 1)
	finish(t, f, leaseURL(t, f, "http://h/3"), End{State: Fetched})
	revive(4*time.Hour, 0)
	revive(24*time.Hour, 1)
	finish(t, f, leaseURL(t, f, "http://h/1"), End{State: Fetched})
	if n := f.Counts(); n.Waiting != 0 || !n.NextAgain.IsZero() || n.Fetched != 3 || n.Refused != 1 {
		t.Errorf("counts %+v", n)
	}
}

// TestReviveMany tests that more addresses can become due than fit into one transaction.
func TestReviveMany(t *testing.T) {
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now, PerHost: 1000})
	const n = maxOffers + 10
	var urls []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("http://h%d/%d", i%10, i))
	}
	_, err := f.AddLinks(0, urls...)
	must(t, err)
	for l := next(t, f); l != nil; l = next(t, f) {
		must(t, f.Done(l, End{State: Fetched, Again: c.now().Add(time.Hour), Interval: time.Hour}))
	}
	must(t, f.Flush())
	if c := f.Counts(); c.Waiting != n {
		t.Fatalf("counts %+v", c)
	}
	if got, err := f.Requeue(Filter{DueBy: c.now().Add(time.Hour)}); err != nil || got != n {
		t.Errorf("%d came back, %v", got, err)
	}
	if c := f.Counts(); c.Queued != n || c.Waiting != 0 {
		t.Errorf("counts %+v", c)
	}
}

// TestPriorities checks the order of a host's queue: first addresses that re-crawl requests name,
// then seeds, then other addresses by depth, then addresses to retry. At the same depth, addresses
// from sitemaps come before links.
func TestPriorities(t *testing.T) {
	c := newClock()
	f := newFrontier(t, FrontierOptions{Now: c.now, Backoff: time.Nanosecond})
	add := func(n int, err error) { t.Helper(); must(t, err) }
	add(f.AddLinks(1, "http://h/link1", "http://h/both", "http://h/again"))
	add(f.AddLinks(2, "http://h/link2", "http://h/asked"))
	add(f.AddListed("", 1, "http://h/listed1", "http://h/both"))
	add(f.AddListed("", 2, "http://h/listed2"))
	l := leaseURL(t, f, "http://h/listed1")
	_, err := f.AddSeeds("http://h/seed")
	must(t, err)
	must(t, f.Promote("http://h/asked"))
	finish(t, f, l, End{State: Queued})
	c.add(time.Second)
	for _, want := range []string{"asked", "seed", "both", "link1", "again", "listed2", "link2", "listed1"} {
		finish(t, f, leaseURL(t, f, "http://h/"+want), End{State: Fetched})
	}
}

func TestMaxHost(t *testing.T) {
	name := filepath.Join(t.TempDir(), "frontier.db")
	f := openFrontier(t, name, FrontierOptions{MaxHost: 3})
	var reported []Record
	selection := Selection{Skipped: func(r Record) { reported = append(reported, r) }}
	must(t, f.Begin(selection))
	_, err := f.AddSeeds("http://h/1", "http://g/1")
	must(t, err)
	if n, err := f.AddLinks(1, "http://h/2", "http://h/3", "http://h/4"); err != nil || n != 2 {
		t.Errorf("%d added, %v", n, err)
	}
	offer := func(urls ...string) {
		t.Helper()
		l := next(t, f)
		if l == nil {
			t.Fatal("nothing is due")
		}
		e := links(f, 1, urls...)
		finish(t, f, l, e)
	}
	offer("http://h/5", "http://h/2", "http://h/6", "http://g/2")
	closeFrontier(t, f)
	f = openFrontier(t, name, FrontierOptions{MaxHost: 3})
	must(t, f.Begin(selection))
	offer("http://h/7", "http://g/3", "http://g/4")
	var at []string
	for _, r := range reported {
		at = append(at, r.URL)
		if r.State != Trapped || r.Why == "" {
			t.Errorf("reported %+v", r)
		}
	}
	if fmt.Sprint(at) != "[http://h/5 http://g/4]" {
		t.Errorf("reported %s", at)
	}
	if c := f.Counts(); c.Beyond != 5 || c.Queued+c.Fetched != 6 || c.Trapped != 0 {
		t.Errorf("counts %+v", c)
	}
	_, err = f.AddSeeds("http://h/8") // the operator names it as a seed, so it is queued again
	must(t, err)
	if r, found, err := f.Get("http://h/8"); err != nil || !found || r.State != Queued {
		t.Errorf("record %+v, %v", r, err)
	}
}

func TestTrappedIsRecorded(t *testing.T) {
	f := newFrontier(t, FrontierOptions{})
	_, err := f.AddSeeds("http://h/1")
	must(t, err)
	e := End{State: Fetched, Offers: []Offer{{URL: "http://h/a/a/a", Depth: 1, State: Trapped, Why: "no end"}}}
	finish(t, f, leaseURL(t, f, "http://h/1"), e)
	if c := f.Counts(); c.Trapped != 1 || c.Queued != 0 {
		t.Errorf("counts %+v", c)
	}
	_, err = f.AddLinks(1, "http://h/a/a/a") // in the run that makes this offer, the address is not a crawler trap
	must(t, err)
	finish(t, f, leaseURL(t, f, "http://h/a/a/a"), End{State: Fetched})
}

// A file of another format is refused with a message that says what to do.
func TestFormats(t *testing.T) {
	for _, other := range []string{"", "\x00", "\x02", "\x01\x00"} {
		f := newFrontier(t, FrontierOptions{})
		must(t, f.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bMeta).Put([]byte("format"), []byte(other)) }))
		must(t, f.Close())
		if _, err := Open(f.name, FrontierOptions{}); err == nil || !strings.Contains(err.Error(), "crawl again") {
			t.Errorf("opened format %x with %v", other, err)
		}
	}
}

// A run that names seeds leases only addresses found from these seeds. Other queued addresses stay
// queued.
func TestSeedsOfARun(t *testing.T) {
	f := newFrontier(t, FrontierOptions{})
	lease := func() []string {
		t.Helper()
		var urls []string
		for l := next(t, f); l != nil; l = next(t, f) {
			urls = append(urls, l.URL)
			finish(t, f, l, End{State: Fetched})
		}
		slices.Sort(urls)
		return urls
	}
	_, err := f.AddSeeds("http://a/")
	must(t, err)
	must(t, f.Begin(Selection{Seeds: []string{"http://a/"}}))
	l := leaseURL(t, f, "http://a/")
	finish(t, f, l, End{State: Fetched, Offers: []Offer{{URL: "http://a/1", Depth: 1, From: l.From, State: Queued},
		{URL: "http://a/2", Depth: 1, From: l.From, State: Queued}, {URL: "http://b/3", Depth: 1, From: l.From,
			State: Queued}}})

	_, err = f.AddSeeds("http://b/")
	must(t, err)
	must(t, f.Begin(Selection{Seeds: []string{"http://b/"}}))
	l = leaseURL(t, f, "http://b/")
	finish(t, f, l, End{State: Fetched, Offers: []Offer{{URL: "http://b/1", Depth: 1, From: l.From, State: Queued},
		{URL: "http://a/2", Depth: 1, From: l.From, State: Queued}, {URL: "http://c/4", Depth: 1, State: Queued}}})
	if got := lease(); !slices.Equal(got, []string{"http://a/2", "http://b/1"}) {
		t.Errorf("the run of the second seed visits %q", got)
	}
	if n, err := f.Others(); n != 3 || err != nil {
		t.Errorf("%d are left, %v", n, err)
	}
	must(t, f.Check())

	// the run names the seed again and continues where it stopped
	must(t, f.Begin(Selection{Seeds: []string{"http://a/"}}))
	if got := lease(); !slices.Equal(got, []string{"http://a/1", "http://b/3"}) {
		t.Errorf("the run of the first seed goes on with %q", got)
	}
	must(t, f.Begin(Selection{}))
	if got := lease(); !slices.Equal(got, []string{"http://c/4"}) {
		t.Errorf("the run without seeds visits %q", got)
	}
	must(t, f.Check())
}
