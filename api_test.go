package acapcrawl

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateAPI = flag.Bool("update-api", false, "write the files in the directory api")

// public are the packages that other programs may use. Their exported declarations are in the directory api. A change
// there must be intended, and be in CHANGELOG.md if it can break programs.
var public = []string{"acap", "acapcolly", "gate", "page", "policy", "site", "terms", "warc"}

// The exported declarations of the public packages are as recorded, and each of them has an example, which other
// programs can copy.
func TestAPI(t *testing.T) {
	for _, name := range public {
		got, file := declarations(t, name), filepath.Join("api", name+".txt")
		if *updateAPI {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != got {
			t.Errorf("the exported declarations of %s are not those of %s (%v): if that is intended, run go test . "+
				"-update-api",
				name, file, err)
		}
		examples, _ := filepath.Glob(filepath.Join(name, "example*_test.go"))
		if len(examples) == 0 {
			t.Errorf("%s has no example", name)
		}
		for _, file := range examples {
			if f := parseFile(t, token.NewFileSet(), file); slices.ContainsFunc(f.Imports, internal) {
				t.Errorf("%s imports a package that other programs cannot import", file)
			}
		}
	}
}

// internal reports whether only this module can import a package.
func internal(s *ast.ImportSpec) bool {
	return strings.HasPrefix(s.Path.Value, `"`+module+"/internal/")
}

func parseFile(t *testing.T, set *token.FileSet, name string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// documented returns the documentation of the package in dir, and its files by the names of what they import.
func documented(t *testing.T, set *token.FileSet, dir string) (p *doc.Package, imported map[string]string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	imported = map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f := parseFile(t, set, name)
		files = append(files, f)
		for _, i := range f.Imports {
			if inside, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module+"/"); ok {
				imported[path.Base(inside)] = inside
			}
		}
	}
	if p, err = doc.NewFromFiles(set, files, module+"/"+dir); err != nil {
		t.Fatal(err)
	}
	return p, imported
}

// declarations returns the exported declarations of the package in dir, without comments and bodies. After an alias
// of a type of another package of this module, they have the declarations of that type.
func declarations(t *testing.T, dir string) string {
	t.Helper()
	set := token.NewFileSet()
	p, imported := documented(t, set, dir)
	var b bytes.Buffer
	printed := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}
	write := func(decl ast.Node) {
		_ = printed.Fprint(&b, set, decl) // a buffer has no errors
		b.WriteString("\n")
	}
	functions := func(list []*doc.Func) {
		for _, f := range list {
			f.Decl.Doc, f.Decl.Body = nil, nil
			write(f.Decl)
		}
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			v.Decl.Doc = nil
			write(v.Decl)
		}
	}
	kind := func(k *doc.Type) {
		k.Decl.Doc = nil
		write(k.Decl)
		values(k.Consts)
		values(k.Vars)
	}
	values(p.Consts)
	values(p.Vars)
	functions(p.Funcs)
	for _, k := range p.Types {
		kind(k)
		functions(k.Funcs)
		functions(k.Methods)
		target := aliased(k)
		if target == nil || imported[target.X.(*ast.Ident).Name] == "" {
			continue
		}
		other, _ := documented(t, set, imported[target.X.(*ast.Ident).Name])
		for _, o := range other.Types {
			if o.Name == target.Sel.Name {
				fmt.Fprintf(&b, "// %s is %s.%s:\n", k.Name, other.Name, o.Name)
				kind(o)
				functions(o.Methods)
			}
		}
	}
	return b.String()
}

// aliased returns the type that k is an alias for, if it is one of another package; otherwise nil.
func aliased(k *doc.Type) *ast.SelectorExpr {
	for _, spec := range k.Decl.Specs {
		if s := spec.(*ast.TypeSpec); s.Name.Name == k.Name && s.Assign.IsValid() {
			target, _ := s.Type.(*ast.SelectorExpr)
			return target
		}
	}
	return nil
}
