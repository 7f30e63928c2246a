// Command worker decides the cases of a corpus with one mutant of the engine after another. Command
// mutants builds it with mutated copies of the engine's files. A worker that is built from the
// unchanged files has no mutants.
//
//	worker CORPUS        reads Tasks and writes a Result for each
//	worker -decide N     answers cases as acapcrawl decide does, with mutant N active
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/internal/test/mutants/active"
)

// Limits for a mutant that does not end: the time for one case, and the sizes of stack and heap in
// bytes.
const (
	maxTime  = 4 * time.Second
	maxStack = 64 << 20
	maxHeap  = 2 << 30
)

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(2)
	}
}

func start(args []string) error {
	debug.SetMaxStack(maxStack)
	if len(args) == 2 && args[0] == "-decide" {
		mutant, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return decide(mutant, os.Stdin, os.Stdout)
	}
	return run(args[0], os.Stdin, os.Stdout)
}

// Task tells a worker to try one mutant. The worker decides all cases in Must. Then it decides the
// cases in Until, until one notices the mutant.
type Task struct {
	Mutant      int
	Must, Until []int
}

// Result is the result of a Task. Caught lists the cases that noticed the mutant. Told and Changed
// list cases whose answer changed only in parts that they do not check: in Told only the findings
// changed, in Changed other parts too.
type Result struct {
	Mutant                int
	Caught, Changed, Told []int
}

// Baseline is the result of the engine without a mutant.
type Baseline struct {
	Names  []string         // names of all cases
	Failed map[int][]string // cases that fail, with their differences
	Reach  map[int][]int    // mutant → the cases that reach it
}

type worker struct {
	samples []conformance.Sample
	answers [][]byte // the answers without a mutant
	started atomic.Int64
}

// run writes the Baseline to out. Then it reads Tasks from in and writes a Result for each.
func run(corpus string, in io.Reader, out io.Writer) error {
	w := &worker{}
	var err error
	if w.samples, err = conformance.ReadCorpus(os.DirFS(corpus)); err != nil {
		return err
	}
	enc, dec := json.NewEncoder(out), json.NewDecoder(in)
	if err := enc.Encode(w.baseline()); err != nil {
		return err
	}
	go w.watch()
	for {
		var t Task
		if err := dec.Decode(&t); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := enc.Encode(w.try(t)); err != nil {
			return err
		}
	}
}

func (w *worker) baseline() Baseline {
	active.Set(0)
	b := Baseline{Failed: map[int][]string{}, Reach: map[int][]int{}}
	w.answers = make([][]byte, len(w.samples))
	for i := range w.samples {
		s := &w.samples[i]
		b.Names = append(b.Names, s.File+"/"+s.Name)
		reached := active.Reached(func() {
			differences, answer, err := s.Check(context.Background())
			if err != nil {
				differences = append(differences, err.Error())
			}
			if len(differences) > 0 {
				b.Failed[i] = differences
			}
			w.answers[i] = answer
		})
		for _, m := range reached {
			b.Reach[m] = append(b.Reach[m], i)
		}
	}
	return b
}

func (w *worker) try(t Task) Result {
	active.Set(t.Mutant)
	defer active.Set(0)
	r := Result{Mutant: t.Mutant}
	for _, i := range t.Must {
		w.check(i, &r)
	}
	for _, i := range t.Until {
		if len(r.Caught) > 0 {
			break
		}
		w.check(i, &r)
	}
	return r
}

// check decides one case and adds it to r. A panic counts as noticing the mutant.
func (w *worker) check(i int, r *Result) {
	w.started.Store(time.Now().UnixNano())
	defer w.started.Store(0)
	defer func() {
		if recover() != nil {
			r.Caught = append(r.Caught, i)
		}
	}()
	differences, answer, err := w.samples[i].Check(context.Background())
	switch {
	case err != nil || len(differences) > 0:
		r.Caught = append(r.Caught, i)
	case bytes.Equal(answer, w.answers[i]):
	case slices.Equal(untold(answer), untold(w.answers[i])):
		r.Told = append(r.Told, i)
	default:
		r.Changed = append(r.Changed, i)
	}
}

// untold returns an answer without its findings.
func untold(answer []byte) []byte {
	var a map[string]json.RawMessage
	if json.Unmarshal(answer, &a) != nil {
		return answer
	}
	delete(a, "findings")
	out, err := json.Marshal(a)
	if err != nil {
		return answer
	}
	return out
}

// watch ends the process if a case takes too long or too much memory. Command mutants then counts
// the mutant as noticed.
func (w *worker) watch() {
	for range time.Tick(100 * time.Millisecond) {
		if s := w.started.Load(); s != 0 && time.Since(time.Unix(0, s)) > maxTime {
			os.Exit(3)
		}
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.HeapAlloc > maxHeap {
			os.Exit(4)
		}
	}
}
