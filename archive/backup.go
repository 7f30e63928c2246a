package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// Create creates a file of a backup. Size is its length in bytes. Backup writes the content to the
// returned writer before it calls Create again.
type Create func(name string, size int64) (io.Writer, error)

// Backup copies archive.db, keys.db and the body files as they are at one instant, while other
// goroutines read and write. It calls begun, which may be nil, after that instant and before the
// first call of create. If the start fails, Backup does not call begun. held counts the content of
// the backup. The backup contains no key of data that was erased before that instant. Backup keeps
// the keys in memory until they are written: 32 bytes for each page and each copy.
func (a *Archive) Backup(ctx context.Context, begun func(), create Create) (held Stats, err error) {
	a.readers.RLock() // keep the keys that the snapshot needs until they are copied
	release := sync.OnceFunc(a.readers.RUnlock)
	defer release()
	err = a.snapshot(func(tx *bolt.Tx) error {
		c, err := readCounts(tx)
		if err != nil {
			return err
		}
		held = c.stats()
		keys, err := a.keysOf(tx, c.Keys)
		release()
		if err != nil {
			return err
		}
		if begun != nil {
			begun()
		}
		w, err := create("keys.db", int64(len(keys)))
		if err != nil {
			return err
		}
		if _, err := w.Write(keys); err != nil {
			return err
		}
		if w, err = create("archive.db", tx.Size()); err != nil {
			return err
		}
		to := &stoppable{ctx: ctx, w: w}
		// some write errors that bbolt returns contain the original error only as text
		if _, err = tx.WriteTo(to); to.err != nil {
			return to.err
		}
		if err != nil {
			return err
		}
		return a.backupBodies(ctx, tx, create)
	})
	return held, err
}

// backupBodies copies the body files as they are in the transaction tx.
func (a *Archive) backupBodies(ctx context.Context, tx *bolt.Tx, create Create) error {
	return local{a, tx}.eachFile(func(n uint32, f fileRecord) error {
		w, err := create(bodiesDir+"/"+bodyFileName(n), int64(f.Size))
		if err != nil {
			return err
		}
		file, err := os.Open(a.files.path(n))
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.CopyN(&stoppable{ctx: ctx, w: w}, file, int64(f.Size))
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%s is %w: it should have %d bytes", file.Name(), ErrCorrupt, f.Size)
		}
		return err
	})
}

// keysOf returns a copy of the key file that matches the transaction tx. used is the number of the
// last slot in use in tx. In the copy, zeros replace keys that are to be destroyed.
func (a *Archive) keysOf(tx *bolt.Tx, used uint64) ([]byte, error) {
	all := make([]byte, (used+1)*slot)
	if _, err := a.keys.f.ReadAt(all, 0); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", a.keys.path, err)
	}
	err := tx.Bucket(bDoomed).ForEach(func(k, _ []byte) error {
		if id := number(k); id > 0 && id <= used {
			clear(all[id*slot : (id+1)*slot])
		}
		return nil
	})
	return all, err
}

// stoppable is a writer that fails after ctx has ended. It stores the error of a failed write.
type stoppable struct {
	ctx context.Context
	w   io.Writer
	err error
}

func (s *stoppable) Write(p []byte) (n int, err error) {
	if s.err = s.ctx.Err(); s.err == nil {
		n, s.err = s.w.Write(p)
	}
	return n, s.err
}
