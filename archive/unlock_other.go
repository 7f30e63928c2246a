//go:build !unix || aix || solaris

package archive

import "os"

// unlock does nothing here, because closing the file releases the lock.
func unlock(*os.File) {}
