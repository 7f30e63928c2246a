package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const engineSource = `package acap

type kind uint8

const (
	kCrawl kind = iota
	kIndex
	kinds
)

type kindSet uint16

func setOf(ks ...kind) (s kindSet) {
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

type row struct {
	name  string
	newer bool
	usage kindSet
}

var rows = []row{
	{name: "time-limit", usage: setOf(kIndex)}, // H01
}

var short = first(rows)

func first(rows []row) string { return rows[0].name }

// Ask follows F17.
func Ask(a, b bool, k kind) string {
	if a && !b { // X43
		return "yes"
	}
	switch k {
	case kIndex:
		return short
	}
	if b {
		return "no"
	}
	return ""
}

func unasked(a bool) bool { return a || !a }
`

// source type-checks the constant engineSource as a package.
func source(t *testing.T) *pkg {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "rows.go", engineSource, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	p := &pkg{name: "acap", mutated: true}
	f := &file{pkg: p, path: "/rows.go", name: "acap/rows.go", src: []byte(engineSource), syntax: parsed, fset: fset}
	f.remark()
	p.files = []*file{f}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}}
	if p.types, err = new(types.Config).Check("acap", fset, []*ast.File{parsed}, p.info); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFind(t *testing.T) {
	p := source(t)
	x := find([]*pkg{p}, "acap.Ask")
	var got []string
	for _, m := range x.mutants {
		s := m.Func + ": " + m.Text + ": " + m.How + " " + strings.Join(m.Readings, " ")
		if m.strict {
			s += "!"
		}
		got = append(got, s)
	}
	want := []string{
		`rows: name: "time-limit", name: lost H01!`,
		`rows: name: "time-limit", newer: flipped H01!`,
		`rows: name: "time-limit", usage: changed by kCrawl H01!`,
		`rows: name: "time-limit", usage: changed by kIndex H01!`,
		`Ask: a && !b: flipped X43!`,
		`Ask: a: operand left out of && X43!`,
		`Ask: !b: operand left out of && X43!`,
		`Ask: kIndex: case left out F17!`,
		`Ask: b: flipped F17!`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the mutants are\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	names := []string{}
	for _, made := range x.tables[p.files[0]] {
		names = append(names, made.name)
	}
	if !slices.Equal(names, []string{"rows", "short"}) {
		t.Errorf("the tables are %v", names)
	}
	text := p.files[0].mutated(x.tables[p.files[0]])
	for _, part := range []string{
		"if ((((a) || mutantOf_.On(6)) && ((!b) || mutantOf_.On(7))) != mutantOf_.On(5)) {",
		"switch /*k*/ {", "case ((k) == (kIndex) && !mutantOf_.On(8)):",
		"func init() { mutantOf_.Table(func() { short = first(rows) }) }",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the mutated file lacks %s:\n%s", part, text)
		}
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", text, 0); err != nil {
		t.Error(err)
	}
}

func TestReadings(t *testing.T) {
	got := readings("as F17 and P1 2.4.6, 2.9 say; P2 annex A, RFC 9309 2.2.2 (X43), RTAG 3.1.1, not A1 or XX99")
	want := []string{"F17", "P1 2.4.6", "P2 annex A", "RFC 9309 2.2.2", "X43", "RTAG 3.1.1"}
	if !slices.Equal(got, want) {
		t.Errorf("readings %q, wanted %q", got, want)
	}
}

func TestReadEquivalent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "equivalent.txt")
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# why\n\na.go | f | x || y | flipped | it is the same\na.go | g | * | * | nobody asks\n")
	have, err := readEquivalent(path)
	if err != nil || len(have) != 2 {
		t.Fatalf("%v, %v", have, err)
	}
	r := report{equivalent: have}
	for m, want := range map[*Mutant]bool{
		{File: "a.go", Func: "f", Text: "x || y", How: "flipped"}: true,
		{File: "a.go", Func: "f", Text: "x", How: "flipped"}:      false,
		{File: "a.go", Func: "g", Text: "z", How: "flipped"}:      true,
	} {
		if _, ok := r.excuse(m); ok != want {
			t.Errorf("%s is excused: %v", m, ok)
		}
	}
	write("a.go | f | x\n")
	if _, err := readEquivalent(path); err == nil {
		t.Error("an entry without a reason is taken")
	}
}

func TestSplit(t *testing.T) {
	var all []int
	for i := range 1000 {
		all = append(all, i)
	}
	sample, rest := split(all)
	if len(sample) != sampled || sample[1] != 20 || len(rest) != 1000-sampled {
		t.Errorf("a sample of %d, %v…, %d left", len(sample), sample[:2], len(rest))
	}
	if sample, rest = split([]int{4, 2}); len(sample) != 2 || len(rest) != 0 {
		t.Errorf("of two cases %v and %v", sample, rest)
	}
}
