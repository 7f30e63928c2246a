//go:build unix

package conformance

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// When an engine ends, all processes that it started end too: after it has answered, when it takes
// too long, and when the run is stopped, even if it ignores signals.
func TestRunEndsAll(t *testing.T) {
	withSh(t)
	const child = `exec 9>"$FIFO"; sleep 1000 </dev/null >/dev/null 2>&1 & `
	for name, c := range map[string]struct {
		engine    string
		timeout   time.Duration
		interrupt bool
	}{
		"answered": {engine: child + `while read x; do ` + permit + `; done`, timeout: long},
		"too slow": {engine: child + `while read x; do ` + permit + `; wait; done`,
			timeout: 500 * time.Millisecond},
		"interrupted": {engine: child + `read x; ` + permit + `; wait`, timeout: long, interrupt: true},
		"does not hear": {engine: `trap '' TERM; ` + child + `read x; ` + permit + `; wait`, timeout: long,
			interrupt: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- untilClosed(fifo) }()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			e := stopper{Engine: &Command{Line: c.engine, Timeout: c.timeout, Env: append(os.Environ(), "FIFO="+fifo)},
				stop: func() {}}
			if c.interrupt {
				e.stop = cancel
			}
			if _, _, err := Run(ctx, some(t, 2), e, RunOptions{}); c.interrupt != errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
			// the fifo has no reader if the engine was killed before it opened the fifo
			if f, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				f.Close()
			}
			if err := <-ended; err != nil { // hangs if a process still has the fifo open
				t.Error(err)
			}
		})
	}
}

// untilClosed returns when all writers of a fifo have closed it.
func untilClosed(fifo string) error {
	f, err := os.Open(fifo)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// stopper is an engine that calls stop at each reply.
type stopper struct {
	Engine
	stop func()
}

func (s stopper) Answer(ctx context.Context, q []Question, reply func(int, Reply)) (Trouble, error) {
	return s.Engine.Answer(ctx, q, func(i int, r Reply) { reply(i, r); s.stop() })
}
