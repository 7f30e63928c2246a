package disk

import (
	"errors"
	"os"
	"syscall"
)

// allocate allocates size bytes of the disk for f. done is false if the file system cannot do that
// without writing them.
func allocate(f *os.File, size int64) (done bool, err error) {
	err = syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return false, nil
	}
	return err == nil, err
}
