package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// edit inserts text before and after a piece of a file.
type edit struct {
	from, to       int // byte offsets
	before, behind string
}

// around inserts text before and after a node. If two edits are about the same node, the first one
// encloses the second.
func (f *file) around(n ast.Node, before, behind string) {
	f.edits = append(f.edits, edit{f.offset(n.Pos()), f.offset(n.End()), before, behind})
}

// edited returns the text of the file between two offsets, with all edits inside this range.
func (f *file) edited(from, to int) string {
	type mark struct {
		at, order int
		text      string
	}
	var marks []mark
	edits := slices.Clone(f.edits)
	// edits of larger pieces come before edits of the pieces inside them
	slices.SortStableFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.from, b.from),
			cmp.Compare(b.to, a.to))
	})
	for i, e := range edits {
		if e.from >= from && e.to <= to {
			marks = append(marks, mark{e.from, i + 1, e.before}, mark{e.to, -i - 1, e.behind})
		}
	}
	// at the same offset, text that ends a piece comes before text that begins a piece; inner ends
	// come before outer ends, and outer beginnings before inner beginnings
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

// alias is the name of package active in mutated files. The engine has no name that begins with
// this text.
const alias = "mutantOf_"

// mutated returns the whole file with its edits, and with functions that create the given tables
// again.
func (f *file) mutated(tables []table) string {
	at := f.offset(f.syntax.Name.End())
	var b strings.Builder
	b.WriteString(f.edited(0, at))
	fmt.Fprintf(&b, "; import %s %q", alias, module+"/internal/test/mutants/active")
	b.WriteString(f.edited(at, len(f.src)))
	fmt.Fprintf(&b, "\nvar _ = %s.On\n", alias)
	for _, t := range tables {
		fmt.Fprintf(&b, "\nfunc init() { %s.Table(func() { %s = %s }) }\n", alias, t.name,
			f.edited(f.offset(t.value.Pos()), f.offset(t.value.End())))
	}
	return b.String()
}
