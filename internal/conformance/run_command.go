package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Command is an engine in another program. The program reads cases as JSON Lines from standard
// input until its end, and writes an answer to each case as one line to standard output. An answer
// belongs to the case with its id; an answer without an id belongs to the first case that has no
// answer.
//
// The program is started once. If it ends, or prints nothing for too long, before it has answered
// all cases, Command starts it again with only one case. If that case gets no answer again, its
// result is an error, and the other cases continue without it. When the program ends, all processes
// that it left in its process group are ended.
type Command struct {
	Line    string        // the command line, for a shell
	Timeout time.Duration // time limit between two answers
	Env     []string      // environment variables, in the form of os.Environ
}

// Limits of the cost of a program that does not answer.
const (
	maxAlone  = 64   // number of cases sent one at a time before the remaining cases are sent together again
	maxMute   = 10   // if no case was answered: number of cases without an answer after which the run stops
	maxFaults = 100  // number of consecutive cases without an answer after which the run stops
	maxStray  = 1000 // number of stray lines after which a process is ended
)

// Answer starts the program and sends the questions. It returns an error if the program cannot be
// started.
func (e *Command) Answer(ctx context.Context, questions []Question, reply func(int, Reply)) (Trouble, error) {
	s := session{engine: e, questions: questions, reply: reply, open: map[string]int{}}
	for i, q := range questions {
		s.open[q.ID] = i
	}
	err := s.run(ctx)
	return s.trouble, err
}

// session sends questions to one process after another. It must be used from one goroutine.
type session struct {
	engine    *Command
	questions []Question
	reply     func(int, Reply)
	open      map[string]int // the questions without an answer, by id
	first     int            // index of the first open question
	last      int            // index of the last question sent to the current process
	answered  int            // number of lines that answered a question, even with invalid JSON
	trouble   Trouble
}

// run sends questions until none is open.
func (s *session) run(ctx context.Context) error {
	// alone: number of cases still to be sent one at a time; faults: number of cases without an
	// answer since the last answer
	alone, faults := 0, 0
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
				alone = 0 // a case was answered, so send cases together again
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

// oldest returns the index of the first open question.
func (s *session) oldest() int {
	for s.first < len(s.questions) && !s.isOpen(s.first) {
		s.first++
	}
	return s.first
}

// todo returns the indexes of the open questions.
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

// ending says how a process ended. fault is empty if the process had answered all questions.
type ending struct {
	fault, stderr string
	took          time.Duration
}

// process sends questions to a new process until it has answered all, ends, or prints nothing for
// too long.
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

// ErrNoEngine is the error for a program that cannot be started.
var ErrNoEngine = errors.New("the engine cannot be started")

// take reads a line of output as an answer. It reports whether the line answers a question, even if
// the answer is malformed. took is the time since the previous answer.
func (s *session) take(line []byte, took time.Duration) bool {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return false
	}
	var a *struct { // a stays nil if the line is null
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

// rest reads further lines after all questions are answered, until the process ends. It kills the
// process if that takes too long or if there are too many lines.
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
