package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Engine answers cases.
type Engine interface {
	// Answer sends all questions and calls reply once for each, in any order, with the index of the
	// question in the list. When ctx ends, it returns soon, and the remaining questions have no
	// reply. An error means that no question could be sent. Answer may be called concurrently; it
	// does not call reply concurrently.
	Answer(ctx context.Context, questions []Question, reply func(int, Reply)) (Trouble, error)
}

// Question is a case for an engine. No two questions of a run have the same id.
type Question struct {
	ID   string
	Line []byte // the case in JSON, with the id of this question
	Case *Case
}

// Reply is the result of a question: an answer in JSON, or why there is none.
type Reply struct {
	Answer []byte
	Fault  string        // why there is no answer, as a sentence
	Stderr string        // if there is no answer: the last lines of the engine's standard error
	Took   time.Duration // time since the previous answer of the engine
}

// Trouble holds problems of an engine other than wrong answers.
type Trouble struct {
	// how often the engine's process ended, or was killed, before it had answered all questions
	Ended int      `json:"ended_early"`
	Stray int      `json:"stray_lines"` // number of lines that were not the answer to a question
	Lines []string `json:"stray,omitempty"`
}

// maxLines is the number of stray lines that are kept.
const maxLines = 3

func (t *Trouble) add(o Trouble) {
	t.Ended += o.Ended
	t.Stray += o.Stray
	t.Lines = append(t.Lines, o.Lines[:min(len(o.Lines), maxLines-len(t.Lines))]...)
}

// Own is the engine that is part of this program.
type Own struct{}

// Answer decides the questions one after another.
func (Own) Answer(ctx context.Context, questions []Question, reply func(int, Reply)) (Trouble, error) {
	for i, q := range questions {
		if ctx.Err() != nil {
			break
		}
		began := time.Now()
		var r Reply
		a, err := Decide(ctx, q.Case)
		if err == nil {
			r.Answer, err = json.Marshal(a)
		}
		if err != nil {
			r.Fault = err.Error()
		}
		r.Took = time.Since(began)
		reply(i, r)
	}
	return Trouble{}, nil
}

// Outcome is the result of a case.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"  // the answer differs from the expected one
	Errored Outcome = "error"   // there is no answer
	Skipped Outcome = "skipped" // the case was not run, or nothing in it can be compared
)

// Result is the result of one case in detail.
type Result struct {
	Sample      *Sample         `json:"-"`
	File        string          `json:"file"`
	Name        string          `json:"case"`
	Reason      string          `json:"reason,omitempty"` // why the expected answer is right
	Outcome     Outcome         `json:"outcome"`
	Why         string          `json:"why,omitempty"` // for Errored and Skipped: why, as a sentence
	Differences []Difference    `json:"differences,omitempty"`
	Got         json.RawMessage `json:"got,omitempty"`    // for Failed: the answer, unless it is long
	Stderr      string          `json:"stderr,omitempty"` // for Errored: the last lines of the engine's standard error
	Took        time.Duration   `json:"-"`

	answered bool // the engine sent an answer, which may be an error
}

// Limits of the details that are kept about a wrong answer.
const (
	maxGot         = 64 << 10
	maxDifferences = 50
)

// RunOptions holds the options of a run.
type RunOptions struct {
	Jobs      int  // number of engines that run at the same time; 0 means one
	Decisions bool // compare only whether a usage is permitted
	FailFast  bool // stop at the first case that does not pass
	Newer     bool // do not skip the cases of newer preferences, even if the engine knows none

	Progress func(asked int) // called for each result, one call at a time; may be nil
}

// Run sends all samples to an engine and compares the engine's answers with the expected answers.
// The results have the order of the samples. If the engine knows no newer preferences, the cases of
// these are skipped, unless FailFast or Newer is set. When ctx ends, Run returns the error of ctx.
func Run(ctx context.Context, samples []Sample, e Engine, o RunOptions) ([]Result, Trouble, error) {
	r := runner{options: o, results: make([]Result, len(samples))}
	questions, places, err := r.questions(samples)
	if err != nil {
		return nil, Trouble{}, err
	}
	within, stop := context.WithCancel(ctx)
	defer stop()
	r.stop = stop
	jobs := max(1, min(o.Jobs, len(questions)))
	errs := make([]error, jobs)
	var wg sync.WaitGroup
	for job := range jobs {
		var part []Question
		var at []int
		for i := job; i < len(questions); i += jobs {
			part, at = append(part, questions[i]), append(at, places[i])
		}
		wg.Go(func() {
			t, err := e.Answer(within, part, func(i int, a Reply) { r.reply(&r.results[at[i]], a) })
			if err != nil {
				stop()
			}
			errs[job] = err
			r.mu.Lock()
			r.trouble.add(t)
			r.mu.Unlock()
		})
	}
	wg.Wait()
	if err := errors.Join(ctx.Err(), errors.Join(errs...)); err != nil {
		return nil, r.trouble, err
	}
	if !o.FailFast && !o.Newer {
		skipPreferences(r.results)
	}
	return r.results, r.trouble, nil
}

// runner is the state of a run.
type runner struct {
	options RunOptions
	stop    func()

	mu      sync.Mutex
	results []Result
	trouble Trouble
	asked   int
	over    bool // the run has ended early, so further replies are ignored
}

const notAsked = "not asked: another case had not passed"

// questions returns the questions, each with the index of its sample, and prepares the results.
func (r *runner) questions(samples []Sample) (out []Question, places []int, err error) {
	taken := map[string]bool{}
	for i := range samples {
		s := &samples[i]
		r.results[i] = Result{Sample: s, File: s.File, Name: s.Name, Reason: s.Reason, Outcome: Skipped, Why: notAsked}
		if r.options.Decisions && len(s.decisions()) == 0 {
			r.results[i].Why = "no decision is wanted"
			continue
		}
		q := Question{ID: s.Case.ID, Line: s.Line, Case: s.Case}
		if q.ID == "" || taken[q.ID] {
			for q.ID = fmt.Sprintf("%s/%s#%d", s.File, s.Name, i+1); taken[q.ID]; {
				q.ID += "+"
			}
			if q.Line, err = withID(q.Line, q.ID); err != nil {
				return nil, nil, err
			}
		}
		taken[q.ID] = true
		out, places = append(out, q), append(places, i)
	}
	return out, places, nil
}

// withID returns the case with another id.
func withID(line []byte, id string) ([]byte, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(line, &keys); err != nil {
		return nil, err
	}
	var err error
	if keys["id"], err = marshal(id); err != nil {
		return nil, err
	}
	return marshal(keys)
}

// decisions returns, from an expected answer, only which usages are permitted.
func (s *Sample) decisions() map[string]any {
	want := map[string]any{}
	if d := onlyAllowed(s.Want["decisions"]); d != nil {
		want["decisions"] = d
	}
	byPurpose := map[string]any{}
	purposes, _ := s.Want["decisions_by_purpose"].(map[string]any)
	for name, p := range purposes {
		if d := onlyAllowed(p); d != nil {
			byPurpose[name] = d
		}
	}
	if len(byPurpose) > 0 {
		want["decisions_by_purpose"] = byPurpose
	}
	return want
}

// onlyAllowed takes decisions by usage and returns for each only whether the usage is permitted. It
// returns nil if there is no such decision.
func onlyAllowed(decisions any) map[string]any {
	var out map[string]any
	usages, _ := decisions.(map[string]any)
	for usage, d := range usages {
		d, _ := d.(map[string]any)
		if is, said := d["allowed"]; said {
			if out == nil {
				out = map[string]any{}
			}
			out[usage] = map[string]any{"allowed": is}
		}
	}
	return out
}

// reply stores in to the result that follows from the reply a of the engine.
func (r *runner) reply(to *Result, a Reply) {
	out := *to
	out.judge(a, r.options.Decisions)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	*to = out
	if r.asked++; r.options.Progress != nil {
		r.options.Progress(r.asked)
	}
	if r.options.FailFast && out.Outcome != Passed {
		r.over = true
		r.stop()
	}
}

func (out *Result) judge(a Reply, decisions bool) {
	out.Outcome, out.Why, out.Took = Passed, "", a.Took
	out.answered = a.Fault == ""
	if a.Fault == "" {
		a.Fault = told(a.Answer)
	}
	if a.Fault != "" {
		out.Outcome, out.Why, out.Stderr = Errored, a.Fault, a.Stderr
		return
	}
	want := out.Sample.Want
	if decisions {
		want = out.Sample.decisions()
	}
	found, err := Compare(want, a.Answer)
	switch {
	case err != nil:
		out.Outcome, out.Why = Errored, "the answer is no JSON: "+err.Error()
	case len(found) > 0:
		out.Outcome, out.Differences = Failed, found[:min(len(found), maxDifferences)]
		if len(a.Answer) <= maxGot {
			// copied: a.Answer may be part of a longer line, which would otherwise stay in memory
			out.Got = bytes.ToValidUTF8(bytes.Clone(a.Answer), []byte("\ufffd"))
			return
		}
		for i := range out.Differences {
			out.Differences[i].Got = shortened(out.Differences[i].Got)
		}
	}
}

// shortened returns a value of an answer, but only the beginning of its JSON text if that is long.
func shortened(v any) any {
	if text, err := marshal(v); err == nil && len(text) > 4*maxClip {
		return clip(string(text))
	}
	return v
}

// told returns the error that the engine sent instead of an answer, as a sentence. It returns "" if
// the engine sent no error.
func told(answer []byte) string {
	var a struct {
		Error     any `json:"error"`
		Decisions any `json:"decisions"`
	}
	if json.Unmarshal(answer, &a) != nil || a.Decisions != nil || a.Error == nil || a.Error == "" || a.Error == false {
		return ""
	}
	if s, is := a.Error.(string); is {
		return "the engine answers with an error: " + clip(s)
	}
	return "the engine answers with an error: " + value(a.Error)
}

// maxClip is the maximum length of a clip in characters.
const maxClip = 200

// clip returns the beginning of a text that another program printed, on one line.
func clip(s string) string {
	start := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s[:min(len(s), 4*maxClip)], "\ufffd")), " "))
	if len(s) > 4*maxClip || len(start) > maxClip {
		return string(start[:min(len(start), maxClip)]) + "…"
	}
	return string(start)
}
