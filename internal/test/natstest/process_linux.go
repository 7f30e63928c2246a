package natstest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// diesWithParent makes the kernel kill a process when its parent ends. A paused process does not
// notice that its standard input ends.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// pauseProcess returns when no thread runs any more. On a busy machine that takes a while, because one thread receives
// the signal and stops the others when it gets a processor.
func pauseProcess(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); !isPaused(p.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("process %d does not stop", p.Pid)
		}
	}
	return nil
}

// isPaused reports whether all threads of a process are stopped, or have ended.
func isPaused(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		_, after, found := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" ")) // the state follows the name
		if err != nil || !found || len(after) == 0 || !bytes.ContainsAny(after[:1], "TtZX") {
			return false
		}
	}
	return true
}

func resumeProcess(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
