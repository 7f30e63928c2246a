package actions

import (
	"io"

	"github.com/acapcrawl/acapcrawl/internal/spool"
)

// Backup copies the file of the ledger as it is now. It calls create with the size of the file and
// writes the content to the result, which may be slow. Other goroutines can use the ledger
// meanwhile.
func (l *Ledger) Backup(create func(size int64) (io.Writer, error)) error {
	return spool.Backup(l.read, create)
}
