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
	// maximum number of bytes of memory that all pages in progress may take together: the largest
	// size of the room
	mostRoom   = 128 << 20
	leastRoom  = 32 << 20
	limitShare = 6 // the room is the memory limit of the process divided by this

	small    = 3 << 19 // size in bytes up to which a body needs no room
	step     = 1 << 20 // the memory of a body as sent is counted in units of this many bytes
	steps    = 48      // number of units for all bodies together; small bodies, and one more large body, need no units
	decoders = 4       // number of small bodies that are decoded at the same time

	largePercent = 25 // GC percentage while one page takes more than half of the room
)

// Budget limits the memory that pages in progress take together. It is safe for concurrent use.
type Budget struct {
	size     int64 // size of the room in bytes
	room     *semaphore.Weighted
	received chan struct{} // one element for each unit of a received body that is in use
	beyond   chan struct{} // one element while a body is received for which no units are free
	nested   chan struct{} // one element while a large body that a page requires is read
	decoding chan struct{} // one element for each small body that is decoded
	parsing  chan struct{} // one element while a page that may make many elements is parsed

	mu         sync.Mutex
	held, most int64
}

// NewBudget returns an unused budget for a process that may take limit bytes; 0 means no limit. The
// room is 32 to 128 MiB.
func NewBudget(limit int64) *Budget {
	size := int64(mostRoom)
	if limit > 0 {
		size = min(max(limit/limitShare, leastRoom), mostRoom)
	}
	return &Budget{size: size, room: semaphore.NewWeighted(size), received: make(chan struct{}, steps),
		beyond: make(chan struct{}, 1),
		nested: make(chan struct{}, 1), decoding: make(chan struct{}, decoders), parsing: make(chan struct{}, 1)}
}

// Most returns the largest amount of the room, in bytes, that was taken at any one time.
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

// take waits until n bytes of the room are free, and takes them.
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

// Lease is the part of a Budget that one page takes. A Lease belongs to one visit. Several
// goroutines may use it at the same time only to read resources that the page requires. A nil Lease
// has no limits.
type Lease struct {
	b      *Budget
	steps  int
	beyond bool
	held   int64
	holds  bool   // Hold was called
	relax  func() // restores the GC percentage; nil if it is unchanged
}

type key struct{}

// Lease begins a lease. Requests that are made with the returned context share this lease. The
// caller must call Release. With a nil Budget, the lease is nil.
func (b *Budget) Lease(ctx context.Context) (context.Context, *Lease) {
	if b == nil {
		return ctx, nil
	}
	l := &Lease{b: b}
	return context.WithValue(ctx, key{}, l), l
}

// Of returns the lease of a context, or nil if the context has no lease.
func Of(ctx context.Context) *Lease {
	l, _ := ctx.Value(key{}).(*Lease)
	return l
}

// Require returns a context for requests of resources that pages require. Such requests take no
// room, so that a page that holds room can wait for them.
func (b *Budget) Require(ctx context.Context) context.Context {
	if b == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, &Lease{b: b, holds: true})
}

// Hold waits until there is room for a page that weighs n bytes, and releases the memory that was
// taken to receive the page. A page that weighs more than the room takes all of it. Call Hold once.
// The error is the cause of ctx.
func (l *Lease) Hold(ctx context.Context, n int64) error {
	if l == nil {
		return nil
	}
	switch n = min(max(n, 0), l.b.size); {
	case l.held >= n:
		more := l.held - n
		l.held = n
		l.collect() // lowers the GC percentage before another page can take more than half of the room
		l.b.free(more)
	case l.held > 0: // the lease has all of the room already
	default:
		if err := l.b.take(ctx, n); err != nil {
			return err
		}
		l.held = n
		l.collect()
	}
	l.holds = true
	l.received()
	return nil
}

// collect lowers the GC percentage while the lease holds more than half of the room, and restores
// it otherwise. Two leases cannot both hold more than half.
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

// Room waits until there is room for n bytes, and returns a function that releases it. If the lease
// of ctx already holds room, Room does not wait.
func (b *Budget) Room(ctx context.Context, n int64) (release func(), err error) {
	if l := Of(ctx); b == nil || l != nil && l.holds {
		return func() {}, nil
	}
	_, l := b.Lease(ctx)
	return l.Release, l.Hold(ctx, n)
}

// Alone calls fn while no other call of Alone runs. fn must not wait for anything.
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

// Release releases everything that the lease holds. It may be called twice.
func (l *Lease) Release() {
	if l == nil {
		return
	}
	l.received()
	if l.held > 0 {
		held := l.held
		// otherwise the next large page could grow before the memory of this page is free
		if l.relax != nil {
			runtime.GC()
		}
		l.held = 0
		l.collect()
		l.b.free(held)
	}
}

// Discard releases the memory that was taken to receive an answer, because the answer is not used.
func (l *Lease) Discard() {
	if l != nil && !l.holds {
		l.Release()
	}
}

// received releases the memory that was taken to receive a body.
func (l *Lease) received() {
	for range l.steps {
		<-l.b.received
	}
	if l.beyond {
		<-l.b.beyond
	}
	l.steps, l.beyond = 0, false
}

// Exchange limits the memory for reading one answer. Only one goroutine may call its methods.
type Exchange struct {
	l      *Lease
	ctx    context.Context
	nested bool
}

// Begin returns an Exchange for one answer. Waiting for room ends with ctx. Call End when the
// answer is read.
func (l *Lease) Begin(ctx context.Context) *Exchange { return &Exchange{l: l, ctx: ctx} }

// End releases what the Exchange took. It may be called twice.
func (x *Exchange) End() {
	if x.nested {
		<-x.l.b.nested
	}
	x.nested = false
}

// Received returns a reader of a body as sent. The reader waits for room as the body grows. If ctx
// ends before there is room, the error of the reader is the cause of ctx.
func (x *Exchange) Received(r io.Reader) io.Reader {
	if x.l == nil {
		return r
	}
	if x.l.holds {
		return &counted{r: r, more: x.require}
	}
	return &counted{r: r, more: func(n int64) error { return x.l.receive(x.ctx, n) }}
}

// Decode calls decode, which decodes a content coding into at most limit bytes and reports whether
// the result is the whole body. The first call has a small limit. Only four such calls run at the
// same time, since a decoder itself takes up to 16 MiB. If the body is larger, Decode waits for
// room and calls decode again with the limit most.
func (x *Exchange) Decode(most int64, decode func(limit int64) (whole bool)) error {
	if x.l == nil || most <= small {
		decode(most)
		return nil
	}
	x.l.b.decoding <- struct{}{} // this wait is short, because a decoder never waits for memory
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

// grow waits until a large body may be decoded. It takes all of the room, except for a resource
// that a page requires.
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

// receive waits until n bytes of a body, as sent, may be in memory.
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

// require waits until a large body that a page requires may be read.
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

// counted calls the function more before each read of a body that is no longer small. The argument
// is the number of bytes read so far.
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
