package actions

import (
	"io"

	"github.com/acapcrawl/acapcrawl/spool"
)

// Backup hands out the file of the ledger as it is now, while others read and write: create is told its size, and what it gives takes
// the content, as slowly as it likes.
func (l *Ledger) Backup(create func(size int64) (io.Writer, error)) error {
	return spool.Backup(l.read, create)
}
