package natstest

import (
	"os"
	"syscall"
)

// diesWithParent makes the kernel kill a process when its parent ends. A paused process does not
// notice that its standard input ends.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

func pauseProcess(p *os.Process) error  { return p.Signal(syscall.SIGSTOP) }
func resumeProcess(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
