//go:build unix && !aix && !solaris

package archive

import (
	"os"
	"syscall"
)

// unlock releases the lock on a file that is closed while the file is still mapped. Without unlock,
// the mapping would keep the lock.
func unlock(f *os.File) { syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
