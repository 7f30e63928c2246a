package archive

import (
	"bytes"

	bolt "go.etcd.io/bbolt"
)

// HoldsUnder reports whether anything is stored about a URL that begins with prefix.
func (a *Archive) HoldsUnder(prefix string) (held bool, err error) {
	err = a.snapshot(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bResources, bAliases, bSources, bPictures, bParts, bPassed} {
			k, _ := tx.Bucket(name).Cursor().Seek([]byte(prefix))
			held = held || bytes.HasPrefix(k, []byte(prefix))
		}
		return nil
	})
	return held, err
}
