package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// CompactStats says what a compaction did.
type CompactStats struct {
	Before  int64 `json:"before"` // bytes of archive.db and keys.db
	After   int64 `json:"after"`
	Records int64 `json:"records"` // that were copied

	Began time.Time `json:"-"` // of what was erased before, no file holds a trace
}

// upkeep is kept in archive.db, under kUpkeep, and tells which erasures the files still remember.
type upkeep struct {
	Erased time.Time `json:",omitzero"` // the first erasure since a compaction last began
	Asked  time.Time `json:",omitzero"` // the first that a publisher asked for, since then
	// the first erasure that the compaction is for that began last and has not been completed
	Compacting time.Time `json:",omitzero"`
	Answering  time.Time `json:",omitzero"` // likewise, the first that a publisher asked for
	Begun      time.Time `json:",omitzero"` // when it began
	Compacted  time.Time `json:",omitzero"` // when the last one that was completed began
}

var kUpkeep = []byte("upkeep")

// Uncompacted gives the time of the first erasure that no completed compaction came after, and of
// the first of them that a publisher asked for; zero if there is none. They survive Close.
func (a *Archive) Uncompacted() (since, asked time.Time, err error) {
	u, err := a.upkeep()
	if asked = u.Answering; asked.IsZero() {
		asked = u.Asked
	}
	return u.uncompacted(), asked, err
}

// uncompacted is the time of the first erasure that no completed compaction came after; zero if
// there is none.
func (u *upkeep) uncompacted() time.Time {
	if u.Compacting.IsZero() || !u.Erased.IsZero() && u.Erased.Before(u.Compacting) { // the clock went back
		return u.Erased
	}
	return u.Compacting
}

// Compacted gives the time at which the last compaction began that was completed: of what was
// erased before, no file holds a trace. It is zero where none was.
func (a *Archive) Compacted() (began time.Time, err error) {
	u, err := a.upkeep()
	return u.Compacted, err
}

// Erased gives a value when something has been erased since the last one was taken. One receiver is
// served.
func (a *Archive) Erased() <-chan struct{} { return a.erased }

// Compact writes archive.db anew, without what was erased or replaced, and puts the new file in the
// place of the old. The archive is used meanwhile: only for the end of it do readers and the writer
// wait. Whatever fails, the archive stays as it was, unless the error says that it must be opened
// again. When it has succeeded, also is called, to do the same for what goes with the archive, and
// with that the compaction is complete (Uncompacted); a nil also does nothing. progress, which may
// be nil, is told of bytes copied so far and in all. Calls follow one another; one that waits ends
// with ctx. One that is in the way of the writer, or cannot keep up with it, fails and can be tried
// again.
func (a *Archive) Compact(ctx context.Context, progress func(done, total int64),
	also func(context.Context) error) (s CompactStats, err error) {
	select {
	case a.compacting <- struct{}{}:
		defer func() { <-a.compacting }()
	case <-ctx.Done():
		return s, ctx.Err()
	case <-a.quit:
		return s, ErrClosed
	}
	err = a.do(ctx, 0, func(t *txn) error {
		s.Began = utc(a.now())
		return t.beginCompaction(s.Began)
	})
	if err != nil {
		return s, err
	}
	if s.Before, err = a.size(); err != nil {
		return s, err
	}
	if s.Records, err = a.rewrite(ctx, progress); err != nil {
		return s, a.uncompacted(ctx, err)
	}
	if also != nil {
		ctx, release := a.whileOpen(ctx)
		defer release()
		if err := also(ctx); err != nil {
			return s, ended(ctx, err)
		}
	}
	if err := a.do(ctx, 0, (*txn).endCompaction); err != nil {
		return s, err
	}
	s.After, err = a.size()
	return s, err
}

func (a *Archive) uncompacted(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrClosed), errors.Is(err, ErrCorrupt), a.failure() != nil:
		return err
	}
	return fmt.Errorf("the archive in %s could not be compacted, it is as it was: %w", a.dir, err)
}

// rewrite makes the new file: first from one state of the old one, then from what changed since,
// again and again, at last while the writer waits.
func (a *Archive) rewrite(ctx context.Context, progress func(done, total int64)) (records int64, err error) {
	c, err := a.startCopy(ctx)
	if err == nil {
		err = a.guard(func() error { return c.all(progress) })
	}
	if err == nil {
		err = a.guard(c.pursue)
	}
	if err == nil {
		err = a.guard(c.complete) // so that little is left of it to do while the writer waits
	}
	if err == nil {
		err = a.guard(c.pursue) // that took a while
	}
	if err == nil {
		err = a.halt(c.ctx, func() error { return a.guard(c.finish) })
	}
	return c.records, errors.Join(err, c.end())
}

// How a copy follows the writer: until little was left to do, but not for ever. The writer waits
// for the last of it.
const (
	rounds  = 8
	few     = 2000     // records
	tooMany = 20 * few // more the writer does not wait for
)

var errBusy = errors.New("more is being written than can be copied at the same time; try again")

// pursue follows the writer until little is left to do.
func (c *copier) pursue() error {
	for range rounds {
		if err := c.follow(); err != nil || c.changes <= few {
			return err
		}
	}
	return nil
}

// halt has fn done by the writer between two transactions.
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

// enter gives the database to be read now, which stays open until leave is called.
func (a *Archive) enter() (*bolt.DB, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return nil, a.broken
	}
	a.reading[a.db]++
	return a.db, nil
}

// leave closes a database that was replaced and that nobody reads any more. Not sooner: to close
// one that is read would let its other readers wait for the last.
func (a *Archive) leave(db *bolt.DB) {
	a.mu.Lock()
	a.reading[db]--
	file, over := a.retired[db]
	if over = over && a.reading[db] == 0; over {
		delete(a.retired, db)
		delete(a.reading, db)
	}
	a.mu.Unlock()
	if !over {
		return
	}
	if a.guard(db.Close) != nil { // of a file that has no name any more
		unlock(file)
	}
	a.retiring.Done()
}

// begin opens a read transaction for long work, to be ended with end.
func (a *Archive) begin() (tx *bolt.Tx, err error) {
	db, err := a.enter()
	if err != nil {
		return nil, err
	}
	err = a.guard(func() error {
		tx, err = db.Begin(false)
		return err
	})
	if err != nil {
		a.leave(db)
	}
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		err = ErrClosed
	}
	return tx, err
}

func (a *Archive) end(tx *bolt.Tx) error {
	db := tx.DB()
	defer a.leave(db)
	return a.guard(tx.Rollback)
}

// replace makes db, whose file stands in the place of the old one already, the database of the
// archive. The caller must be reading the old one.
func (a *Archive) replace(db *bolt.DB, file *os.File) {
	a.readers.Lock()
	defer a.readers.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.retired[a.db] = a.file
	a.retiring.Add(1)
	a.db, a.file = db, file
}

// fileOf gives the file that an open transaction reads, which Compact may have replaced meanwhile.
func (a *Archive) fileOf(tx *bolt.Tx) *os.File {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f, ok := a.retired[tx.DB()]; ok {
		return f
	}
	return a.file
}

func (a *Archive) size() (sum int64, err error) {
	for _, name := range []string{"archive.db", "keys.db"} {
		info, err := os.Stat(filepath.Join(a.dir, name))
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	return sum, nil
}

func (a *Archive) upkeep() (u upkeep, err error) {
	err = a.view(func(tx *bolt.Tx) error {
		u, err = a.readUpkeep(tx)
		return err
	})
	return u, err
}

func (a *Archive) readUpkeep(tx *bolt.Tx) (u upkeep, err error) {
	value := tx.Bucket(bMeta).Get(kUpkeep)
	if value == nil {
		return u, nil
	}
	if err := unpack(kUpkeep, value, &u); err != nil {
		return u, a.damaged("its record of erasures", err)
	}
	return u, nil
}

// changeUpkeep changes the record of erasures, if fn says that it did.
func (t *txn) changeUpkeep(fn func(*upkeep) bool) error {
	u, err := t.a.readUpkeep(t.tx)
	if err != nil || !fn(&u) {
		return err
	}
	return t.tx.Bucket(bMeta).Put(kUpkeep, mustPack(kUpkeep, u))
}

// erased notes that something was erased.
func (t *txn) erased() error {
	t.erases = true
	return t.changeUpkeep(func(u *upkeep) bool { return setNow(&u.Erased, t.a.now()) || lower(&u.Erased, t.a.now()) })
}

// lower makes a date one that is sooner: the clock may have gone back since the first erasure.
func lower(date *time.Time, now time.Time) bool {
	if now = utc(now); !now.Before(*date) {
		return false
	}
	*date = now
	return true
}

func setNow(date *time.Time, now time.Time) bool {
	if !date.IsZero() {
		return false
	}
	*date = utc(now)
	return true
}

func (t *txn) beginCompaction(now time.Time) error {
	return t.changeUpkeep(func(u *upkeep) bool {
		if u.Compacting.IsZero() {
			u.Compacting = u.Erased
		}
		if u.Answering.IsZero() {
			u.Answering = u.Asked
		}
		u.Erased, u.Asked, u.Begun = time.Time{}, time.Time{}, now
		return true
	})
}

func (t *txn) endCompaction() error {
	return t.changeUpkeep(func(u *upkeep) bool {
		u.Compacting, u.Answering, u.Compacted = time.Time{}, time.Time{}, u.Begun
		return true
	})
}
