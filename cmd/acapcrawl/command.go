package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/site"
)

// Command is the program with its streams and its environment. Its methods must not be called
// concurrently.
type Command struct {
	Name   string // words with which a shell starts this program, used in suggested commands; "": acapcrawl
	Stdin  io.Reader
	Stdout io.Writer // only results are written to Stdout
	Bold   bool      // Stdout is a terminal that shows styles
	Stderr io.Writer // progress, log and errors are written to Stderr
	Env    []string  // environment variables, in the form of os.Environ

	Resolver present.Resolver // resolves the host names of a reader's address; nil: the system's resolver

	// for tests: returns the free and total bytes of the disk; nil: ask the system
	free  func(dir string) (free, total int64, err error)
	fault func() error  // for tests: called before each write of archive and ledger
	clock cluster.Clock // for tests: the clock of a node of a cluster; nil: that of the machine

	args []string
	in   *stdin
	job  string          // the job whose settings the verb uses; "": none
	verb string          // the verb with its parents, for example "archive ls"; "" until it is parsed
	over <-chan struct{} // closed when the context of Main ends
	dir  string          // the directory in which the verb was called; "": the working directory of this process
	// the open data directory of the process in which this verb runs as a guest; nil: the verb
	// opens a data directory itself
	owner *site.Site
	// content of the configuration file, if another verb has read it; nil: this verb reads the file
	configText []byte
	wrong      error // the error for --help after a verb that does not exist
}

// Main runs the verb that args name, and returns the exit status. args do not contain the name of
// the program. When ctx ends, the verb stops cleanly.
func (c *Command) Main(ctx context.Context, args []string) int {
	out := newResults(c.Stdout, c.Bold)
	c.in, c.Stderr = &stdin{r: c.Stdin}, newProgress(c.Stderr) // goroutines write to Stderr concurrently
	c.Stdin, c.Stdout, c.args, c.over = c.in, out, args, ctx.Done()
	status, err := c.run(ctx)
	if err == nil {
		err = out.fault()
	}
	switch {
	case err == nil:
		return status
	case errors.Is(err, syscall.EPIPE) && errors.Is(out.err, syscall.EPIPE):
		return statusFailed // the reader of the results has closed the pipe
	}
	status = report(c.Stderr, err)
	if broken, is := errors.AsType[*defect.Error](err); is {
		c.Stderr.Write(broken.Stack)
	}
	return status
}

// run runs the verb in this process, or in the process that has the data directory open. status is
// valid only if err is nil.
func (c *Command) run(ctx context.Context) (status int, err error) {
	defer defect.Catch(&err, "acapcrawl "+strings.Join(c.args, " "), nil)
	for range maxTries {
		root := c.root()
		root.SetArgs(c.args)
		root.SetIn(c.Stdin)
		root.SetOut(c.Stdout)
		root.SetErr(c.Stderr)
		err = errors.Join(root.ExecuteContext(ctx), c.wrong)
		taken, is := errors.AsType[*busy](err)
		if !is {
			return statusDone, err
		}
		if status, err = c.handOver(ctx, taken); !errors.Is(err, errAgain) {
			return status, err
		}
		err = inUse(taken.dir)
	}
	return statusFailed, err
}

func (c *Command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "acapcrawl",
		Short: "A web crawler that obeys ACAP, the Automated Content Access Protocol",
		Long: `acapcrawl crawls, archives, indexes and shows web pages as far as their publishers permit. It
obeys ACAP 1.1, RFC 9309, robots META tags, X-Robots-Tag and Robots-Tag. Every refusal names the file, the
line and the field that decided.`,
		Example: `  acapcrawl demo
  acapcrawl crawl --max-pages 50 https://example.com/
  acapcrawl search harbour ferry
  acapcrawl explain https://example.com/`,
		Args:          cobra.ArbitraryArgs,
		RunE:          c.noVerb,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		c.verb = strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")
		if cmd.Name() == cobra.ShellCompRequestCmd {
			completeValues(root)
		}
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(c.wrongFlag)
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			c.wrong = c.noVerb(cmd, words)
			return
		}
		_ = printHelp(cmd.OutOrStdout(), cmd) // the error can be ignored: c.results stores it
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usageText(cmd))
		return err
	})
	root.SetHelpCommand(c.helpVerb(root))
	root.PersistentFlags().SortFlags = false
	root.Flags().Bool("version", false, "print version, commit and supported specifications")
	root.PersistentFlags().String("config", "", "read the settings from `FILE`")
	setting(root.PersistentFlags(), "data")
	setting(root.PersistentFlags(), "log-level")
	setting(root.PersistentFlags(), "log-format")
	for _, verb := range c.verbs() {
		root.AddCommand(verb())
	}
	root.InitDefaultHelpCmd()
	return root
}

// verbs returns the functions that make the verbs. If the arguments begin with the name of a verb, it returns only that
// one, because making the flags of all verbs takes half a megabyte and some milliseconds at each start. All verbs are
// needed only for help, completion, and arguments that begin with a flag or with no verb.
func (c *Command) verbs() []func() *cobra.Command {
	verbs := []struct {
		name string
		make func() *cobra.Command
	}{
		{"crawl", c.crawlVerb}, {"jobs", c.jobsVerb}, {"queue", c.queueVerb}, {"stats", c.statsVerb},
		{"search", c.searchVerb}, {"show", c.showVerb}, {"explain", c.explainVerb}, {"archive", c.archiveVerb},
		{"sweep", c.sweepVerb}, {"actions", c.actionsVerb}, {"watch", c.watchVerb}, {"serve", c.serveVerb},
		{"cluster", c.clusterVerb}, {"check", c.checkVerb}, {"diff", c.diffVerb}, {"convert", c.convertVerb},
		{"decide", c.decideVerb}, {"conformance", c.conformanceVerb}, {"demo", c.demoVerb},
		{"config", c.configVerb}, {"completion", c.completionVerb}, {"man", c.manVerb}, {"version", c.versionVerb},
	}
	var all []func() *cobra.Command
	for _, v := range verbs {
		if len(c.args) > 0 && c.args[0] == v.name {
			return []func() *cobra.Command{v.make}
		}
		all = append(all, v.make)
	}
	return all
}

// group returns a verb that does nothing itself and only groups other verbs.
func (c *Command) group(use, short string, verbs ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: c.noVerb}
	g.AddCommand(verbs...)
	return g
}

// noVerb returns the error for words after cmd that are not verbs of cmd.
func (c *Command) noVerb(cmd *cobra.Command, args []string) error {
	var verbs []string
	for _, v := range cmd.Commands() {
		if v.IsAvailableCommand() {
			verbs = append(verbs, v.Name())
		}
	}
	if asked, _ := cmd.Flags().GetBool("version"); asked && len(args) == 0 {
		return c.printVersion()
	}
	if len(args) == 0 {
		return misuse(cmd.CommandPath()+" --help", "%s needs a verb: %s", cmd.CommandPath(), strings.Join(verbs, ", "))
	}
	try := cmd.CommandPath() + " --help"
	if near := config.Nearest(args[0], verbs); near != "" {
		try = cmd.CommandPath() + " " + near
	}
	return misuse(try, "%s has no verb %q", cmd.CommandPath(), args[0])
}

// wrongFlag returns a flag error as an error of usage with a suggestion. If the flags follow a verb
// that does not exist, the error is about the verb.
func (c *Command) wrongFlag(cmd *cobra.Command, err error) error {
	if !cmd.HasParent() && len(c.args) > 0 && !strings.HasPrefix(c.args[0], "-") {
		return c.noVerb(cmd, c.args)
	}
	try := cmd.CommandPath() + " --help"
	if name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --"); unknown {
		if near := config.Nearest(name, flagNames(cmd)); near != "" {
			try = "--" + near
		}
	}
	if _, word, unknown := strings.Cut(err.Error(), " in -"); unknown &&
		strings.HasPrefix(err.Error(), "unknown shorthand flag") {
		if near := config.Nearest(word, flagNames(cmd)); near != "" {
			try = "--" + near
		} else if cmd.Name() == "search" {
			try = cmd.CommandPath() + " -- harbour -" + word
		}
	}
	return misuse(try, "%s: %v", cmd.CommandPath(), err)
}

func (c *Command) helpVerb(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]",
		Short: "Print how to use a verb",

		ValidArgsFunction: completeVerbs(root),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return c.noVerb(root, args)
			}
			return verb.Help()
		},
	}
}
