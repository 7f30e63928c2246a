package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Command is an engine that is another program: it reads cases as JSON Lines from its standard
// input, until that ends, and writes an answer to each, a line each, to its standard output. An
// answer belongs to the case whose id it has; one without an id to the first that has no answer
// yet.
//
// The program is started once. Where it ends, or says nothing for too long, before all is answered,
// it is started again, with one case alone: one that still has no answer then is what it cannot do,
// and the others go on without it. Whatever the program has started and left in its process group
// ends with it.
type Command struct {
	Line    string        // for a shell
	Timeout time.Duration // time limit between two answers
	Env     []string      // as os.Environ gives it
}

// Bounds of the cost of a program that does not answer.
const (
	maxAlone  = 64   // number of cases answered alone before all are sent together again
	maxMute   = 10   // cases without an answer if there has never been one
	maxFaults = 100  // consecutive cases without an answer
	maxStray  = 1000 // lines of one process that answer no case
)

// Answer starts the program and sends the questions. The error says that it cannot be started.
func (e *Command) Answer(ctx context.Context, questions []Question, reply func(int, Reply)) (Trouble, error) {
	s := session{engine: e, questions: questions, reply: reply, open: map[string]int{}}
	for i, q := range questions {
		s.open[q.ID] = i
	}
	err := s.run(ctx)
	return s.trouble, err
}

// session is one series of questions to consecutive processes. Use it from one goroutine.
type session struct {
	engine    *Command
	questions []Question
	reply     func(int, Reply)
	open      map[string]int // open questions, by id
	first     int            // index of the first open question
	last      int            // index of the last question sent to the current process
	answered  int            // number of lines that answered a question, even with garbage
	trouble   Trouble
}

// run sends questions until none is open.
func (s *session) run(ctx context.Context) error {
	alone, faults := 0, 0 // how many are still to be asked alone; how many cases in succession had no answer
	for ctx.Err() == nil {
		todo := s.todo()
		switch {
		case len(todo) == 0:
			return nil
		case s.answered == 0 && faults >= maxMute || faults >= maxFaults:
			for _, i := range todo {
				s.close(i, Reply{Fault: fmt.Sprintf("not asked: the engine gave no answer to the %d cases before",
					faults)})
			}
			return nil
		case alone > 0:
			todo = todo[:1]
		}
		before := s.answered
		end, err := s.process(ctx, todo)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return nil
		case end.fault == "":
			if alone--; faults > 1 {
				alone = 0 // the series of those that it cannot do is over
			}
			faults = 0
			continue
		}
		s.trouble.Ended++
		if s.answered > before {
			faults = 0
		}
		if len(todo) > 1 {
			alone = maxAlone
			continue
		}
		if s.isOpen(todo[0]) {
			s.close(todo[0], Reply{Fault: end.fault, Stderr: end.stderr, Took: end.took})
		}
		if faults++; faults == 1 {
			alone = 0
		}
	}
	return nil
}

func (s *session) isOpen(i int) bool {
	_, open := s.open[s.questions[i].ID]
	return open
}

// oldest returns the first open question.
func (s *session) oldest() int {
	for s.first < len(s.questions) && !s.isOpen(s.first) {
		s.first++
	}
	return s.first
}

// todo returns the open questions.
func (s *session) todo() []int {
	var out []int
	for i := s.oldest(); i < len(s.questions); i++ {
		if s.isOpen(i) {
			out = append(out, i)
		}
	}
	return out
}

func (s *session) close(i int, r Reply) {
	delete(s.open, s.questions[i].ID)
	s.reply(i, r)
}

// ending says how a process ended that has not answered all that it was asked; fault is empty where
// it has.
type ending struct {
	fault, stderr string
	took          time.Duration
}

// process asks a new process some questions, until it has answered all, or ends, or nothing comes
// for too long.
func (s *session) process(ctx context.Context, todo []int) (ending, error) {
	p, err := s.engine.start()
	if err != nil {
		return ending{}, err
	}
	defer p.end()
	s.last = todo[len(todo)-1]
	p.ask(s.questions, todo)
	since, stray, goal := time.Now(), s.trouble.Stray, len(s.open)-len(todo)
	timer := time.NewTimer(s.engine.Timeout)
	defer timer.Stop()
	killed := func(format string, args ...any) (ending, error) {
		p.kill()
		return ending{fmt.Sprintf(format, args...), p.said(), time.Since(since)}, nil
	}
	for len(s.open) > goal {
		select {
		case <-ctx.Done():
			p.terminate()
			return ending{}, nil
		case <-timer.C:
			return killed("no answer within %s", s.engine.Timeout)
		case l, more := <-p.lines:
			switch {
			case !more:
				how, known := p.how(s.engine.patience())
				if !known && s.answered == 0 {
					return ending{}, fmt.Errorf("%w: %s", ErrNoEngine, clip(p.said()))
				}
				return ending{how, p.said(), time.Since(since)}, nil
			case errors.Is(l.err, errLong):
				return killed("the answer is longer than %d MiB", MaxLine>>20)
			case s.take(l.text, time.Since(since)):
				since = time.Now()
				timer.Reset(s.engine.Timeout)
			case s.trouble.Stray-stray > maxStray:
				return killed("more than %d lines answer nothing", maxStray)
			}
		}
	}
	s.rest(ctx, p, stray+maxStray)
	return ending{}, nil
}

// ErrNoEngine is the error for a program that does not exist.
var ErrNoEngine = errors.New("the engine cannot be started")

// take reads a line as an answer. It reports whether the line answers a question, even with
// garbage.
func (s *session) take(line []byte, took time.Duration) bool {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return false
	}
	var a *struct { // nil: null
		ID any `json:"id"`
	}
	object := json.Unmarshal(line, &a) == nil && a != nil
	i, ok := s.oldest(), true
	if object && a.ID != nil && a.ID != "" {
		id, _ := a.ID.(string)
		i, ok = s.open[id]
	}
	if !ok || i > s.last {
		s.trouble.add(Trouble{Stray: 1, Lines: []string{clip(string(line))}})
		return false
	}
	s.answered++
	r := Reply{Answer: line, Took: took}
	if !object {
		r = Reply{Fault: "the answer is no JSON object: " + clip(string(line)), Took: took}
	}
	s.close(i, r)
	return true
}

// rest reads on when all is answered, until the process ends, or is ended for that it does not, or
// for too many lines.
func (s *session) rest(ctx context.Context, p *process, most int) {
	timer := time.NewTimer(s.engine.patience())
	defer timer.Stop()
	for s.trouble.Stray <= most {
		select {
		case <-ctx.Done():
			p.terminate()
			return
		case <-timer.C:
			return
		case l, more := <-p.lines:
			if !more {
				return
			}
			s.take(l.text, 0)
		}
	}
}
