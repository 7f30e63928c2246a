package policy

import (
	"fmt"
	"io"

	"github.com/acapcrawl/acapcrawl/internal/spool"
)

// Backup copies the file of the store in its present state. The store can be used at the same time.
// It calls create with the size of the file and writes the content to the returned writer, which
// may be slow.
func (a *Authority) Backup(create func(size int64) (io.Writer, error)) error {
	d, ok := a.store.(*disk)
	if !ok {
		return fmt.Errorf("the policies are not in a file: %T", a.store)
	}
	return spool.Backup(d.view, create)
}
