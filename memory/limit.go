package memory

import (
	"fmt"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// share: if no limit is set, the limit is one part in share of the memory of the machine.
const share = 2

// Limit returns half of the memory of the machine, or of the limit of its control group.
func Limit() (int64, error) {
	all, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil {
		return 0, fmt.Errorf("cannot find out how much memory this machine has: %w", err)
	}
	return int64(min(all/share, 1<<62)), nil
}

// SetLimit makes the Go runtime collect more often as the memory of the process comes near limit.
// undo sets the limit that was set before.
func SetLimit(limit int64) (undo func()) {
	before := debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(before) }
}
