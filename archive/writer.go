package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Limits of a transaction, which executes several waiting jobs. The writer waits briefly until as
// many callers wait as waited last time, because larger groups cost less for each page.
const (
	groupJobs  = 512
	groupBytes = 32 << 20
	groupWait  = 5 * time.Millisecond
)

// job is a change that the writer executes. fn may run more than once, each time in a new
// transaction. If fn returns an error, only the changes of this job are undone.
type job struct {
	fn     func(*txn) error
	size   int  // size in bytes of the data to write
	dooms  bool // the job has marked keys for destruction
	erases bool // the job erases something and sends no body, so it needs no store outside the directory
	err    error
	answer chan struct{}
}

// txn is the transaction of a group of jobs.
type txn struct {
	a       *Archive
	tx      writeTx
	counts  counts
	doomed  []uint64
	unnamed []uint64    // bodies outside archive.db to which no record refers any more
	sent    []uint64    // bodies that were sent to the store outside archive.db
	logged  []string    // URLs of logged intents
	erases  bool        // the transaction erases something
	buried  []Tombstone // tombstones that the transaction has written

	firstKey uint64               // the first key that the transaction may take
	record   replicaRecord        // record of the copies after the transaction
	recorded bool                 // the transaction must be copied even if it changes nothing
	rebased  func(*replicaRecord) // changes record; may be nil
	unsent   bool                 // the transaction commits without copies
}

// halt is work that the writer does between two transactions, when no other write runs.
type halt struct {
	fn   func() error
	err  error
	done chan struct{}
}

// halt makes the writer call fn between two transactions.
func (a *Archive) halt(ctx context.Context, fn func() error) error {
	h := &halt{fn: fn, done: make(chan struct{})}
	select {
	case a.halts <- h:
		<-h.done
		return h.err
	case <-a.quit:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// do passes fn to the writer and waits until the transaction with the changes of fn is on disk. If
// ctx is canceled, do stops waiting for the writer to accept fn. It does not stop a write that has
// begun.
func (a *Archive) do(ctx context.Context, size int, fn func(*txn) error) error {
	a.callers.Add(1)
	defer a.callers.Add(-1)
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{fn: fn, size: size, answer: make(chan struct{})}
	select {
	case a.jobs <- j:
	case <-a.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	<-j.answer
	return j.err
}

// write is the loop of the writer goroutine. No other goroutine changes the files.
func (a *Archive) write() {
	defer close(a.stopped)
	for {
		select {
		case j := <-a.jobs:
			a.run(a.gather(j))
		case h := <-a.halts:
			h.err = h.fn()
			close(h.done)
		case <-a.quit:
			if a.replica != nil {
				a.replica.endCopying()
			}
			if len(a.finished()) > 0 || len(a.destroyed) > 0 || a.replica.pending() {
				a.run(nil)
			}
			a.returnKeys()
			if a.failure() == nil { // otherwise a record may refer to them
				last, cancel := context.WithTimeout(a.life, endCopies)
				defer cancel()
				a.deleteUnnamed(last)
			}
			return
		}
	}
}

func (a *Archive) gather(first *job) []*job {
	group, size := []*job{first}, first.size
	late := time.NewTimer(groupWait)
	defer late.Stop()
	for len(group) < groupJobs && size < groupBytes {
		var j *job
		select {
		case j = <-a.jobs:
		default:
			if len(group) >= a.crowd {
				return group
			}
			select {
			case j = <-a.jobs:
			case <-late.C:
				return group
			}
		}
		group, size = append(group, j), size+j.size
	}
	return group
}

// run writes a group of jobs. If a job fails, its caller gets the error, and run executes the other
// jobs again without the failed job.
func (a *Archive) run(group []*job) {
	if a.replica != nil {
		a.replica.local = false
	}
	for {
		failed, err := a.attempt(group)
		a.crowd = int(a.callers.Load())
		if rest := a.withoutCopies(group, failed, err); rest != nil {
			group = rest
			continue
		}
		if failed == nil {
			for _, j := range group {
				if err != nil && (j.dooms || !errors.Is(err, errUndestroyed)) {
					j.err = err
				}
				close(j.answer)
			}
			return
		}
		rest := make([]*job, 0, len(group))
		for _, j := range group {
			if j != failed {
				rest = append(rest, j)
			}
		}
		failed.err = err
		close(failed.answer)
		if group = rest; len(group) == 0 {
			return
		}
	}
}

// errUndestroyed means that the records are deleted but the keys are not yet destroyed.
var errUndestroyed = errors.New("its key will be destroyed with the next write or when the archive is opened again")

// attempt runs a group of jobs in one transaction. If a single job caused the error, attempt
// returns that job.
func (a *Archive) attempt(group []*job) (failed *job, err error) {
	if err := a.failure(); err != nil {
		return nil, err
	}
	finished := a.finished()
	a.replica.addRemoved(&a.destroyed)
	cleared := len(a.destroyed)
	var t *txn
	var id int
	err = a.guard(func() error {
		tx, err := a.db.Begin(true)
		if err != nil {
			return err
		}
		id = tx.ID()
		a.db.AllocSize = growth(tx.Size())
		t = &txn{a: a, tx: writeTx{tx, a.recording()}, firstKey: a.keys.next}
		if failed, err = t.fill(group, finished, a.destroyed); err != nil {
			return err
		}
		return t.commit()
	})
	if err != nil {
		a.undo(t, id, failed, err)
		if failed == nil {
			err = a.unwritten(err)
		}
		return failed, err
	}
	if a.underway != nil {
		a.underway.narrow()
	}
	a.replica.committed(t)
	a.destroyed, a.gone = a.destroyed[cleared:], nil
	a.condemned = append(a.condemned, t.doomed...)
	a.unnamed = append(a.unnamed, t.unnamed...)
	a.log(t.logged, len(finished))
	for _, s := range t.buried {
		a.noted(s)
	}
	if t.erases {
		a.erasings.Add(1)
		select {
		case a.erased <- struct{}{}:
		default: // the last value has not been received yet
		}
	}
	err = a.destroy()
	a.deleteUnnamed(a.life)
	return nil, err
}

// commit makes the transaction durable.
func (t *txn) commit() error {
	if err := t.a.syncBodies(); err != nil {
		return err
	}
	if err := t.replicate(); err != nil {
		return err
	}
	if err := t.a.fault(Commit); err != nil {
		return err
	}
	if err := t.tx.Commit(); err != nil {
		return err
	}
	return t.a.fault(Committed)
}

func (a *Archive) unwritten(err error) error {
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("the archive in %s could not be written, and nothing of this was stored: %w", a.dir, err)
}

// fill runs the jobs. It also removes intents that are done and the list entries of destroyed keys,
// which earlier transactions left.
func (t *txn) fill(group []*job, finished []string, destroyed []uint64) (failed *job, err error) {
	if t.counts, err = readCounts(t.tx.Tx); err != nil {
		return nil, err
	}
	t.tx.Bucket(bBodies).FillPercent = 1
	t.tx.Bucket(bCaptures).FillPercent = 1
	for _, url := range finished {
		if err := t.tx.Bucket(bIntents).Delete([]byte(url)); err != nil {
			return nil, err
		}
	}
	for _, id := range destroyed {
		if err := t.tx.Bucket(bDoomed).Delete(idKey(id)); err != nil {
			return nil, err
		}
	}
	if err := t.skipSpent(); err != nil {
		return nil, err
	}
	for _, id := range t.a.gone {
		if err := t.tx.Bucket(bRemains).Delete(idKey(id)); err != nil {
			return nil, err
		}
	}
	was := t.counts
	if err := t.condemnStrays(); err != nil {
		return nil, err
	}
	for _, j := range group {
		if err := t.execute(j); err != nil {
			return j, err
		}
	}
	t.counts.Keys = t.a.keys.next - 1
	if t.tx.changes != nil && len(t.tx.changes.encoded) == 0 && t.counts == was {
		return nil, nil // nothing needs a copy
	}
	return nil, t.tx.Bucket(bMeta).Put(kCounts, mustPack(kCounts, t.counts))
}

// execute runs a job.
func (t *txn) execute(j *job) error {
	doomed, sent, erases := len(t.doomed), len(t.sent), t.erases
	t.erases = false
	err := j.fn(t)
	j.dooms, j.erases = len(t.doomed) > doomed, t.erases && len(t.sent) == sent
	t.erases = t.erases || erases
	return err
}

// undo ends a failed transaction and releases its keys. If the state of the archive is uncertain,
// nothing is written any more.
func (a *Archive) undo(t *txn, id int, failed *job, cause error) {
	if t == nil {
		return
	}
	t.unsend()
	if failed == nil && errors.Is(cause, ErrCorrupt) {
		a.fail(cause)
	}
	if err := a.guard(t.tx.Rollback); err != nil && !errors.Is(err, berrors.ErrTxClosed) {
		a.fail(err)
	}
	var used, end uint64
	var last uint32
	err := a.view(func(tx *bolt.Tx) (err error) {
		if tx.ID() == id {
			return fmt.Errorf("the archive in %s must be reopened, because it is uncertain what is on disk: %w",
				a.dir, cause)
		}
		if last, end, err = (local{a, tx}).lastFile(); err != nil {
			return err
		}
		c, err := readCounts(tx)
		used = c.Keys
		return err
	})
	if err == nil {
		err = errors.Join(a.resetKeys(used), a.files.reset(last, end))
	}
	if err != nil {
		a.fail(err)
	}
}

// destroy destroys the keys in a.condemned, whose records are already deleted.
func (a *Archive) destroy() error {
	if len(a.condemned) == 0 {
		return nil
	}
	err := a.fault(Destroy)
	if err == nil {
		// readers that began before the records were deleted may need the keys: wait for these
		// readers
		a.readers.Lock()
		err = a.keys.overwrite(a.condemned)
		a.readers.Unlock()
	}
	if err == nil {
		err = a.keys.sync(a.fault)
	}
	if err != nil {
		return fmt.Errorf("erased, but %w: %w", errUndestroyed, err)
	}
	if a.replica != nil {
		a.replica.remove(a.condemned)
	} else {
		a.destroyed = append(a.destroyed, a.condemned...)
	}
	a.condemned = nil
	return nil
}

// take returns an unused key and its slot.
func (t *txn) take() (uint64, key, error) { return t.a.keys.take(t.a.fault) }

// condemnKey marks a key for destruction: its slot is overwritten as soon as this transaction is on
// disk.
func (t *txn) condemnKey(id uint64) error {
	if id == 0 {
		return nil
	}
	t.doomed = append(t.doomed, id)
	return t.tx.Bucket(bDoomed).Put(idKey(id), nil)
}
