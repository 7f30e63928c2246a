// Package spool copies bbolt databases that are in use, and checks their pages.
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// Backup copies the database that view reads. It calls create with the size of the copy in bytes,
// and writes the copy to the returned writer. The transaction ends before that, because a database
// grows while a transaction is open and the writer may be slow. Until Backup returns, a temporary
// copy is next to the database. If the system supports it, that file has no name.
func Backup(view func(func(*bbolt.Tx) error) error, create func(size int64) (io.Writer, error)) (err error) {
	var f *os.File
	defer func() {
		if f != nil {
			f.Close()
			os.Remove(f.Name()) // for systems that cannot remove an open file
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
