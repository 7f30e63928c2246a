package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/acapcrawl/acapcrawl"

// engine lists the packages whose files are mutated.
var engine = []string{"acap", "page", "policy", "internal/preference", "terms", "snippet"}

// everyBranch reports whether some case must notice every mutant of a file, although most comments
// there name no reading: almost each branch is a rule of a vocabulary. Findings, their places and
// their corrections are not part of an answer.
func everyBranch(file string) bool {
	for _, start := range []string{"internal/preference/check_", "internal/preference/correct",
		"internal/preference/place"} {
		if strings.HasPrefix(file, start) {
			return false
		}
	}
	return strings.HasPrefix(file, "internal/preference/") || file == "acap/vocabulary.go"
}

// root is the function that decides a case.
const root = module + "/internal/conformance.Decide"

// pkg is one package of the module, parsed and type-checked.
type pkg struct {
	name    string // import path without the path of the module
	mutated bool
	types   *types.Package
	info    *types.Info
	files   []*file
}

// file is one source file and its edits.
type file struct {
	pkg     *pkg
	path    string // absolute path of the file
	name    string // path relative to the module
	src     []byte
	syntax  *ast.File
	fset    *token.FileSet
	remarks map[int][]string // line → readings that a comment names on this line or directly above it
	strict  bool             // some case must notice every mutant of the file
	edits   []edit
}

func (f *file) offset(p token.Pos) int { return f.fset.Position(p).Offset }
func (f *file) line(p token.Pos) int   { return f.fset.Position(p).Line }
func (f *file) text(n ast.Node) string {
	return strings.Join(strings.Fields(string(f.src[f.offset(n.Pos()):f.offset(n.End())])), " ")
}

// listed contains the fields of the output of go list that are used.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// load parses and type-checks the packages of the module in dir that package conformance depends
// on, and that package.
func load(dir string) ([]*pkg, error) {
	cmd := exec.Command("go", "list", "-export", "-deps",
		"-json=ImportPath,Dir,Export,GoFiles", "./internal/conformance")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	var ours []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[l.ImportPath] = l.Export
		if strings.HasPrefix(l.ImportPath, module+"/") {
			ours = append(ours, l)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser,
		error) {
		return os.Open(exports[path])
	})
	var pkgs []*pkg
	for _, l := range ours {
		p, err := typed(dir, l, fset, imports)
		if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, nil
}

func typed(dir string, l listed, fset *token.FileSet, imports types.Importer) (*pkg, error) {
	p := &pkg{name: strings.TrimPrefix(l.ImportPath, module+"/")}
	p.mutated = slices.Contains(engine, p.name)
	var syntax []*ast.File
	for _, name := range l.GoFiles {
		path := filepath.Join(l.Dir, name)
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		parsed, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return nil, err
		}
		f := &file{pkg: p, path: path, name: filepath.ToSlash(relative), src: src, syntax: parsed, fset: fset}
		f.strict = everyBranch(f.name)
		f.remark()
		p.files = append(p.files, f)
		syntax = append(syntax, parsed)
	}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: imports}
	var err error
	p.types, err = config.Check(l.ImportPath, fset, syntax, p.info)
	return p, err
}

// graph maps the full name of a function or package variable to the names that it uses.
type graph map[string][]string

// calls returns the graph of some packages. It assumes that a call through an interface may call
// every method of that name.
func calls(pkgs []*pkg) graph {
	uses := graph{} // a key that begins with "." stands for all methods with that name
	for _, p := range pkgs {
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					for name, value := range values(d) {
						uses[p.types.Path()+"."+name] = p.used(value)
					}
					continue
				}
				name := p.fullName(fn)
				uses[name] = p.used(fn)
				if fn.Recv != nil {
					uses["."+fn.Name.Name] = append(uses["."+fn.Name.Name], name)
				}
			}
		}
	}
	return uses
}

// from returns names, and all names that can be reached from them in the graph.
func (g graph) from(names ...string) map[string]bool {
	reached := map[string]bool{}
	next := slices.Clone(names)
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if !reached[name] {
			reached[name] = true
			next = append(next, g[name]...)
		}
	}
	return reached
}

func (p *pkg) fullName(fn *ast.FuncDecl) string { return p.info.Defs[fn.Name].(*types.Func).FullName() }

// values returns the package variables of a declaration that have an initial value.
func values(d ast.Decl) map[string]ast.Expr {
	out := map[string]ast.Expr{}
	general, ok := d.(*ast.GenDecl)
	if !ok || general.Tok != token.VAR {
		return out
	}
	for _, s := range general.Specs {
		spec := s.(*ast.ValueSpec)
		for i, name := range spec.Names {
			if i < len(spec.Values) {
				out[name.Name] = spec.Values[i]
			}
		}
	}
	return out
}

// used returns the functions and package variables that a piece of source names.
func (p *pkg) used(d ast.Node) []string {
	var out []string
	ast.Inspect(d, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if v, ok := p.info.Uses[id].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
			out = append(out, v.Pkg().Path()+"."+v.Name())
		}
		fn, ok := p.info.Uses[id].(*types.Func)
		if !ok {
			return true
		}
		fn = fn.Origin()
		if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			out = append(out, "."+fn.Name())
		} else {
			out = append(out, fn.FullName())
		}
		return true
	})
	return out
}
