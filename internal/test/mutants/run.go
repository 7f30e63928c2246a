package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
)

// task, result and baseline are the messages to and from a worker; see internal/test/mutants/worker.
type task struct {
	Mutant      int
	Must, Until []int
}

type result struct {
	Mutant                int
	Caught, Changed, Told []int
	Died                  bool // the worker crashed or was too slow; then the case counts as having noticed the mutant
}

type baseline struct {
	Names  []string
	Failed map[int][]string
	Reach  map[int][]int
}

// worker is a process that decides cases. It must not be used concurrently.
type worker struct {
	exe, corpus string
	cmd         *exec.Cmd
	in          io.WriteCloser
	enc         *json.Encoder
	dec         *json.Decoder
}

func (w *worker) start() (*baseline, error) {
	w.cmd = exec.Command(w.exe, w.corpus)
	w.cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var said head // limited, because a crash prints many lines
	w.cmd.Stderr = &said
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	w.enc, w.dec = json.NewEncoder(w.in), json.NewDecoder(out)
	var b baseline
	if err := w.dec.Decode(&b); err != nil {
		w.stop()
		return nil, fmt.Errorf("the corpus cannot be decided: %w\n%s", err, said)
	}
	return &b, nil
}

// head stores the first 2000 bytes that are written to it.
type head []byte

func (h *head) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), max(0, 2000-len(*h)))]...)
	return len(p), nil
}

func (w *worker) stop() {
	w.in.Close()
	w.cmd.Wait() // the exit status does not matter
}

// ask lets the worker try one mutant. If the worker process dies, ask starts a new one and returns
// a result with Died set.
func (w *worker) ask(t task) (result, error) {
	var r result
	if w.enc.Encode(t) == nil && w.dec.Decode(&r) == nil {
		return r, nil
	}
	w.stop()
	if _, err := w.start(); err != nil {
		return r, err
	}
	return result{Mutant: t.Mutant, Died: true}, nil
}

// crew tries mutants with several workers at once and collects the results.
type crew struct {
	mu     sync.Mutex
	base   *baseline
	all    []int
	full   bool
	served map[int]bool // cases that noticed a mutant that is not common
	out    map[int]*result
	weak   map[int]bool // cases that noticed only common mutants
	common map[int]bool // mutants that too many cases notice
}

// sampled is the number of cases on which a mutant is tried first. A mutant that more than a fifth
// of all cases notice is common: noticing it is not enough to justify a case.
const sampled = 50

// try tries all mutants with n workers.
func (c *crew) try(mutants []*Mutant, exe, corpus string, n int) error {
	queue := make(chan *Mutant, len(mutants))
	for _, m := range mutants {
		queue <- m
	}
	close(queue)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = c.work(queue, &worker{exe: exe, corpus: corpus}) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// work tries the mutants of a queue until it is empty.
func (c *crew) work(queue <-chan *Mutant, w *worker) error {
	if _, err := w.start(); err != nil {
		return err
	}
	defer w.stop()
	for m := range queue {
		if err := c.one(w, m); err != nil {
			return err
		}
	}
	return nil
}

// last tries the common mutants on the cases that have noticed no mutant yet.
func (c *crew) last(exe, corpus string) error {
	w := &worker{exe: exe, corpus: corpus}
	if _, err := w.start(); err != nil {
		return err
	}
	defer w.stop()
	for id := range c.common {
		t := task{Mutant: id}
		for _, i := range c.base.Reach[id] {
			if !c.served[i] && !c.weak[i] {
				t.Must = append(t.Must, i)
			}
		}
		if len(t.Must) == 0 || c.out[id].Died {
			continue
		}
		r, err := w.ask(t)
		if err != nil {
			return err
		}
		for _, i := range r.Caught {
			c.weak[i] = true
		}
	}
	return nil
}

// wanted reports whether some case that has noticed no mutant yet can reach the mutant m.
func (c *crew) wanted(m *Mutant) bool {
	return slices.ContainsFunc(c.base.Reach[m.ID], func(i int) bool { return !c.served[i] })
}

// one tries one mutant. It begins with a sample of the cases that reach the mutant, to see whether
// it is common. Then it tries the cases that have noticed no mutant yet, and after them the others
// until a case notices the mutant.
func (c *crew) one(w *worker, m *Mutant) error {
	cases := c.base.Reach[m.ID]
	if m.table {
		cases = c.all
	}
	sample, rest := split(cases)
	c.likely(m, rest)
	r, err := w.ask(task{Mutant: m.ID, Must: sample})
	if err != nil {
		return err
	}
	common := r.Died || len(sample) > 0 && len(r.Caught)*len(cases)*5 > len(sample)*len(c.all)
	t := task{Mutant: m.ID}
	c.mu.Lock()
	for _, i := range rest {
		if c.full || !common && !c.served[i] {
			t.Must = append(t.Must, i)
		} else {
			t.Until = append(t.Until, i)
		}
	}
	c.mu.Unlock()
	if len(r.Caught) > 0 {
		t.Until = nil
	}
	if !r.Died && len(t.Must)+len(t.Until) > 0 {
		more, err := w.ask(t)
		if err != nil {
			return err
		}
		r.Caught, r.Changed, r.Told = append(r.Caught, more.Caught...), append(r.Changed, more.Changed...), append(
			r.Told, more.Told...)
		r.Died = more.Died
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out[m.ID] = &r
	if common {
		c.common[m.ID] = true
		return nil
	}
	for _, i := range r.Caught {
		c.served[i] = true
	}
	return nil
}

// likely sorts cases. Cases in files that are named after a reading of the mutant come first.
func (c *crew) likely(m *Mutant, cases []int) {
	rank := func(i int) int {
		file := path.Base(path.Dir(c.base.Names[i]))
		own := strings.HasPrefix(file, "M-")
		file = strings.TrimPrefix(file, "M-")
		for _, r := range m.Readings {
			if r = strings.ReplaceAll(r, " ", "-"); strings.HasPrefix(file, r) {
				return 0
			}
		}
		if own {
			return 1
		}
		return 2
	}
	slices.SortStableFunc(cases, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
}

// split divides a list into an evenly spread sample and the rest.
func split(cases []int) (sample, rest []int) {
	step := max(1, len(cases)/sampled)
	for i, c := range cases {
		if i%step == 0 && len(sample) < sampled {
			sample = append(sample, c)
		} else {
			rest = append(rest, c)
		}
	}
	return sample, rest
}
