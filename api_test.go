package acapcrawl

import (
	"bytes"
	"flag"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var updateAPI = flag.Bool("update-api", false, "write the files in the directory api")

// public are the packages that other programs may use. Their exported declarations are in the directory api. A change
// there must be intended, and be in CHANGELOG.md if it can break programs.
var public = []string{"acap", "acapcolly", "gate", "page", "policy", "site", "terms", "warc"}

// The exported declarations of the public packages are as recorded, and each of them has an example.
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
		if examples, _ := filepath.Glob(filepath.Join(name, "example*_test.go")); len(examples) == 0 {
			t.Errorf("%s has no example", name)
		}
	}
}

// declarations returns the exported declarations of the package in dir, without comments and bodies.
func declarations(t *testing.T, dir string) string {
	t.Helper()
	set := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(set, files, module+"/"+dir)
	if err != nil {
		t.Fatal(err)
	}
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
	values(p.Consts)
	values(p.Vars)
	functions(p.Funcs)
	for _, kind := range p.Types {
		kind.Decl.Doc = nil
		write(kind.Decl)
		values(kind.Consts)
		values(kind.Vars)
		functions(kind.Funcs)
		functions(kind.Methods)
	}
	return b.String()
}
