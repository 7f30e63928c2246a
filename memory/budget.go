package memory

import (
	"context"
	"io"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	mostRoom   = 128 << 20 // bytes of memory that the pages which are read may take together
	leastRoom  = 32 << 20
	limitShare = 6 // of the limit of the process that is room

	small    = 3 << 19 // bytes of a body that are free
	step     = 1 << 20 // bytes of a body as sent that are counted at once
	steps    = 48      // that are received in all, beside small bodies and one more
	decoders = 4       // of small bodies at a time

	largePercent = 25 // how much the heap may grow between two collections while one page takes more than half of the room
)

// Budget bounds what the pages at hand take in memory together. It is safe for concurrent use.
type Budget struct {
	size     int64 // of the room
	room     *semaphore.Weighted
	received chan struct{} // one element for each step
	beyond   chan struct{} // one element while a body is received that is let in beyond the steps
	nested   chan struct{} // one element while a large body is read that a page requires
	decoding chan struct{} // one element for each small body that is decoded
	parsing  chan struct{} // one element while a page is parsed that may make many elements

	mu         sync.Mutex
	held, most int64
}

// NewBudget returns a budget of which nothing is used, for a process that may take limit bytes; 0: any number.
func NewBudget(limit int64) *Budget {
	size := int64(mostRoom)
	if limit > 0 {
		size = min(max(limit/limitShare, leastRoom), mostRoom)
	}
	return &Budget{size: size, room: semaphore.NewWeighted(size), received: make(chan struct{}, steps), beyond: make(chan struct{}, 1),
		nested: make(chan struct{}, 1), decoding: make(chan struct{}, decoders), parsing: make(chan struct{}, 1)}
}

// Most returns the most room that was taken at a time, in bytes.
func (b *Budget) Most() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.most
}

func (b *Budget) count(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += n
	b.most = max(b.most, b.held)
}

// take waits for n bytes of the room.
func (b *Budget) take(ctx context.Context, n int64) error {
	if err := b.room.Acquire(ctx, n); err != nil {
		return context.Cause(ctx)
	}
	b.count(n)
	return nil
}

func (b *Budget) free(n int64) {
	b.count(-n)
	b.room.Release(n)
}

// Lease is what one page takes of a Budget. It belongs to one visit; only what the page requires is read by several goroutines at a time.
// A nil Lease bounds nothing.
type Lease struct {
	b      *Budget
	steps  int
	beyond bool
	held   int64
	holds  bool   // Hold was called
	relax  func() // ends that the runtime collects more often; nil where it does not
}

type key struct{}

// Lease begins a lease that the requests made under the context returned share. Release must be called.
// A nil Budget bounds nothing.
func (b *Budget) Lease(ctx context.Context) (context.Context, *Lease) {
	if b == nil {
		return ctx, nil
	}
	l := &Lease{b: b}
	return context.WithValue(ctx, key{}, l), l
}

// Of returns the lease of a context, nil where there is none.
func Of(ctx context.Context) *Lease {
	l, _ := ctx.Value(key{}).(*Lease)
	return l
}

// Require returns a context for requests of what pages require: they take no room, so that a page that has some can wait for them.
func (b *Budget) Require(ctx context.Context) context.Context {
	if b == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, &Lease{b: b, holds: true})
}

// Hold waits until there is room for a page that weighs n bytes, and gives back what was taken to receive it. A page that weighs more
// than the room takes all of it. Hold is called once.
func (l *Lease) Hold(ctx context.Context, n int64) error {
	if l == nil {
		return nil
	}
	switch n = min(max(n, 0), l.b.size); {
	case l.held >= n:
		l.b.free(l.held - n)
	case l.held > 0: // it has all of the room
		n = l.held
	default:
		if err := l.b.take(ctx, n); err != nil {
			return err
		}
	}
	l.held, l.holds = n, true
	l.collect()
	l.received()
	return nil
}

// collect has the Go runtime collect more often while one lease holds more than half of the room. No two can.
func (l *Lease) collect() {
	switch large := l.held > l.b.size/2; {
	case large && l.relax == nil:
		before := debug.SetGCPercent(largePercent)
		if before >= 0 && before < largePercent {
			debug.SetGCPercent(before)
		}
		l.relax = func() { debug.SetGCPercent(before) }
	case !large && l.relax != nil:
		l.relax()
		l.relax = nil
	}
}

// Room waits until there is room for n bytes, and returns what gives it back. Who has a lease that holds room has it for this too.
func (b *Budget) Room(ctx context.Context, n int64) (release func(), err error) {
	if l := Of(ctx); b == nil || l != nil && l.holds {
		return func() {}, nil
	}
	_, l := b.Lease(ctx)
	return l.Release, l.Hold(ctx, n)
}

// Alone calls fn while no other call of Alone is under way. fn must wait for nothing.
func (l *Lease) Alone(ctx context.Context, fn func()) error {
	if l == nil {
		fn()
		return nil
	}
	select {
	case l.b.parsing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.b.parsing }()
	fn()
	return nil
}

// Release gives all back. It may be called twice.
func (l *Lease) Release() {
	if l == nil {
		return
	}
	l.received()
	if l.held > 0 {
		held := l.held
		if l.relax != nil { // else the next such page grows beside what is left of this one
			runtime.GC()
		}
		l.held = 0
		l.collect()
		l.b.free(held)
	}
}

// Discard gives back what was taken to receive an answer that is not used.
func (l *Lease) Discard() {
	if l != nil && !l.holds {
		l.Release()
	}
}

// received gives back what was taken to receive a body.
func (l *Lease) received() {
	for range l.steps {
		<-l.b.received
	}
	if l.beyond {
		<-l.b.beyond
	}
	l.steps, l.beyond = 0, false
}

// Exchange bounds the reading of one answer. Its methods are for one goroutine.
type Exchange struct {
	l      *Lease
	ctx    context.Context
	nested bool
}

// Begin begins to read an answer, in a wait that ends with ctx. End must be called when it is read.
func (l *Lease) Begin(ctx context.Context) *Exchange { return &Exchange{l: l, ctx: ctx} }

// End ends the reading.
func (x *Exchange) End() {
	if x.nested {
		<-x.l.b.nested
	}
	x.nested = false
}

// Received reads a body as sent.
func (x *Exchange) Received(r io.Reader) io.Reader {
	if x.l == nil {
		return r
	}
	if x.l.holds {
		return &counted{r: r, more: x.require}
	}
	return &counted{r: r, more: func(n int64) error { return x.l.receive(x.ctx, n) }}
}

// Decode calls decode, which undoes a content coding and gives at most limit bytes. It is called with a small limit first, a few at a
// time, since a decoder takes up to 16 MiB itself, and again with most as soon as there is room, if it says that this is not all.
func (x *Exchange) Decode(most int64, decode func(limit int64) (whole bool)) error {
	if x.l == nil || most <= small {
		decode(most)
		return nil
	}
	x.l.b.decoding <- struct{}{} // nobody waits for anything in it
	whole := decode(small)
	<-x.l.b.decoding
	if whole {
		return nil
	}
	if err := x.grow(); err != nil {
		return err
	}
	decode(most)
	return nil
}

// grow waits until a large body may be decoded.
func (x *Exchange) grow() error {
	switch l := x.l; {
	case l.holds:
		return x.require(0)
	case l.held > 0:
		return nil
	default:
		if err := l.b.take(x.ctx, l.b.size); err != nil {
			return err
		}
		l.held = l.b.size
		l.collect()
		return nil
	}
}

// receive waits until n bytes of a body as sent may be in memory.
func (l *Lease) receive(ctx context.Context, n int64) error {
	for !l.beyond && int64(l.steps)*step < n {
		select {
		case l.b.received <- struct{}{}:
			l.steps++
		case l.b.beyond <- struct{}{}:
			l.beyond = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// require waits until a large body may be read that a page requires.
func (x *Exchange) require(int64) error {
	if x.nested {
		return nil
	}
	select {
	case x.l.b.nested <- struct{}{}:
		x.nested = true
		return nil
	case <-x.ctx.Done():
		return context.Cause(x.ctx)
	}
}

// counted calls more before each read of a body that is not small any more, with the bytes read so far.
type counted struct {
	r    io.Reader
	n    int64
	more func(n int64) error
}

func (c *counted) Read(p []byte) (int, error) {
	if c.n > small {
		if err := c.more(c.n); err != nil {
			return 0, err
		}
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
