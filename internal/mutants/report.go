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

// write says what came of the mutants that name a reading and, where all were tried, of the cases; bad says that something is amiss.
func (r *report) write(named, wide []*Mutant, judge bool) (bad bool) {
	base := r.crew.base
	for _, i := range slices.Sorted(maps.Keys(base.Failed)) {
		bad = true
		r.printf("fails without a mutant: %s\n\t%v\n", base.Names[i], base.Failed[i])
	}
	caught, told, equivalent := 0, 0, 0
	var survivors []*Mutant
	stale := maps.Clone(r.equivalent)
	for _, m := range named {
		key, excused := r.excuse(m)
		got := r.crew.out[m.ID]
		switch is := got.Died || len(got.Caught) > 0; {
		case is:
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
	r.printf("%d mutants name a reading or are of a table: %d caught, %d change findings alone, %d equivalent, %d survive\n",
		len(named), caught, told, equivalent, len(survivors))
	for _, m := range survivors {
		got := r.crew.out[m.ID]
		note := "no case reaches it"
		switch {
		case len(got.Changed) > 0:
			note = "the answer changes, unnoticed: " + r.names(got.Changed, 3)
		case m.table:
			note = "no answer changes"
		case len(r.crew.base.Reach[m.ID]) > 0:
			note = fmt.Sprintf("no answer changes in %d cases", len(r.crew.base.Reach[m.ID]))
		}
		r.printf("survives: %s\n\t%s\n", m, note)
	}
	bad = bad || len(survivors) > 0
	others := 0
	for _, m := range wide {
		if got := r.crew.out[m.ID]; got.Died || len(got.Caught) > 0 {
			others++
		}
	}
	r.printf("%d further mutants, which need not be caught: %d are\n", len(wide), others)
	if !judge {
		return bad
	}
	for _, key := range slices.Sorted(maps.Keys(stale)) {
		bad = true
		r.printf("equivalent.txt is stale: %s\n", key)
	}
	idle := 0
	for _, i := range r.crew.all {
		if !r.crew.served[i] && !r.crew.weak[i] {
			idle++
			r.printf("catches no mutant: %s\n", base.Names[i])
		}
	}
	r.printf("%d cases: %d catch a mutant, %d more only one that a fifth of all cases catch, %d none\n",
		len(r.crew.all), len(r.crew.served), len(r.crew.weak), idle)
	if r.verbose {
		for _, name := range r.finder.dead {
			r.printf("no case can call: %s\n", name)
		}
	}
	return bad || idle > 0
}

// excuse finds the entry of equivalent.txt that a mutant falls under.
func (r *report) excuse(m *Mutant) (key string, ok bool) {
	for _, key := range []string{m.Key(), fmt.Sprintf("%s | %s | %s | *", m.File, m.Func, m.Text), fmt.Sprintf("%s | %s | * | *", m.File, m.Func)} {
		if _, ok := r.equivalent[key]; ok {
			return key, true
		}
	}
	return "", false
}

// names gives some cases by name.
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
