package crawler

import (
	"io"

	"github.com/acapcrawl/acapcrawl/spool"
)

// Backup hands out the file of the frontier as it was last written, while the crawl goes on: create
// is told its size, and what it gives takes the content, as slowly as it likes. What a crash would
// lose is not in it.
func (f *Frontier) Backup(create func(size int64) (io.Writer, error)) error {
	return spool.Backup(f.view, create)
}
