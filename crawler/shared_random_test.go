package crawler

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

var sharedRuns = flag.Uint64("shared-runs", 8, "random crawls of TestSharedRandomUse")

// sharedUse is a crawl of several machines that a test uses at random, with the state that the test
// expects.
type sharedUse struct {
	t        *testing.T
	r        *rand.Rand
	c        *clock
	store    *sharedStore
	o        FrontierOptions
	machines []*machineUse
	visits   []*visitUse
	asked    map[string]request       // host → its last request
	gap      map[string]time.Duration // host → the delay that it asks for
	rest     map[string]rest          // host → a time before which it must not be requested
	seeds    map[string]uint64
	wiped    int
	moved    int
}

// machineUse is a machine: a file, and the frontier of the process that has it open.
type machineUse struct {
	f    *Frontier
	j    *fakeJournal
	dir  string
	life int // number of the process
}

// visitUse is a visit in progress.
type visitUse struct {
	m    *machineUse
	l    *Lease
	sent time.Time // when the host was requested; zero: not yet
}

type request struct {
	at   time.Time
	m    *machineUse
	life int
}

type rest struct {
	until   time.Time
	m       *machineUse
	life    int
	durable bool
}

const (
	sharedPartitions = 5
	sharedHosts      = 3 // of a partition
	sharedPages      = 12
)

// page returns the address of page n of the crawl.
func sharedPage(n uint32) string {
	host := n / sharedPages % (sharedPartitions * sharedHosts)
	return fmt.Sprintf("http://h%d.%d/%d", host%sharedHosts, host/sharedHosts, n%sharedPages)
}

// linksOf returns the links of a page. They are always the same, so that the test knows which
// addresses a crawl finds.
func linksOf(url string) (urls []string) {
	for i := range 4 {
		h := fnv.New32a()
		fmt.Fprint(h, i, url)
		urls = append(urls, sharedPage(h.Sum32()>>4))
	}
	return urls
}

func newSharedUse(t *testing.T, seed uint64) *sharedUse {
	u := &sharedUse{t: t, r: rand.New(rand.NewPCG(seed, 2)), c: newClock(), asked: map[string]request{},
		gap: map[string]time.Duration{}, rest: map[string]rest{}, seeds: map[string]uint64{}}
	u.store = newSharedStore(t, sharedPartitions)
	u.store.faults = rand.New(rand.NewPCG(seed, 3))
	u.o = FrontierOptions{Now: u.c.now, Delay: time.Second, Working: 3 + int(seed%8)}
	for i := range uint32(sharedPartitions * sharedHosts) {
		page := sharedPage(i * sharedPages)
		host, _ := address.Host(page)
		u.gap[host] = time.Second + time.Duration(i%4)*700*time.Millisecond
		if i%5 == 0 {
			u.seeds[page] = FirstSeed + uint64(i)
		}
	}
	for range 3 {
		m := &machineUse{dir: t.TempDir()}
		u.machines = append(u.machines, m)
		u.open(m)
	}
	return u
}

func (m *machineUse) file() string { return filepath.Join(m.dir, "frontier.db") }

func (u *sharedUse) open(m *machineUse) {
	m.life++
	m.j = u.store.machine()
	o := u.o
	o.Journal = m.j
	f, err := Open(m.file(), o)
	must(u.t, err)
	m.f = f
	f.db.NoSync = true
	must(u.t, errors.Join(f.SetSeeds(u.seeds), f.Begin(Selection{})))
}

// ok reports whether a call succeeded. A machine whose connection was cut crashes.
func (u *sharedUse) ok(m *machineUse, err error) bool {
	u.t.Helper()
	switch {
	case errors.Is(err, errCut):
		u.crash(m)
		return false
	case errors.Is(err, ErrLost), errors.Is(err, ErrFull):
		return false
	}
	must(u.t, err)
	return true
}

// lease leases an address on a machine, and usually requests it.
func (u *sharedUse) lease(m *machineUse) {
	l, err := tryNext(m.f)
	if !u.ok(m, err) || l == nil {
		return
	}
	if !m.j.Until().After(u.c.now()) {
		u.t.Fatalf("%s is leased after the right to request hosts has ended", l.URL)
	}
	for _, v := range u.visits {
		if v.l.URL == l.URL && !v.l.lost() && v.m.j.Until().After(u.c.now()) {
			u.t.Fatalf("%s is leased twice", l.URL)
		}
	}
	v := &visitUse{m: m, l: l}
	u.visits = append(u.visits, v)
	if u.r.IntN(4) > 0 {
		u.request(v)
	}
}

// request makes the request of a visit if the machine may make it. It reports a request that comes
// too early.
func (u *sharedUse) request(v *visitUse) {
	now, host := u.c.now(), v.l.Host
	if !v.sent.IsZero() || v.l.lost() || !v.m.j.Until().After(now) {
		return
	}
	if !u.pace(v.m, host) {
		return // the gate of the process waits
	}
	v.sent = now
	if u.r.IntN(8) == 0 { // a redirect to another host of the partition
		other := fmt.Sprintf("h%d%s", u.r.IntN(sharedHosts), host[2:])
		if last := u.asked[other]; other != host && (last.m != v.m || last.life != v.m.life ||
			now.Sub(last.at) >= u.gap[other]) && now.Sub(last.at) >= u.gap[other] && now.After(u.rest[other].until) {
			u.asked[other] = request{now, v.m, v.m.life}
		}
	}
}

func (u *sharedUse) pace(m *machineUse, host string) bool {
	now, last := u.c.now(), u.asked[host]
	if r := u.rest[host]; now.Before(r.until) {
		u.t.Fatalf("%s is requested %s before it permits that", host, r.until.Sub(now))
	}
	if now.Sub(last.at) < u.gap[host] {
		if last.m == m && last.life == m.life {
			return false
		}
		u.t.Fatalf("%s is requested %s after a request of another machine or process; its delay is %s", host,
			now.Sub(last.at), u.gap[host])
	}
	u.asked[host] = request{now, m, m.life}
	return true
}

// end ends a visit with a random outcome.
func (u *sharedUse) end() {
	if len(u.visits) == 0 {
		return
	}
	i := u.r.IntN(len(u.visits))
	v := u.visits[i]
	u.visits = slices.Delete(u.visits, i, i+1)
	u.endVisit(v)
}

func (u *sharedUse) endVisit(v *visitUse) {
	m, l, now := v.m, v.l, u.c.now()
	switch {
	case v.sent.IsZero():
		u.ok(m, m.f.Return(l, nil))
		return
	case !l.Met:
		u.ok(m, m.f.Return(l, &Pace{v.sent, u.gap[l.Host]}))
		return
	}
	e := End{State: Fetched, Status: 200, Asked: v.sent, Delay: u.gap[l.Host], Took: time.Millisecond}
	if _, _, part := partOf(l.URL); !part {
		for _, link := range linksOf(l.URL) {
			e.Offers = append(e.Offers, Offer{URL: link, Depth: l.Depth + 1, From: l.From, State: Queued})
		}
	}
	switch u.r.IntN(8) {
	case 0:
		e = End{State: Queued, Status: 503, Asked: v.sent, Delay: u.gap[l.Host], Trouble: true,
			Rest: now.Add(time.Duration(u.r.IntN(8000)) * time.Millisecond)}
	case 1:
		e.Interval, e.Again = 20*time.Second, now.Add(20*time.Second)
	case 2:
		e.TakenDown = true
	}
	lost := l.lost()
	if !u.ok(m, m.f.Done(l, e)) {
		return
	}
	if lost {
		u.t.Fatalf("the end of a lost lease of %s is accepted", l.URL)
	}
	durable := u.r.IntN(3) == 0 && u.ok(m, m.f.Flush()) && !l.lost()
	if e.Trouble && u.owner(u.store.partition(l.Host)) == m.j { // otherwise the end has no effect
		u.rest[l.Host] = rest{e.Rest, m, m.life, durable}
	}
}

func (u *sharedUse) owner(n int) *fakeJournal {
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	return u.store.owner[n]
}

func (u *sharedUse) disown(m *machineUse, n int) {
	if u.owner(n) == m.j {
		u.store.give(n, nil)
	}
}

func (u *sharedUse) check(m *machineUse) {
	u.t.Helper()
	if err := m.f.Check(); !errors.Is(err, errCut) {
		must(u.t, err)
	}
}

func (u *sharedUse) page() string { return sharedPage(u.r.Uint32()) }

func (u *sharedUse) step() {
	m := u.machines[u.r.IntN(len(u.machines))]
	switch n := u.r.IntN(200); {
	case n < 60:
		u.lease(m)
	case n < 70 && len(u.visits) > 0:
		u.request(u.visits[u.r.IntN(len(u.visits))])
	case n < 110:
		u.end()
	case n < 140:
		u.c.add(time.Duration(u.r.IntN(1500)) * time.Millisecond)
	case n < 146:
		u.c.add(20 * time.Second)
	case n < 160:
		u.adopt(m, u.r.IntN(sharedPartitions))
	case n < 170:
		u.renew(m)
	case n < 180:
		u.deliver(m)
	case n < 182:
		u.release(m)
	case n < 184:
		u.rewrite(m)
	case n < 186:
		u.crash(m)
	case n < 187:
		out, err := os.Create(filepath.Join(m.dir, "old"))
		must(u.t, err)
		must(u.t, m.f.Backup(func(int64) (io.Writer, error) { return out, nil }))
		must(u.t, out.Close())
	case n < 188:
		u.ok(m, m.f.Promote(u.page()))
	case n < 190:
		u.ok(m, errors.Join(m.f.Bar(u.page()), m.f.BarLed(u.page(), u.page())))
	case n < 191:
		_, err := m.f.Lift("", func(string) bool { return u.r.IntN(2) == 0 })
		u.ok(m, err)
	case n < 193:
		u.ok(m, m.f.AddParts([]string{u.page()}, []string{u.page()}, Recrawl{Min: time.Second, Max: 20 * time.Second}))
	case n < 195:
		_, err := m.f.Requeue(Filter{DueBy: u.c.now()})
		u.ok(m, err)
	case n < 196:
		u.ok(m, m.f.Again(u.page(), u.page()))
	case n < 197:
		_, err := m.f.AddSeeds(slices.Sorted(maps.Keys(u.seeds))...)
		u.ok(m, err)
	case n < 198:
		u.check(m)
	default:
		u.ok(m, m.f.Flush())
	}
}

// deliver passes links of other partitions to their owner, sometimes twice.
func (u *sharedUse) deliver(m *machineUse) {
	for _, n := range m.f.Owned() {
		if !u.ok(m, u.store.deliver(m.f, n, u.r.IntN(4) == 0)) {
			return
		}
	}
}

// finish lets the machines crawl everything.
func (u *sharedUse) finish() {
	u.store.cut = 0
	for n := range sharedPartitions {
		m := u.machines[u.r.IntN(len(u.machines))]
		u.crash(m)
		u.adopt(m, n)
	}
	for range 20_000 {
		busy := false
		for _, m := range u.machines {
			u.renew(m)
			for n := range sharedPartitions {
				if u.owner(n) == nil {
					u.adopt(m, n)
				}
			}
			u.deliver(m)
			u.lease(m)
			for len(u.visits) > 0 {
				if v := u.visits[0]; v.sent.IsZero() {
					u.request(v)
				}
				u.end()
			}
			must(u.t, m.f.Flush())
		}
		for _, m := range u.machines { // when none of them sends any more
			busy = busy || m.f.Counts().Queued > 0 || u.undelivered(m)
		}
		if !busy {
			return
		}
		u.c.add(500 * time.Millisecond)
	}
	u.t.Fatal("the crawl does not end")
}

func (u *sharedUse) undelivered(m *machineUse) bool {
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	for _, n := range m.f.Owned() {
		_, after, _ := m.f.Position(n)
		if list := u.store.links[n]; len(list) > 0 && list[len(list)-1].position > after {
			return true
		}
	}
	return false
}

// covered checks that everything that a fetched page links to is fetched.
func (u *sharedUse) covered() {
	all := map[string]Record{}
	for _, m := range u.machines {
		for _, n := range m.f.Owned() {
			u.rebuild(m, n)
		}
		must(u.t, m.f.Each("", func(r Record) error {
			host, err := address.Host(r.URL)
			if slices.Contains(m.f.Owned(), u.store.partition(host)) {
				all[r.URL] = r
			}
			return err
		}))
	}
	for seed := range u.seeds {
		if all[seed].State != Fetched {
			u.t.Errorf("the seed %s is %q", seed, all[seed].State)
		}
	}
	pages := 0
	for url := range all {
		if _, _, part := partOf(url); part {
			continue
		}
		pages++
		for _, link := range linksOf(url) {
			if all[link].State != Fetched {
				u.t.Errorf("%s, to which %s links, is %q", link, url, all[link].State)
			}
		}
	}
	u.t.Logf("%d pages, %d moves of partitions, %d files lost, %d appends, %d sends", pages, u.moved, u.wiped,
		u.store.appends, u.store.sends)
}

// Whatever happens to the machines of a crawl, no address is lost, none is leased by two machines
// at the same time, no host is requested before its delay has ended, and a lost file is rebuilt as
// it was.
func TestSharedRandomUse(t *testing.T) {
	for seed := range *sharedRuns {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			u := newSharedUse(t, seed)
			defer func() {
				for _, m := range u.machines {
					closeFrontier(t, m.f)
				}
			}()
			for n := range sharedPartitions {
				u.adopt(u.machines[n%2], n)
			}
			_, err := u.machines[0].f.AddSeeds(slices.Sorted(maps.Keys(u.seeds))...)
			must(t, err)
			if seed%2 == 0 {
				u.store.cut = 60
			}
			for range 3000 {
				u.step()
			}
			u.finish()
			u.covered()
		})
	}
}
