package segment

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestVersions checks that the package documentation names the versions of bleve used in this
// build.
func TestVersions(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	needed := regexp.MustCompile(`(?m)^\t(github\.com/blevesearch/\S+ v\S+)$`).FindAllStringSubmatch(string(mod), -1)
	if len(needed) < 5 {
		t.Fatalf("go.mod requires only %q", needed)
	}
	for _, n := range needed {
		if !strings.Contains(string(doc), "//\t"+n[1]+"\n") {
			t.Errorf("doc.go does not name %s: read its last section", n[1])
		}
	}
}
