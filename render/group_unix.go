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

// endGroup kills the processes that are left in the group of cmd, and waits up to two seconds until
// they have ended.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process == nil {
		return
	}
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) != nil {
			return
		}
	}
}
