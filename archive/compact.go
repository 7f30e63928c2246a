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

// CompactStats is the result of a compaction.
type CompactStats struct {
	Before  int64 `json:"before"` // bytes of archive.db and keys.db before the compaction
	After   int64 `json:"after"`
	Records int64 `json:"records"` // number of copied records

	Began time.Time `json:"-"` // the files contain no trace of anything erased before this time
}

// upkeep is the record under kUpkeep in archive.db. It contains the dates of the erasures whose
// data may still leave traces in the files.
type upkeep struct {
	Erased time.Time `json:",omitzero"` // time of the first erasure after the last compaction began
	// time of the first erasure requested by a publisher after the last compaction began
	Asked time.Time `json:",omitzero"`
	// time of the first erasure whose traces the unfinished compaction will remove; zero if no
	// compaction is unfinished
	Compacting time.Time `json:",omitzero"`
	// time of the first erasure requested by a publisher whose traces the unfinished compaction
	// will remove
	Answering time.Time `json:",omitzero"`
	Begun     time.Time `json:",omitzero"` // when the unfinished compaction began
	Compacted time.Time `json:",omitzero"` // when the last completed compaction began
}

var kUpkeep = []byte("upkeep")

// Uncompacted returns times of erasures whose traces no completed compaction has removed. since is
// the time of the oldest such erasure, and asked is the time of the oldest one that a publisher
// requested. The zero time means that there is none. The times are stored in the archive.
func (a *Archive) Uncompacted() (since, asked time.Time, err error) {
	u, err := a.upkeep()
	if asked = u.Answering; asked.IsZero() {
		asked = u.Asked
	}
	return u.uncompacted(), asked, err
}

// uncompacted returns the time of the oldest erasure whose traces no completed compaction has
// removed. The zero time means that there is none.
func (u *upkeep) uncompacted() time.Time {
	// Erased is earlier if the clock was set back
	if u.Compacting.IsZero() || !u.Erased.IsZero() && u.Erased.Before(u.Compacting) {
		return u.Erased
	}
	return u.Compacting
}

// Compacted returns when the last completed compaction began, or zero if there was none. The files
// contain no trace of anything erased before that time.
func (a *Archive) Compacted() (began time.Time, err error) {
	u, err := a.upkeep()
	return u.Compacted, err
}

// Erased returns a channel that receives a value after an erasure. After several erasures the
// channel may contain only one value. Only one goroutine may receive from the channel.
func (a *Archive) Erased() <-chan struct{} { return a.erased }

// Compact rewrites archive.db without erased and replaced data, and replaces the old file. The
// archive can be used during the compaction; readers and the writer wait only for its last step. If
// Compact fails, the archive is unchanged, unless the error says that the archive must be reopened.
// When the files are replaced, Compact calls also, which must compact other data that belongs to
// the archive, for example the index. The compaction is complete when also has returned nil (see
// Uncompacted). also may be nil. Compact passes the number of copied bytes and of all bytes to
// progress, which may be nil. Concurrent calls run one after another; a waiting call ends with ctx.
// A compaction that blocks the writer, or cannot keep up with it, fails and can be tried again.
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
	return fmt.Errorf("the archive in %s could not be compacted and is unchanged: %w", a.dir, err)
}

// rewrite makes the new file. It copies a snapshot of the old file, and then, in several rounds,
// the changes made since the last round. The writer waits only for the last round.
func (a *Archive) rewrite(ctx context.Context, progress func(done, total int64)) (records int64, err error) {
	c, err := a.startCopy(ctx)
	if err == nil {
		err = a.guard(func() error { return c.all(progress) })
	}
	if err == nil {
		err = a.guard(c.pursue)
	}
	if err == nil {
		err = a.guard(c.complete) // sync now, so that little is left to do while the writer waits
	}
	if err == nil {
		err = a.guard(c.pursue) // the sync took time, so copy the latest changes
	}
	if err == nil {
		err = a.halt(c.ctx, func() error { return a.guard(c.finish) })
	}
	return c.records, errors.Join(err, c.end())
}

// Limits of the rounds in which a copy catches up with the writer. The writer waits for the last
// round.
const (
	rounds  = 8
	few     = 2000     // with fewer changed records, the last round begins
	tooMany = 20 * few // with more changed records in the last round, the compaction fails
)

var errBusy = errors.New("more is being written than can be copied at the same time; try again")

// pursue copies changes in rounds until a round has copied only a few records.
func (c *copier) pursue() error {
	for range rounds {
		if err := c.follow(); err != nil || c.changes <= few {
			return err
		}
	}
	return nil
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

// enter returns the current database. It stays open until leave is called.
func (a *Archive) enter() (*bolt.DB, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return nil, a.broken
	}
	a.reading[a.db]++
	return a.db, nil
}

// leave ends the use of db by one reader. If db has been replaced and this was its last reader,
// leave closes db. Closing it earlier would wait for the other readers.
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
	if a.guard(db.Close) != nil { // the old file was already removed, so an error has no effect
		unlock(file)
	}
	a.retiring.Done()
}

// begin opens a read transaction for long work. The caller must end it with end.
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

// replace makes db the database of the archive. Its file must already have replaced the old one.
// The caller must be reading the old database.
func (a *Archive) replace(db *bolt.DB, file *os.File) {
	a.readers.Lock()
	defer a.readers.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.retired[a.db] = a.file
	a.retiring.Add(1)
	a.db, a.file = db, file
}

// fileOf returns the file that an open transaction reads. Compact may have replaced it.
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

// changeUpkeep calls fn with the upkeep record, and stores the record if fn returns true.
func (t *txn) changeUpkeep(fn func(*upkeep) bool) error {
	u, err := t.a.readUpkeep(t.tx)
	if err != nil || !fn(&u) {
		return err
	}
	return t.tx.Bucket(bMeta).Put(kUpkeep, mustPack(kUpkeep, u))
}

// erased records that something was erased now.
func (t *txn) erased() error {
	t.erases = true
	return t.changeUpkeep(func(u *upkeep) bool {
		return setNow(&u.Erased, t.a.now()) ||
			setEarlier(&u.Erased, t.a.now())
	})
}

// setEarlier sets date to now if now is earlier than date, which is possible if the clock was set
// back. It reports whether it changed date.
func setEarlier(date *time.Time, now time.Time) bool {
	if now = utc(now); !now.Before(*date) {
		return false
	}
	*date = now
	return true
}

// setNow sets date to now if date is zero, and reports whether it changed date.
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
