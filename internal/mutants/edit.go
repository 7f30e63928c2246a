package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// edit puts text around a piece of a file.
type edit struct {
	from, to       int // offsets
	before, behind string
}

// around puts text around a node; of two edits around the same node the first stands outside.
func (f *file) around(n ast.Node, before, behind string) {
	f.edits = append(f.edits, edit{f.offset(n.Pos()), f.offset(n.End()), before, behind})
}

// edited gives the text from one offset to another with all edits that lie within.
func (f *file) edited(from, to int) string {
	type mark struct {
		at, order int
		text      string
	}
	var marks []mark
	edits := slices.Clone(f.edits)
	// Outer edits before inner ones.
	slices.SortStableFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.from, b.from),
			cmp.Compare(b.to, a.to))
	})
	for i, e := range edits {
		if e.from >= from && e.to <= to {
			marks = append(marks, mark{e.from, i + 1, e.before}, mark{e.to, -i - 1, e.behind})
		}
	}
	// What ends at an offset stands before what begins there, the inner end first, the outer
	// beginning first.
	slices.SortFunc(marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.at, b.at),
			cmp.Compare(a.order, b.order))
	})
	var b strings.Builder
	for _, m := range marks {
		b.Write(f.src[from:m.at])
		b.WriteString(m.text)
		from = m.at
	}
	b.Write(f.src[from:to])
	return b.String()
}

// alias is what the mutated files call package active: no name of the engine is like it.
const alias = "mutantOf_"

// mutated gives the whole file with its edits, with the tables that are to be made anew.
func (f *file) mutated(tables []table) string {
	at := f.offset(f.syntax.Name.End())
	var b strings.Builder
	b.WriteString(f.edited(0, at))
	fmt.Fprintf(&b, "; import %s %q", alias, module+"/internal/mutants/active")
	b.WriteString(f.edited(at, len(f.src)))
	fmt.Fprintf(&b, "\nvar _ = %s.On\n", alias)
	for _, t := range tables {
		fmt.Fprintf(&b, "\nfunc init() { %s.Table(func() { %s = %s }) }\n", alias, t.name,
			f.edited(f.offset(t.value.Pos()), f.offset(t.value.End())))
	}
	return b.String()
}
