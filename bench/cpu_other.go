//go:build !unix

package main

import (
	"os"
	"time"
)

// cpu returns 0, because the processor time is not known on this system.
func cpu() time.Duration { return 0 }

// blocksWritten returns 0, because the number of bytes written is not known on this system.
func blocksWritten(*os.ProcessState) int64 { return 0 }
