//go:build unix

package render

import (
	"os/exec"
	"syscall"
	"time"
)

// ownGroup makes cmd start its own process group. So Ctrl-C reaches only this program, and all
// processes that cmd starts can be killed with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		killGroup(cmd)
		return nil
	}
}

func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

// endTime is how long endGroup waits. A killed process ends only when the kernel has released its memory, which takes
// seconds on a busy machine.
const endTime = 10 * time.Second

// endGroup kills the processes that are left in the group of cmd, and waits until they have ended, at most endTime.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process == nil {
		return
	}
	for until := time.Now().Add(endTime); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) != nil {
			return
		}
	}
}
