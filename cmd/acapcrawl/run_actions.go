package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
)

func (c *Command) runActionsList(_ context.Context, cfg *config.Config, r actionsRequest) (err error) {
	ledger, done, err := c.openLedger(cfg)
	if err != nil {
		return c.orNothing(r.JSON, []struct{}{}, err)
	}
	defer func() { err = errors.Join(err, done()) }()
	list, err := ledger.List()
	switch {
	case err != nil:
		return err
	case r.JSON && list == nil:
		return c.printJSON([]actions.Request{})
	case r.JSON:
		return c.printJSON(list)
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 8, 2, ' ', 0)
	for _, a := range list {
		state := string(a.State)
		switch {
		case a.Why != "":
			state += ": " + a.Why
		case !a.Done.IsZero():
			state += " " + a.Done.Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", a.ID, a.Asked.Format(time.RFC3339), a.Action, a.URL, state, a.Source)
	}
	return w.Flush()
}
