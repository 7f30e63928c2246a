package disk

import (
	"errors"
	"os"
	"syscall"
)

// allocate reserves size bytes of disk space for f. done is false if the file system can reserve
// space only by writing data.
func allocate(f *os.File, size int64) (done bool, err error) {
	err = syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return false, nil
	}
	return err == nil, err
}
