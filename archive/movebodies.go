package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// eachFile calls fn for each body file that archive.db lists, in order.
func (l local) eachFile(fn func(n uint32, f fileRecord) error) error {
	return l.tx.Bucket(bFiles).ForEach(func(k, _ []byte) error {
		n, err := fileNumber(k)
		if err != nil {
			return l.a.damaged("its list of body files", err)
		}
		f, err := l.file(n)
		if err != nil {
			return err
		}
		return fn(n, f)
	})
}

// wasteful reports whether at least half of a file is erased.
func (f fileRecord) wasteful() bool { return f.Size > 0 && f.Live <= f.Size/2 }

// removeFiles moves the bodies of wasteful files to the last file, each file in one transaction. It
// then removes the files from which all bodies were moved, even if a later move has failed. It
// begins with the files from which the fewest bodies must move: if the disk becomes full, removing
// these makes room for the next compaction.
func (c *compaction) removeFiles() error {
	if c.a.outside != nil {
		return nil
	}
	list, err := c.a.wastefulFiles()
	if err != nil || len(list) == 0 && !c.a.unlisted {
		return err
	}
	c.a.unlisted = true
	var failed error
	for i, n := range list {
		var moved int64
		err := c.a.do(c.ctx, mostBodies/2, func(t *txn) (err error) {
			moved, err = t.moveBodies(n)
			return err
		})
		c.stats.Moved += moved
		if errors.Is(err, ErrCorrupt) { // the file stays, and the others can be removed nevertheless
			failed = errors.Join(failed, err)
			continue
		}
		if err == nil && i%filesAtOnce == filesAtOnce-1 {
			err = c.removeMoved()
		}
		if err != nil {
			failed = errors.Join(failed, err)
			break
		}
	}
	return errors.Join(failed, c.removeMoved())
}

// filesAtOnce is the number of files whose bodies are moved before the files are removed.
const filesAtOnce = 16

// removeMoved removes the files that archive.db does not list any more.
func (c *compaction) removeMoved() error {
	// after another transaction, neither of the two root records refers to such a file
	err := c.a.do(c.ctx, 0, func(*txn) error { return nil })
	if err == nil {
		err = c.a.awaitReaders(c.ctx)
	}
	if err == nil {
		err = c.a.removeUnlisted(c.ctx)
	}
	c.a.unlisted = err != nil
	return err
}

// wastefulFiles returns the numbers of the wasteful files, those with the fewest bodies first.
func (a *Archive) wastefulFiles() (list []uint32, err error) {
	live := map[uint32]uint64{}
	err = a.view(func(tx *bolt.Tx) error {
		return local{a, tx}.eachFile(func(n uint32, f fileRecord) error {
			if f.wasteful() {
				live[n] = f.Live
				list = append(list, n)
			}
			return nil
		})
	})
	slices.SortStableFunc(list, func(m, n uint32) int { return cmp.Compare(live[m], live[n]) })
	return list, err
}

// removeUnlisted removes the body files that archive.db does not list.
func (a *Archive) removeUnlisted(ctx context.Context) error {
	return a.halt(ctx, func() error {
		if err := a.fault(RemoveBodies); err != nil {
			return err
		}
		return a.view(func(tx *bolt.Tx) error { return a.files.removeUnlisted(local{a, tx}.lists) })
	})
}

// lists reports whether archive.db lists a body file.
func (l local) lists(n uint32) bool { return l.tx.Bucket(bFiles).Get(fileKey(n)) != nil }

// moveBodies moves all bodies of a file to the last file, and deletes the record of the file. If a
// body cannot be found in the file, it returns an error and changes nothing.
func (t *txn) moveBodies(n uint32) (moved int64, err error) {
	l := local{t.a, t.tx.Tx}
	f, err := l.file(n)
	if err != nil {
		return 0, err
	}
	if n == t.a.files.last {
		if err := t.a.files.finish(); err != nil {
			return 0, err
		}
		// with this record, the number of the removed file is never used again
		if err := l.amendFile(t.a.files.last, func(*fileRecord) {}); err != nil {
			return 0, err
		}
	}
	bodies, left := t.tx.Bucket(bBodies), f.Live
	err = t.a.files.each(n, f.Size, func(id uint64, p place) error {
		if at, ok := unpackPlace(bodies.Get(idKey(id))); !ok || at != p {
			return nil
		}
		sealed, err := t.a.files.read(p, t.a.pack.buffer())
		if err != nil {
			return err
		}
		defer t.a.pack.reuse(sealed)
		if len(sealed) != int(p.Length) {
			return t.a.corrupt(fmt.Sprintf("body file %s is shorter than its record says; nothing was moved, see "+
				"archive verify", bodyFileName(n)))
		}
		moved++
		left -= min(left, p.taken())
		return l.Put(t.a.life, id, sealed)
	})
	if err == nil && left != 0 {
		err = t.a.corrupt(fmt.Sprintf("of the %d bytes of bodies in body file %s, %d cannot be found; "+
			"nothing was moved, see archive verify", f.Live, bodyFileName(n), left))
	}
	if err != nil {
		return 0, err
	}
	return moved, t.tx.Bucket(bFiles).Delete(fileKey(n))
}
