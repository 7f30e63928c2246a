package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/display"
	"github.com/acapcrawl/acapcrawl/site"
)

// requestIDs reads the numbers of requests.
func requestIDs(cmd *cobra.Command, args []string) (ids []uint64, err error) {
	for _, arg := range args {
		id, err := strconv.ParseUint(arg, 10, 64)
		if err != nil || id == 0 {
			return nil, misuse("acapcrawl actions ls", "%s: %q is not the number of a request", cmd.CommandPath(), arg)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (c *Command) runSubmit(ctx context.Context, cfg *config.Config, r submitRequest) (err error) {
	d, err := c.openHeld(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	request, err := d.Submit(ctx, actions.Submission{Action: r.Action, URL: r.URL, Key: r.Key})
	if err != nil {
		return rejected(err)
	}
	return c.printRequest(request, r.JSON)
}

func (c *Command) runWithdraw(ctx context.Context, cfg *config.Config, id uint64, asJSON bool) error {
	ledger, done, err := c.openLedger(cfg)
	if err != nil {
		return err
	}
	request, err := ledger.Withdraw(id, nil)
	if err = errors.Join(rejected(err), done()); err != nil {
		return err
	}
	if request.Action == acap.TakeDown && !site.Empty(cfg.Data) {
		if _, err := c.executeRequests(ctx, cfg, id); err != nil {
			return err
		}
	}
	return c.printRequest(request, asJSON)
}

// rejected is err with the status that a rejection ends a verb with.
func rejected(err error) error {
	r, is := errors.AsType[*actions.Rejection](err)
	switch {
	case !is:
		return err
	case r.Code == actions.Malformed || r.Code == actions.BadURL:
		return misuse("", "%w", r)
	case r.Code == actions.NotFound:
		return &fault{status: statusNothing, err: r, try: "acapcrawl actions ls"}
	}
	return refusal(r)
}

// printRequest prints one request.
func (c *Command) printRequest(r actions.Request, asJSON bool) error {
	if asJSON {
		return c.printJSON(r)
	}
	return requestInWords(c.Stdout, r)
}

// requestInWords says of a request what it asks for, and where it stands.
func requestInWords(w io.Writer, r actions.Request) error {
	_, err := fmt.Fprintln(w, display.Line(fmt.Sprintf("Request %d: %s of %s: %s", r.ID, r.Action, r.URL,
		stateInWords(r))))
	return err
}
