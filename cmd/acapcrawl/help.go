package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the width of help texts, in columns.
const helpWidth = 80

// verbGroups are the headings in the program's help, and the verbs below each heading.
var verbGroups = []struct{ heading, verbs string }{
	{"Crawling and archiving", "crawl jobs queue stats archive sweep"},
	{"Searching and showing", "search show explain"},
	{"Several machines", "cluster"},
	{"Requests of publishers", "actions watch serve"},
	{"Writing robots.txt", "check convert diff"},
	{"Conformance", "conformance decide"},
	{"Set-up", "demo config completion man version help"},
}

// flagGroups are the headings in the help of a verb, in their order, and the flags below each
// heading. VERB/FLAG means that the flag is below this heading only in the help of this verb.
var flagGroups = []struct{ heading, flags string }{
	{"Scope", "scope include exclude depth sitemaps requisites render canonical drop-parameters allow-private"},
	{"Engine", "engine jobs conformance-run/timeout"},
	{"Comparison", "against alone case decisions-only"},
	{"Versions", "at show/version history diff/from diff/to"},
	{"Input", "as page page-file robots watch"},
	{"Conversion", "convert/to convert/from usages reference ignore-conventional any-case convert/site"},
	{"Selection", "job host limit skip origin action state url since standing after no-refresh usage site urls held " +
		"only list diff/crawler diff/purpose"},
	{"Content", "headers sent snippet query thumbnail original"},
	{"Checks", "erased sample resume head actions-verify/receipt public-key acknowledge unverified forgotten"},
	{"Corrections", "repair fix check/dry-run"},
	{"Changes", "sweep/dry-run"},
	{"Erasure", "older reason archive-forget/dry-run"},
	{"Sending", "key actions-submit/to token-file"},
	{"Credential", "name expires grace"},
	{"Criteria", "min require fail-fast"},
	{"Visits", "conformance-site/listen log for run"},
	{"Judgement", "judge protocol conformance-site/crawler conformance-site/purpose"},
	{"Limits", "max-pages pages max-bytes max-time max-host-urls max-body memory min-free"},
	{"Speed", "delay adaptive concurrency per-host per-address timeout"},
	{"Revisits", "refetch recrawl-min recrawl-max"},
	{"Identity", "crawler purpose contact signature-key signature-agent credentials cookies"},
	{"Policy", "for preferences strict dialect cannot as-of refresh assume-policy"},
	{"Reader restrictions", "reader-ip reader-domain reader-country framed"},
	{"Archiving", "preserve index chromium"},
	{"Network", "listen serve"},
	{"Cluster", "cluster node nodes cluster-credentials cluster-tls-ca cluster-tls-certificate cluster-tls-key " +
		"cluster-key-file partitions lease lease-margin wait"},
	{"Output", "explain why all failures receipt force status report metrics format json output"},
}

// helpHeading returns the heading below which the help of a verb lists a flag, or "" if the flag
// has no heading.
func helpHeading(cmd *cobra.Command, flag string) string {
	verb := strings.Join(strings.Fields(cmd.CommandPath())[1:], "-")
	found := ""
	for _, g := range flagGroups {
		for name := range strings.FieldsSeq(g.flags) {
			switch name {
			case verb + "/" + flag:
				return g.heading
			case flag:
				found = g.heading
			}
		}
	}
	return found
}

// printHelp prints the help of a verb: its description, then its usage.
func printHelp(w io.Writer, cmd *cobra.Command) error {
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	_, err := io.WriteString(w, reflow(about)+"\n\n"+usageText(cmd))
	return err
}

// usageText returns the usage of a command, its verbs and its flags.
func usageText(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", useLine(cmd))
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	b.WriteString(verbsText(cmd))
	for _, g := range flagGroups {
		b.WriteString(flagsText(g.heading, groupedFlags(cmd, g.heading, g.flags)))
	}
	b.WriteString(flagsText(commonHeading, commonFlags(cmd)))
	if cmd.HasSubCommands() {
		fmt.Fprintf(&b, "\n%s VERB --help prints the flags of a verb.\n", cmd.CommandPath())
	}
	return b.String()
}

// useLine returns the words of a call of cmd.
func useLine(cmd *cobra.Command) string {
	if cmd.HasSubCommands() && cmd.Use == cmd.Name() { // a verb that does something itself says so in Use
		return cmd.CommandPath() + " VERB [flags]"
	}
	return cmd.UseLine()
}

// commonHeading is the heading of commonFlags.
const commonHeading = "Flags of every verb"

// commonFlags returns the flags that every verb has. The program itself also has --version.
func commonFlags(cmd *cobra.Command) *pflag.FlagSet {
	set := newFlagSet()
	set.AddFlagSet(cmd.Root().PersistentFlags())
	if !cmd.HasParent() {
		addFlag(set, cmd.Flags().Lookup("version"))
	}
	set.BoolP("help", "h", false, "print this help")
	return set
}

// verbsText returns the list of the verbs of cmd. The verbs of the program are grouped.
func verbsText(cmd *cobra.Command) string {
	var b strings.Builder
	line := func(verb *cobra.Command) { fmt.Fprintf(&b, "  %-12s %s\n", verb.Name(), verb.Short) }
	if cmd.HasParent() {
		if cmd.HasSubCommands() {
			b.WriteString("\nVerbs:\n")
		}
		for _, verb := range cmd.Commands() {
			if !verb.Hidden {
				line(verb)
			}
		}
		return b.String()
	}
	for _, g := range verbGroups {
		fmt.Fprintf(&b, "\n%s:\n", g.heading)
		for name := range strings.FieldsSeq(g.verbs) {
			if verb, _, err := cmd.Find([]string{name}); err == nil {
				line(verb)
			}
		}
	}
	return b.String()
}

func newFlagSet() *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	return set
}

// addFlag adds a flag to a set unless the flag is nil or hidden.
func addFlag(set *pflag.FlagSet, f *pflag.Flag) {
	if f != nil && !f.Hidden {
		set.AddFlag(f)
	}
}

// groupedFlags returns the flags of cmd that belong below a heading, in the order of names.
func groupedFlags(cmd *cobra.Command, heading, names string) *pflag.FlagSet {
	set := newFlagSet()
	for name := range strings.FieldsSeq(names) {
		name = name[strings.IndexByte(name, '/')+1:]
		if helpHeading(cmd, name) == heading {
			addFlag(set, cmd.LocalNonPersistentFlags().Lookup(name))
		}
	}
	return set
}

// flagsText returns a heading and below it the flags of set, or "" if set is empty.
func flagsText(heading string, set *pflag.FlagSet) string {
	if !set.HasFlags() {
		return ""
	}
	return "\n" + heading + ":\n" + set.FlagUsagesWrapped(helpWidth)
}

// reflow wraps the paragraphs of a text at helpWidth columns. It does not change indented lines.
func reflow(text string) string {
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, wrap(strings.Join(paragraph, " "), helpWidth)...)
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, " "):
			flush()
			out = append(out, line)
		default:
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}
