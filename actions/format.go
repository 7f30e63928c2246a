package actions

import (
	"encoding/json"
	"fmt"
)

// format is the version of the file format. A new ledger stores it.
const format = 1

var keyFormat = []byte("format")

// checkFormat stores the format in a new ledger and refuses a ledger of another format.
func (l *Ledger) checkFormat() error {
	fresh := false
	err := l.view(func(t *txn) error {
		text := t.tx.Bucket(bMeta).Get(keyFormat)
		if text == nil {
			first, _ := t.tx.Bucket(bRequests).Cursor().First()
			if fresh = first == nil; !fresh {
				return fmt.Errorf("%w: it contains no format version", ErrDamaged)
			}
			return nil
		}
		var n int
		if err := json.Unmarshal(text, &n); err != nil {
			return fmt.Errorf("%w: its format: %w", ErrDamaged, err)
		}
		if n != format {
			return fmt.Errorf("its format is %d, and this version reads %d: use the version that made it, which is "+
				"a newer version or was never released",
				n, format)
		}
		return nil
	})
	if err != nil || !fresh {
		return err
	}
	return l.update(func(t *txn) error { return t.tx.Bucket(bMeta).Put(keyFormat, fmt.Append(nil, format)) })
}
