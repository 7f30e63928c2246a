package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// fakeFrontier is a frontier in memory. Its only records are the addresses that were offered to it; visit takes one.
type fakeFrontier struct {
	node *Node

	mu      sync.Mutex
	parts   map[int]*fakePart
	seeds   map[string]uint64
	visited []string
	waked   int
}

type fakePart struct {
	open            bool
	position, links uint64
	adopted         uint64          // see crawler.Entry
	addresses       map[string]bool // address → visited
}

func newFakeFrontier(n *Node) *fakeFrontier {
	return &fakeFrontier{node: n, parts: map[int]*fakePart{}}
}

// fakePut is a put of the journal of a fakeFrontier.
type fakePut struct {
	Address string
	Visited bool
	Links   uint64
}

func (f *fakeFrontier) Position(p int) (journal, links uint64, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if part := f.parts[p]; part != nil {
		return part.position, part.links, true
	}
	return 0, 0, false
}

func (f *fakeFrontier) Stored() ([]int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.parts)), nil
}

func (f *fakeFrontier) Adopt(p int, fresh bool, records iter.Seq2[crawler.JournalRecord, error]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fresh || f.parts[p] == nil {
		f.parts[p] = &fakePart{addresses: map[string]bool{}}
	}
	part := f.parts[p]
	for r, err := range records {
		if err != nil {
			return err
		}
		for _, text := range r.Puts {
			var put fakePut
			if err := json.Unmarshal(text, &put); err != nil {
				return err
			}
			part.apply(put)
		}
		part.position = r.Position
	}
	part.open, part.adopted = true, part.position
	return nil
}

func (p *fakePart) apply(put fakePut) {
	if put.Address != "" {
		p.addresses[put.Address] = put.Visited
	}
	p.links = max(p.links, put.Links)
}

func (f *fakeFrontier) Release(_ context.Context, p int) error {
	f.Lose(p)
	return nil
}

func (f *fakeFrontier) Lose(p int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.parts, p)
}

// write journals puts and applies them.
func (f *fakeFrontier) write(p int, puts ...fakePut) error {
	var list [][]byte
	for _, put := range puts {
		text, err := json.Marshal(put)
		if err != nil {
			return err
		}
		list = append(list, text)
	}
	f.mu.Lock()
	adopted := uint64(0)
	if part := f.parts[p]; part != nil {
		adopted = part.adopted
	}
	f.mu.Unlock()
	entry := crawler.Entry{Partition: p, Adopted: adopted, Puts: list}
	ctx, cancel := context.WithTimeout(f.node.ctx, time.Minute)
	defer cancel()
	positions, lost, err := f.node.Append(ctx, []crawler.Entry{entry})
	switch {
	case err != nil:
		return err
	case len(lost) > 0:
		f.Lose(p)
		f.node.Lost(p)
		return crawler.ErrLost
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	part := f.parts[p]
	if part == nil {
		return crawler.ErrLost
	}
	for _, put := range puts {
		part.apply(put)
	}
	part.position = positions[0]
	return nil
}

func (f *fakeFrontier) Receive(p int, position uint64, offers []crawler.Offer) error {
	puts := []fakePut{{Links: position}}
	f.mu.Lock()
	part := f.parts[p]
	open := part != nil && part.open
	for _, o := range offers {
		if open {
			if _, known := part.addresses[o.URL]; !known {
				puts = append(puts, fakePut{Address: o.URL})
			}
		}
	}
	f.mu.Unlock()
	if !open {
		return crawler.ErrLost
	}
	return f.write(p, puts...)
}

func (f *fakeFrontier) Rewrite(p int) (from uint64, err error) {
	f.mu.Lock()
	part := f.parts[p]
	var puts []fakePut
	from = part.position
	for address, visited := range part.addresses {
		puts = append(puts, fakePut{Address: address, Visited: visited})
	}
	puts = append(puts, fakePut{Links: part.links})
	f.mu.Unlock()
	return from, f.write(p, puts...)
}

func (f *fakeFrontier) SetSeeds(seeds map[string]uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seeds = maps.Clone(seeds)
	return nil
}

func (f *fakeFrontier) Wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waked++
}

func (f *fakeFrontier) Idle() bool { return f.Counts().Queued == 0 }

func (f *fakeFrontier) Counts() (c crawler.Counts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.parts {
		for _, visited := range p.addresses {
			if !visited {
				c.Queued++
			}
		}
	}
	return c
}

// adopted returns the position with which a partition was adopted.
func (f *fakeFrontier) adopted(p int) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.parts[p].adopted
}

// next returns an address that is not visited.
func (f *fakeFrontier) next() (p int, address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, part := range f.parts {
		for a, visited := range part.addresses {
			if part.open && !visited {
				return p, a
			}
		}
	}
	return 0, ""
}

func (f *fakeFrontier) owned() (list []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, part := range f.parts {
		if part.open {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

// short settings, so that tests do not wait long.
func testSettings(partitions int) Settings {
	return Settings{Partitions: partitions, Lease: 3 * time.Second, Margin: time.Second,
		Crawl: map[string]string{"delay": "1s"}}
}

func testOptions(servers, node string, s Settings) Options {
	return Options{Servers: servers, Node: node, Dir: "dir-" + node, Version: "test", Settings: s}
}

// startNode starts a node with a fake frontier. The test ends it.
func startNode(t *testing.T, o Options) (*Node, *fakeFrontier) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n, err := Join(ctx, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := newFakeFrontier(n)
	n.Start(f, func() int { return 0 })
	t.Cleanup(n.Abandon)
	return n, f
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, fn func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !fn() {
		if time.Now().After(deadline) {
			t.Fatal("this did not happen: " + what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestNodesShareAndLeave(t *testing.T) {
	servers := natstest.One(t)
	s := testSettings(9)
	a, fa := startNode(t, testOptions(servers, "a", s))
	eventually(t, "a has all partitions", func() bool { return len(fa.owned()) == 9 })
	_, fb := startNode(t, testOptions(servers, "b", s))
	eventually(t, "b has its share", func() bool { return len(fa.owned()) == 5 && len(fb.owned()) == 4 })
	if err := a.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b has all partitions", func() bool { return len(fb.owned()) == 9 })
}

// A node that was killed has partitions in its frontier that another node owns when it starts again. It removes them,
// so that it does not report their addresses.
func TestNodeLosesStored(t *testing.T) {
	o := testOptions(natstest.One(t), "a", testSettings(4))
	a, fa := startNode(t, o)
	eventually(t, "a has all partitions", func() bool { return len(fa.owned()) == 4 })
	o.Node, o.Dir = "b", "dir-b"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b, err := Join(ctx, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Abandon)
	fb := newFakeFrontier(b)
	for p := range 4 {
		fb.parts[p] = &fakePart{addresses: map[string]bool{fmt.Sprintf("http://%d.example/", p): false}}
	}
	b.Start(fb, func() int { return 0 })
	eventually(t, "b has its share", func() bool { return len(fa.owned()) == 2 && len(fb.owned()) == 2 })
	eventually(t, "b has only its own", func() bool { stored, _ := fb.Stored(); return len(stored) == 2 })
	if err := a.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b has all partitions", func() bool { return len(fb.owned()) == 4 })
}

func TestJoinRefuses(t *testing.T) {
	servers := natstest.One(t)
	s := testSettings(4)
	startNode(t, testOptions(servers, "a", s))
	try := func(change func(*Options)) error {
		o := testOptions(servers, "b", s)
		change(&o)
		n, err := Join(t.Context(), o, nil)
		if err == nil {
			n.Abandon()
		}
		return err
	}
	var used *InUseError
	if err := try(func(o *Options) { o.Node = "a" }); !errors.As(err, &used) {
		t.Errorf("a second node called a: %v", err)
	}
	var differs *DifferentError
	err := try(func(o *Options) { o.Crawl = map[string]string{"delay": "2s", "scope": "any"} })
	if !errors.As(err, &differs) || !slices.Equal(differs.Names, []string{"delay", "scope"}) {
		t.Errorf("other settings: %v", err)
	}
	if err := try(func(o *Options) { o.Partitions = 5 }); !errors.As(err, &differs) {
		t.Errorf("another number of partitions: %v", err)
	}
	var clock *ClockError
	for _, ahead := range []time.Duration{-time.Second, time.Second} {
		if err := try(func(o *Options) { o.Clock = SystemClock{ahead} }); !errors.As(err, &clock) {
			t.Errorf("a clock that differs by %s: %v", ahead, err)
		}
	}
	if err := try(func(o *Options) { o.Clock = SystemClock{s.Margin / 4} }); err != nil {
		t.Errorf("a clock that differs a little: %v", err)
	}
	for _, name := range []string{"", "a b", "a.b", "*"} {
		if err := try(func(o *Options) { o.Node = name }); err == nil {
			t.Errorf("the name %q is possible", name)
		}
	}
	if err := try(func(o *Options) { o.Servers = "nats://127.0.0.1:1" }); !errors.Is(err, ErrNoQuorum) {
		t.Errorf("no server: %v", err)
	}
}

// crawlAll visits all addresses. Each page has links to others, most of them in other partitions.
func (f *fakeFrontier) crawlAll(ctx context.Context, pages int) error {
	for ctx.Err() == nil {
		select {
		case <-f.node.Ended():
			return nil
		default:
		}
		p, address := f.next()
		if address == "" || f.node.remaining() <= 0 {
			if err := wait(ctx, 5*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		var k int
		if _, err := fmt.Sscanf(address, "http://host%d.example/", &k); err != nil {
			return err
		}
		var offers []crawler.Offer
		for _, l := range []int{2 * k, 2*k + 1} {
			if l < pages {
				offers = append(offers, crawler.Offer{URL: fmt.Sprintf("http://host%d.example/", l),
					State: crawler.Queued})
			}
		}
		if err := f.node.Send(ctx, offers); err != nil {
			return err
		}
		f.mu.Lock()
		f.visited = append(f.visited, address)
		f.mu.Unlock()
		if err := f.write(p, fakePut{Address: address, Visited: true}); err != nil && !errors.Is(err, crawler.ErrLost) {
			return err
		}
	}
	return ctx.Err()
}

// Three nodes visit all pages that links lead to. One of them is cut off in the middle without handing over anything.
// In the end the others know that everything is done.
func TestNothingIsLost(t *testing.T) {
	servers := natstest.One(t)
	s := testSettings(12)
	const pages = 600
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	a, fa := startNode(t, testOptions(servers, "a", s))
	b, fb := startNode(t, testOptions(servers, "b", s))
	c, fc := startNode(t, testOptions(servers, "c", s))
	for _, n := range []*Node{a, b, c} {
		if err := n.Ready(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.AddSeeds(ctx, []string{"http://host1.example/"}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	errs := make([]error, 3)
	cut, cutC := context.WithCancel(ctx)
	for i, f := range []*fakeFrontier{fa, fb} {
		all.Go(func() { errs[i] = f.crawlAll(ctx, pages) })
	}
	all.Go(func() { errs[2] = fc.crawlAll(cut, pages) })
	eventually(t, "c has visited pages", func() bool {
		fc.mu.Lock()
		defer fc.mu.Unlock()
		return len(fc.visited) > 20
	})
	cutC()
	c.Abandon()
	all.Wait()
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		for _, n := range []*Node{a, b} {
			left, _ := n.link.linksLeft(t.Context())
			t.Logf("%s: %+v, remaining %s, open %v, moving %v, links %v", n.name, n.report(), n.remaining(),
				n.inState(open), n.inState(opening, closing), left)
		}
		t.Fatal(err)
	}
	times, last := map[string]int{}, fc.visited[len(fc.visited)-1] // the visit that was cut off may be repeated
	for _, f := range []*fakeFrontier{fa, fb, fc} {
		for _, address := range f.visited {
			times[address]++
		}
	}
	for k := 1; k < pages; k++ {
		address := fmt.Sprintf("http://host%d.example/", k)
		if n := times[address]; n != 1 && !(n == 2 && address == last) {
			t.Errorf("%s was visited %d times", address, n)
		}
	}
}

// A node that is not heard of for the length of its lease cannot write to the journals of its partitions any more.
func TestOldOwnerIsFenced(t *testing.T) {
	servers := natstest.One(t)
	s := testSettings(1)
	a, fa := startNode(t, testOptions(servers, "a", s))
	if err := a.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	// the journal has another writer now, although a knows nothing of it
	other := &journal{js: a.journal.js, stream: a.journal.stream, process: "b.1", limit: 1000,
		parts: map[int]*journalEnd{}}
	end, _, err := other.fence(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	// not written by the frontier, which would tell a: by the table a owns the partition, and takes it over again
	entry := crawler.Entry{Partition: 0, Adopted: fa.adopted(0), Puts: [][]byte{{'x'}}}
	if _, lost, err := a.Append(t.Context(), []crawler.Entry{entry}); err != nil || len(lost) != 1 {
		t.Errorf("the old owner can write: %v, %v", lost, err)
	}
	entry.Adopted = end.fence
	if _, lost, err := other.append(t.Context(), []crawler.Entry{entry}); err != nil || len(lost) > 0 {
		t.Errorf("the new owner cannot write: %v, %v", lost, err)
	}
	entry.Adopted-- // the same process has taken the journal over again since
	if _, lost, err := other.append(t.Context(), []crawler.Entry{entry}); err != nil || len(lost) != 1 {
		t.Errorf("an entry of an earlier adoption is written: %v, %v", lost, err)
	}
}

func TestJournalIsShortened(t *testing.T) {
	servers := natstest.One(t)
	s := testSettings(1)
	a, fa := startNode(t, testOptions(servers, "a", s))
	if err := a.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if err := fa.write(0, fakePut{Address: fmt.Sprintf("http://a.example/%d", i%10),
			Visited: i > 290}); err != nil {
			t.Fatal(err)
		}
	}
	before := messages(t, a)
	r := &rounds{Node: a}
	if err := r.clean(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if after := messages(t, a); before < 300 || after > 5 {
		t.Errorf("the journal had %d messages and has %d", before, after)
	}
	if err := fa.write(0, fakePut{Address: "http://a.example/last"}); err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(fa.parts[0].addresses)
	if err := a.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, fb := startNode(t, testOptions(servers, "b", s))
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := fb.parts[0].addresses; !maps.Equal(got, want) {
		t.Errorf("the next owner has %v, want %v", got, want)
	}
}

func messages(t *testing.T, n *Node) uint64 {
	t.Helper()
	info, err := n.link.journal.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

func TestStatusAndDrain(t *testing.T) {
	servers := natstest.One(t)
	s := testSettings(6)
	a, fa := startNode(t, testOptions(servers, "a", s))
	o := Options{Servers: servers}
	var refused *DrainError
	if err := Drain(t.Context(), o, "a", nil); !errors.As(err, &refused) {
		t.Errorf("the last node is drained: %v", err)
	}
	b, fb := startNode(t, testOptions(servers, "b", s))
	eventually(t, "both have their share", func() bool { return len(fa.owned()) == 3 && len(fb.owned()) == 3 })
	eventually(t, "the table shows it", func() bool {
		st, err := QueryStatus(t.Context(), o)
		return err == nil && st.Quorum && len(st.Nodes) == 2 && st.Nodes[0].Partitions == 3 &&
			st.Nodes[1].Partitions == 3 && st.Partitions.Owned == 6 && st.Partitions.Moving == 0
	})
	if err := Drain(t.Context(), o, "c", nil); !errors.As(err, &refused) {
		t.Errorf("an unknown node is drained: %v", err)
	}
	left := make(chan error, 1)
	go func() {
		<-b.Ended()
		left <- b.Leave(context.Background())
	}()
	if err := Drain(t.Context(), o, "b", nil); err != nil {
		t.Fatal(err)
	}
	if err := <-left; err != nil {
		t.Fatal(err)
	}
	eventually(t, "a has all partitions", func() bool { return len(fa.owned()) == 6 })
	select {
	case <-a.Ended():
		t.Error("a has ended too")
	default:
	}
}
