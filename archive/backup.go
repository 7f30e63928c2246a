package archive

import (
	"context"
	"fmt"
	"io"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// Create begins a file of a backup, which has size bytes. They are written to the writer before the
// next call.
type Create func(name string, size int64) (io.Writer, error)

// Backup hands out the files of the archive as they are at one instant, archive.db and keys.db,
// while others read and write. begun is called once that instant is past, before anything is handed
// out; it may be nil, and is not called where that fails. held is what the backup holds. A backup
// holds no key of what is erased by then. The keys are held in memory until they are handed out: 32
// bytes for each page and each copy.
func (a *Archive) Backup(ctx context.Context, begun func(), create Create) (held Stats, err error) {
	a.readers.RLock() // a key that the snapshot needs is not destroyed before it is copied
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
		if _, err = tx.WriteTo(to); to.err != nil { // bbolt wraps some of them in text alone
			return to.err
		}
		return err
	})
	return held, err
}

// keysOf copies the file of keys as it belongs to a transaction, in which used is the last slot in
// use. Keys that are to be destroyed are left out.
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

// stoppable ends a long copy when ctx ends, and keeps the error of a write.
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
