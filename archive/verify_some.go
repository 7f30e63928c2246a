package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
)

// VerifyOptions selects which bodies Verify reads. Records, references and keys are always checked.
type VerifyOptions struct {
	// Sample is the fraction of the bodies to read; 0 and 1 mean all. Each call selects at random.
	Sample float64
	// Resume skips the bodies that an interrupted call without Sample has already read.
	Resume bool
	// Progress receives the number of bodies that were read or left out, and the number of all
	// bodies. It may be nil.
	Progress func(done, total int)
}

// kVerified is the key of the beginning of the digest of the last body that an unfinished Verify
// has read.
var kVerified = []byte("verified")

// saveEvery is the number of bodies after which Verify stores how far it has come.
const saveEvery = 4096

// reading decides which bodies a verifier reads. Bodies are read in the order of their digests.
type reading struct {
	VerifyOptions
	offset  uint64 // makes each sample different
	after   []byte // bodies whose digests begin with less were read by an earlier call
	read    []byte // the beginning of the digest of the last body before the first problem
	problem bool   // a body has a problem: a later call must read it again
	done    int
	unsaved int  // number of bodies since save was called
	stored  bool // archive.db says how far a call has come
	total   int

	saving sync.WaitGroup
	busy   atomic.Bool // save is running
}

// prefixBytes is the number of bytes of a digest that are stored. So few bytes do not tell which
// page was archived.
const prefixBytes = 4

// newReading returns the reading of a call of Verify.
func (a *Archive) newReading(o VerifyOptions) (r *reading, err error) {
	r = &reading{VerifyOptions: o, offset: rand.Uint64()}
	err = a.view(func(tx *bolt.Tx) error {
		c, err := readCounts(tx)
		r.total = int(c.Bodies)
		last := tx.Bucket(bMeta).Get(kVerified)
		if r.stored = last != nil; o.Resume {
			r.after = bytes.Clone(last)
		}
		return err
	})
	return r, err
}

func (r *reading) sampled() bool { return r.Sample > 0 && r.Sample < 1 }

// wants reports whether to read the body with this digest.
func (r *reading) wants(sum []byte) bool {
	if r.sampled() {
		return len(sum) >= 8 && float64(binary.BigEndian.Uint64(sum)+r.offset) < r.Sample*math.MaxUint64
	}
	return bytes.Compare(sum, r.after) >= 0
}

// passed records that a body was read or left out, and whether a problem was found.
func (r *reading) passed(sum []byte, problem bool) {
	if r.problem = r.problem || problem; !r.problem {
		r.read = append(r.read[:0], sum[:min(prefixBytes, len(sum))]...)
	}
	r.done++
	r.unsaved++
	if r.Progress != nil {
		r.Progress(r.done, max(r.total, r.done))
	}
}

// save stores how far Verify has come, for a later call that resumes it.
func (r *reading) save(ctx context.Context, a *Archive) error {
	r.unsaved = 0
	if r.sampled() || bytes.Compare(r.read, r.after) <= 0 {
		return nil
	}
	r.stored = true
	return a.do(ctx, 0, putVerified(r.read))
}

// saveSoon is save, but does not wait: the writer may have to wait for the read transaction of the
// caller. An error has no effect, because a later call stores more.
func (r *reading) saveSoon(a *Archive) {
	r.unsaved = 0
	if r.sampled() || bytes.Compare(r.read, r.after) <= 0 || !r.busy.CompareAndSwap(false, true) {
		return
	}
	r.stored = true
	put := putVerified(r.read)
	r.saving.Go(func() {
		defer r.busy.Store(false)
		_ = a.do(a.life, 0, put)
	})
}

func putVerified(read []byte) func(*txn) error {
	read = bytes.Clone(read)
	return func(t *txn) error { return t.tx.Bucket(bMeta).Put(kVerified, read) }
}

// finish removes what save has stored, because Verify has read all bodies.
func (r *reading) finish(ctx context.Context, a *Archive) error {
	if r.sampled() || !r.stored {
		return nil
	}
	return a.do(ctx, 0, func(t *txn) error { return t.tx.Bucket(bMeta).Delete(kVerified) })
}
