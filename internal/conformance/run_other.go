//go:build !unix

package conformance

import (
	"context"
	"os/exec"
)

// Shell returns a command that runs line with cmd.exe. The command ends with ctx.
func Shell(ctx context.Context, line string) *exec.Cmd {
	return exec.CommandContext(ctx, "cmd", "/c", line)
}

// EndGroup kills the process of a command that Shell returned, but not the processes that this
// process started.
func EndGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill() // fails if the process has already ended
	}
}

func terminateGroup(cmd *exec.Cmd) { EndGroup(cmd) }
