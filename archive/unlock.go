//go:build unix && !aix && !solaris

package archive

import (
	"os"
	"syscall"
)

// unlock gives back the lock on a file that is closed while it is still mapped; the mapping would
// keep it.
func unlock(f *os.File) { syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
