package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// eachVerb calls f for every verb that is not hidden.
func eachVerb(cmd *cobra.Command, f func(*cobra.Command)) {
	for _, verb := range cmd.Commands() {
		if !verb.Hidden {
			f(verb)
			eachVerb(verb, f)
		}
	}
}

// The help of a verb lists each of its flags once, below a heading, in at most 80 columns.
func TestHelpGroups(t *testing.T) {
	used := map[string]bool{}
	eachVerb((&Command{}).root(), func(verb *cobra.Command) {
		var b bytes.Buffer
		if err := printHelp(&b, verb); err != nil {
			t.Fatal(err)
		}
		verb.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			used[f.Name] = true
			if n := len(regexp.MustCompile(`(?m)^  (    |-., )--`+f.Name+" ").FindAllString(b.String(), -1)); n != 1 {
				t.Errorf("%s: --%s is listed %d times", verb.CommandPath(), f.Name, n)
			}
		})
		for line := range strings.Lines(b.String()) {
			if utf8.RuneCountInString(line) > helpWidth+1 && !strings.HasPrefix(line, "  acapcrawl ") {
				t.Errorf("%s: too long: %s", verb.CommandPath(), line)
			}
		}
		if n := utf8.RuneCountInString(verb.Short); n == 0 || n > helpWidth-15 || strings.HasSuffix(verb.Short, ".") {
			t.Errorf("%s: %q has %d characters", verb.CommandPath(), verb.Short, n)
		}
	})
	for _, g := range flagGroups {
		for name := range strings.FieldsSeq(g.flags) {
			if _, flag, _ := strings.Cut(name, "/"); !used[name] && !used[flag] {
				t.Errorf("%s: no verb has the flag %s", g.heading, name)
			}
		}
	}
}

// A call that names a verb makes that verb, without all others.
func TestOneVerb(t *testing.T) {
	for _, verb := range (&Command{}).root().Commands() {
		made := (&Command{args: []string{verb.Name(), "--help"}}).root()
		if one, _, err := made.Find([]string{verb.Name()}); err != nil || one.Name() != verb.Name() {
			t.Errorf("%s: %v, %v", verb.Name(), one, err)
		}
	}
}

// The help of the program lists each verb once.
func TestHelpVerbs(t *testing.T) {
	root := (&Command{}).root()
	var listed []string
	for _, g := range verbGroups {
		listed = append(listed, strings.Fields(g.verbs)...)
	}
	for _, verb := range root.Commands() {
		if n := len(slices.DeleteFunc(slices.Clone(listed),
			func(name string) bool { return name != verb.Name() })); n != 1 {
			t.Errorf("%s is listed %d times", verb.Name(), n)
		}
	}
	if len(listed) != len(root.Commands()) {
		t.Errorf("%d verbs are listed, and there are %d", len(listed), len(root.Commands()))
	}
}

func TestReflow(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 20))
	text := reflow(words + "\n\n  {as it is}\nshort")
	want := words[:79] + "\n" + words[80:] + "\n\n  {as it is}\nshort"
	if text != want {
		t.Errorf("%q, want %q", text, want)
	}
}
