//go:build unix

package main

import (
	"os"
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

// blocksWritten returns the number of bytes that an ended process has written to disk; 0 if it is
// unknown.
func blocksWritten(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return 512 * int64(u.Oublock)
	}
	return 0
}
