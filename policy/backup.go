package policy

import (
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"
)

// Backup hands out the file of the store as it is now, while others read and write: create is told its size, and what it gives takes
// the content.
func (a *Authority) Backup(create func(size int64) (io.Writer, error)) error {
	d, ok := a.store.(*disk)
	if !ok {
		return fmt.Errorf("the policies are not in a file: %T", a.store)
	}
	return d.view(func(tx *bolt.Tx) error {
		w, err := create(tx.Size())
		if err == nil {
			_, err = tx.WriteTo(w)
		}
		return err
	})
}
