package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// The limits of what this process stores of the answer of a node, which may be damaged or hostile.
const (
	mostLine   = 2 * chunk // of one message; a chunk becomes a third longer in base64
	mostErrors = 16 << 10  // of standard error
	mostAnswer = 64 << 20  // of an answer that is read as a whole
	mostValue  = 1 << 20   // of one value in a list
)

// nodeAnswer is the output of a verb that a node runs. It is used by one goroutine at a time. Read returns standard
// output. After Read has returned io.EOF, the other fields are valid.
type nodeAnswer struct {
	node   string
	owner  bool // see nodes.askAbout
	status int
	stderr bytes.Buffer
	err    error // why the answer is not complete; nil: it is

	timing
	until  time.Time     // when the next message must have arrived; zero: there is no limit
	within time.Duration // the limit that until follows from
	cancel func()
	dialed chan struct{} // closed when conn and lines, or err, are set
	conn   net.Conn
	lines  *bufio.Reader
	rest   []byte
	most   int64 // most bytes of standard output
	input  []byte
	ended  bool
}

// close ends the verb, if it still runs.
func (a *nodeAnswer) close() {
	a.cancel()
	<-a.dialed
	if a.conn != nil {
		a.conn.Close()
	}
}

// begun reports whether the node may have begun to run the verb. It waits until the node was called.
func (a *nodeAnswer) begun() bool {
	<-a.dialed
	return a.conn != nil
}

// fail notes why the answer is not complete.
func (a *nodeAnswer) fail(err error) error {
	switch {
	case isTimeout(err), a.conn == nil && errors.Is(err, cluster.ErrGone):
		err = fmt.Errorf("did not answer within %s", a.within)
	case errors.Is(err, cluster.ErrNobody):
		err = errors.New("does not accept calls yet, or no longer")
	case errors.Is(err, cluster.ErrBusy):
		err = errors.New("is answering too many other calls")
	case errors.Is(err, cluster.ErrGone), errors.Is(err, cluster.ErrLost), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		err = errors.New("ended before its answer was complete")
	}
	a.err, a.ended, a.rest = err, true, nil
	return err
}

func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}

// Read implements io.Reader.
func (a *nodeAnswer) Read(p []byte) (int, error) {
	<-a.dialed
	for len(a.rest) == 0 {
		if a.ended {
			return 0, cmp.Or(a.err, io.EOF)
		}
		if err := a.read(); err != nil {
			return 0, a.fail(err)
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// read reads the next message.
func (a *nodeAnswer) read() error {
	a.conn.SetDeadline(a.until)
	line, err := a.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return errors.New("sent a message that is too long")
	}
	if err != nil {
		return err
	}
	var m message
	if json.Unmarshal(line, &m) != nil {
		return errors.New("sent a damaged message")
	}
	if a.most -= int64(len(m.Out)); a.most < 0 {
		return errors.New("sent an answer that is too long")
	}
	a.rest = m.Out
	if !a.whole && (len(m.Out) > 0 || a.timing.next == 0) {
		a.within, a.until = a.timing.next, time.Time{}
		if a.within > 0 {
			a.until = time.Now().Add(a.within)
		}
	}
	if room := mostErrors - a.stderr.Len(); room > 0 {
		a.stderr.Write(m.Err[:min(len(m.Err), room)])
	}
	switch {
	case m.Ask:
		return json.NewEncoder(a.conn).Encode(input{In: a.input, End: true})
	case m.Status != nil:
		a.status, a.ended = *m.Status, true
	}
	return nil
}

// said returns what the verb wrote to standard error, as one line.
func (a *nodeAnswer) said() string {
	text := strings.Join(strings.Fields(a.stderr.String()), " ")
	return display.Line(strings.TrimPrefix(text, "Error: "))
}

// refused notes that there is no answer because the verb failed. Statuses in fine are not failures.
func (a *nodeAnswer) refused(fine ...int) bool {
	if a.err != nil {
		return true
	}
	if slices.Contains(fine, a.status) {
		return false
	}
	a.err = fmt.Errorf("failed with status %d: %s", a.status, a.said())
	return true
}

// decode reads the whole answer as one JSON value.
func (a *nodeAnswer) decode(v any) error {
	text, err := io.ReadAll(a)
	if err != nil || a.refused(statusDone) {
		return a.err
	}
	return a.parse(text, v)
}

// parse reads a JSON value that the node has sent.
func (a *nodeAnswer) parse(text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		a.err = fmt.Errorf("%w: %s", errDamaged, firstWords(err.Error()))
	}
	return a.err
}

// firstWords shortens a text of which a part may come from another machine.
func firstWords(text string) string {
	if r := []rune(text); len(r) > 120 {
		return string(r[:120]) + "…"
	}
	return text
}

// eachAnswer calls fn for all answers at once, and waits until all calls have ended.
func eachAnswer(answers []*nodeAnswer, fn func(i int, a *nodeAnswer)) {
	var reading sync.WaitGroup
	for i, a := range answers {
		reading.Go(func() { fn(i, a) })
	}
	reading.Wait()
}

// decodeAll reads each answer as one JSON value of at most most bytes. The value of an answer that is not complete is
// the zero value.
func decodeAll[T any](answers []*nodeAnswer, most int64) []T {
	all := make([]T, len(answers))
	eachAnswer(answers, func(i int, a *nodeAnswer) {
		var v T
		if a.most = most; a.decode(&v) == nil {
			all[i] = v
		}
	})
	return all
}

func closeAnswers(answers []*nodeAnswer) {
	for _, a := range answers {
		a.close()
	}
}
