package memory

import (
	"fmt"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// share is how much of the memory of the machine is the limit where none is set: one part of share.
const share = 2

// Limit returns half of the memory of the machine, or of what its control group leaves this process.
func Limit() (int64, error) {
	all, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil {
		return 0, fmt.Errorf("it is not known how much memory this machine has: %w", err)
	}
	return int64(min(all/share, 1<<62)), nil
}

// SetLimit has the Go runtime collect more often as the memory of the process comes near limit, and returns how to undo that.
func SetLimit(limit int64) (undo func()) {
	before := debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(before) }
}
