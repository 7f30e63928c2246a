package crawler

import (
	"io"

	"go.etcd.io/bbolt"
)

// Backup hands out the file of the frontier as it was last written, while the crawl goes on: create is told its size, and what it
// gives takes the content. What a crash would lose is not in it.
func (f *Frontier) Backup(create func(size int64) (io.Writer, error)) error {
	return f.view(func(tx *bbolt.Tx) error {
		w, err := create(tx.Size())
		if err == nil {
			_, err = tx.WriteTo(w)
		}
		return err
	})
}
