package crawler

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// same checks that what b has of a partition is what a has.
func same(t *testing.T, a, b *Frontier, n int) {
	t.Helper()
	want, got := dump(t, a, n), dump(t, b, n)
	if !slices.Equal(want, got) {
		t.Fatalf("partition %d differs:\n%s\n---\n%s", n, strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// fill gives the partition 0 of a hosts and addresses in all states.
func fill(t *testing.T, a *machine, c *clock, hosts, pages int) {
	t.Helper()
	var urls []string
	for i := range hosts {
		for j := range pages {
			urls = append(urls, fmt.Sprintf("http://h%d.0/%d", i, j))
		}
	}
	a.offer(urls...)
	_, err := a.AddSeeds("http://a.0/")
	must(t, err)
	must(t, a.Promote("http://h0.0/1"))
	must(t, a.AddParts([]string{"http://h0.0/had"}, []string{"http://h1.0/missing"}, Recrawl{Min: time.Hour}))
	for range 20 {
		l, err := tryNext(a.Frontier)
		must(t, err)
		if l == nil {
			c.add(time.Second)
			continue
		}
		if !l.Met {
			must(t, a.Return(l, &Pace{c.now(), time.Second}))
			continue
		}
		e := End{State: Fetched, Status: 200, Asked: c.now(), Delay: time.Second, Again: c.now().Add(time.Hour),
			Interval: time.Hour}
		switch l.Depth % 3 {
		case 0:
			e = End{State: Queued, Status: 503, Asked: c.now(), Delay: time.Second, Trouble: true}
		case 1:
			e.Offers = []Offer{{URL: "http://h1.0/out", Depth: 2, From: 2, State: Outside, Why: "not in scope"}}
		}
		a.finish(l, e)
	}
	must(t, a.Bar("http://h0.0/had"))
	must(t, a.Flush())
}

// A partition of many transactions is rebuilt from its journal. If that is interrupted, the next
// Adopt continues.
func TestAdoptLarge(t *testing.T) {
	c, s, o := newShared(t)
	o.MaxHost = 900
	a := newMachine(t, s, o, 0)
	fill(t, a, c, 6, 1000)
	if a.Counts().Beyond == 0 {
		t.Error("no host has too many addresses")
	}
	b := newMachine(t, s, o)
	s.give(0, b.j)
	_, list := s.entries(0, 0)
	broken := errors.New("the connection was cut")
	err := b.Adopt(0, false, func(yield func(JournalRecord, error) bool) {
		n := 0
		for r := range list {
			if n++; n == 1000 {
				yield(JournalRecord{}, broken)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	})
	if !errors.Is(err, broken) || len(b.Owned()) > 0 {
		t.Fatalf("%v, owned %v", err, b.Owned())
	}
	must(t, b.Check())
	position, _, known := b.Position(0)
	if !known || position == 0 {
		t.Errorf("position %d, %t", position, known)
	}
	b.take("")
	fresh, list := s.entries(0, position)
	if fresh {
		t.Error("the whole journal is needed")
	}
	must(t, b.Adopt(0, false, list))
	same(t, a.Frontier, b.Frontier, 0)
	if err := b.Adopt(0, false, list); err == nil {
		t.Error("adopted twice")
	}
	if a.Counts().Queued != b.Counts().Queued || a.Counts().Beyond != b.Counts().Beyond {
		t.Errorf("%+v, %+v", a.Counts(), b.Counts())
	}
}

// If the journal no longer has everything after the position of the file, the file is made again.
func TestAdoptFresh(t *testing.T) {
	c, s, o := newShared(t)
	a := newMachine(t, s, o, 0)
	fill(t, a, c, 2, 10)
	must(t, a.Close())
	b := newMachine(t, s, o, 0)
	b.offer("http://new.0/")
	from, err := b.Rewrite(0)
	must(t, err)
	s.purge(0, from)
	again := openMachine(t, s, a.name, o)
	position, _, known := again.Position(0)
	if fresh, _ := s.entries(0, position); !known || !fresh {
		t.Errorf("position %d %t, fresh %t", position, known, fresh)
	}
	must(t, s.adopt(again.Frontier, again.j, 0))
	same(t, b.Frontier, again.Frontier, 0)

	// a file that has more than the journal is of another crawl
	must(t, again.Close())
	other := newSharedStore(t, 3)
	other.journals[0], other.next = s.journals[0], s.next
	c2 := newMachine(t, s, o, 0)
	c2.offer("http://of-another-crawl.0/")
	must(t, c2.Close())
	d := openMachine(t, other, c2.name, o)
	other.give(0, d.j)
	_, list := other.entries(0, 0)
	must(t, d.Adopt(0, true, list))
	if d.state("http://of-another-crawl.0/") != "" || d.state("http://new.0/") != Queued {
		t.Error("the file is not made again")
	}
}

// drop removes a partition in several transactions. A restart in between continues.
func TestDropLarge(t *testing.T) {
	c, s, o := newShared(t)
	name := filepath.Join(t.TempDir(), "frontier.db")
	a := openMachine(t, s, name, o)
	must(t, errors.Join(s.adopt(a.Frontier, a.j, 0), s.adopt(a.Frontier, a.j, 1)))
	fill(t, a, c, 3, 2000)
	a.offer("http://h.1/")
	n := 0
	must(t, a.wait(&change{drop: &n})) // the first transaction only
	must(t, a.Check())
	if q := a.Counts().Queued; q < 2000 || q > 5000 {
		t.Errorf("%d queued", q)
	}
	must(t, a.Close())
	a = openMachine(t, s, name, o)
	if _, _, known := a.Position(0); known {
		t.Error("a partition that is removed in part is known")
	}
	must(t, a.awaitDrop(0))
	if q := a.Counts().Queued; q != 1 {
		t.Errorf("%d queued", q)
	}
	if list, err := a.Stored(); err != nil || !slices.Equal(list, []int{1}) {
		t.Errorf("%v %v", list, err)
	}
	must(t, s.adopt(a.Frontier, a.j, 0))
	if a.Counts().Queued < 5000 {
		t.Errorf("%+v", a.Counts())
	}
	a.Lose(1)
	must(t, a.awaitDrop(1))
	if list, err := a.Stored(); err != nil || !slices.Equal(list, []int{0}) {
		t.Errorf("%v %v", list, err)
	}
}

// A partition that is lost while it is adopted is not adopted.
func TestLostDuringAdoption(t *testing.T) {
	c, s, o := newShared(t)
	a := newMachine(t, s, o, 0)
	fill(t, a, c, 2, 10)
	b := newMachine(t, s, o)
	_, list := s.entries(0, 0)
	err := b.Adopt(0, false, func(yield func(JournalRecord, error) bool) {
		for r := range list {
			b.Lose(0)
			if !yield(r, nil) {
				return
			}
		}
	})
	if !errors.Is(err, ErrLost) || len(b.Owned()) > 0 {
		t.Errorf("%v, owned %v", err, b.Owned())
	}
	must(t, b.awaitDrop(0))
	if b.Counts() != (Counts{}) {
		t.Errorf("%+v", b.Counts())
	}
}

// Wherever an append is cut, the page is visited again or its links are known; and the pace is
// kept.
func TestCutEntry(t *testing.T) {
	for keep := range 8 {
		c, s, o := newShared(t)
		a := newMachine(t, s, o, 0)
		a.offer("http://h.0/")
		a.meet("http://h.0/", 0)
		c.add(time.Second)
		l := a.take("http://h.0/")
		s.keep = keep
		e := links(a.Frontier, 1, "http://h.0/a", "http://i.0/b", "http://h.0/c", "http://far.1/")
		e.Asked, e.Trouble, e.Rest = c.now(), true, c.now().Add(time.Hour)
		must(t, a.Done(l, e))
		if err := a.Flush(); !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		_ = a.Close()
		s.keep = -1
		b := newMachine(t, s, o, 0)
		outcome := b.state("http://h.0/") == Fetched
		for _, link := range []string{"http://h.0/a", "http://i.0/b", "http://h.0/c"} {
			if outcome && b.state(link) != Queued {
				t.Errorf("after %d puts %s is lost", keep, link)
			}
		}
		if h, _, err := b.Host("h.0"); err != nil || outcome && h.Failures == 0 {
			t.Errorf("after %d puts the host is %+v, %v", keep, h, err)
		}
		if !outcome && keep > 6 {
			t.Error("no append is complete")
		}
		if !slices.Contains(s.sent(1), "http://far.1/") {
			t.Error("a link is not sent before the outcome")
		}
	}
}

// A transaction that is repeated without a lost partition gives no two addresses the same place.
func TestPlacesAfterRollback(t *testing.T) {
	_, s, o := newShared(t)
	a := newMachine(t, s, o, 0, 1)
	s.give(1, nil)
	var offers []Offer
	for _, url := range []string{"http://h.1/1", "http://h.0/1", "http://h.0/2", "http://h.0/3"} {
		offers = append(offers, Offer{URL: url, State: Queued})
	}
	if n, err := a.Offer(offers...); n != 3 || err != nil {
		t.Errorf("%d queued, %v", n, err)
	}
	places := map[place]string{}
	for _, e := range s.journals[0] {
		for _, b := range e.Puts {
			p, err := decodePut(b)
			must(t, err)
			if p.kind != putRecord {
				continue
			}
			if other := places[p.record.place]; other != "" && other != p.record.URL {
				t.Errorf("%s and %s have the same place", other, p.record.URL)
			}
			places[p.record.place] = p.record.URL
		}
	}
	if len(places) != 6 {
		t.Errorf("%d places, want those of two attempts", len(places))
	}
	if urls := s.sent(1); !slices.Equal(urls, []string{"http://h.1/1"}) {
		t.Errorf("sent %v", urls)
	}
}

// Two records of a journal that name the same place are both queued.
func TestSamePlaceTwice(t *testing.T) {
	_, s, o := newShared(t)
	b := newMachine(t, s, o)
	puts := [][]byte{}
	for _, url := range []string{"http://h.0/1", "http://h.0/2"} {
		r := Record{URL: url, State: Queued, place: place{ordinary, 2, 7}}
		v, err := r.encode()
		must(t, err)
		put, err := recordPut(url, v, false)
		must(t, err)
		puts = append(puts, put)
	}
	must(t, b.Adopt(0, false, func(yield func(JournalRecord, error) bool) { yield(JournalRecord{1, puts}, nil) }))
	if b.Counts().Queued != 2 {
		t.Errorf("%+v", b.Counts())
	}
}

// An entry that cannot be read is an error of Adopt. The frontier stays usable.
func TestAdoptDamaged(t *testing.T) {
	_, s, o := newShared(t)
	b := newMachine(t, s, o)
	entry := func(position uint64, puts ...string) iter.Seq2[JournalRecord, error] {
		return func(yield func(JournalRecord, error) bool) {
			e := JournalRecord{Position: position}
			for _, p := range puts {
				e.Puts = append(e.Puts, []byte(p))
			}
			_ = yield(e, nil) && yield(JournalRecord{Position: 3}, nil)
		}
	}
	h := hostRecord{}
	other := string(appendPut(putHost, "h.1", h.portable()))
	for name, list := range map[string]iter.Seq2[JournalRecord, error]{
		"an unknown kind":        entry(1, "\x09\x00x"),
		"another partition":      entry(1, other),
		"positions not in order": entry(4),
	} {
		if err := b.Adopt(0, false, list); err == nil || len(b.Owned()) > 0 {
			t.Errorf("%s: %v, owned %v", name, err, b.Owned())
		}
	}
	must(t, b.Adopt(0, false, entry(2)))
	b.offer("http://h.0/")
}

// Offers that arrive twice are applied once, also after a restart and after the journal was
// cleaned.
func TestReceiveOnce(t *testing.T) {
	c, s, o := newShared(t)
	a := newMachine(t, s, o, 0)
	a.offer("http://h.0/")
	a.meet("http://h.0/", 0)
	offers := []Offer{{URL: "http://h.0/", Again: true}, {URL: "http://h.0/x", State: Queued, Depth: 1}}
	visit := func(m *machine) {
		t.Helper()
		for m.Counts().Queued > 0 {
			c.add(time.Second)
			l, err := tryNext(m.Frontier)
			must(t, err)
			m.finish(l, End{Asked: c.now()})
		}
	}
	visit(a)
	must(t, a.Receive(0, 5, offers))
	if a.Counts().Queued != 2 {
		t.Errorf("%+v", a.Counts())
	}
	visit(a)
	for _, m := range []*machine{a, newMachine(t, s, o, 0)} {
		must(t, m.Receive(0, 5, offers))
		must(t, m.Receive(0, 4, offers))
		// the check in the transaction, for two calls at the same time
		m.mu.Lock()
		p := m.partitions[0]
		m.mu.Unlock()
		must(t, m.wait(&change{part: p, offers: slices.Clone(offers), links: 5}))
		if _, links, _ := m.Position(0); m.Counts().Queued != 0 || links != 5 {
			t.Errorf("%+v, %d", m.Counts(), links)
		}
		if s.owner[0] == m.j {
			from, err := m.Rewrite(0)
			must(t, err)
			s.purge(0, from)
		}
	}
	if _, links, _ := newMachine(t, s, o, 0).Position(0); links != 5 {
		t.Errorf("position %d after the journal was cleaned", links)
	}
	if err := a.Receive(1, 1, nil); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
}

// Rewrite puts every record into the journal again, so that what was there before can be deleted.
func TestRewrite(t *testing.T) {
	c, s, o := newShared(t)
	a := newMachine(t, s, o, 0)
	fill(t, a, c, 3, maxRewrite)
	a.offer("http://last.0/") // the last entry before Rewrite
	before, appends := len(s.journals[0]), s.appends
	from, err := a.Rewrite(0)
	must(t, err)
	if last := s.journals[0][before-1].Position; from != last || s.appends < appends+4 {
		t.Errorf("from %d, the last position before is %d; %d appends", from, last, s.appends-appends)
	}
	s.purge(0, from)
	same(t, a.Frontier, newMachine(t, s, o, 0).Frontier, 0)
	if _, err := a.Rewrite(1); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	must(t, a.view(func(tx *bbolt.Tx) error {
		if n := tx.Bucket(bKnown).Stats().KeyN; n < 3*maxRewrite {
			t.Errorf("only %d records", n)
		}
		return nil
	}))
}
