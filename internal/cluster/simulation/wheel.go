package simulation

// The wheel of a node holds what happens later: hosts that become due, and visits that go on. It has two levels of
// wheelSize buckets. A bucket of the first level is one tick, a bucket of the second one is a turn of the first.
const (
	wheelBits = 10
	wheelSize = 1 << wheelBits
)

// event is a host or a visit, with the tick at which something happens to it.
type event struct {
	what uint32 // a host, or a visit with visitBit
	at   uint32 // tick
}

const visitBit = 1 << 31

// bucket is a list of chunks. All but the first are full.
type bucket struct {
	chunk uint32 // first chunk, 0 if there is none
	n     uint32 // events in it
}

// chunk is a piece of a bucket.
type chunk struct {
	events [31]event
	next   uint32 // 0 if there is none
}

// pool holds the chunks of all wheels. Chunk 0 is not used.
type pool struct {
	chunks []chunk
	free   uint32
}

func (p *pool) get() uint32 {
	if i := p.free; i != 0 {
		p.free = p.chunks[i].next
		return i
	}
	p.chunks = append(p.chunks, chunk{})
	return uint32(len(p.chunks) - 1)
}

func (p *pool) put(i uint32) {
	p.chunks[i].next = p.free
	p.free = i
}

type wheel struct {
	pool  *pool
	now   uint32 // the last tick that was taken out
	near  [wheelSize]bucket
	far   [wheelSize]bucket
	batch []event // of take
}

// add adds an event. If its time has passed, it happens at the next tick.
func (w *wheel) add(e event) {
	e.at = max(e.at, w.now+1)
	if e.at>>wheelBits == w.now>>wheelBits {
		w.push(&w.near[e.at%wheelSize], e)
		return
	}
	w.push(&w.far[e.at>>wheelBits%wheelSize], e)
}

func (w *wheel) push(b *bucket, e event) {
	if b.chunk == 0 || b.n == uint32(len(chunk{}.events)) {
		i := w.pool.get()
		w.pool.chunks[i].next = b.chunk
		*b = bucket{chunk: i}
	}
	w.pool.chunks[b.chunk].events[b.n] = e
	b.n++
}

// take goes one tick ahead, and returns what happens then. The result is valid until the next call.
func (w *wheel) take() []event {
	w.now++
	if w.now%wheelSize == 0 {
		w.empty(&w.far[w.now>>wheelBits%wheelSize])
		for _, e := range w.batch {
			if e.at>>wheelBits == w.now>>wheelBits {
				w.push(&w.near[e.at%wheelSize], e)
			} else { // more than a turn of the second level ahead
				w.push(&w.far[e.at>>wheelBits%wheelSize], e)
			}
		}
	}
	w.empty(&w.near[w.now%wheelSize])
	return w.batch
}

// empty moves the events of a bucket to w.batch.
func (w *wheel) empty(b *bucket) {
	w.batch = w.batch[:0]
	for i, n := b.chunk, b.n; i != 0; n = uint32(len(chunk{}.events)) {
		c := &w.pool.chunks[i]
		w.batch = append(w.batch, c.events[:n]...)
		next := c.next
		w.pool.put(i)
		i = next
	}
	*b = bucket{}
}

// clear removes all events. The wheel goes on from a tick.
func (w *wheel) clear(now uint32) {
	for i := range wheelSize {
		w.empty(&w.near[i])
		w.empty(&w.far[i])
	}
	w.batch, w.now = w.batch[:0], now
}
