package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/site"
)

// maxCall is how long a call may be, in bytes.
const maxCall = 64 << 10

// runAnswer answers one call of a publisher. The ledger is opened first: a verb that has read of standard input cannot begin again in
// the process that has the data directory. A take-down that is due by the call is executed before it is answered.
func (c *Command) runAnswer(ctx context.Context, cfg *config.Config) error {
	ledger, done, err := c.makeLedger(cfg)
	if err != nil {
		return err
	}
	call, answer, err := c.answerOne(ledger)
	if err == nil && answer.Err != nil {
		err = fmt.Errorf("the call of a publisher could not be answered: %w", answer.Err)
	}
	if err = errors.Join(err, done()); err != nil {
		return err
	}
	if site.MustExecute(call, answer) {
		r := answer.Request
		if became, err := c.executeOne(ctx, cfg, r.ID); err != nil { // it is noted, and done with the next crawl or actions run
			report(c.Stderr, fmt.Errorf("request %d is not executed yet: %w", r.ID, err))
		} else {
			answer.Request = became
		}
	}
	return c.printJSON(answer)
}

// answerOne reads a call and has the ledger answer it.
func (c *Command) answerOne(ledger *actions.Ledger) (call actions.Call, a actions.Answer, err error) {
	text, err := io.ReadAll(io.LimitReader(c.Stdin, maxCall+1))
	if err != nil {
		return call, a, fmt.Errorf("the call cannot be read: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if len(text) > maxCall || d.Decode(&call) != nil || d.More() {
		return call, a, misuse("", "standard input holds no call")
	}
	return call, ledger.Answer(call), nil
}

// executeOne executes a request, with the data directory lent or by a verb of its own, which may go through another process.
func (c *Command) executeOne(ctx context.Context, cfg *config.Config, id uint64) (*actions.Request, error) {
	if c.owner != nil {
		list, err := c.owner.ExecuteRequests(ctx, id)
		if err != nil || len(list) == 0 {
			return nil, errors.Join(err)
		}
		return &list[0], nil
	}
	if site.Empty(cfg.Data) {
		return nil, faultOf(&site.EmptyError{Dir: cfg.Data})
	}
	args := []string{"actions", "execute", "--data=" + cfg.Data, strconv.FormatUint(id, 10)}
	if cfg.File != "" {
		args = append(args, "--config="+cfg.File)
	}
	out, problems, status := c.inside(ctx, args)
	if status != statusDone {
		return nil, errors.New(strings.TrimPrefix(strings.TrimSpace(problems), "Error: "))
	}
	var r actions.Request
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// runExecute executes requests; with tell it prints what became of them, a line of JSON each.
func (c *Command) runExecute(ctx context.Context, cfg *config.Config, ids []uint64, tell bool) (err error) {
	d, err := c.openHeld(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	list, err := d.ExecuteRequests(ctx, ids...)
	for _, r := range list {
		if err == nil && tell {
			err = c.printJSON(r)
		}
	}
	return err
}
