package memory

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long a test may wait before it fails.
const patience = time.Minute

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Many pages together never hold more than the room, and all of them finish.
func TestRoomIsBounded(t *testing.T) {
	b := NewBudget(0)
	ctx := within(t)
	var wg sync.WaitGroup
	for i := range int64(200) {
		wg.Go(func() {
			ctx, l := b.Lease(ctx)
			defer l.Release()
			if err := l.Hold(ctx, i*i*i*100); err != nil { // the largest pages weigh more than the whole room
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most := b.Most(); most > mostRoom || most == 0 || b.held != 0 {
		t.Errorf("%d bytes at the most, %d in the end", most, b.held)
	}
}

// Only one body at a time grows large while it is decoded. Small bodies do not wait, even if all
// room is taken.
func TestOneBodyGrowsAtATime(t *testing.T) {
	b := NewBudget(0)
	ctx := within(t)
	var wg sync.WaitGroup
	var growing, most, grown atomic.Int32
	for range 16 {
		wg.Go(func() {
			ctx, l := b.Lease(ctx)
			defer l.Release()
			x := l.Begin(ctx)
			defer x.End()
			err := x.Decode(100*small, func(limit int64) bool {
				if limit <= small {
					return false
				}
				most.Store(max(most.Load(), growing.Add(1)))
				growing.Add(-1)
				grown.Add(1)
				return true
			})
			if err := errors.Join(err, l.Hold(ctx, 3*small)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 || grown.Load() != 16 || b.Most() != mostRoom {
		t.Errorf("%d at a time, %d in all, %d bytes", most.Load(), grown.Load(), b.Most())
	}
	_, all := b.Lease(ctx)
	if err := all.Hold(ctx, mostRoom); err != nil {
		t.Fatal(err)
	}
	defer all.Release()
	_, l := b.Lease(ctx)
	if err := l.Begin(ctx).Decode(100*small, func(int64) bool { return true }); err != nil {
		t.Error(err)
	}
}

// endless is a body without end. It counts the bytes that are read.
type endless struct{ n *atomic.Int64 }

func (e endless) Read(p []byte) (int, error) {
	n := min(len(p), 64<<10)
	e.n.Add(int64(n))
	return n, nil
}

// The bytes received of large bodies are limited. One more large body is received completely,
// although no other body releases memory.
func TestReceivedIsBounded(t *testing.T) {
	b := NewBudget(0)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	var wg sync.WaitGroup
	var n atomic.Int64
	const bodies, size = 20, 8 << 20
	done := make(chan *Lease, bodies)
	for range bodies {
		wg.Go(func() {
			ctx, l := b.Lease(ctx)
			x := l.Begin(ctx)
			defer x.End()
			if _, err := io.Copy(io.Discard, x.Received(io.LimitReader(endless{&n}, size))); err != nil {
				t.Error(err)
			}
			done <- l
		})
	}
	taken := 0
	for range bodies { // each body that was received releases its units, so that another body can be received
		l := <-done
		taken++
		if got, most := n.Load(), int64(bodies*(small+2*step)+steps*step+(taken+1)*size); got > most {
			t.Errorf("%d bytes were read when %d bodies were received: at most %d are expected", got, taken, most)
		}
		if err := l.Hold(ctx, size); err != nil {
			t.Fatal(err)
		}
		l.Release()
	}
	wg.Wait()
	if len(b.received) != 0 || len(b.beyond) != 0 {
		t.Errorf("%d steps and %d bodies were not given back", len(b.received), len(b.beyond))
	}
}

// While a page holds all of the room, the resources that it requires can be read, one large body at
// a time.
func TestRequiredNeedsNoRoom(t *testing.T) {
	b := NewBudget(0)
	ctx, l := b.Lease(within(t))
	defer l.Release()
	if err := l.Hold(ctx, mostRoom); err != nil {
		t.Fatal(err)
	}
	for _, ctx := range []context.Context{ctx, b.Require(within(t))} {
		x := Of(ctx).Begin(ctx)
		if n, err := io.Copy(io.Discard, x.Received(bytes.NewReader(make([]byte, 4*small)))); n != 4*small ||
			err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		whole := false
		err := x.Decode(100*small, func(limit int64) bool {
			whole = limit == 100*small
			return whole
		})
		if err != nil || !whole || len(b.nested) != 1 {
			t.Errorf("it was decoded: %t, %v; %d at a time", whole, err, len(b.nested))
		}
		x.End()
	}
	if release, err := b.Room(ctx, mostRoom); err != nil {
		t.Error(err)
	} else {
		release()
	}
	if len(b.nested) != 0 || b.held != mostRoom {
		t.Errorf("%d bodies are read, %d bytes are held", len(b.nested), b.held)
	}
}

// Every wait ends with its context.
func TestWaitsEnd(t *testing.T) {
	b := NewBudget(0)
	ctx, full := b.Lease(within(t))
	defer full.Release()
	if err := errors.Join(full.Hold(ctx, mostRoom), full.Begin(ctx).require(0)); err != nil {
		t.Fatal(err)
	}
	for range steps {
		b.received <- struct{}{}
	}
	b.beyond <- struct{}{}
	b.parsing <- struct{}{}
	why := errors.New("over")
	for name, wait := range map[string]func(ctx context.Context, l *Lease) error{
		"room":     func(ctx context.Context, l *Lease) error { return l.Hold(ctx, 1) },
		"decoding": func(ctx context.Context, l *Lease) error { return l.Begin(ctx).grow() },
		"parsing":  func(ctx context.Context, l *Lease) error { return l.Alone(ctx, func() {}) },
		"received": func(ctx context.Context, l *Lease) error {
			_, err := io.Copy(io.Discard, l.Begin(ctx).Received(bytes.NewReader(make([]byte, 4*small))))
			return err
		},
		"required": func(ctx context.Context, _ *Lease) error { return full.Begin(ctx).require(0) },
	} {
		ctx, cancel := context.WithCancelCause(within(t))
		_, l := b.Lease(ctx)
		time.AfterFunc(time.Millisecond, func() { cancel(why) })
		if err := wait(ctx, l); !errors.Is(err, why) {
			t.Errorf("%s: %v", name, err)
		}
		l.Release()
	}
}

// If the process has a lower memory limit, the room is smaller. Limit works on this machine.
func TestLimit(t *testing.T) {
	for limit, size := range map[int64]int64{0: mostRoom, 1: leastRoom, 300 << 20: 50 << 20, 1 << 40: mostRoom} {
		if b := NewBudget(limit); b.size != size {
			t.Errorf("%d of %d", b.size, limit)
		}
	}
	limit, err := Limit()
	if err != nil || limit < 1<<20 {
		t.Fatalf("%d, %v", limit, err)
	}
	undo := SetLimit(limit)
	undo()
}

// Without a budget no method waits.
func TestNoBudget(t *testing.T) {
	var b *Budget
	ctx, l := b.Lease(b.Require(t.Context()))
	defer l.Release()
	x := Of(ctx).Begin(ctx)
	defer x.End()
	called := false
	err := errors.Join(l.Hold(ctx, 1<<40), l.Alone(ctx, func() { called = true }),
		x.Decode(1<<40, func(limit int64) bool { return limit == 1<<40 }))
	if _, failed := io.Copy(io.Discard, x.Received(bytes.NewReader(make([]byte, 4*small)))); err != nil ||
		failed != nil || !called {
		t.Error(err, failed, called)
	}
}

// The GC percentage is low while a page holds more than half of the room, and only then, in any
// order of pages.
func TestLargePagesAreCollected(t *testing.T) {
	usual := debug.SetGCPercent(150)
	defer debug.SetGCPercent(usual)
	percent := func() uint64 {
		now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(now)
		return now[0].Value.Uint64()
	}
	b := NewBudget(0)
	ctx := within(t)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			ctx, l := b.Lease(ctx)
			defer l.Release()
			x := l.Begin(ctx)
			defer x.End()
			err := x.Decode(100*small, func(limit int64) bool {
				if now := percent(); limit > small && now != largePercent {
					t.Errorf("%d %% while a page grows", now)
				}
				return false
			})
			if err := errors.Join(err, l.Hold(ctx, int64(i%2)*mostRoom)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if now := percent(); now != 150 {
		t.Errorf("%d %% in the end, want 150", now)
	}
}
