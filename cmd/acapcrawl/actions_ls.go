package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/spf13/cobra"
)

func (c *Command) actionsListVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List requests: who made them, by which line, and their outcome",
		Example: `  acapcrawl actions ls --origin https://example.com --standing
  acapcrawl actions ls --state failed --json`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	origins := flags.StringArray("origin", nil, "only requests of the site `URL` (repeatable)")
	action := flags.String("action", "", "only requests for `ACTION`: take-down, re-crawl")
	state := flags.String("state", "", "only requests in `STATE`: seen, confirmed, refused, due, running, done, failed")
	resource := flags.String("url", "", "only requests about the resource `URL`")
	flags.String("since", "", "only requests first seen at `TIME` or later")
	standing := flags.Bool("standing", false, "only requests that are still in force")
	after := flags.Uint64("after", 0, "only requests with an ID above `N`")
	limit := flags.Int("limit", 0, "at most `N` requests; 0: all")
	clusterFlags(cmd)
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		r := actionsRequest{JSON: out.JSON(), Filter: actions.Filter{Action: *action, State: actions.State(*state),
			Standing: *standing, After: *after, Limit: *limit}}
		switch {
		case r.Action != "" && r.Action != acap.TakeDown && r.Action != acap.ReCrawl:
			return misuse("--action take-down", "--action: %q is neither %s nor %s", r.Action, acap.TakeDown,
				acap.ReCrawl)
		case r.State != "" && !r.State.Known():
			return misuse("--state done", "--state: %q is not a state of a request", r.State)
		case r.Limit < 0:
			return misuse("--limit 100", "--limit: %d is negative", r.Limit)
		}
		if r.Since, err = timeFlag(flags, "since"); err != nil {
			return err
		}
		if r.Origins, err = originKeys(*origins); err != nil {
			return err
		}
		if *resource != "" {
			if r.URL, err = actions.Address(*resource); err != nil {
				return misuse("", "--url: %v", err)
			}
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		if c.asksNodes(cfg) {
			return c.actionsOfNodes(cmd.Context(), cfg, callOf(cmd, nil), r)
		}
		return c.runActionsList(cmd.Context(), cfg, r)
	}
	return cmd
}

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

// stateInWords returns in words the state of a request and, if known, why or when the request got
// into this state, and which nodes have executed the request.
func stateInWords(a actions.Request) string {
	words := string(a.State)
	switch {
	case a.Why != "":
		words += ": " + a.Why
	case !a.Done.IsZero():
		words += " " + a.Done.Format(time.RFC3339)
	}
	if lifted(a) {
		words += ", no longer in force"
	}
	if a.Spread != nil && len(a.NodesDone) > 0 {
		words += "; done on " + strings.Join(a.NodesDone, ", ")
	}
	if a.Spread != nil && len(a.NodesPending) > 0 {
		words += "; still to do on " + strings.Join(a.NodesPending, ", ")
	}
	return words
}

// lifted reports whether a take-down was executed and is no longer in force.
func lifted(a actions.Request) bool {
	return a.Action == acap.TakeDown && a.State == actions.Done && !a.Standing
}
