package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

type report struct {
	out        io.Writer
	crew       *crew
	finder     *finder
	equivalent map[string]string
	verbose    bool
}

func (r *report) printf(format string, args ...any) { fmt.Fprintf(r.out, format, args...) }

// write prints the result for the mutants in named, the number of other mutants that were noticed
// and, if judge is true, the result for each case. It returns whether anything is wrong.
func (r *report) write(named, wide []*Mutant, judge bool) (bad bool) {
	base := r.crew.base
	for _, i := range slices.Sorted(maps.Keys(base.Failed)) {
		bad = true
		r.printf("fails without a mutant: %s\n\t%v\n", base.Names[i], base.Failed[i])
	}
	survivors, stale := r.writeNamed(named)
	for _, m := range survivors {
		r.printf("survives: %s\n\t%s\n", m, r.whySurvives(m))
	}
	others := 0
	for _, m := range wide {
		if r.caught(m) {
			others++
		}
	}
	r.printf("%d further mutants, which need not be caught: %d are\n", len(wide), others)
	bad = bad || len(survivors) > 0
	if !judge {
		return bad
	}
	for _, key := range slices.Sorted(maps.Keys(stale)) {
		bad = true
		r.printf("equivalent.txt is stale: %s\n", key)
	}
	return r.writeCases() || bad
}

func (r *report) caught(m *Mutant) bool {
	got := r.crew.out[m.ID]
	return got.Died || len(got.Caught) > 0
}

// writeNamed prints how many of the mutants in named were noticed. It returns the mutants that no
// case noticed, and the entries of equivalent.txt that match no mutant.
func (r *report) writeNamed(named []*Mutant) (survivors []*Mutant, stale map[string]string) {
	caught, told, equivalent := 0, 0, 0
	stale = maps.Clone(r.equivalent)
	for _, m := range named {
		key, excused := r.excuse(m)
		got := r.crew.out[m.ID]
		switch {
		case r.caught(m):
			caught++
			if r.verbose {
				r.printf("caught: %s: %s\n", m, r.names(got.Caught, 5))
			}
		case excused:
			equivalent++
			delete(stale, key)
		case len(got.Changed) == 0 && len(got.Told) > 0:
			told++
			if r.verbose {
				r.printf("told: %s: %s\n", m, r.names(got.Told, 5))
			}
		default:
			survivors = append(survivors, m)
		}
	}
	r.printf("%d mutants name a reading or are of a table: %d caught, %d change findings alone, %d equivalent, %d "+
		"survive\n",
		len(named), caught, told, equivalent, len(survivors))
	return survivors, stale
}

// whySurvives says in what way a mutant changes the answers, although no case notices it.
func (r *report) whySurvives(m *Mutant) string {
	switch got := r.crew.out[m.ID]; {
	case len(got.Changed) > 0:
		return "the answer changes, unnoticed: " + r.names(got.Changed, 3)
	case m.table:
		return "no answer changes"
	case len(r.crew.base.Reach[m.ID]) > 0:
		return fmt.Sprintf("no answer changes in %d cases", len(r.crew.base.Reach[m.ID]))
	}
	return "no case reaches it"
}

// writeCases prints the cases that notice no mutant, and returns whether there are any.
func (r *report) writeCases() bool {
	idle := 0
	for _, i := range r.crew.all {
		if !r.crew.served[i] && !r.crew.weak[i] {
			idle++
			r.printf("catches no mutant: %s\n", r.crew.base.Names[i])
		}
	}
	r.printf("%d cases: %d catch a mutant, %d more only one that a fifth of all cases catch, %d none\n",
		len(r.crew.all), len(r.crew.served), len(r.crew.weak), idle)
	if r.verbose {
		for _, name := range r.finder.dead {
			r.printf("no case can call: %s\n", name)
		}
	}
	return idle > 0
}

// excuse returns the entry of equivalent.txt for a mutant, if there is one.
func (r *report) excuse(m *Mutant) (key string, ok bool) {
	for _, key := range []string{m.Key(), fmt.Sprintf("%s | %s | %s | *", m.File, m.Func, m.Text),
		fmt.Sprintf("%s | %s | * | *", m.File, m.Func)} {
		if _, ok := r.equivalent[key]; ok {
			return key, true
		}
	}
	return "", false
}

// names returns the names of the first n cases, and says how many further cases there are.
func (r *report) names(cases []int, n int) string {
	s := ""
	for _, i := range cases[:min(n, len(cases))] {
		s += r.crew.base.Names[i] + " "
	}
	if len(cases) > n {
		s += fmt.Sprintf("and %d more", len(cases)-n)
	}
	return s
}
