//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpu returns the processor time of this process so far; 0 if it is unknown.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
