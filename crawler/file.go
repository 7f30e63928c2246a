package crawler

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/acapcrawl/acapcrawl/internal/spool"
)

// The versions of the file format. A file with data of partitions has another format, because a
// program that ignores the partitions would request hosts that other machines own.
const (
	format       = 1
	formatShared = 128 + format
)

// openDisk opens or creates the frontier file and returns its counts. foreign says that it belongs
// to a crawl of several machines although it is opened without a journal.
func openDisk(name string, shared bool) (db *bbolt.DB, c counts, foreign bool, err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, c, false, fmt.Errorf("the directory of the frontier cannot be created: %w", err)
	}
	err = guard(name, func() error {
		if db, err = bbolt.Open(name, 0o600, &bbolt.Options{Timeout: time.Second,
			FreelistType: bbolt.FreelistMapType}); err != nil {
			return cannotOpen(name, err)
		}
		if c, foreign, err = readMeta(db, shared); errors.Is(err, errNew) {
			err = makeBuckets(db, shared)
		}
		if err != nil {
			err = fmt.Errorf("%s cannot be used: %w", name, err)
		}
		return err
	})
	if err != nil && db != nil {
		err = errors.Join(err, guard(name, db.Close))
	}
	return db, c, foreign, err
}

func cannotOpen(name string, err error) error {
	if errors.Is(err, berrors.ErrTimeout) {
		return fmt.Errorf("%s is in use by another process; wait for it to end", name)
	}
	return fmt.Errorf("%s cannot be opened: %w; if it is damaged, move it away and crawl again", name, err)
}

var errNew = errors.New("the file is new")

// readMeta returns the counts of a file. foreign says that the file belongs to a crawl of several
// machines although it is opened without a journal.
func readMeta(db *bbolt.DB, shared bool) (c counts, foreign bool, err error) {
	err = db.View(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(bMeta)
		if meta == nil {
			return errNew
		}
		f := meta.Get([]byte("format"))
		switch {
		case len(f) == 1 && f[0] == formatShared:
			foreign = !shared
		case len(f) == 1 && f[0] == format && shared:
			return errors.New("it belongs to a crawl of one machine; name another data directory")
		case len(f) != 1 || f[0] != format:
			return fmt.Errorf("its format is %x, this version of the program reads %d; move the file away and "+
				"crawl again", f, format)
		}
		c, err = decodeCounts(meta.Get([]byte("counts")))
		return err
	})
	return c, foreign, err
}

func makeBuckets(db *bbolt.DB, shared bool) error {
	names, version := buckets, byte(format)
	if shared {
		names, version = slices.Concat(buckets, [][]byte{bPartitions, bMembers}), formatShared
	}
	return db.Update(func(tx *bbolt.Tx) error {
		for _, b := range names {
			if _, err := tx.CreateBucket(b); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bMeta)
		return errors.Join(meta.Put([]byte("format"), []byte{version}),
			meta.Put([]byte("counts"), (&counts{}).encode()))
	})
}

// guard calls fn, which uses the database in the file called name. If the database panics, guard
// returns an error.
func guard(name string, fn func() error) error {
	return spool.Guard(fn, func(cause any) error {
		return fmt.Errorf("%s is damaged (%v); move it away and crawl again", name, cause)
	})
}
