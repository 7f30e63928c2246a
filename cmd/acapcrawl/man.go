package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/site"
)

func (c *Command) manVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a directory",
		Long: `Write a manual page for each verb into a directory: acapcrawl.1, acapcrawl-crawl.1 and so on. They have the
same text as --help. Packages of acapcrawl install them.`,
		Example: `  acapcrawl man ~/.local/share/man/man1
  man acapcrawl-crawl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse(cmd.CommandPath()+" ~/.local/share/man/man1", "%s takes the name of one directory",
					cmd.CommandPath())
			}
			return writeManual(c.path(args[0]), (&Command{}).root()) // cmd.Root() has no other verb than man
		},
	}
}

// writeManual writes the page of a verb, and those of the verbs below it, into the directory dir.
func writeManual(dir string, verb *cobra.Command) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, pageName(verb)+".1"), []byte(manualPage(verb)), 0o644)
	}
	if err != nil {
		return fmt.Errorf("the manual pages cannot be written: %w", err)
	}
	for _, v := range verb.Commands() {
		if !v.Hidden && err == nil {
			err = writeManual(dir, v)
		}
	}
	return err
}

// pageName returns the name of the page of a verb: acapcrawl-archive-ls.
func pageName(verb *cobra.Command) string { return strings.ReplaceAll(verb.CommandPath(), " ", "-") }

// manualPage returns the page of a verb in the language man of roff.
func manualPage(verb *cobra.Command) string {
	var b strings.Builder
	name := pageName(verb)
	fmt.Fprintf(&b, ".TH %s 1 \"%s\" \"acapcrawl %s\" \"acapcrawl manual\"\n", strings.ToUpper(name), commitDate(),
		site.Version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(verb.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(useLine(verb)))
	about := verb.Long
	if about == "" {
		about = verb.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n" + roffText(about))
	b.WriteString(roffVerbs(verb))
	b.WriteString(".SH FLAGS\n")
	for _, g := range flagGroups {
		b.WriteString(roffFlags(flagsText(g.heading, groupedFlags(verb, g.heading, g.flags))))
	}
	b.WriteString(roffFlags(flagsText(commonHeading, commonFlags(verb))))
	if verb.HasExample() {
		b.WriteString(".SH EXAMPLES\n" + roffText(verb.Example))
	}
	if !verb.HasParent() {
		b.WriteString(roffRules())
	}
	b.WriteString(seeAlso(verb))
	return b.String()
}

// roffRules returns the sections that concern all verbs.
func roffRules() string {
	return `.SH EXIT STATUS
.TP
0
success
.TP
1
findings, violations, or no result
.TP
2
wrong usage or configuration
.TP
3
refused by policy
.TP
4
failure
.SH ENVIRONMENT
.TP
` + fileVariable + `
the configuration file, if there is no flag \-\-config
.TP
ACAPCRAWL_KEY
the value of the setting KEY; for example, ` + config.Variable("policy.strict") + ` sets policy.strict
.SH FILES
.TP
~/.config/acapcrawl/config.yaml
the configuration file; acapcrawl config init writes one that explains every setting
.TP
~/.local/share/acapcrawl
the data directory
`
}

// roffVerbs returns the verbs below verb, grouped if verb is the program.
func roffVerbs(verb *cobra.Command) string {
	var b strings.Builder
	for line := range strings.Lines(verbsText(verb)) {
		line = strings.TrimSuffix(line, "\n")
		name, short, found := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case line == "Verbs:", line == "":
		case !strings.HasPrefix(line, "  "):
			fmt.Fprintf(&b, ".SS %s\n", roff(strings.TrimSuffix(line, ":")))
		case found:
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(name), roff(strings.TrimSpace(short)))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return ".SH VERBS\n" + b.String()
}

// roffFlags converts the text that flagsText returns.
func roffFlags(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		flag, usage, found := strings.Cut(strings.TrimSpace(line), "   ")
		switch {
		case strings.TrimSpace(line) == "":
		case !strings.HasPrefix(line, " "):
			fmt.Fprintf(&b, ".SS %s\n", roff(strings.TrimSuffix(flag, ":")))
		case found && strings.HasPrefix(flag, "-"):
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(flag), roff(strings.TrimSpace(usage)))
		default:
			fmt.Fprintln(&b, roff(strings.TrimSpace(line)))
		}
	}
	return b.String()
}

// seeAlso returns the section with the pages above and below a verb.
func seeAlso(verb *cobra.Command) string {
	var pages []string
	if verb.HasParent() {
		pages = append(pages, fmt.Sprintf(".BR %s (1)", roff(pageName(verb.Parent()))))
	}
	for _, v := range verb.Commands() {
		if !v.Hidden {
			pages = append(pages, fmt.Sprintf(".BR %s (1)", roff(pageName(v))))
		}
	}
	return ".SH SEE ALSO\n" + strings.Join(pages, ",\n") + "\n"
}

// roffText converts the text of a help: paragraphs are filled, indented lines stay as they are.
func roffText(text string) string {
	var b strings.Builder
	kept, begins := false, false // whether the lines before are indented; whether a paragraph begins
	for line := range strings.SplitSeq(text, "\n") {
		indented := strings.HasPrefix(line, " ")
		if kept && !indented {
			b.WriteString(".fi\n")
		}
		begins = begins || line == "" || indented && !kept
		if line != "" && begins && b.Len() > 0 {
			b.WriteString(".PP\n")
		}
		if indented && !kept {
			b.WriteString(".nf\n")
		}
		if kept = indented; line != "" {
			b.WriteString(roff(line) + "\n")
			begins = false
		}
	}
	if kept {
		b.WriteString(".fi\n")
	}
	return b.String()
}

// roff quotes a line of text. Hyphens become minus signs, so that commands can be copied and searched.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}

// commitDate returns the date of the commit from which the program was built, "" if it is not known.
func commitDate() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if t, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
			return t.Format(time.DateOnly)
		}
	}
	return ""
}
