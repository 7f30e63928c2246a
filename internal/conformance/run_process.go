package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// period is how long a process may take to end after it was asked to.
const period = 2 * time.Second

// patience returns how long a process of this engine may take to end: period, or the time limit of
// the engine if that is shorter.
func (e *Command) patience() time.Duration { return min(e.Timeout, period) }

// process is one run of an engine's program.
type process struct {
	cmd      *exec.Cmd
	in       *os.File
	out, err *os.File // the standard output and standard error of the process
	lines    chan outLine
	over     chan struct{} // closed when no more lines are wanted
	exited   chan struct{}
	silent   chan struct{} // closed when standard error has ended
	tail     tail
	working  sync.WaitGroup
}

// outLine is a line of standard output, or the reason why there are no more lines.
type outLine struct {
	text []byte
	err  error
}

func (e *Command) start() (*process, error) {
	p := &process{cmd: Shell(context.Background(), e.Line), lines: make(chan outLine), over: make(chan struct{}),
		exited: make(chan struct{}), silent: make(chan struct{})}
	p.cmd.Env = e.Env
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err != nil {
			p.close()
		}
		return r, w, err
	}
	r, w, err := pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdin, p.in, theirs = r, w, append(theirs, r)
	if r, w, err = pipe(); err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.out, theirs = w, r, append(theirs, w)
	if r, w, err = pipe(); err != nil {
		return nil, err
	}
	p.cmd.Stderr, p.err, theirs = w, r, append(theirs, w)
	if err := p.cmd.Start(); err != nil {
		p.close()
		return nil, fmt.Errorf("%w: %w", ErrNoEngine, err)
	}
	p.working.Go(p.await)
	p.working.Go(p.read)
	p.working.Go(p.listen)
	return p, nil
}

// close closes the ends of the pipes that this program holds.
func (p *process) close() {
	for _, f := range []*os.File{p.in, p.out, p.err} {
		if f != nil {
			f.Close()
		}
	}
}

// await waits for the process to end, ends the processes that it left running, and lets the
// goroutines that read its output finish.
func (p *process) await() {
	_ = p.cmd.Wait() // the field ProcessState holds the result
	EndGroup(p.cmd)
	p.hurry(time.Now().Add(period))
	close(p.exited)
}

// hurry sets a time limit for reading, because a process that has left its process group may keep
// the pipes open.
func (p *process) hurry(t time.Time) {
	_ = p.out.SetReadDeadline(t)
	_ = p.err.SetReadDeadline(t)
}

// read sends the lines of standard output to the channel lines.
func (p *process) read() {
	defer close(p.lines)
	for r := bufio.NewReaderSize(p.out, 1<<16); ; {
		text, err := readLine(r)
		if len(text) > 0 || errors.Is(err, errLong) {
			select {
			case p.lines <- outLine{text, err}:
			case <-p.over:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// listen keeps the last bytes of standard error.
func (p *process) listen() {
	defer close(p.silent)
	_, _ = io.Copy(&p.tail, p.err)
}

// ask writes the questions to the process while other goroutines read the answers, and then closes
// standard input.
func (p *process) ask(questions []Question, todo []int) {
	p.working.Go(func() {
		defer p.in.Close()
		w := bufio.NewWriter(p.in)
		for _, i := range todo {
			_, _ = w.Write(questions[i].Line)
			if w.WriteByte('\n') != nil {
				return // an error means that the process reads no more
			}
		}
		_ = w.Flush()
	})
}

// kill ends the process and all processes that it has started at once.
func (p *process) kill() {
	select {
	case <-p.exited: // the process has already ended
	default:
		EndGroup(p.cmd)
		<-p.exited
	}
}

// terminate asks the process and all processes that it has started to end, and kills them if they
// do not.
func (p *process) terminate() {
	p.in.Close()
	terminateGroup(p.cmd)
	select {
	case <-p.exited:
	case <-time.After(period):
	}
	p.kill()
}

// end ends all processes of the engine that are still running.
func (p *process) end() {
	close(p.over)
	p.kill()
	p.hurry(time.Now())
	p.in.Close()
	p.working.Wait()
	p.close()
}

// how describes the end of the process. known is false if the shell did not find the program.
func (p *process) how(patience time.Duration) (sentence string, known bool) {
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.kill()
		return "the engine closed its standard output", true
	}
	state := p.cmd.ProcessState
	return "the engine ended before it answered: " + state.String(), state.ExitCode() != 126 && state.ExitCode() != 127
}

// said returns the last lines that the process wrote to standard error.
func (p *process) said() string {
	<-p.silent
	return p.tail.String()
}

// maxTail is the number of bytes of standard error that are kept.
const maxTail = 4 << 10

// tail keeps the last bytes that are written to it.
type tail struct {
	text []byte
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if more := len(t.text) - maxTail; more > 0 {
		t.text, t.cut = append(t.text[:0], t.text[more:]...), true
	}
	return len(p), nil
}

// String returns the kept text. If its beginning was cut off and it has several lines, it starts
// with the first complete line.
func (t *tail) String() string {
	s := strings.ToValidUTF8(string(t.text), "\ufffd")
	if _, rest, more := strings.Cut(s, "\n"); t.cut && more && rest != "" {
		s = rest
	}
	return strings.TrimRight(s, "\r\n\t ")
}
