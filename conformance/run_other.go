//go:build !unix

package conformance

import (
	"context"
	"os/exec"
)

// Shell makes a command of a line as cmd reads it. It ends with ctx.
func Shell(ctx context.Context, line string) *exec.Cmd {
	return exec.CommandContext(ctx, "cmd", "/c", line)
}

// EndGroup ends a command of Shell; what it started goes on.
func EndGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill() // it may have ended
	}
}

func terminateGroup(cmd *exec.Cmd) { EndGroup(cmd) }
