// Package spool copies databases that are in use, and checks their pages.
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// Backup hands out the file of the database that view reads: create is told its size, and what it gives takes the content. The
// transaction ends before: a database that grows waits for its readers, and who takes the content may be slow. Meanwhile the copy is
// beside the database, in a file without a name where the system has such files.
func Backup(view func(func(*bbolt.Tx) error) error, create func(size int64) (io.Writer, error)) (err error) {
	var f *os.File
	defer func() {
		if f != nil {
			f.Close()
			os.Remove(f.Name()) // where that could not be done before
		}
	}()
	var size int64
	err = view(func(tx *bbolt.Tx) (err error) {
		if f, err = os.CreateTemp(filepath.Dir(tx.DB().Path()), "backup-*.part"); err != nil {
			return err
		}
		os.Remove(f.Name())
		size, err = tx.WriteTo(f)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w, err := create(size)
	if err != nil {
		return err
	}
	switch _, err := io.CopyN(w, f, size); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the copy in %s was cut short", f.Name())
	default:
		return err
	}
}
