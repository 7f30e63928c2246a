package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// Mutant is one change of the engine.
type Mutant struct {
	ID       int
	File     string // relative to the module
	Line     int
	Func     string // the function or table that contains it
	Text     string // the source that is changed, with single blanks
	How      string // the kind of change
	Readings []string
	strict   bool // some case must notice this mutant
	table    bool // the mutant is in a table; the worker does not know which cases reach a table
}

// Key returns a text that identifies the mutant by its source and not by its line, so that the text
// stays valid when lines move.
func (m *Mutant) Key() string { return strings.Join([]string{m.File, m.Func, m.Text, m.How}, " | ") }

func (m *Mutant) String() string {
	s := fmt.Sprintf("%s:%d: %s: %s: %s", m.File, m.Line, m.Func, m.Text, m.How)
	if len(m.Readings) > 0 {
		s += " [" + strings.Join(m.Readings, " ") + "]"
	}
	return s
}

// finder numbers mutants and collects the edits that create them.
type finder struct {
	mutants []*Mutant // in the order of their IDs, which begin with 1
	reached map[string]bool
	dead    []string // functions that no case can call, although their comments name a reading
	tables  map[*file][]table
}

// find returns the mutants of all code of the engine that is reachable from roots.
func find(pkgs []*pkg, roots ...string) *finder {
	uses := calls(pkgs)
	x := &finder{reached: uses.from(roots...), tables: map[*file][]table{}}
	for _, p := range pkgs {
		if !p.mutated {
			continue
		}
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					x.function(f, d)
				case *ast.GenDecl:
					if d.Tok == token.VAR {
						x.variables(f, d)
					}
				}
			}
		}
	}
	x.derived(pkgs, uses)
	return x
}

// reading matches, in a comment, the code of a reading, or a paragraph of a document that says how
// to interpret a policy. RFCs about links are left out, because no case tests the links of a page;
// the tests of package page do.
var reading = regexp.MustCompile(
	`\b[A-QX]\d\d\b|P[12] (?:\d[\d.]*\d|\d|annex A)|` +
		`RFC (?:3986|9309|9651)(?: \d[\d.]*\d)?|RTAG(?: \d[\d.]*\d)?|REP \d[\d.]*\d`)

func readings(comment string) []string { return reading.FindAllString(comment, -1) }

// remark fills the field remarks: for each line, the readings that comments name. A comment belongs
// to its own line. If there is no code on that line, the comment belongs to the next line.
func (f *file) remark() {
	f.remarks = map[int][]string{}
	for _, group := range f.syntax.Comments {
		found := readings(group.Text())
		if len(found) == 0 {
			continue
		}
		line := f.line(group.Pos())
		start := f.offset(group.Pos())
		for start > 0 && f.src[start-1] != '\n' {
			start--
		}
		if strings.TrimSpace(string(f.src[start:f.offset(group.Pos())])) == "" {
			line = f.line(group.End()) + 1
		}
		f.remarks[line] = append(f.remarks[line], found...)
	}
}

// said returns the readings that comments name on the lines between the positions from and to.
func (f *file) said(from, to token.Pos) []string {
	var out []string
	for line := f.line(from); line <= f.line(to); line++ {
		out = append(out, f.remarks[line]...)
	}
	return out
}

// body is used to find the mutants of one function or table.
type body struct {
	*finder
	f    *file
	name string
	doc  []string // readings that the doc comment of the function or table names
}

func (x *finder) function(f *file, fn *ast.FuncDecl) {
	if fn.Body == nil {
		return
	}
	name := fn.Name.Name
	if fn.Recv != nil {
		name = strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*") + "." + name
	}
	b := &body{finder: x, f: f, name: name, doc: readings(fn.Doc.Text())}
	if !x.reached[f.pkg.fullName(fn)] {
		if len(b.doc) > 0 || len(f.said(fn.Pos(), fn.End())) > 0 {
			x.dead = append(x.dead, f.name+": "+name)
		}
		return
	}
	ast.Inspect(fn.Body, b.visit)
}

func (b *body) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		b.flip(n.Cond, b.names(n.Pos(), n.Body))
	case *ast.SwitchStmt:
		b.cases(n)
	case *ast.BinaryExpr:
		b.operands(n)
	case *ast.CompositeLit:
		b.elements(n)
	}
	return true
}

// names returns the readings of a branch. These are the readings that comments name on the lines of
// its head or of its first statement. If there are none, they are the readings in the doc comment
// of the function.
func (b *body) names(from token.Pos, block *ast.BlockStmt) []string {
	return b.named(from, block.Lbrace, block.List)
}

func (b *body) named(from, to token.Pos, below []ast.Stmt) []string {
	out := b.f.said(from, to)
	if len(out) == 0 && len(below) > 0 {
		if _, nested := below[0].(*ast.IfStmt); !nested {
			out = b.f.said(below[0].Pos(), below[0].Pos())
		}
	}
	if len(out) == 0 {
		out = b.doc
	}
	return out
}

func (b *body) add(n ast.Node, how string, readings []string) int {
	return b.finder.add(b.f, n, b.name, b.f.text(n), how, readings)
}

func (x *finder) add(f *file, at ast.Node, where, text, how string, readings []string) int {
	slices.Sort(readings)
	m := &Mutant{ID: len(x.mutants) + 1, File: f.name, Line: f.line(at.Pos()), Func: where, Text: text, How: how,
		Readings: slices.Compact(readings)}
	m.strict = f.strict || len(readings) > 0
	x.mutants = append(x.mutants, m)
	return m.ID
}

// flip adds the mutant that inverts a condition.
func (b *body) flip(cond ast.Expr, readings []string) {
	n := b.add(cond, "flipped", slices.Clone(readings))
	b.f.around(cond, "((", fmt.Sprintf(") != %s.On(%d))", alias, n))
}

// cases adds the mutants that invert a condition of a switch, or leave out one of its values.
func (b *body) cases(s *ast.SwitchStmt) {
	value := ""
	if s.Tag != nil {
		if !plain(s.Tag) {
			return
		}
		value = string(b.f.src[b.f.offset(s.Tag.Pos()):b.f.offset(s.Tag.End())])
		b.f.around(s.Tag, "/*", "*/")
	}
	for _, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		said := b.named(clause.Pos(), clause.Colon, clause.Body)
		for _, e := range clause.List {
			if s.Tag == nil {
				b.flip(e, said)
				continue
			}
			n := b.add(e, "case left out", slices.Clone(said))
			b.f.around(e, "(("+value+") == (", fmt.Sprintf(") && !%s.On(%d))", alias, n))
		}
	}
}

// plain reports whether an expression may be evaluated repeatedly.
func plain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return plain(e.X)
	case *ast.IndexExpr:
		return plain(e.X) && plain(e.Index)
	}
	return false
}

// operands adds the mutants that leave out one operand of && or ||.
func (b *body) operands(n *ast.BinaryExpr) {
	if n.Op != token.LAND && n.Op != token.LOR {
		return
	}
	for _, operand := range []ast.Expr{n.X, n.Y} {
		if inner, ok := operand.(*ast.BinaryExpr); ok && inner.Op == n.Op {
			continue
		}
		id := b.add(operand, "operand left out of "+n.Op.String(), slices.Clone(b.near(n)))
		// the doc comment of a function describes its branches, but not each operand
		b.mutants[id-1].strict = b.f.strict || len(b.f.said(n.Pos(), n.End())) > 0
		if n.Op == token.LAND {
			b.f.around(operand, "((", fmt.Sprintf(") || %s.On(%d))", alias, id))
		} else {
			b.f.around(operand, "((", fmt.Sprintf(") && !%s.On(%d))", alias, id))
		}
	}
}

func (b *body) near(n ast.Node) []string {
	if said := b.f.said(n.Pos(), n.End()); len(said) > 0 {
		return said
	}
	return b.doc
}
