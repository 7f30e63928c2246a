//go:build !unix

package conformance

import (
	"context"
	"os/exec"
)

// Shell returns a command that cmd runs. It ends with ctx.
func Shell(ctx context.Context, line string) *exec.Cmd {
	return exec.CommandContext(ctx, "cmd", "/c", line)
}

// EndGroup ends a command of Shell, but not the processes that it started.
func EndGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill() // it may have ended already
	}
}

func terminateGroup(cmd *exec.Cmd) { EndGroup(cmd) }
