package memory

import (
	"fmt"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// share sets the default limit: the memory of the machine divided by share.
const share = 2

// Limit returns half of the memory of the machine, or of the limit of its control group, in bytes.
func Limit() (int64, error) {
	all, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil {
		return 0, fmt.Errorf("cannot find out how much memory this machine has: %w", err)
	}
	return int64(min(all/share, 1<<62)), nil
}

// SetLimit sets the memory limit of the Go runtime, in bytes. The nearer the process comes to the
// limit, the more often the runtime collects garbage. undo restores the previous limit.
func SetLimit(limit int64) (undo func()) {
	before := debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(before) }
}
