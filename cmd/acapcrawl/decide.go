package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/internal/defect"
)

func (c *Command) decideVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decide [FILE…]",
		Short: "Answer policy questions in JSON Lines, without network access",
		Long: `Read cases as JSON Lines from files or standard input, and print one line of JSON for each. A
case contains a small web, a crawler and a question. The command makes no request and uses neither
configuration nor data directory. It ignores what a crawl would not request: references, substitutes and
required resources at private, loopback and link-local addresses, except on the host of the resource in
question.`,
	}
	dialect := cmd.Flags().String("dialect", config.Dialect11, settingFlags["dialect"].usage+
		"; for cases without dialect")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(config.Dialects(), *dialect) {
			return misuse("", "--dialect: %q is not one of %s", *dialect, strings.Join(config.Dialects(), ", "))
		}
		ins, closeAll, err := c.inputs(args)
		if err != nil {
			return err
		}
		defer closeAll()
		var all conformance.Unanswered
		for _, in := range ins {
			n, err := c.runDecide(cmd.Context(), in, *dialect)
			if err != nil {
				return err
			}
			all.Malformed, all.Broken = all.Malformed+n.Malformed, all.Broken+n.Broken
		}
		switch {
		case all.Broken > 0:
			return fmt.Errorf("%d cases met a defect of this program: report it with the stacks above",
				all.Broken)
		case all.Malformed > 0:
			return misuse("", "%d cases could not be read; their answers say why", all.Malformed)
		}
		return nil
	}
	return cmd
}

// inputs opens the named files; "-" or no name at all means standard input. All files are opened
// before the first is read, so that a wrong name is reported before any answer is printed.
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

// runDecide prints an answer or an error for every line of in. dialect is used for the cases that
// name no dialect.
func (c *Command) runDecide(ctx context.Context, in io.Reader, dialect string) (conformance.Unanswered, error) {
	out := bufio.NewWriter(c.Stdout)
	o := conformance.Oracle{Dialect: dialect, Flush: out.Flush,
		Defect: func(e *defect.Error) { fmt.Fprintf(c.Stderr, "Error: %v\n%s", e, e.Stack) }}
	n, err := o.Answer(ctx, in, out)
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	return n, err
}
