package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Each verb has a page with each of its flags, and each line that begins with a dot is a request of roff that was
// meant.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	root := (&Command{}).root()
	if err := writeManual(dir, root); err != nil {
		t.Fatal(err)
	}
	macro := regexp.MustCompile(`^\.(TH|SH|SS|TP|B|BR|PP|nf|fi)\b`)
	pages := 1
	eachVerb(root, func(verb *cobra.Command) {
		pages++
		text, err := os.ReadFile(filepath.Join(dir, pageName(verb)+".1"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, ".") && !macro.MatchString(line) || strings.HasPrefix(line, "'") {
				t.Errorf("%s: %q", pageName(verb), line)
			}
		}
		verb.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if name := roff("--" + f.Name); !f.Hidden && f.Name != "help" &&
				!regexp.MustCompile(`(?m)^\.B .*`+regexp.QuoteMeta(name)+`\b`).Match(text) {
				t.Errorf("%s has no flag --%s", pageName(verb), f.Name)
			}
		})
		if verb.HasExample() && !strings.Contains(string(text), ".SH EXAMPLES\n.nf\n  acapcrawl ") {
			t.Errorf("%s has no example", pageName(verb))
		}
	})
	if files, err := os.ReadDir(dir); err != nil || len(files) != pages {
		t.Errorf("%d pages of %d verbs, %v", len(files), pages, err)
	}
}

func TestRoffText(t *testing.T) {
	got := roffText("One -x.\n.two\n\n  a\n  b\nThree\\.")
	want := "One \\-x.\n\\&.two\n.PP\n.nf\n  a\n  b\n.fi\nThree\\e.\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
