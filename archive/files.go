package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/acapcrawl/acapcrawl/internal/spool"
)

func (a *Archive) openFiles(o *Replica) error {
	path := filepath.Join(a.dir, "archive.db")
	err := a.openBolt(path)
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("the archive in %s is %w: end that process, or name another directory", a.dir, ErrLocked)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err,
		berrors.ErrVersionMismatch),
		errors.Is(err, berrors.ErrInvalidMapping):
		return a.corrupt(err.Error())
	case err != nil && !errors.Is(err, ErrCorrupt):
		return fmt.Errorf("the archive cannot be opened: %w", err)
	case err != nil:
		return err
	}
	a.db.AllocSize = growth(0)
	if err := a.guard(a.checkSize); err != nil {
		return err
	}
	return a.guard(func() error { return a.load(o) })
}

// openBolt opens the database at path. It maps more bytes than the file has, so that the file can
// grow without waiting for readers.
func (a *Archive) openBolt(path string) error {
	size := int64(0)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	return a.guard(func() (err error) {
		a.db, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout: lockWait, FreelistType: bolt.FreelistMapType, InitialMmapSize: int(a.mapAhead(size)),
			NoStatistics: true,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				f, err := os.OpenFile(name, flag, mode)
				a.file = f
				return f, err
			}})
		return err
	})
}

// mapAhead returns how many bytes to map for a file with the given size. If the address space is
// too small for a larger mapping, it returns 0, and then only the file itself is mapped.
func (a *Archive) mapAhead(size int64) int64 {
	if size > math.MaxInt-a.ahead {
		return 0
	}
	return size + a.ahead
}

// checkSize rejects a truncated file, because a read beyond the end of a mapped file crashes the
// process.
func (a *Archive) checkSize() error {
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	return a.db.View(func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() {
			return a.corrupt(fmt.Sprintf("it has %d bytes and should have %d", info.Size(), tx.Size()))
		}
		a.stale.Store(!spool.RootsValid(a.file, a.db.Info().PageSize))
		return nil
	})
}

// closeFiles closes archive.db, keys.db and the decompressor. If abandon is true, closeFiles does
// not wait for transactions that will never end. It then does not close the decompressor, because
// these transactions may still use it.
func (a *Archive) closeFiles(abandon bool) error {
	var errs []error
	errs = append(errs, a.closeBolt(a.db, a.file, abandon))
	if a.files != nil {
		a.files.close()
	}
	if a.pack != nil && !abandon { // close the decompressor last: readers use it until their transactions end
		a.pack.close()
	}
	if a.keys != nil {
		errs = append(errs, a.keys.close())
	}
	return errors.Join(errs...)
}

func (a *Archive) closeBolt(db *bolt.DB, file *os.File, abandon bool) error {
	switch {
	case db != nil && !abandon:
		return a.guard(db.Close)
	case file != nil:
		unlock(file)
		if err := file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
			return err
		}
	}
	return nil
}

// growth returns the number of bytes by which a file with the given size grows at a time: an eighth
// of the size, within limits.
func growth(size int64) int { return int(min(max(size/8, leastGrowth), mostGrowth)) }
