package natstest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

var errLocal = errors.New("a server in the test process cannot be paused: use StartProcesses")

// process is a server in a process of its own.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan string   // closed when the output of the process ends
	ended   chan struct{} // closed when the process has ended

	mu    sync.Mutex // held while a question has no answer
	asked int        // number of questions
}

func startProcess(p place) (node, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// The flag makes a test binary that does not call Main run no tests.
	c := &process{cmd: exec.Command(exe, "-test.run=^$"), answers: make(chan string), ended: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), variable+"="+string(text))
	c.cmd.Stderr = os.Stderr
	c.cmd.SysProcAttr = diesWithParent()
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.run(out); err != nil {
		return nil, err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	if line, _ := c.read(timer); line != ready {
		c.kill()
		return nil, fmt.Errorf("server %d prints %q, not %q: does TestMain call natstest.Main?", p.Index, line, ready)
	}
	return c, nil
}

// run starts the process and reads its answers. The process would be killed when the thread that
// started it ends, so a goroutine keeps this thread until the process has ended.
func (c *process) run(out io.Reader) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.answers <- lines.Text()
		}
		close(c.answers)
		_ = c.cmd.Wait() // a killed process is no error
		close(c.ended)
	}()
	return <-started
}

// read returns the next line of the process, false when the timer fires or the process ends.
func (c *process) read(timer *time.Timer) (string, bool) {
	select {
	case line, ok := <-c.answers:
		return line, ok
	case <-timer.C:
		return "", false
	}
}

// patience is how long a process may take to answer. One that is paused while it is asked does not
// answer before it is resumed.
const patience = 2 * time.Second

func (c *process) ask(question string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if _, err := fmt.Fprintln(c.in, c.asked, question); err != nil {
		return 0
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		line, ok := c.read(timer)
		if !ok {
			return 0
		}
		var number, answer int // earlier numbers are late answers
		if _, err := fmt.Sscan(line, &number, &answer); err == nil && number == c.asked {
			return answer
		}
	}
}

func (c *process) kill() {
	_ = c.cmd.Process.Kill() // fails if the process has ended
	c.in.Close()
	for range c.answers { // unblocks the reader
	}
	<-c.ended
}

func (c *process) pause() error  { return pauseProcess(c.cmd.Process) }
func (c *process) resume() error { return resumeProcess(c.cmd.Process) }
