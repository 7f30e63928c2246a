//go:build linux || darwin || freebsd

package disk

import (
	"errors"
	"syscall"
)

// free returns the number of bytes that may be written to the file system of dir, and the size of
// the file system in bytes.
func free(dir string) (available, total int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), nil
}

// Full reports whether err says that the disk, or the share of it that the user may fill, is full.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
