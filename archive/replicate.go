package archive

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// replicate stores copies of what the transaction has changed and of its new keys. If it returns
// nil, the transaction may commit.
func (t *txn) replicate() error {
	r := t.a.replica
	if r == nil || len(t.tx.changes.encoded) == 0 && !t.recorded {
		return nil
	}
	t.record = r.record
	if t.rebased != nil {
		t.rebased(&t.record)
	}
	if t.tx.changes.sequences(t.tx.Tx); r.local || r.detached {
		return errors.Join(t.putUnsent(), t.record.put(t.tx.Tx))
	}
	if r.replaced != nil {
		return &replicaError{r.replaced}
	}
	if left := time.Until(r.down); left > 0 {
		return &replicaError{fmt.Errorf("they failed a moment ago, and are tried again in %s: %w",
			left.Round(time.Second), r.failed)}
	}
	ctx, cancel := t.a.life, context.CancelFunc(func() {})
	if t.erases {
		ctx, cancel = context.WithTimeout(ctx, erasureWait)
	}
	defer cancel()
	err := t.copy(ctx)
	switch {
	case errors.Is(err, ErrReplaced), errors.Is(err, ErrSecret):
		r.replaced = err
		return &replicaError{err}
	case err != nil:
		r.down, r.failed = time.Now().Add(downPause), err
		return &replicaError{err}
	}
	return t.record.put(t.tx.Tx)
}

// copy stores the copies of the transaction, and of earlier ones that have none.
func (t *txn) copy(ctx context.Context) error {
	a, r := t.a, t.a.replica
	if err := t.claim(ctx); err != nil {
		return err
	}
	if !t.record.Based {
		if err := a.copyAll(ctx, t); err != nil {
			return err
		}
	}
	encoded, copies, err := t.takeUnsent()
	if err != nil {
		return err
	}
	if copies, err = a.sealKeys(copies, t.firstKey, a.keys.next); err != nil {
		return err
	}
	if err := a.fault(CopyKeys); err != nil {
		return err
	}
	r.sent = max(r.sent, a.keys.next-1)
	if err := a.putKeys(ctx, copies); err != nil {
		return err
	}
	if err := a.fault(CopyRecords); err != nil {
		return err
	}
	n, size, err := r.appendCopy(ctx, a.head(), append(encoded, t.tx.changes.encoded...))
	if err != nil {
		return err
	}
	t.record.Seq, t.record.Bytes, t.record.Copies = n, t.record.Bytes+uint64(size), t.record.Copies+1
	return a.fault(Copied)
}

// putKeys stores copies of keys. If a copy exists, it was left by a process that failed, or another
// process uses the archive; claiming the copies again tells.
func (a *Archive) putKeys(ctx context.Context, copies []KeyCopy) error {
	if len(copies) == 0 {
		return nil
	}
	r := a.replica
	err := r.o.Keys.Put(ctx, copies, false)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := a.claimNext(ctx); err != nil {
		return err
	}
	return r.o.Keys.Put(ctx, copies, true)
}

// sealKeys appends the encrypted copies of the keys from first to before end that are not destroyed.
func (a *Archive) sealKeys(out []KeyCopy, first, end uint64) ([]KeyCopy, error) {
	for id := first; id < end; id++ {
		k, err := a.keys.read(id)
		if err != nil {
			return nil, err
		}
		if !k.zero() {
			out = append(out, KeyCopy{id, a.replica.keys.Seal(nil, nil, k[:], idKey(id))})
		}
	}
	return out, nil
}

// putUnsent stores the changes of a transaction in archive.db, so that a later one copies them.
func (t *txn) putUnsent() error {
	bucket := t.tx.Tx.Bucket(bUnsent)
	n, err := bucket.NextSequence()
	if err != nil {
		return err
	}
	value := binary.AppendUvarint(binary.AppendUvarint(nil, t.firstKey), t.a.keys.next)
	t.unsent = true
	return bucket.Put(idKey(n), append(value, t.tx.changes.encoded...))
}

// takeUnsent returns the changes in bUnsent, and copies of their keys, and empties bUnsent.
func (t *txn) takeUnsent() (encoded []byte, copies []KeyCopy, err error) {
	bucket := t.tx.Tx.Bucket(bUnsent)
	var names [][]byte
	err = bucket.ForEach(func(k, value []byte) error {
		first, w := binary.Uvarint(value)
		end, v := binary.Uvarint(value[max(w, 0):])
		if w <= 0 || v <= 0 {
			return t.a.damaged("its list of changes without copies", errRecord)
		}
		names, encoded = append(names, k), append(encoded, value[w+v:]...)
		copies, err = t.a.sealKeys(copies, first, end)
		return err
	})
	for _, k := range names {
		err = errors.Join(err, bucket.Delete(k))
	}
	return encoded, copies, err
}

// claimCopies makes this process the one that continues the copies. It returns an ErrReplaced if
// the archive was recovered into another directory, or if this directory is older than its copies.
func (t *txn) claimCopies(ctx context.Context) error {
	a, r := t.a, t.a.replica
	if err := a.claimNext(ctx); err != nil {
		if errors.Is(err, ErrReplaced) {
			r.replaced = err
		}
		return err
	}
	// A copy has at most groupJobs bodies, so with these numbers no two processes use the same number for a body.
	a.spent = max(a.spent, (r.next-1)<<24)
	if err := t.skipSpent(); err != nil {
		return err
	}
	r.claimed = true
	return nil
}

// claimNext stores a copy without changes after the last copy, so that no other process can store one
// there.
func (a *Archive) claimNext(ctx context.Context) error {
	r := a.replica
	numbers, err := r.entriesAfter(ctx, r.record.Seq)
	if err != nil {
		return err
	}
	r.next = r.record.Seq + 1
	for _, n := range numbers {
		if err := a.checkOwn(ctx, n); err != nil {
			return err
		}
		r.next = n + 1
	}
	for {
		e := a.head()
		name := entryName(r.next)
		sealed := r.sealEntry(name, e, nil)
		err := r.o.Records.Create(ctx, name, sealed)
		if err == nil {
			r.next++
			switch err = r.o.Records.Create(ctx, name, sealed); {
			case err == nil:
				return ErrReplaces
			case errors.Is(err, fs.ErrExist):
				return nil
			}
			return err
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := a.checkOwn(ctx, r.next); err != nil { // the list was incomplete
			return err
		}
		r.next++
	}
}

// checkOwn checks that a copy after the last committed one is of a transaction of this directory
// that did not commit.
func (a *Archive) checkOwn(ctx context.Context, n uint64) error {
	r := a.replica
	e, _, err := r.readEntry(ctx, entryName(n))
	epoch := r.epoch()
	switch {
	case err != nil:
		return err
	case e.Generation != r.record.Generation:
		return fmt.Errorf("the archive in %s was recovered and is %w", a.dir, ErrReplaced)
	case e.Prev != r.record.Seq:
		return fmt.Errorf("the archive in %s is older than its copies in the object store; it was %w", a.dir,
			ErrReplaced)
	case epoch != 0 && e.Epoch > epoch:
		return fmt.Errorf("the archive in %s was %w: by a later process of the node", a.dir, ErrReplaced)
	}
	return nil
}

// entriesAfter returns the numbers of the copies after n, in ascending order.
func (r *replica) entriesAfter(ctx context.Context, n uint64) (numbers []uint64, err error) {
	for name, err := range r.o.Records.List(ctx, recordsFolder) {
		if err != nil {
			return nil, err
		}
		if i, ok := numberOf(name, recordsFolder); ok && i > n {
			numbers = append(numbers, i)
		}
	}
	return numbers, nil
}

// numberOf returns the number in the name of an object.
func numberOf(name, folder string) (n uint64, ok bool) {
	digits, ok := strings.CutPrefix(name, folder)
	if !ok || len(digits) != 16 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, err == nil
}

// copyAll copies what the archive contained before it had copies.
func (a *Archive) copyAll(ctx context.Context, t *txn) error {
	t.record.Based = true
	var held counts
	if err := a.view(func(tx *bolt.Tx) (err error) {
		held, err = readCounts(tx)
		return err
	}); err != nil || held == (counts{}) {
		return err
	}
	for first := uint64(1); first <= held.Keys; first += reserve {
		copies, err := a.sealKeys(nil, first, min(first+reserve, held.Keys+1))
		if err == nil && len(copies) > 0 {
			err = a.replica.o.Keys.Put(ctx, copies, true)
		}
		if err != nil {
			return err
		}
	}
	return a.view(func(tx *bolt.Tx) error {
		size, err := a.writeSnapshot(ctx, tx, t.record.Seq)
		t.record.BaseBytes = uint64(size)
		return err
	})
}
