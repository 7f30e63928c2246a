//go:build unix

package conformance

import (
	"context"
	"os/exec"
	"syscall"
)

// Shell makes a command of a line as sh reads it, in a process group of its own, so that Ctrl-C
// reaches it through us alone, and EndGroup ends all that it starts. When ctx ends, the group is
// asked to end.
func Shell(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return cmd
}

// EndGroup ends a command of Shell and all processes that it left; an error would say that none is
// left.
func EndGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

func terminateGroup(cmd *exec.Cmd) { _ = cmd.Cancel() }
