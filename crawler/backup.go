package crawler

import (
	"io"

	"github.com/acapcrawl/acapcrawl/internal/spool"
)

// Backup copies the last committed state of the frontier file while the crawl continues. It calls
// create with the size in bytes and writes the content to the writer that create returns. The
// writer may be slow. Changes that are not committed are not in the copy.
func (f *Frontier) Backup(create func(size int64) (io.Writer, error)) error {
	return spool.Backup(f.view, create)
}
