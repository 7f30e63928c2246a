package crawler

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// usage is a frontier that a test uses at random, together with the state that the test expects.
type usage struct {
	t     *testing.T
	r     *rand.Rand
	c     *clock
	o     FrontierOptions
	name  string
	f     *Frontier
	under []*Lease             // leases of visits in progress
	asked map[string]time.Time // host → time of its last request
	gap   map[string]time.Duration
	only  bool // this run leases only addresses that re-crawl requests name
	exact bool
}

const randomHosts = 12

func (u *usage) address() string {
	scheme := "http"
	if u.r.IntN(4) == 0 {
		scheme = "https"
	}
	return fmt.Sprintf("%s://h%d/%d", scheme, u.r.IntN(randomHosts), u.r.IntN(40))
}

func (u *usage) addresses() (urls []string) {
	for range 1 + u.r.IntN(8) {
		urls = append(urls, u.address())
	}
	return urls
}

// lease leases the next address that is due. If the address is to be visited, lease records a
// request to its host.
func (u *usage) lease() {
	l := next(u.t, u.f)
	if l == nil {
		return
	}
	if u.only && !l.Recrawl {
		u.t.Fatalf("%s is leased, which no re-crawl asks for", l.URL)
	}
	host := l.Host
	busy := 0
	for _, other := range u.under {
		if other.URL == l.URL {
			u.t.Fatalf("%s is leased twice", l.URL)
		}
		if other.host.name == host {
			busy++
		}
	}
	if s := u.f.selected.Load(); !l.Recrawl && s != nil && !s.holds(l.From) {
		u.t.Fatalf("%s, found from seed %d, is leased in a run of other seeds", l.URL, l.From)
	}
	if busy >= u.o.PerHost {
		u.t.Fatalf("%s is leased while %d visits of its host are under way", l.URL, busy)
	}
	if last, ok := u.asked[host]; ok && u.c.now().Sub(last) < u.gap[host] {
		u.t.Fatalf("%s is leased %s after the request before, the pause is %s", l.URL, u.c.now().Sub(last), u.gap[host])
	}
	if u.r.IntN(10) == 0 {
		_ = u.f.Return(l, nil)
		return
	}
	u.asked[host] = u.c.now()
	if !l.Met {
		must(u.t, u.f.Return(l, &Pace{u.c.now(), u.gap[host]}))
		return
	}
	u.under = append(u.under, l)
}

// someSeeds returns a random choice of the seeds named so far, or none.
func (u *usage) someSeeds() (some []string) {
	seeds, err := u.f.Seeds()
	must(u.t, err)
	for _, seed := range seeds {
		if u.r.IntN(4) == 0 {
			some = append(some, seed)
		}
	}
	return some
}

// end ends one visit with a random outcome.
func (u *usage) end() {
	if len(u.under) == 0 {
		return
	}
	i := u.r.IntN(len(u.under))
	l := u.under[i]
	u.under = append(u.under[:i], u.under[i+1:]...)
	now := u.c.now()
	e := End{State: Fetched, Status: 200, Asked: u.asked[l.Host], Delay: u.gap[l.Host]}
	for _, link := range u.addresses() {
		states := []State{Queued, Queued, Queued, Outside, Deep, Trapped}
		e.Offers = append(e.Offers, Offer{URL: link, Depth: l.Depth + 1, From: l.From * u.r.Uint64N(2),
			State: states[u.r.IntN(len(states))]})
	}
	switch u.r.IntN(8) {
	case 1:
		e.State, e.Status, e.Trouble = Queued, 503, u.r.IntN(2) == 0
		e.Retry = now.Add(time.Duration(u.r.IntN(5000)) * time.Millisecond)
	case 2:
		e.State, e.Why, e.Led = Refused, "no", u.address()
		if u.r.IntN(2) == 0 {
			e.TakenDown = true
		}
	case 3:
		if _, _, part := partOf(l.URL); !part {
			e.Final = u.address()
		}
	case 4:
		e.State, e.Why = Failed, "no answer"
	}
	if e.State == Fetched && e.Final == "" && u.r.IntN(8) == 0 { // the visit found that the page is taken down
		e.TakenDown = true
	}
	if e.State != Queued && u.r.IntN(2) == 0 {
		e.Interval = time.Duration(1+u.r.IntN(20)) * time.Second
		e.Again = now.Add(e.Interval)
	}
	must(u.t, u.f.Done(l, e))
}

// restart closes the file and opens it again. Visits under way are lost.
func (u *usage) restart() {
	closeFrontier(u.t, u.f)
	u.under = nil
	u.f = openFrontier(u.t, u.name, u.o)
	must(u.t, u.f.Begin(Selection{Promoted: u.only}))
}

func (u *usage) step() {
	switch n := u.r.IntN(100); {
	case n < 30:
		u.lease()
	case n < 60:
		u.end()
	case n < 85:
		u.c.add(time.Duration(u.r.IntN(400)) * time.Millisecond)
	case n < 87:
		_, err := u.f.AddSeeds(u.address())
		must(u.t, err)
	case n < 91:
		_, err := u.f.AddListed(u.address(), u.r.IntN(3), u.addresses()...)
		must(u.t, err)
	case n < 92:
		if err := u.f.Promote(u.address()); !errors.Is(err, ErrFull) {
			must(u.t, err)
		}
		if u.r.IntN(4) == 0 {
			u.only = !u.only
			must(u.t, u.f.Begin(Selection{Seeds: u.someSeeds(), Promoted: u.only, Exact: u.exact}))
		}
	case n < 93:
		must(u.t, errors.Join(u.f.Bar(u.addresses()...), u.f.BarLed(u.address(), u.addresses()...)))
	case n < 94:
		_, err := u.f.Lift("http://h1", func(string) bool { return u.r.IntN(2) == 0 })
		must(u.t, err)
	case n < 95:
		must(u.t, u.f.AddParts(u.addresses(), u.addresses(), Recrawl{Min: time.Second, Max: 20 * time.Second}))
	case n < 97:
		_, err := u.f.Requeue(Filter{DueBy: u.c.now()})
		must(u.t, err)
	case n < 98:
		_, err := u.f.Requeue(Filter{Prefix: "http://h1", States: []State{Failed}})
		must(u.t, err)
	case n < 99:
		u.restart()
	default:
		must(u.t, u.f.Flush())
	}
}

// Whatever methods of a frontier are called, the file passes Check, no address is leased twice at
// the same time, and no host is requested before its delay has ended, even after a restart during
// visits. In the end every queued address is visited.
func TestRandomUse(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			u := &usage{t: t, r: rand.New(rand.NewPCG(seed, 1)), c: newClock(),
				name:  filepath.Join(t.TempDir(), "frontier.db"),
				asked: map[string]time.Time{}, gap: map[string]time.Duration{}}
			u.o = FrontierOptions{Now: u.c.now, Delay: time.Second, PerHost: 1 + int(seed%3), Working: 2 + int(seed),
				MaxHost: 30 * int(seed%2)}
			for i := range randomHosts {
				u.gap[fmt.Sprintf("h%d", i)] = time.Second + time.Duration(i/4)*700*time.Millisecond
			}
			u.f = openFrontier(t, u.name, u.o)
			u.exact = seed%2 == 0
			must(t, u.f.Begin(Selection{Exact: u.exact}))
			for range 1500 {
				u.step()
			}
			for len(u.under) > 0 {
				u.end()
			}
			must(t, errors.Join(u.f.Flush(), u.f.Begin(Selection{})))
			_, err := u.f.Lift("", func(string) bool { return false })
			must(t, err)
			for idle := 0; u.f.Counts().Queued > 0; {
				l := next(t, u.f)
				if l == nil {
					must(t, u.f.Flush())
					if l = next(t, u.f); l == nil {
						if idle++; idle > 600 {
							t.Fatalf("nothing is ever due: %+v", u.f.Counts())
						}
						u.c.add(time.Second)
						continue
					}
				}
				idle = 0
				finish(t, u.f, l, End{State: Fetched})
			}
		})
	}
}
