package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/display"
)

func (c *Command) runActionsList(ctx context.Context, cfg *config.Config, r actionsRequest) (err error) {
	ledger, done, err := c.openLedger(cfg)
	if err != nil {
		return c.orNothing(r.JSON, []struct{}{}, err)
	}
	defer func() { err = errors.Join(err, done()) }()
	out := bufio.NewWriter(c.Stdout)
	values, lines := jsonArray{w: out}, tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	n := 0
	err = ledger.Each(r.Filter, func(a actions.Request) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.JSON {
			return values.add(a)
		}
		printAction(lines, a)
		if n++; n%aligned == 0 {
			return lines.Flush()
		}
		return nil
	})
	switch {
	case err != nil:
	case r.JSON:
		err = values.end()
	default:
		err = lines.Flush()
	}
	if rest := out.Flush(); err == nil {
		err = rest
	}
	return err
}

// printAction prints a request as one line of a table.
func printAction(w io.Writer, a actions.Request) {
	fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", a.ID, a.Asked.Format(time.RFC3339), a.Action, display.Line(a.URL),
		display.Line(stateInWords(a)), display.Line(a.Source))
}

// stateInWords is where a request stands, and why, or since when.
func stateInWords(a actions.Request) string {
	words := string(a.State)
	switch {
	case a.Why != "":
		words += ": " + a.Why
	case !a.Done.IsZero():
		words += " " + a.Done.Format(time.RFC3339)
	}
	if lifted(a) {
		words += ", no longer asked for"
	}
	return words
}

// lifted reports whether a take-down was executed that bars nothing any more.
func lifted(a actions.Request) bool {
	return a.Action == acap.TakeDown && a.State == actions.Done && !a.Standing
}
