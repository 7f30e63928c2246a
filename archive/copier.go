package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/acapcrawl/acapcrawl/disk"
)

const (
	unfinished = ".new"   // suffix of the new file until it replaces archive.db
	copyBytes  = 16 << 20 // maximal bytes in one transaction of the copy
)

// copier copies archive.db to a new file and then repeatedly copies later changes. The first copy
// is written in the order of keys and fills the pages.
type copier struct {
	a    *Archive
	ctx  context.Context
	path string
	db   *bolt.DB // database of the new file
	file *os.File
	done bool // the new file has replaced the old one

	mapped  int64       // number of bytes of the new file that were mapped when it was opened
	reading *compaction // nil until the copier begins to read

	was     *bolt.Tx // read transaction on the old file; its content has been copied
	tx      *bolt.Tx // write transaction on the new file; nil if none is open
	pending int      // number of bytes written in tx
	records int64    // number of records in the first snapshot
	changes int      // number of records written in the last round
}

// startCopy opens both files. The caller must call end, even after an error.
func (a *Archive) startCopy(ctx context.Context) (c *copier, err error) {
	c = &copier{a: a, path: filepath.Join(a.dir, "archive.db")}
	var stop context.CancelCauseFunc
	c.ctx, stop = context.WithCancelCause(ctx)
	err = a.halt(ctx, func() (err error) {
		if c.was, err = a.begin(); err == nil {
			c.reading = &compaction{stop, make(chan struct{})}
			a.underway = c.reading
		}
		return err
	})
	if err != nil {
		stop(nil)
		return c, err
	}
	if err := os.Remove(c.path + unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	c.mapped = a.mapAhead(c.was.Size())
	if c.db, c.file, err = a.openBolt(c.path+unfinished, c.mapped); err != nil {
		return c, err
	}
	c.db.NoSync, c.db.NoGrowSync, c.db.AllocSize = true, true, 0 // no syncing until finish
	return c, nil
}

// all copies the first snapshot. It also counts the records, to detect that damage has made records
// unreachable.
func (c *copier) all(progress func(done, total int64)) error {
	counts, err := readCounts(c.was)
	if err != nil {
		return err
	}
	found := map[string]uint64{}
	var done, stored int64
	if c.a.outside != nil { // bodies outside archive.db are not copied
		stored = int64(counts.Stored)
	}
	err = c.was.ForEach(func(name []byte, b *bolt.Bucket) error {
		cursor := b.Cursor()
		for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
			if err := c.put(name, k, v); err != nil {
				return err
			}
			found[string(name)]++
			c.records++
			if bytes.Equal(name, bBodies) {
				stored += int64(len(v))
			}
			if done += int64(len(k) + len(v)); progress != nil && c.pending == 0 {
				progress(min(done, c.was.Size()), c.was.Size())
			}
		}
		return c.number(name, b)
	})
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name    string
		is, was uint64
	}{{"captures", found["captures"], counts.Captures}, {"digests", found["digests"], counts.Bodies},
		{"bytes of bodies", uint64(stored), counts.Stored},
		{"resources", found["resources"], counts.Resources}, {"aliases", found["aliases"], counts.Aliases},
		{"tombstones", found["tombstones"], counts.Tombstones}, {"thumbnails", found["pictures"], counts.Pictures}} {
		if part.is != part.was {
			return c.a.corrupt(fmt.Sprintf("it should hold %d %s, and %d can be read; "+
				"it was not changed, see archive verify", part.was, part.name, part.is))
		}
	}
	return c.flush()
}

// follow copies the changes since the last copied transaction. The writer opens the new read
// transaction, because a commit at the same time could wait for the earlier read transaction, which
// is still open.
func (c *copier) follow() error {
	ctx, stop := context.WithTimeoutCause(c.ctx, beginWait, errBusy)
	defer stop()
	var is *bolt.Tx
	err := c.a.halt(ctx, func() (err error) {
		is, err = c.a.begin()
		return err
	})
	if err != nil {
		return err
	}
	return c.advance(is, math.MaxInt)
}

// advance copies the records that differ between the read transaction c.was, which is already
// copied, and a newer one, the parameter is. It fails if their number exceeds the parameter most.
// On success, advance closes c.was and sets it to the newer transaction. On failure, it closes the
// newer one.
func (c *copier) advance(is *bolt.Tx, most int) error {
	if err := c.catchUp(is, most); err != nil {
		return errors.Join(err, c.a.end(is))
	}
	was := c.was
	c.was = is
	return c.a.end(was)
}

func (c *copier) catchUp(is *bolt.Tx, most int) error {
	c.changes = 0
	t := trees{c.a.file, c.a.db.Info().PageSize}
	err := is.ForEach(func(name []byte, b *bolt.Bucket) error {
		old, root := c.was.Bucket(name), uint64(0)
		if old != nil {
			root = uint64(old.Root())
		}
		gone, fresh, err := t.changed(root, uint64(b.Root()))
		if err != nil {
			return c.a.damaged(fmt.Sprintf("its part %q", name), err)
		}
		if old != nil {
			if err := c.forget(name, old, b, gone); err != nil {
				return err
			}
		}
		cursor := b.Cursor()
		for _, s := range fresh {
			for k, v := cursor.Seek(s.lo); s.has(k); k, v = cursor.Next() {
				if copied(old, k, v) {
					continue
				}
				if c.changes++; c.changes > most {
					return errBusy
				}
				if err := c.put(name, k, v); err != nil {
					return err
				}
			}
		}
		return c.number(name, b)
	})
	if err != nil {
		return err
	}
	return c.flush()
}

// copied reports whether the old bucket has the value v under k, so that this record is already
// copied.
func copied(old *bolt.Bucket, k, v []byte) bool {
	if old == nil || v == nil {
		return false
	}
	was := old.Get(k)
	return was != nil && bytes.Equal(was, v)
}

// forget checks the keys in the ranges gone. It deletes from the new file the keys that the newer
// transaction no longer has.
func (c *copier) forget(name []byte, was, is *bolt.Bucket, gone []span) error {
	cursor := was.Cursor()
	for _, s := range gone {
		for k, v := cursor.Seek(s.lo); s.has(k); k, v = cursor.Next() {
			if v == nil || is.Get(k) != nil {
				continue
			}
			c.changes++
			b, err := c.bucket(name)
			if err != nil {
				return err
			}
			if err := b.Delete(k); err != nil {
				return err
			}
			if err := c.spend(len(k)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *copier) put(name, k, v []byte) error {
	if v == nil {
		return c.a.corrupt(fmt.Sprintf("its part %q has parts of its own", name))
	}
	b, err := c.bucket(name)
	if err != nil {
		return err
	}
	if err := b.Put(k, v); err != nil {
		return err
	}
	return c.spend(len(k) + len(v))
}

// number copies the sequence number of the bucket b to the bucket called name in the new file.
func (c *copier) number(name []byte, b *bolt.Bucket) error {
	to, err := c.bucket(name)
	if err != nil || to.Sequence() == b.Sequence() {
		return err
	}
	return to.SetSequence(b.Sequence())
}

// bucket returns a bucket of the new file, and creates it if needed.
func (c *copier) bucket(name []byte) (b *bolt.Bucket, err error) {
	if c.tx == nil {
		if err := c.interrupted(); err != nil {
			return nil, err
		}
		if err := c.a.fault(Rewrite); err != nil {
			return nil, err
		}
		if c.tx, err = c.db.Begin(true); err != nil {
			return nil, err
		}
	}
	if b = c.tx.Bucket(name); b == nil {
		b, err = c.tx.CreateBucket(name)
	}
	if err == nil {
		b.FillPercent = 1
	}
	return b, err
}

func (c *copier) interrupted() error {
	select {
	case <-c.a.quit:
		return ErrClosed
	default:
		return context.Cause(c.ctx)
	}
}

func (c *copier) spend(n int) error {
	if c.pending += n; c.pending < copyBytes {
		return nil
	}
	return c.flush()
}

func (c *copier) flush() error {
	if c.tx == nil {
		return nil
	}
	if err := c.tx.Commit(); err != nil {
		return err
	}
	c.tx, c.pending = nil, 0
	return nil
}

// finish copies the last changes, syncs the new file and replaces the old one. The writer calls it.
func (c *copier) finish() error {
	is, err := c.a.begin()
	if err != nil {
		return err
	}
	if err := c.advance(is, tooMany); err != nil {
		return err
	}
	if err := c.complete(); err != nil {
		return err
	}
	c.db.NoSync, c.db.NoGrowSync = false, false
	if err := c.a.fault(Swap); err != nil {
		return err
	}
	if err := os.Rename(c.path+unfinished, c.path); err != nil {
		return err
	}
	c.a.replace(c.db, c.file)
	c.a.mapped, c.done = c.mapped, true
	err = c.a.fault(Swapped)
	if err == nil {
		err = disk.Sync(c.a.dir)
	}
	if err != nil {
		err = fmt.Errorf("the archive in %s must be reopened, "+
			"because it is uncertain which of its files is on disk: %w", c.a.dir, err)
		c.a.fail(err)
	}
	return err
}

// complete syncs the new file in its full length. Free pages at its end may never have been
// written.
func (c *copier) complete() error {
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	var size int64
	err = c.db.View(func(tx *bolt.Tx) error {
		size = tx.Size()
		return nil
	})
	if err == nil && info.Size() < size {
		err = c.file.Truncate(size)
	}
	return errors.Join(err, c.file.Sync())
}

// end releases all resources. It removes the new file if it has not replaced the old one.
func (c *copier) end() error {
	var errs []error
	if c.tx != nil {
		if err := c.a.guard(c.tx.Rollback); err != nil && !errors.Is(err, berrors.ErrTxClosed) {
			errs = append(errs, err)
		}
	}
	if c.was != nil {
		errs = append(errs, c.a.end(c.was))
	}
	if c.reading != nil {
		c.reading.stop(nil)
		close(c.reading.over)
	}
	if c.done {
		return errors.Join(errs...)
	}
	errs = append(errs, c.a.closeBolt(c.db, c.file, errors.Join(errs...) != nil))
	if err := os.Remove(c.path + unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
