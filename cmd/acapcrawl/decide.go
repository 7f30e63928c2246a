package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
)

func (c *Command) decideVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decide [FILE…]",
		Short: "Answer cases in JSON Lines: a small web, a crawler and a question each",
		Long: `Answer cases in JSON Lines, of the files or of standard input: a small web, a crawler and a question each. Every
line is answered with one line. Nothing is fetched, and neither configuration nor data directory matter. What a
crawl would not request is not read from a case either: references, substitutes and required resources at private,
loopback and link-local addresses, but for the host of the resource asked about.`,
	}
	dialect := cmd.Flags().String("dialect", config.Dialect11, settingFlags["dialect"].usage+"; for cases that name none")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(config.Dialects(), *dialect) {
			return misuse("", "--dialect: %q is not one of %s", *dialect, strings.Join(config.Dialects(), ", "))
		}
		ins, closeAll, err := c.inputs(args)
		if err != nil {
			return err
		}
		defer closeAll()
		var all decided
		for _, in := range ins {
			n, err := c.runDecide(cmd.Context(), in, *dialect)
			if err != nil {
				return err
			}
			all.malformed, all.broken = all.malformed+n.malformed, all.broken+n.broken
		}
		switch {
		case all.broken > 0:
			return fmt.Errorf("%d of the cases met a defect of this program: report it with the stacks above",
				all.broken)
		case all.malformed > 0:
			return misuse("", "%d of the cases could not be read; their answers say why", all.malformed)
		}
		return nil
	}
	return cmd
}

// inputs opens the files named, - being standard input, or standard input when none is. All are opened before any is read,
// so that a slip in one name does not leave half an answer.
func (c *Command) inputs(names []string) (ins []io.Reader, closeAll func(), err error) {
	var files []*os.File
	closeAll = func() {
		for _, f := range files {
			f.Close()
		}
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		if name == "-" {
			ins = append(ins, c.Stdin)
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			closeAll()
			return nil, nil, misuse("", "the cases cannot be read: %w", err)
		}
		files, ins = append(files, f), append(ins, f)
	}
	return ins, closeAll, nil
}
