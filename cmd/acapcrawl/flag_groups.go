package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is a heading of a verb's help with the flags below it.
type flagGroup struct {
	heading string
	names   []string
}

// groupFlags makes the help of a verb with many flags show them in groups. The flags must exist.
func groupFlags(cmd *cobra.Command, groups []flagGroup) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		for _, g := range groups {
			set := pflag.NewFlagSet(g.heading, pflag.ContinueOnError)
			set.SortFlags = false
			for _, name := range g.names {
				set.AddFlag(cmd.Flags().Lookup(name))
			}
			fmt.Fprintf(&b, "\n%s:\n%s", g.heading, set.FlagUsages())
		}
		fmt.Fprintf(&b, "\nFor every verb:\n%s", cmd.InheritedFlags().FlagUsages())
		_, err := io.WriteString(cmd.OutOrStderr(), b.String())
		return err
	})
}
