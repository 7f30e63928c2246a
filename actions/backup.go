package actions

import (
	"io"

	"go.etcd.io/bbolt"
)

// Backup hands out the file of the ledger as it is now, while others read and write: create is told its size, and what it gives takes
// the content.
func (l *Ledger) Backup(create func(size int64) (io.Writer, error)) error {
	return l.view(func(tx *bbolt.Tx) error {
		w, err := create(tx.Size())
		if err == nil {
			_, err = tx.WriteTo(w)
		}
		return err
	})
}
