//go:build unix

package conformance

import (
	"context"
	"os/exec"
	"syscall"
)

// Shell returns a command that runs line with sh, in a process group of its own. So Ctrl-C does not
// reach the command directly, and EndGroup ends all processes that the command started. When ctx
// ends, the process group gets a termination signal.
func Shell(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return cmd
}

// EndGroup ends the process of a command that Shell returned, and all processes that it left
// running. It ignores the error, which means that no process is left.
func EndGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

func terminateGroup(cmd *exec.Cmd) { _ = cmd.Cancel() }
