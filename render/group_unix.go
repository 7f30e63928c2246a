//go:build unix

package render

import (
	"os/exec"
	"syscall"
	"time"
)

// ownGroup lets cmd start a process group, so that Ctrl-C reaches it through us alone, and all that it starts can be killed with it.
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

// endGroup kills what is left of it, and waits for that for a while.
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
