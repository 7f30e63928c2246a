package crawler

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// The buckets of frontier.db.
var (
	bMeta  = []byte("meta")  // "format" → 1, "counts" → one number per state
	bKnown = []byte("known") // address → Record
	bQueue = []byte("queue") // host, NUL, place → item
	bHosts = []byte("hosts") // host → hostRecord
	bReady = []byte("ready") // due time, host: the hosts that have something queued
	bSeeds = []byte("seeds") // address → nothing

	buckets = [][]byte{bMeta, bKnown, bQueue, bHosts, bReady, bSeeds}
)

const format = 1

// counts holds a number per state, in the order of states, and the number of hosts that have something queued.
type counts [len(states) + 1]int

const hostCount = len(states)

func (c *counts) encode() []byte {
	b := make([]byte, 0, 8*len(c))
	for _, n := range c {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

func decodeCounts(b []byte) (c counts, err error) {
	if len(b) != 8*len(c) {
		return c, errRecord
	}
	for i := range c {
		c[i] = int(binary.BigEndian.Uint64(b[8*i:]))
	}
	return c, nil
}

// openDisk opens or makes the file and returns its counts.
func openDisk(name string) (db *bbolt.DB, c counts, err error) {
	defer damaged(name, &err)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, c, fmt.Errorf("the frontier cannot be made: %w", err)
	}
	db, err = bbolt.Open(name, 0o644, &bbolt.Options{
		Timeout:      time.Second,
		FreelistType: bbolt.FreelistMapType,
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, c, fmt.Errorf("%s is in use by another process; wait for it to end", name)
	case err != nil:
		return nil, c, fmt.Errorf("%s cannot be opened: %w; if it is damaged, move it away and crawl anew", name, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, b := range buckets {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bMeta)
		switch f := meta.Get([]byte("format")); {
		case f == nil:
			if err := meta.Put([]byte("format"), []byte{format}); err != nil {
				return err
			}
			return meta.Put([]byte("counts"), c.encode())
		case len(f) != 1 || f[0] != format:
			return fmt.Errorf("its format is %x, this program reads %d", f, format)
		}
		var err error
		c, err = decodeCounts(meta.Get([]byte("counts")))
		return err
	})
	if err != nil {
		return nil, c, errors.Join(fmt.Errorf("%s cannot be used: %w", name, err), db.Close())
	}
	return db, c, nil
}

// damaged turns a panic of the store, its way to report a broken page, into an error.
func damaged(name string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s is damaged (%v); move it away and crawl anew", name, p)
	}
}

// view reads the committed state.
func (f *Frontier) view(fn func(*bbolt.Tx) error) (err error) {
	defer damaged(f.name, &err)
	return f.db.View(fn)
}

// batch is one write transaction. Only the writer goroutine makes them.
type batch struct {
	f      *Frontier
	known  *bbolt.Bucket
	queue  *bbolt.Bucket
	hosts  *bbolt.Bucket
	ready  *bbolt.Bucket
	seeds  *bbolt.Bucket
	meta   *bbolt.Bucket
	counts counts
	dirty  map[string]*hostRecord
	moved  map[string]int // hosts whose queue changed → the least depth that came, to be told to the schedule
}

func (f *Frontier) newBatch(tx *bbolt.Tx) *batch {
	return &batch{
		f: f, counts: f.disk,
		known: tx.Bucket(bKnown), queue: tx.Bucket(bQueue), hosts: tx.Bucket(bHosts),
		ready: tx.Bucket(bReady), seeds: tx.Bucket(bSeeds), meta: tx.Bucket(bMeta),
		dirty: map[string]*hostRecord{}, moved: map[string]int{},
	}
}

func (b *batch) host(name string) (*hostRecord, error) {
	if h := b.dirty[name]; h != nil {
		return h, nil
	}
	h := &hostRecord{}
	if v := b.hosts.Get([]byte(name)); v != nil {
		old, err := decodeHost(v)
		if err != nil {
			return nil, err
		}
		h = &old
	}
	b.dirty[name] = h
	return h, nil
}

func (b *batch) get(address string) (r Record, found bool, err error) {
	v := b.known.Get([]byte(address))
	if v == nil {
		return Record{URL: address}, false, nil
	}
	r, err = decodeRecord(address, v)
	return r, true, err
}

// put writes r, found saying whether old replaces a record in state old.
func (b *batch) put(r *Record, old State, found bool) error {
	v, err := r.encode()
	if err != nil {
		return err
	}
	if found {
		n, err := old.number()
		if err != nil {
			return err
		}
		b.counts[n]--
	}
	b.counts[v[0]]++
	return b.known.Put([]byte(r.URL), v)
}

// enqueue puts r at a place of its host's queue and writes it as queued.
func (b *batch) enqueue(r *Record, old State, found bool, c class, rank uint64) error {
	host, err := hostName(r.URL)
	if err != nil {
		return err
	}
	h, err := b.host(host)
	if err != nil {
		return err
	}
	if found && old == Queued {
		if err := b.queue.Delete(queueKey(host, r.place)); err != nil {
			return err
		}
		h.queued--
	}
	seq, err := b.queue.NextSequence()
	if err != nil {
		return err
	}
	r.State, r.place = Queued, place{c, rank, seq}
	h.queued++
	if least, ok := b.moved[host]; !ok || r.Depth < least || c == promoted {
		b.moved[host] = r.Depth
		if c == promoted {
			b.moved[host] = -1
		}
	}
	if err := b.queue.Put(queueKey(host, r.place), encodeItem(r)); err != nil {
		return err
	}
	return b.put(r, old, found)
}

// settle takes r out of the queue, if it stands there, and writes its outcome.
func (b *batch) settle(r *Record, old State, found bool, s State) error {
	if found && old == Queued {
		host, err := hostName(r.URL)
		if err != nil {
			return err
		}
		h, err := b.host(host)
		if err != nil {
			return err
		}
		if err := b.queue.Delete(queueKey(host, r.place)); err != nil {
			return err
		}
		h.queued--
	}
	r.State, r.place = s, place{}
	return b.put(r, old, found)
}

// flush writes the hosts and the counts at the end of the transaction.
func (b *batch) flush() error {
	cursor := b.queue.Cursor()
	for name, h := range b.dirty {
		if h.ready != 0 {
			if err := b.ready.Delete(readyKey(h.ready, name)); err != nil {
				return err
			}
			h.ready = 0
			b.counts[hostCount]--
		}
		if h.queued > 0 {
			h.ready = max(nanos(h.due), 1)
			first, _ := cursor.Seek(append([]byte(name), 0))
			if at, ok := hostOf(first); ok && at == name {
				if p := readPlace(first[len(name)+1:]); p.class == retried {
					h.ready = max(h.ready, int64(p.rank))
				}
			}
			b.counts[hostCount]++
			if err := b.ready.Put(readyKey(h.ready, name), nil); err != nil {
				return err
			}
		}
		if err := b.hosts.Put([]byte(name), h.encode()); err != nil {
			return err
		}
	}
	return b.meta.Put([]byte("counts"), b.counts.encode())
}

// hostName is the host, with its port if not the default, of an address in normal form: the key of its queue.
func hostName(address string) (string, error) {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		if host, _, ok := strings.Cut(rest, "/"); ok && host != "" {
			return host, nil
		}
	}
	return "", fmt.Errorf("the frontier holds %q, which is not an address in normal form", address)
}
