package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/acapcrawl/acapcrawl/internal/spool"
)

// compaction is a running call of Compact.
type compaction struct {
	a     *Archive
	ctx   context.Context
	told  func(done, total int64) // receives the progress; may be nil
	stats *CompactStats

	erased []place // bodies to overwrite
	done   int64   // number of bytes looked at
	total  int64

	// Only the writer goroutine uses the following fields.
	free   spool.Bits // pages that were free when the compaction began and that no transaction has used since
	failed error      // error of reading the list of free pages
}

// How much a compaction does while other writes wait.
const (
	pagesAtOnce  = 8192  // pages that are overwritten
	placesAtOnce = 10000 // records in bRemains that are deleted
)

func (c *compaction) run(also func(context.Context) error) (err error) {
	a, s := c.a, c.stats
	err = a.do(c.ctx, 0, func(t *txn) error {
		s.Began = utc(a.now())
		return t.beginCompaction(s.Began)
	})
	if err != nil {
		return err
	}
	if s.Before, err = a.size(); err != nil {
		return err
	}
	if err := c.overwrite(); err != nil {
		return a.uncompacted(c.ctx, err)
	}
	if a.unlisted { // an earlier compaction could not remove files that may contain what was erased since
		if err := c.removeMoved(); err != nil {
			return a.uncompacted(c.ctx, err)
		}
	}
	if also != nil {
		if err := also(c.ctx); err != nil {
			return err
		}
	}
	if err := a.compactCopies(c.ctx); err != nil {
		return a.uncompacted(c.ctx, err)
	}
	if err := a.do(c.ctx, 0, (*txn).endCompaction); err != nil {
		return err
	}
	if err := c.removeFiles(); err != nil {
		return a.uncompacted(c.ctx, fmt.Errorf("what was erased is overwritten, but its files could not be removed: %w",
			err))
	}
	s.After, err = a.size()
	return err
}

func (a *Archive) uncompacted(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrClosed), errors.Is(err, ErrCorrupt), a.failure() != nil:
		return err
	}
	return fmt.Errorf("the archive in %s could not be compacted; nothing is lost: %w", a.dir, err)
}

// overwrite overwrites everything that was erased before the compaction began.
func (c *compaction) overwrite() error {
	a := c.a
	err := a.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bRemains).ForEach(func(k, _ []byte) error {
			if p, ok := unpackPlace(k); ok {
				c.erased = append(c.erased, p)
				c.total += int64(p.taken())
			}
			return c.ctx.Err()
		})
	})
	if err == nil {
		err = a.halt(c.ctx, c.findFree)
		defer a.halt(context.WithoutCancel(c.ctx), c.stop)
	}
	if err == nil {
		// Transactions write the two root records in turn. After another transaction, neither of
		// the two refers to a page in c.free. Overwriting these pages then damages neither state.
		err = a.do(c.ctx, 0, func(*txn) error { return nil })
	}
	if err == nil {
		err = a.awaitReaders(c.ctx)
	}
	if err == nil {
		err = c.overwriteBodies()
	}
	if err == nil {
		err = c.overwritePages()
	}
	return err
}

// overwriteBodies overwrites the bodies in c.erased, and then deletes their records in bRemains.
func (c *compaction) overwriteBodies() error {
	a := c.a
	if len(c.erased) == 0 {
		return nil
	}
	if err := a.fault(OverwriteBodies); err != nil {
		return err
	}
	for i, p := range c.erased {
		if err := a.files.overwrite(p); err != nil {
			return err
		}
		// the places are in the order of files
		if i+1 == len(c.erased) || c.erased[i+1].File != p.File {
			if err := a.files.syncFile(p.File); err != nil {
				return err
			}
		}
		c.stats.Overwritten += int64(p.Length)
		if err := c.progress(int64(p.taken())); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(c.erased, placesAtOnce) {
		err := a.do(c.ctx, 0, func(t *txn) error {
			for _, p := range some {
				if err := t.tx.Bucket(bRemains).Delete(p.pack()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// findFree lists the free pages. It runs in the writer goroutine, which from now on calls narrow
// after each transaction.
func (c *compaction) findFree() error {
	pages, high, err := c.a.freePages()
	c.free = spool.NewBits(high)
	for _, n := range pages {
		c.free.Set(n)
	}
	c.total += int64(len(pages)) * int64(c.a.db.Info().PageSize)
	c.a.underway = c
	return err
}

// narrow removes the pages from c.free that the last transaction uses. If a later transaction frees
// such a page, a reader may still need it.
func (c *compaction) narrow() {
	pages, _, err := c.a.freePages()
	if err != nil {
		c.failed = err
		return
	}
	still := make(spool.Bits, len(c.free))
	for _, n := range pages {
		if c.free.Has(n) {
			still.Set(n)
		}
	}
	c.free = still
}

func (c *compaction) stop() error {
	c.a.underway = nil
	return nil
}

func (a *Archive) freePages() (pages []uint64, high uint64, err error) {
	pages, high, err = spool.FreePages(a.file, a.db.Info().PageSize)
	if err != nil {
		err = a.damaged("its list of free pages", err)
	}
	return pages, high, err
}

// overwritePages overwrites the pages in c.free that are still free, and what the file contains
// after its last page. bbolt never reads a free page, and writes the whole page when it uses it
// again.
func (c *compaction) overwritePages() error {
	a := c.a
	for from, last := uint64(0), false; !last; {
		err := a.halt(c.ctx, func() (err error) {
			if err := cmp.Or(c.failed, a.fault(OverwritePages)); err != nil {
				return err
			}
			from, last, err = c.overwriteFrom(from)
			return err
		})
		if err != nil {
			return err
		}
	}
	return a.file.Sync()
}

// overwriteFrom overwrites at most pagesAtOnce free pages with numbers of at least from. It returns
// the number of the next page to overwrite. If there is none, last is true, and overwriteFrom has
// also overwritten what the file contains after its last page.
func (c *compaction) overwriteFrom(from uint64) (next uint64, last bool, err error) {
	pages, high, err := c.a.freePages()
	if err != nil {
		return 0, false, err
	}
	size := int64(c.a.db.Info().PageSize)
	n := 0
	for i := 0; i < len(pages); {
		first := pages[i]
		if first < from || !c.free.Has(first) {
			i++
			continue
		}
		if n >= pagesAtOnce {
			return first, false, nil
		}
		run := 1 // pages that follow each other are overwritten together
		for i+run < len(pages) && pages[i+run] == first+uint64(run) && c.free.Has(pages[i+run]) && n+run < pagesAtOnce {
			run++
		}
		if err := c.clear(int64(first)*size, int64(run)*size); err != nil {
			return 0, false, err
		}
		if err := c.progress(int64(run) * size); err != nil {
			return 0, false, err
		}
		i, n = i+run, n+run
	}
	info, err := c.a.file.Stat()
	if err == nil {
		err = c.clear(int64(high)*size, info.Size()-int64(high)*size)
	}
	return 0, true, err
}

// clear overwrites n bytes of archive.db at an offset, if they are not zero already.
func (c *compaction) clear(at, n int64) error {
	const most = 1 << 20
	if n <= 0 {
		return nil
	}
	buf, zeros := make([]byte, min(n, most)), make([]byte, min(n, most))
	for n > 0 {
		part := buf[:min(n, most)]
		if _, err := c.a.file.ReadAt(part, at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if !bytes.Equal(part, zeros[:len(part)]) {
			if _, err := c.a.file.WriteAt(zeros[:len(part)], at); err != nil {
				return err
			}
			c.stats.Overwritten += int64(len(part))
		}
		at, n = at+int64(len(part)), n-int64(len(part))
	}
	return nil
}

func (c *compaction) progress(bytes int64) error {
	c.done += bytes
	if c.told != nil {
		c.told(c.done, max(c.total, c.done))
	}
	return c.ctx.Err()
}
