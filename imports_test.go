// Package acapcrawl holds no code: it guards the shape of the module.
package acapcrawl

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/acapcrawl/acapcrawl"

// forTests is the folder of packages that only tests use.
const forTests = "internal/test/"

// siblings lists for each package the packages of this module that it may import; both may be below internal. The
// command may import all. bench and internal/test are not listed, and only tests may import internal/test.
var siblings = map[string][]string{
	"acap":       {},
	"page":       {"acap", "coding", "hop"},
	"policy":     {"acap", "address", "defect", "gate", "preference", "spool"},
	"preference": {"acap"},
	"coding":     {},
	"hop":        {"coding"},
	"spool":      {},
	"disk":       {},
	"memory":     {},
	"address":    {},
	"gate":       {"acap", "address", "coding", "hop", "memory"},
	"fetch":      {"acap", "gate", "page", "terms"},
	"kept":       {"acap", "snippet"},
	"terms":      {"acap", "kept", "page", "snippet"},
	"crawler":    {"acap", "address", "defect", "gate", "page", "spool", "memory"},
	"defect":     {},
	"acapcolly":  {"acap", "address", "fetch", "gate", "page", "policy", "snippet", "terms"},
	"cluster":    {"address", "crawler"},
	"archive":    {"acap", "address", "kept", "page", "coding", "spool", "disk"},
	"warc":       {},
	"wacz":       {},
	"objects":    {},
	"memento":    {},
	"cdx":        {"address", "memento", "warc"},
	"rewrite":    {},
	"display":    {},
	"index":      {"acap", "page", "disk"},
	"snippet":    {"acap", "page"},
	"holdings": {"acap", "defect", "page", "terms", "archive", "index", "warc", "coding", "snippet", "thumbnail",
		"render", "memory", "disk"},
	"present":   {"acap", "kept", "page", "terms", "archive", "index", "snippet", "thumbnail"},
	"thumbnail": {},
	"render":    {},
	"actions":   {"acap", "address", "spool", "disk"},
	"check":     {"acap", "page", "policy", "preference", "terms", "display"},
	"convert":   {"acap", "address", "preference"},
	"conformance": {"acap", "address", "defect", "gate", "page", "policy", "preference", "snippet", "terms", "check",
		"display"},
	"web": {"acap", "address", "defect", "disk", "display", "page", "terms",
		"present", "actions", "policy", "check", "view"},
	"explain": {"acap", "archive", "conformance", "display", "page", "policy", "present", "terms"},
	"view": {"acap", "actions", "address", "cdx", "check", "conformance", "defect", "display", "explain", "memento",
		"page", "policy", "preference", "present", "rewrite", "snippet", "terms", "thumbnail", "warc"},
	"config": {},
	"docs":   {},
	"site": {"acap", "address", "actions", "archive", "cluster", "config", "crawler", "defect", "disk", "display",
		"explain", "fetch", "gate", "holdings", "index", "memory", "objects", "page", "policy", "preference",
		"present", "render", "terms", "view", "warc", "wacz"},
}

// owners lists for some libraries the only packages that may import them, so that a library can be
// replaced in one place.
var owners = map[string][]string{
	"golang.org/x/net/publicsuffix":        {"address"},
	"github.com/minio/minio-go/v7":         {"objects"},
	"github.com/nats-io/":                  {"cluster", "cluster/server", "internal/test/natstest"},
	"github.com/gocolly/colly/":            {"acapcolly", "crawler", "site", "bench", "internal/test/careless"},
	"github.com/andybalholm/brotli":        {"bench", "coding", "internal/test/faults", "internal/test/squeeze"},
	"github.com/PuerkitoBio/goquery":       {"acapcolly", "page"},
	"github.com/nlnwa/whatwg-url/":         {"acapcolly"},
	"github.com/blevesearch/":              {"index", "index/segment", "bench"},
	"github.com/RoaringBitmap/roaring/":    {"index", "index/segment"},
	"github.com/temoto/robotstxt":          {"check", "bench"},
	"go.etcd.io/bbolt":                     {"archive", "policy", "crawler", "actions", "spool"},
	"github.com/spf13/viper":               {"config"},
	"github.com/spf13/cobra":               {"cmd/acapcrawl"},
	"github.com/prometheus/client_golang/": {"cmd/acapcrawl"},
	"github.com/spf13/pflag":               {"cmd/acapcrawl"},
	"github.com/abadojack/whatlanggo":      {"page"},
	"github.com/oschwald/maxminddb-golang": {"present"},
	"github.com/maxmind/mmdbwriter":        {"internal/test/geo"},
	"github.com/dunglas/httpsfv":           {"acap", "conformance/second", "page", "preference"},
	"github.com/chromedp/":                 {"render", "internal/test/pagecheck"},
	"golang.org/x/image/":                  {"thumbnail"},
	"golang.org/x/time/":                   {"web"},
	"golang.org/x/crypto/":                 {"web"},
	"golang.org/x/sync/":                   {"cluster", "cmd/acapcrawl", "memory"},
	"github.com/robfig/cron/":              {"config"},
	"github.com/KimMachineGun/":            {"memory"},
	"github.com/yuin/goldmark":             {"page"},
	"github.com/ledongthuc/pdf":            {"page"},
	"github.com/rogpeppe/go-internal/":     {"cmd/acapcrawl", "conformance", "check"},
	"github.com/santhosh-tekuri/":          {"check", "view"},
	"go.yaml.in/yaml/":                     {"config", "internal/test/pipelines"},
}

// listed holds the fields of the output of go list that the test uses.
type listed struct {
	ImportPath, Dir                    string
	GoFiles, CgoFiles                  []string
	Imports, TestImports, XTestImports []string
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		name := p.name()
		for _, path := range p.Imports {
			if s := mayImport(name, path); s != "" {
				t.Errorf("%s imports %s: %s", name, path, s)
			}
			if strings.HasPrefix(path, module+"/"+forTests) && !strings.HasPrefix(name, forTests) {
				t.Errorf("%s imports %s: %s is for tests", name, path, forTests)
			}
		}
		for _, path := range p.TestImports {
			if s := mayImport(name, path); s != "" {
				t.Errorf("a test of %s imports %s: %s", name, path, s)
			}
		}
		for _, path := range p.XTestImports { // such as examples, which are programs that use this package with others
			if s := mayImport(name, path); s != "" && !strings.HasPrefix(path, module+"/") {
				t.Errorf("a test outside of %s imports %s: %s", name, path, s)
			}
		}
		if len(p.CgoFiles) > 0 {
			t.Errorf("%s needs cgo", name)
		}
	}
}

// mayImport returns why the package name may not import path, "" if it may.
func mayImport(name, path string) string {
	for library, who := range owners {
		if (path == strings.TrimSuffix(library, "/") || strings.HasPrefix(path, library)) &&
			!slices.Contains(who, name) {
			return "only " + strings.Join(who, ", ") + " may"
		}
	}
	sibling, ours := strings.CutPrefix(path, module+"/")
	sibling = short(sibling)
	if !ours || sibling == name {
		return ""
	}
	top, _, _ := strings.Cut(name, "/")
	switch {
	case top == "bench" || strings.HasPrefix(name, forTests) || strings.HasPrefix(sibling, forTests):
		return ""
	case top == "cmd" && !strings.HasPrefix(sibling, "cmd/"):
		return ""
	}
	allowed, known := siblings[top]
	if !known {
		return "the table of siblings does not know " + top
	}
	// A package may have subfolders.
	if to, _, _ := strings.Cut(sibling, "/"); to != top && !slices.Contains(allowed, to) {
		return "the table of siblings does not allow it"
	}
	return ""
}

// No package runs code before main begins.
func TestNoInit(t *testing.T) {
	for _, p := range packages(t) {
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s: %s has an init function", p.name(), file)
				}
			}
		}
	}
}

// Every package has a doc comment that says what it contains.
func TestPackageDoc(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		said := slices.ContainsFunc(p.GoFiles, func(file string) bool {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil,
				parser.ParseComments|parser.PackageClauseOnly)
			return err == nil && f.Doc != nil
		})
		if !said {
			t.Errorf("%s has no package comment", p.name())
		}
	}
}

// name returns the path of the package in the module, short.
func (p listed) name() string {
	return short(strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/"))
}

// short returns the path of a package without internal, if the package is not for tests.
func short(path string) string {
	if strings.HasPrefix(path, forTests) {
		return path
	}
	return strings.TrimPrefix(path, "internal/")
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e",
		"-json=ImportPath,Dir,GoFiles,CgoFiles,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var ps []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	if len(ps) == 0 {
		t.Fatal("go list named no package")
	}
	return ps
}

// Only package disk renames files, and the archive, which must know whether the new name exists.
// After a crash a renamed file may be empty or the old one unless the file before and its directory
// afterwards are synced.
func TestRenames(t *testing.T) {
	for _, p := range packages(t) {
		name := p.name()
		if name == "disk" || strings.HasPrefix(name, forTests) {
			continue
		}
		for _, file := range p.GoFiles {
			if name == "archive" && file == "copier.go" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "os.Rename(") {
				t.Errorf("%s/%s renames a file without package disk", name, file)
			}
		}
	}
}
