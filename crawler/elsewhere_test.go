package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/gate"
	"github.com/acapcrawl/acapcrawl/page"
)

func TestOfferSurvivesJSON(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)
	o := Offer{URL: "http://h/ä", Depth: 3, Seed: true, From: 1 << 63, Listed: true, State: Trapped, Why: "no \"end\"",
		Again: true, Promote: true, Down: "http://h/down", Revisit: at, Interval: time.Hour}
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the field %s is not tested", v.Type().Field(i).Name)
		}
	}
	text, err := json.Marshal(o)
	must(t, err)
	var again Offer
	if err := json.Unmarshal(text, &again); err != nil || again != o {
		t.Errorf("%+v, %v", again, err)
	}
}

// A link to another partition is sent once, but at a smaller depth again. What queues an address
// again is always sent.
func TestSentLinks(t *testing.T) {
	_, s, o := newShared(t)
	a := newMachine(t, s, o, 0)
	link := func(url string, depth int) Offer { return Offer{URL: url, Depth: depth, From: 2, State: Queued} }
	for _, sent := range []struct {
		offer Offer
		want  int
	}{
		{link("http://h.1/", 3), 1}, {link("http://h.1/", 3), 0}, {link("http://h.1/", 4), 0},
		{link("http://h.1/", 2), 1},
		{link("http://h.1/", 3), 0},
		{Offer{URL: "http://h.1/", Depth: 2, From: 3, State: Queued}, 1},
		{Offer{URL: "http://h.1/", Depth: 2, From: 2, State: Outside}, 1},
		{Offer{URL: "http://h.1/", Depth: 2, From: 2, State: Queued, Listed: true}, 1},
		{Offer{URL: "http://a.1/", Seed: true, State: Queued}, 1},
		{Offer{URL: "http://a.1/", Seed: true, State: Queued}, 1},
		{Offer{URL: "http://h.1/", Again: true}, 1}, {Offer{URL: "http://h.1/", Again: true}, 1},
		{Offer{URL: "part:http://h.1/", State: Queued}, 1}, {Offer{URL: "part:http://h.1/", State: Queued}, 1},
	} {
		_, err := a.Offer(sent.offer, sent.offer)
		must(t, err)
		want := sent.want
		if !forgettable(&sent.offer) {
			want *= 2
		}
		if n := len(s.sent(1)); n != want {
			t.Errorf("%+v is sent %d times", sent.offer, n)
		}
	}
	var m sentLinks
	for i := range 3*maxSent + 10 {
		m.add([]Offer{link("http://h.1/"+strings.Repeat("x", i%7)+string(rune(i)), 1)})
		if len(m.young) > maxSent || len(m.old) > maxSent {
			t.Fatalf("%d and %d links are remembered", len(m.young), len(m.old))
		}
	}
}

// A link that is not visited is reported once, also if its address is in another partition than the pages that have it:
// by the owner of its partition, also if that has received it before its run begins.
func TestSkippedForOtherPartitions(t *testing.T) {
	c, s, o := newShared(t)
	o.MaxHost = 2
	var skipped []string
	report := Selection{Skipped: func(r Record) { skipped = append(skipped, string(r.State)+" "+r.URL) }}
	journal, ownerOptions := s.machine(), o
	ownerOptions.Journal = journal
	owner := openFrontier(t, filepath.Join(t.TempDir(), "frontier.db"), ownerOptions)
	must(t, errors.Join(owner.SetSeeds(sharedSeeds), s.adopt(owner, journal, 1)))
	for n, m := range map[int]*machine{0: newMachine(t, s, o, 0), 2: newMachine(t, s, o, 2)} {
		must(t, m.Begin(report))
		url := fmt.Sprintf("http://a.%d/", n)
		m.offer(url)
		m.meet(url, 0)
		c.add(time.Second)
		e := End{Asked: c.now()}
		for _, o := range []Offer{
			{URL: "http://h.1/out", State: Outside, Why: "far"}, {URL: "http://h.1/deep", State: Deep, Why: "deep"},
			{URL: "http://h.1/third", State: Queued}, {URL: "http://h.1/fourth", State: Queued},
		} {
			o.Depth, o.From = 2, 2
			e.Offers = append(e.Offers, o)
		}
		m.finish(m.take(url), e)
		_, err := m.AddListed(url, 2, "http://listed.1/1", "http://listed.1/2", "http://listed.1/3")
		must(t, err)
	}
	must(t, s.deliver(owner, 1, false))
	if len(skipped) > 0 {
		t.Errorf("reported before the run of the owner: %v", skipped)
	}
	want := []string{"out-of-scope http://h.1/out", "too-deep http://h.1/deep", "trap http://h.1/third"}
	for range 2 {
		must(t, owner.Begin(report))
		must(t, s.deliver(owner, 1, true))
		if !slices.Equal(skipped, want) {
			t.Errorf("%v", skipped)
		}
	}
	must(t, owner.Receive(1, 99, []Offer{{URL: "http://new.1/", Depth: 2, From: 2, State: Outside, Why: "far"}}))
	if want = append(want, "out-of-scope http://new.1/"); !slices.Equal(skipped, want) {
		t.Errorf("%v", skipped)
	}
}

// What concerns addresses of other partitions reaches their owners.
func TestCallsForOtherPartitions(t *testing.T) {
	c, s, o := newShared(t)
	a, b := newMachine(t, s, o, 0), newMachine(t, s, o, 1)
	b.offer("http://h.1/", "http://h.1/down", "http://h.1/led", "http://h.1/again")
	b.meet("http://h.1/", 0)
	for b.Counts().Queued > 0 {
		c.add(time.Second)
		l, err := tryNext(b.Frontier)
		must(t, err)
		b.finish(l, End{Asked: c.now()})
	}
	must(t, b.AddParts([]string{"http://h.1/down"}, nil, Recrawl{}))
	must(t, errors.Join(a.Bar("http://h.1/down"), a.BarLed("http://h.1/target", "http://h.1/led"),
		a.Again("http://h.1/again"), a.Promote("http://h.1/new"),
		a.AddParts(nil, []string{"http://h.1/part"}, Recrawl{})))
	must(t, s.deliver(b.Frontier, 1, false))
	for url, want := range map[string]string{"http://h.1/down": "http://h.1/down",
		"http://h.1/led":       "http://h.1/target",
		"part:http://h.1/down": "http://h.1/down", "http://h.1/": ""} {
		if r, _, err := b.Get(url); err != nil || r.TakenDown != want {
			t.Errorf("%s: %+v, %v", url, r, err)
		}
	}
	for _, url := range []string{"http://h.1/again", "http://h.1/new", "part:http://h.1/part"} {
		if b.state(url) != Queued {
			t.Errorf("%s is %s", url, b.state(url))
		}
	}
	c.add(time.Minute)
	if l := b.take("http://h.1/new"); !l.Recrawl {
		t.Error("the address is not promoted")
	}
	if n := a.Counts(); n != (Counts{}) {
		t.Errorf("%+v", n)
	}
}

// Links of a visit to another partition are sent even if this machine owns that partition, because
// the journals of the two partitions are independent. Links that its file knows are not sent.
func TestLinksToOwnPartitions(t *testing.T) {
	c, s, o := newShared(t)
	a := newMachine(t, s, o, 0, 1)
	a.offer("http://h.0/", "http://known.1/")
	l, err := tryNext(a.Frontier)
	must(t, err)
	for l.Host != "h.0" || !l.Met {
		must(t, errors.Join(a.Return(l, &Pace{c.now(), 0}), a.Flush()))
		c.add(time.Second)
		l, err = tryNext(a.Frontier)
		must(t, err)
	}
	e := links(a.Frontier, 1, "http://known.1/", "http://new.1/")
	e.Final = "http://h.1/target"
	a.finish(l, e)
	if a.state("http://new.1/") != "" || a.state("http://h.1/target") != "" || a.state("http://h.0/") != Fetched {
		t.Error("a change of one partition changes another one")
	}
	must(t, s.deliver(a.Frontier, 1, false))
	if urls := s.sent(1); !slices.Equal(urls, []string{"http://h.1/target", "http://new.1/"}) {
		t.Errorf("sent %v", urls)
	}
	if a.state("http://new.1/") != Queued || a.state("http://h.1/target") != Queued {
		t.Error("a link that was sent is not queued")
	}
}

// A link is not left out because the file knows its address from a partition that is not adopted.
func TestStaleDataAreNotTrusted(t *testing.T) {
	_, s, o := newShared(t)
	a := newMachine(t, s, o, 1)
	a.offer("http://h.1/")
	must(t, a.Close())
	a = openMachine(t, s, a.name, o)
	a.offer("http://h.1/")
	if urls := s.sent(1); !slices.Equal(urls, []string{"http://h.1/"}) {
		t.Errorf("sent %v", urls)
	}
	a.take("")
}

// The numbers of seeds are the same on all machines, so a machine invents none.
func TestSeedNumbersAreGiven(t *testing.T) {
	_, s, o := newShared(t)
	a := newMachine(t, s, o, 0)
	if _, err := a.AddSeeds("http://new.0/"); err == nil {
		t.Error("a seed without a number is accepted")
	}
	if err := a.Receive(0, 1, []Offer{{URL: "http://new.0/", Seed: true, State: Queued}}); err == nil {
		t.Error("a seed without a number is received")
	}
	for _, bad := range []map[string]uint64{{"http://a.0/": 9}, {"http://new.0/": RequiredByPages}} {
		if err := a.SetSeeds(bad); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
	must(t, a.SetSeeds(map[string]uint64{"http://new.0/": 7, "http://a.0/": 2}))
	_, err := a.AddSeeds("http://new.0/")
	must(t, err)
	if l := a.take("http://new.0/"); l.From != 7 {
		t.Errorf("%+v", l)
	}
	must(t, a.Begin(Selection{Seeds: []string{"http://a.1/"}}))
	if a.state("http://a.1/") != "" || len(s.sent(1)) > 0 {
		t.Error("Begin queues a seed")
	}
	if a.visits(7) || !a.visits(3) {
		t.Error("the selection of the run is not in force")
	}
}

func TestReceiveRefuses(t *testing.T) {
	_, s, o := newShared(t)
	a := newMachine(t, s, o, 0)
	for _, bad := range []Offer{{URL: "x", State: Queued}, {URL: "http://h.0/", State: "odd"}} {
		if err := a.Receive(0, 1, []Offer{bad}); err == nil {
			t.Errorf("%+v is received", bad)
		}
	}
	must(t, a.Receive(0, 1, []Offer{{URL: "http://h.1/", State: Queued}})) // sent to the wrong partition
	if urls := s.sent(1); !slices.Equal(urls, []string{"http://h.1/"}) || a.Counts().Queued != 0 {
		t.Errorf("sent %v", urls)
	}
}

// A crawler with a shared frontier crawls a site. A redirect to a host of another machine is not
// followed but sent.
func TestSharedRun(t *testing.T) {
	site, far := newSite(t), newSite(t)
	site.Page("/", "/a", "/b", "/away")
	site.Page("/a", "/")
	site.Page("/b", "/a")
	site.Redirect("/away", far.URL+"/")
	own, err := url.Parse(site.URL)
	must(t, err)
	s := newSharedStore(t, 2)
	c := newCrawl(t)
	j := apartJournal{s.machine(), own.Host}
	c.frontier, err = Open(t.TempDir()+"/frontier.db", FrontierOptions{PerHost: 4, Journal: j})
	must(t, err)
	defer closeFrontier(t, c.frontier)
	f := c.frontier
	must(t, s.adopt(f, j.fakeJournal, 0))
	must(t, f.SetSeeds(map[string]uint64{site.URL + "/": FirstSeed}))
	_, err = f.AddSeeds(site.URL + "/")
	must(t, err)
	c.o.Scope = ScopeAny
	c.o.Together = func(host, other string) bool { return j.Partition(host) == j.Partition(other) }
	f.Finish()
	sum := c.run(t, context.Background(), site.URL)
	if sum.Fetched != 4 || sum.Queued != 0 || len(far.requests()) > 0 {
		t.Errorf("%+v, %v", sum, far.requests())
	}
	if urls := s.sent(1); !slices.Equal(urls, []string{far.URL + "/"}) {
		t.Errorf("sent %v", urls)
	}
}

// apartJournal is a journal with two partitions: one host, and all others.
type apartJournal struct {
	*fakeJournal
	host string
}

func (j apartJournal) Partition(host string) int {
	if host == j.host {
		return 0
	}
	return 1
}

func (j apartJournal) Send(_ context.Context, offers []Offer) error {
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	j.store.links[1] = append(j.store.links[1], sentOffers{1, slices.Clone(offers)})
	return nil
}

// If something that a page needs cannot be requested at the moment, because of a lease, the visit is repeated later,
// and the run goes on. If that lasts, the page counts as failed, and all others are visited.
func TestPageNeedsAnotherHost(t *testing.T) {
	for _, times := range []int{1, 100} {
		s := newSite(t)
		s.Page("/", "/needs", "/fine")
		s.Page("/needs", "/after")
		c := newCrawl(t)
		var failures atomic.Int32
		c.handler.receive = func(p *page.Page) (Receipt, error) {
			if p.URL().Path == "/needs" && int(failures.Add(1)) <= times {
				return Receipt{}, fmt.Errorf("the policy could not be read: %w", gate.ErrPaused)
			}
			return Receipt{Links: p.Links(page.Cut{}), Stored: true}, nil
		}
		sum := c.run(t, context.Background(), s.URL)
		r, _, err := c.frontier.Get(s.URL + "/needs")
		must(t, err)
		if times == 1 && (sum.Fetched != 4 || s.Asked("/needs") != 2 || r.State != Fetched) {
			t.Errorf("once: %+v, %+v; %v", sum, r, s.requests())
		}
		if times > 1 && (s.Asked("/needs") != maxTries || r.State != Failed ||
			!strings.Contains(r.Why, "policy could not") || s.Asked("/fine") != 1) {
			t.Errorf("always: %+v, %+v; %v", sum, r, s.requests())
		}
	}
}
