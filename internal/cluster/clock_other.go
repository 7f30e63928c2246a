//go:build !linux

package cluster

import "time"

// sinceBoot returns the time of day as a duration. On these systems it is the only clock of package time that goes on
// while the machine is suspended. If it is set back during a lease, the node stops later than it should by that much;
// the margin of the lease covers small corrections.
func sinceBoot() time.Duration { return time.Duration(time.Now().UnixNano()) }
