package policy

import (
	"fmt"
	"io"

	"github.com/acapcrawl/acapcrawl/spool"
)

// Backup hands out the file of the store as it is now, while others read and write: create is told
// its size, and what it gives takes the content, as slowly as it likes.
func (a *Authority) Backup(create func(size int64) (io.Writer, error)) error {
	d, ok := a.store.(*disk)
	if !ok {
		return fmt.Errorf("the policies are not in a file: %T", a.store)
	}
	return spool.Backup(d.view, create)
}
