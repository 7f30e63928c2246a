package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// table is a package variable that is initialised again for each mutant.
type table struct {
	name  string
	value ast.Expr
}

// variables finds tables and their mutants among package variables.
func (x *finder) variables(f *file, d *ast.GenDecl) {
	for _, s := range d.Specs {
		spec := s.(*ast.ValueSpec)
		if len(spec.Values) != len(spec.Names) {
			continue
		}
		doc := readings(d.Doc.Text() + spec.Doc.Text() + spec.Comment.Text())
		for i, name := range spec.Names {
			if !x.reached[f.pkg.types.Path()+"."+name.Name] {
				continue
			}
			b := &body{finder: x, f: f, name: name.Name, doc: append(doc, f.said(spec.Pos(), spec.End())...)}
			before := len(x.mutants)
			value := spec.Values[i]
			if set := f.pkg.usageSet(value); set > 0 {
				b.bits(value, set, name.Name)
			}
			ast.Inspect(value, b.visit)
			if len(x.mutants) == before {
				continue
			}
			for _, m := range x.mutants[before:] {
				m.table, m.strict = true, true
				if len(m.Readings) == 0 {
					m.Readings = []string{"table"}
				}
			}
			x.tables[f] = append(x.tables[f], table{name.Name, value})
		}
	}
}

// derived finds the package variables that are computed from tables. They are initialised again,
// too.
func (x *finder) derived(pkgs []*pkg, uses graph) {
	tables := map[string]bool{}
	for f, list := range x.tables {
		for _, t := range list {
			tables[f.pkg.types.Path()+"."+t.name] = true
		}
	}
	for _, p := range pkgs {
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				for name, value := range values(d) {
					full := p.types.Path() + "." + name
					if p.mutated && !tables[full] && meet(uses.from(full), tables) {
						x.tables[f] = append(x.tables[f], table{name, value})
					}
				}
			}
		}
	}
}

func meet(a, b map[string]bool) bool {
	for name := range b {
		if a[name] {
			return true
		}
	}
	return false
}

// elements adds the mutants of a composite literal: in each, a row is missing, a boolean is
// inverted, or a set has one usage more or less.
func (b *body) elements(lit *ast.CompositeLit) {
	info := b.f.pkg.info
	switch t := types.Unalias(info.TypeOf(lit)).Underlying().(type) {
	case *types.Map:
		for _, e := range lit.Elts {
			kv := e.(*ast.KeyValueExpr)
			if basic, ok := t.Key().Underlying().(*types.Basic); ok && basic.Kind() == types.String {
				id := b.add(kv, "entry left out", slices.Clone(b.near(kv)))
				b.f.around(kv.Key, fmt.Sprintf("%s.Lost(%d, %s(", alias, id, b.typeName(t.Key())), "))")
			}
			b.value(kv.Value, t.Elem(), b.f.text(kv.Key), false)
			b.exchange(kv, lit.Elts, t.Elem())
		}
	case *types.Slice:
		b.list(lit, t.Elem())
	case *types.Array:
		b.list(lit, t.Elem())
	}
}

func (b *body) list(lit *ast.CompositeLit, elem types.Type) {
	for _, e := range lit.Elts {
		switch row := e.(type) {
		case *ast.CompositeLit:
			if s, ok := elem.Underlying().(*types.Struct); ok {
				b.row(row, s)
			}
		case *ast.KeyValueExpr:
		default:
			switch basic, ok := elem.Underlying().(*types.Basic); {
			case ok && basic.Kind() == types.Bool:
				b.value(e, elem, b.f.text(e), false)
			case ok:
				id := b.add(e, "entry left out", slices.Clone(b.near(e)))
				b.f.around(e, fmt.Sprintf("%s.Zero(%d, %s(", alias, id, b.typeName(elem)), "))")
			}
		}
	}
}

// row adds the mutants of the fields of one row of a table. Fields that the row does not contain,
// and which are therefore zero, are included.
func (b *body) row(row *ast.CompositeLit, s *types.Struct) {
	written := map[string]ast.Expr{}
	for _, e := range row.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return
		}
		written[kv.Key.(*ast.Ident).Name] = kv.Value
	}
	if len(written) == 0 {
		return
	}
	name := b.f.text(row.Elts[0])
	for i := range s.NumFields() {
		field := s.Field(i)
		value := written[field.Name()]
		if field.Name() == "hint" { // the field is used only for findings, which are not part of an answer
			continue
		}
		if value != nil {
			b.value(value, field.Type(), name+", "+field.Name(), true)
			continue
		}
		if basic, ok := field.Type().Underlying().(*types.Basic); ok && basic.Kind() == types.Bool {
			id := b.finder.add(b.f, row, b.name, name+", "+field.Name(), "flipped", slices.Clone(b.near(row)))
			b.f.around(row.Elts[0], fmt.Sprintf("%s: %s.On(%d), ", field.Name(), alias, id), "")
		}
	}
}

// value adds the mutants of one value of a table or of a row.
func (b *body) value(v ast.Expr, t types.Type, what string, row bool) {
	said := b.near(v)
	add := func(how string) int { return b.finder.add(b.f, v, b.name, what, how, slices.Clone(said)) }
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case b.f.pkg.usageSet(v) > 0:
			b.bits(v, b.f.pkg.usageSet(v), what)
		case u.Kind() == types.Bool:
			b.f.around(v, "((", fmt.Sprintf(") != %s.On(%d))", alias, add("flipped")))
		case u.Kind() == types.String && row:
			b.f.around(v, fmt.Sprintf("%s.Lost(%d, %s(", alias, add("lost"), b.typeName(t)), "))")
		}
	case *types.Signature:
		if _, literal := v.(*ast.FuncLit); !literal {
			b.f.around(v, fmt.Sprintf("%s.Zero(%d, ", alias, add("nil")), ")")
		}
	}
}

// exchange adds the mutant that gives an entry the value of another entry, if the values are
// strings.
func (b *body) exchange(kv *ast.KeyValueExpr, entries []ast.Expr, t types.Type) {
	basic, ok := t.Underlying().(*types.Basic)
	if !ok || basic.Kind() != types.String {
		return
	}
	for _, e := range entries {
		other := b.f.text(e.(*ast.KeyValueExpr).Value)
		if other != b.f.text(kv.Value) {
			id := b.add(kv, "exchanged for "+other, slices.Clone(b.near(kv)))
			b.f.around(kv.Value, fmt.Sprintf("%s.Or(%d, %s(%s), ", alias, id, b.typeName(t), other), ")")
			return
		}
	}
}

// bits adds the mutants of a set of usages, one for each usage.
func (b *body) bits(v ast.Expr, count int, what string) {
	first := len(b.mutants) + 1
	for i := range count {
		b.finder.add(b.f, v, b.name, what, "changed by "+b.f.pkg.usageOf(i), slices.Clone(b.near(v)))
	}
	b.f.around(v, fmt.Sprintf("%s.Bits(%d, %d, %s(", alias, first, count, b.typeName(b.f.pkg.info.TypeOf(v))), "))")
}

// usageSet returns how many usages a value of type kindSet can contain, 0 for a value of any other
// type.
func (p *pkg) usageSet(v ast.Expr) int {
	named, ok := p.info.TypeOf(v).(*types.Named)
	if !ok || named.Obj().Name() != "kindSet" {
		return 0
	}
	n, _ := constant.Int64Val(p.types.Scope().Lookup("kinds").(*types.Const).Val())
	return int(n)
}

// usageOf returns the name of the usage with number n.
func (p *pkg) usageOf(n int) string {
	for _, name := range p.types.Scope().Names() {
		c, ok := p.types.Scope().Lookup(name).(*types.Const)
		if !ok || name == "kinds" {
			continue
		}
		if t, ok := c.Type().(*types.Named); ok && t.Obj().Name() == "kind" &&
			constant.Compare(c.Val(), token.EQL, constant.MakeInt64(int64(n))) {
			return name
		}
	}
	return fmt.Sprint(n)
}

// typeName returns the name of the type t as it is written in the file itself.
func (b *body) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == b.f.pkg.types {
			return ""
		}
		return p.Name()
	})
}
