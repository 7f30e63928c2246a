package archive

import (
	"context"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

// CompactStats is the result of a compaction.
type CompactStats struct {
	Before      int64 `json:"before"` // bytes of the files of the archive before the compaction
	After       int64 `json:"after"`
	Overwritten int64 `json:"overwritten"` // bytes of erased and replaced data that were overwritten
	Moved       int64 `json:"moved"`       // number of bodies that were moved to other files, to remove their old ones

	Began time.Time `json:"-"` // after success, the files contain no trace of anything erased before this time
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

// Compact removes erased and replaced data from the files. It overwrites the bodies that were
// erased and the free pages of archive.db. It then calls also, which must compact other data that
// belongs to the archive, for example the index; also may be nil. The compaction is complete when
// also has returned nil (see Uncompacted). Finally Compact removes each body file of which at least
// half is erased, after it has moved the other bodies of that file.
//
// The archive can be used during the compaction: the writer waits only while pages are overwritten.
// Compact waits until the readers have ended that began before it. It passes the number of bytes
// looked at, and of all bytes to look at, to progress, which may be nil. Concurrent calls run one
// after another; a waiting call ends with ctx. A compaction that fails can be tried again. If
// only the removal of body files fails, Compact returns the error, but erased data is overwritten.
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
	ctx, release := a.whileOpen(ctx)
	defer release()
	c := &compaction{a: a, ctx: ctx, told: progress, stats: &s}
	return s, ended(ctx, c.run(also))
}

// size returns the number of bytes of the files of the archive.
func (a *Archive) size() (sum int64, err error) {
	for _, name := range []string{"archive.db", "keys.db"} {
		info, err := os.Stat(filepath.Join(a.dir, name))
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	err = a.view(func(tx *bolt.Tx) error {
		return local{a, tx}.eachFile(func(_ uint32, f fileRecord) error {
			sum += int64(f.Size)
			return nil
		})
	})
	return sum, err
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
	u, err := t.a.readUpkeep(t.tx.Tx)
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
