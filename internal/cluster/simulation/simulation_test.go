package simulation

import (
	"bytes"
	"testing"
	"time"
)

// small is a cluster in which something fails all the time. It has few hosts, so their delays limit its speed.
func small(seed uint64) Options {
	o := Default(8, 2000, 2_000_000)
	o.Seed, o.Partitions, o.Lasts, o.Largest = seed, 64, 30*time.Minute, 10_000
	o.FaultEvery, o.StoreFault = 10*time.Second, 5*time.Minute
	return o
}

func run(t *testing.T, o Options) Result {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s.Run(t.Context(), nil)
}

func text(t *testing.T, r Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Whatever fails, no host is requested too early, and no node requests without a lease.
func TestFailures(t *testing.T) {
	r := run(t, small(1))
	if r.Violations > 0 || len(r.Faults) < 8 || r.Gaps.Spare < 0 || r.Across.Count < 1000 {
		t.Errorf("%s", text(t, r))
	}
	if urls := r.Pages + r.Left; urls > r.Options.URLs || urls < r.Options.URLs-r.Failures {
		t.Errorf("%d of %d URLs are visited or left, with %d failures", urls, r.Options.URLs, r.Failures)
	}
	if r.Pages < r.Options.URLs/4 {
		t.Errorf("only %d pages", r.Pages)
	}
}

// When everything works again, each partition has an owner that has it open. In this run a node that is leaving once
// owned a partition that it did not open, because the answer to its claim was lost, and kept it.
func TestAllOpenAgain(t *testing.T) {
	o := small(135)
	o.Hosts, o.URLs, o.Lasts, o.Quiet, o.FaultEvery = 100, 10_000, time.Hour, 14*time.Minute, 5*time.Second
	if r := run(t, o); r.Open != o.Partitions || r.Violations > 0 {
		t.Errorf("%s", text(t, r))
	}
}

// The same options give the same result.
func TestSameSeed(t *testing.T) {
	o := small(2)
	o.Lasts = 10 * time.Minute
	first := text(t, run(t, o))
	if again := text(t, run(t, o)); again != first {
		t.Errorf("first\n%s\nand then\n%s", first, again)
	}
	if o.Seed++; text(t, run(t, o)) == first {
		t.Error("another seed gives the same result")
	}
}

// The simulation notices when safety is switched off.
func TestBroken(t *testing.T) {
	for name, b := range map[string]Broken{"no lease": {NoLease: true}, "no wait": {NoWait: true}} {
		t.Run(name, func(t *testing.T) {
			o := small(3)
			o.Broken, o.Lasts = b, 8*time.Minute
			if r := run(t, o); r.Violations == 0 {
				t.Errorf("nothing is noticed:\n%s", text(t, r))
			}
		})
	}
}

// The margin is needed if a node is stopped, a server with another clock leads, another node joins when the lease has
// expired too early, and then the stopped node goes on: it has visits whose requests have not left. In other cases the
// journal stops a node too, since it refuses to announce a visit of a partition that has another owner.
func TestMargin(t *testing.T) {
	for _, without := range []bool{false, true} {
		o := Default(5, 5000, 5_000_000)
		o.Partitions, o.Lasts, o.FaultEvery, o.StoreFault, o.Replay = 16, 3*time.Minute, 0, 0, 100_000_000
		o.Broken.NoMargin = without
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		slow, joiner := s.nodes[0], s.nodes[4]
		s.serverAhead = -o.Margin / 2
		s.schedule(time.Minute, func() {
			joiner.end()
			slow.pause()
			s.serverAhead = o.Margin / 2
			expires := s.leases[0].expires - s.serverAhead
			s.schedule(expires+100*time.Millisecond, joiner.begin)
			s.schedule(expires+3*time.Second, slow.resume)
		})
		if r := s.Run(t.Context(), nil); (r.Violations > 0) != without {
			t.Errorf("without margin: %t\n%s", without, text(t, r))
		}
	}
}

// An undisturbed cluster visits every URL of the hosts that answer, and no more than once.
func TestAllPages(t *testing.T) {
	o := Default(3, 200, 20_000)
	o.Partitions, o.Lasts, o.FaultEvery, o.StoreFault, o.Down, o.Busy = 16, 2*time.Hour, 0, 0, 0, 0
	o.Largest, o.Delayed = 500, 0
	r := run(t, o)
	if r.Pages != o.URLs || r.Left != 0 || r.Policies != o.Hosts || r.Violations > 0 || r.Repeated > 0 {
		t.Errorf("%s", text(t, r))
	}
}

func TestWheel(t *testing.T) {
	w := &wheel{pool: &pool{chunks: make([]chunk, 1)}}
	at := []uint32{1, 5, 5, wheelSize - 1, wheelSize, wheelSize + 1, 3*wheelSize - 1, wheelSize * wheelSize,
		wheelSize*wheelSize + 7, 2*wheelSize*wheelSize + 3}
	for i, at := range at {
		for range 100 {
			w.add(event{uint32(i), at})
		}
	}
	seen := make([]int, len(at))
	for range 3 * wheelSize * wheelSize {
		for _, e := range w.take() {
			if at[e.what] != w.now {
				t.Fatalf("event %d happens at %d, not at %d", e.what, w.now, at[e.what])
			}
			seen[e.what]++
		}
	}
	for i, n := range seen {
		if n != 100 {
			t.Errorf("event %d happens %d times", i, n)
		}
	}
	w.add(event{1, 0})
	w.clear(7)
	if len(w.take()) > 0 || w.now != 8 {
		t.Error("clear leaves events")
	}
	if chunks := len(w.pool.chunks); chunks > 50 {
		t.Errorf("%d chunks are used", chunks)
	}
}
