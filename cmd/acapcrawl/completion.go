package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/acapcrawl/acapcrawl/config"
)

func (c *Command) completionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh or fish",
		Long: `Print a script with which a shell completes verbs, flags and some of their values. Put it where the
shell looks for such scripts. The script for bash needs the package bash-completion. Packages of acapcrawl install all
three scripts.`,
		Example: `  acapcrawl completion bash > ~/.local/share/bash-completion/completions/acapcrawl
  acapcrawl completion zsh > "${fpath[1]}/_acapcrawl"
  acapcrawl completion fish > ~/.config/fish/completions/acapcrawl.fish`,
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse(cmd.CommandPath()+" bash", "%s takes the name of one shell", cmd.CommandPath())
			}
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(c.raw(), true)
			case "zsh":
				return cmd.Root().GenZshCompletion(c.raw())
			case "fish":
				return cmd.Root().GenFishCompletion(c.raw(), true)
			}
			return unknown(cmd.CommandPath(), args[0], "a shell", cmd.ValidArgs)
		},
	}
}

// wordsOfFlag is the annotation of a flag with the values that the flag can have.
const wordsOfFlag = "words"

// settingWords returns the values that the flag of a setting can have; nil if they cannot be listed.
func settingWords(name string) []string {
	switch name {
	case "scope":
		return config.Scopes()
	case "dialect":
		return config.Dialects()
	case "log-level":
		return config.LogLevels()
	case "log-format":
		return config.LogFormats()
	case "preferences":
		return append(config.Vocabularies(), "none")
	case "for":
		return append(config.Uses(), "none")
	}
	return nil
}

// completeValues lets a shell complete the values of flags that have words, directories for --data, and file names
// only as arguments of verbs that take files. It also removes the quotes around the names of values, which help texts
// do not show either.
func completeValues(verb *cobra.Command) {
	if verb.ValidArgs == nil && verb.ValidArgsFunction == nil && !strings.Contains(verb.Use, "FILE") &&
		!strings.Contains(verb.Use, "CORPUS") && !strings.Contains(verb.Use, "DIR") {
		verb.ValidArgsFunction = cobra.NoFileCompletions
	}
	complete := func(f *pflag.Flag) {
		f.Usage = strings.ReplaceAll(f.Usage, "`", "")
		if words := f.Annotations[wordsOfFlag]; len(words) > 0 {
			// cannot fail: the flag exists, and each tree of verbs has its own flags
			_ = verb.RegisterFlagCompletionFunc(f.Name,
				cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
		if f.Name == "data" {
			f.Annotations[cobra.BashCompSubdirsInDir] = []string{}
		}
	}
	verb.LocalNonPersistentFlags().VisitAll(complete)
	verb.PersistentFlags().VisitAll(complete)
	for _, v := range verb.Commands() {
		completeValues(v)
	}
}

// completeVerbs returns the verbs below the verb that args name, for the shell. It completes the arguments of help.
func completeVerbs(root *cobra.Command) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []cobra.Completion
		if verb, rest, err := root.Find(args); err == nil && len(rest) == 0 {
			for _, v := range verb.Commands() {
				if v.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(v.Name(), v.Short))
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
