package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// A transaction takes what is waiting, up to these bounds. It waits a little for as many callers as
// there were last time: a larger group costs less for each page.
const (
	groupJobs  = 512
	groupBytes = 32 << 20
	groupWait  = time.Millisecond
)

// job is one change. fn may run more than once, each time in a new transaction; an error of fn
// undoes its changes alone.
type job struct {
	fn     func(*txn) error
	size   int  // bytes it holds
	dooms  bool // it condemned keys
	err    error
	answer chan struct{}
}

// txn is the transaction that a group of jobs shares.
type txn struct {
	a       *Archive
	tx      *bolt.Tx
	counts  counts
	doomed  []uint64
	unnamed []uint64    // bodies outside of archive.db that no record names any more
	logged  []string    // URLs whose intent was logged
	erases  bool        // something was erased
	buried  []Tombstone // of what was erased
}

// halt is work of the writer's own, between two transactions.
type halt struct {
	fn   func() error
	err  error
	done chan struct{}
}

// do hands fn to the writer and waits until its transaction is on disk. A cancelled ctx ends the
// wait for the writer, not the write itself.
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

// write is the writer: it alone changes the files.
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
			if len(a.finished()) > 0 || len(a.destroyed) > 0 {
				a.run(nil)
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

// run brings a group to disk. A job that fails by itself is answered and left out, and the others
// are done again without it.
func (a *Archive) run(group []*job) {
	for {
		failed, err := a.attempt(group)
		a.crowd = int(a.callers.Load())
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

// errUndestroyed: the records are gone, the keys are not yet.
var errUndestroyed = errors.New("its key will be destroyed with the next write or when the archive is opened again")

// attempt does a group in one transaction. It names the job whose own error made it give up, if it
// was one.
func (a *Archive) attempt(group []*job) (failed *job, err error) {
	if err := a.failure(); err != nil {
		return nil, err
	}
	finished := a.finished()
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
		a.makeRoom(tx.Size(), group)
		t = &txn{a: a, tx: tx}
		if failed, err = t.fill(group, finished, a.destroyed); err != nil {
			return err
		}
		if err := a.fault(Commit); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		return a.fault(Committed)
	})
	if err != nil {
		a.undo(t, id, failed, err)
		if failed == nil {
			err = a.unwritten(err)
		}
		return failed, err
	}
	a.destroyed = a.destroyed[cleared:]
	a.condemned = append(a.condemned, t.doomed...)
	a.unnamed = append(a.unnamed, t.unnamed...)
	a.log(t.logged, len(finished))
	for _, s := range t.buried {
		a.noted(s)
	}
	if t.erases {
		select {
		case a.erased <- struct{}{}:
		default: // nobody has taken the last one yet
		}
	}
	err = a.destroy()
	a.deleteUnnamed()
	return nil, err
}

func (a *Archive) unwritten(err error) error {
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("the archive in %s could not be written, nothing of this was kept: %w", a.dir, err)
}

// fill runs the jobs and clears what earlier transactions left behind.
func (t *txn) fill(group []*job, finished []string, destroyed []uint64) (failed *job, err error) {
	if t.counts, err = readCounts(t.tx); err != nil {
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
	for _, j := range group {
		before := len(t.doomed)
		if err := j.fn(t); err != nil {
			return j, err
		}
		j.dooms = len(t.doomed) > before
	}
	t.counts.Keys = t.a.keys.next - 1
	return nil, t.tx.Bucket(bMeta).Put(kCounts, mustPack(kCounts, t.counts))
}

// undo ends a transaction that failed and takes back its keys. An archive whose state is not
// certain is written no more.
func (a *Archive) undo(t *txn, id int, failed *job, cause error) {
	if t == nil {
		return
	}
	if failed == nil && errors.Is(cause, ErrCorrupt) {
		a.fail(cause)
	}
	if err := a.guard(t.tx.Rollback); err != nil && !errors.Is(err, berrors.ErrTxClosed) {
		a.fail(err)
	}
	var used uint64
	err := a.view(func(tx *bolt.Tx) error {
		if tx.ID() == id {
			return fmt.Errorf("the archive in %s must be opened again, it is not certain what its disk holds: %w",
				a.dir, cause)
		}
		c, err := readCounts(tx)
		used = c.Keys
		return err
	})
	if err == nil {
		err = a.keys.reset(used)
	}
	if err != nil {
		a.fail(err)
	}
}

// destroy destroys the keys whose records are gone.
func (a *Archive) destroy() error {
	if len(a.condemned) == 0 {
		return nil
	}
	err := a.fault(Destroy)
	if err == nil {
		a.readers.Lock() // whoever reads now began before the records went, and may need the keys
		err = a.keys.overwrite(a.condemned)
		a.readers.Unlock()
	}
	if err == nil {
		err = a.keys.sync(a.fault)
	}
	if err != nil {
		return fmt.Errorf("erased, but %w: %w", errUndestroyed, err)
	}
	a.destroyed = append(a.destroyed, a.condemned...)
	a.condemned = nil
	return nil
}

// take gives a fresh key and its slot.
func (t *txn) take() (uint64, key, error) { return t.a.keys.take(t.a.fault) }

// doom condemns a key: its slot is overwritten as soon as this transaction is on disk.
func (t *txn) doom(id uint64) error {
	if id == 0 {
		return nil
	}
	t.doomed = append(t.doomed, id)
	return t.tx.Bucket(bDoomed).Put(idKey(id), nil)
}

// intend logs that the index may disagree with the resource from now on.
func (t *txn) intend(url string) error {
	t.logged = append(t.logged, url)
	return t.tx.Bucket(bIntents).Put([]byte(url), nil)
}

// log counts the intents of a committed transaction and drops those that it cleared. An intent that
// was logged again while its predecessor was being declared done must stay.
func (a *Archive) log(logged []string, cleared int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	again := make(map[string]bool, len(logged))
	for _, url := range logged {
		a.outstanding[url]++
		again[url] = true
	}
	a.done = slices.DeleteFunc(slices.Clone(a.done[cleared:]), func(url string) bool { return again[url] })
}

// finished lists the intents to be cleared now.
func (a *Archive) finished() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done[:len(a.done):len(a.done)]
}

// Done tells that the index agrees with the resources again. It is called once for every Receive,
// Update or Erase that changed what the index should hold; once too often does no harm. It costs no
// write of its own: the intent is cleared with the next transaction, or by Close.
func (a *Archive) Done(urls ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, url := range urls {
		if a.outstanding[url]--; a.outstanding[url] > 0 {
			continue
		}
		delete(a.outstanding, url)
		a.done = append(a.done, url)
	}
}

// Intents lists the URLs for which the index may disagree with Resource(url).Indexed: something was
// logged and Done has not been called. After opening it is what a crash left to do.
func (a *Archive) Intents() ([]string, error) {
	var list []string
	err := a.view(func(tx *bolt.Tx) error {
		finished := map[string]bool{}
		for _, url := range a.finished() {
			finished[url] = true
		}
		return tx.Bucket(bIntents).ForEach(func(k, _ []byte) error {
			if url := string(k); !finished[url] {
				list = append(list, url)
			}
			return nil
		})
	})
	return list, err
}
