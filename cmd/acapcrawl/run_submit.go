package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/display"
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
	s, err := c.openHeld(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	request, replayed, err := s.ledger.Submit(actions.Submission{Action: r.Action, URL: r.URL, Key: r.Key})
	if err != nil {
		return rejected(err)
	}
	if !replayed {
		var list []actions.Request
		if list, err = c.carryOut(ctx, cfg, s, request.ID); err == nil {
			request = list[0]
		}
	}
	if err == nil && c.owner == nil { // the process that has the directory compacts in its own time
		err = s.settle(ctx, cfg, s.executor(cfg, nil), time.Time{})
	}
	if err != nil {
		return fmt.Errorf("request %d is noted; the next crawl, or actions run, does what is left: %w", request.ID, err)
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
	if request.Action == acap.TakeDown && !empty(cfg.Data) {
		if err := c.runExecute(ctx, cfg, []uint64{id}, false); err != nil {
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

// carryOut executes requests of the ledger of s, and gives what became of them; the pages of take-downs that stand no longer are queued
// again. What else is open is done at its time.
func (c *Command) carryOut(ctx context.Context, cfg *config.Config, s *store, ids ...uint64) (list []actions.Request, err error) {
	do := func(f *crawler.Frontier) error {
		if list, err = s.executor(cfg, f).Execute(ctx, ids...); err != nil || f == nil {
			return err
		}
		for _, r := range list {
			if r.Action == acap.TakeDown && !r.Standing {
				if _, err := f.Lift(r.Origin+"/", s.stands); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if s.frontier != nil {
		err = do(s.frontier)
		return list, err
	}
	begun := false
	err = c.withFrontier(cfg.Data, cfg.MaxHostURLs, func(f *crawler.Frontier) error {
		begun = true
		return do(f)
	})
	if !begun { // there is no frontier, or another verb has it: re-crawls stay due, and a take-down does not need it
		err = do(nil)
	}
	return list, err
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
