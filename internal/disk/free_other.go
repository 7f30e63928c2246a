//go:build !linux && !darwin && !freebsd

package disk

import (
	"errors"
	"syscall"
)

func free(string) (available, total int64, err error) { return 0, 0, errors.ErrUnsupported }

// Full reports whether err says that the disk is full.
func Full(err error) bool { return errors.Is(err, syscall.ENOSPC) }
