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

// answerName is the hidden verb that answers an actions.Call.
const answerName = "actions answer"

// maxCall is the maximum size in bytes of an actions.Call, which is the JSON form of one request of
// a publisher.
const maxCall = 64 << 10

// runAnswer reads one actions.Call of a publisher from standard input and prints the answer. The
// verb serve runs this hidden verb in the process that has the data directory open. runAnswer opens
// the ledger before it reads standard input, because a verb that has read standard input cannot be
// started again in another process.
func (c *Command) runAnswer(ctx context.Context, cfg *config.Config) error {
	ledger, done, err := c.makeLedger(cfg)
	if err != nil {
		return err
	}
	call, err := c.readCall()
	if err != nil {
		return errors.Join(err, done())
	}
	answer, err := c.answerCall(ctx, cfg, call, ledger, done)
	if err != nil {
		return err
	}
	return c.printJSON(answer)
}

// readCall reads an actions.Call from standard input.
func (c *Command) readCall() (call actions.Call, err error) {
	text, err := io.ReadAll(io.LimitReader(c.Stdin, maxCall+1))
	if err != nil {
		return call, fmt.Errorf("the call cannot be read: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if len(text) > maxCall || d.Decode(&call) != nil || d.More() {
		return call, misuse("", "standard input contains no call")
	}
	return call, nil
}

// answerCall answers call with the data of the ledger, and closes the ledger with done. If a
// take-down must be executed because of the call, answerCall executes the take-down before it
// returns. To a preview it adds what is archived.
func (c *Command) answerCall(ctx context.Context, cfg *config.Config, call actions.Call, ledger *actions.Ledger,
	done func() error) (answer actions.Answer, err error) {
	if answer = ledger.Answer(call); answer.Err != nil {
		err = fmt.Errorf("the call of a publisher could not be answered: %w", answer.Err)
	}
	if err = errors.Join(err, done()); err != nil {
		return answer, err
	}
	if call.Do == actions.DoPreview && answer.Request != nil {
		answer.Holding, err = c.holding(ctx, cfg, answer.Request.URL)
	}
	if err != nil || !site.MustExecute(call, answer) {
		return answer, err
	}
	r, err := c.executeOne(ctx, cfg, answer.Request.ID)
	// the next crawl or actions run executes the request, because the request is in the ledger
	if err != nil {
		report(c.Stderr, fmt.Errorf("request %d is not executed yet: %w", answer.Request.ID, err))
		return answer, nil
	}
	answer.Request = r
	return answer, nil
}

// holding returns what is archived at a URL.
func (c *Command) holding(ctx context.Context, cfg *config.Config, rawurl string) (*actions.Holding, error) {
	d, err := c.openHeld(ctx, cfg, false)
	var empty *site.EmptyError
	switch {
	case errors.As(err, &empty):
		return &actions.Holding{}, nil
	case err != nil:
		return nil, err
	}
	held, err := d.Holding(ctx, rawurl)
	return &held, errors.Join(err, d.Close())
}

// executeOne executes a request in this process, or in the process that has the data directory
// open.
func (c *Command) executeOne(ctx context.Context, cfg *config.Config, id uint64) (*actions.Request, error) {
	list, err := c.executeRequests(ctx, cfg, id)
	if _, taken := errors.AsType[*busy](err); !taken {
		if err != nil || len(list) == 0 {
			return nil, err
		}
		return &list[0], nil
	}
	args := []string{"actions", "execute", "--data=" + cfg.Data, strconv.FormatUint(id, 10)}
	if cfg.File != "" {
		args = append(args, "--config="+cfg.File)
	}
	out, problems, status := c.inside(ctx, cfg, nil, args)
	if status != statusDone {
		return nil, errors.New(strings.TrimPrefix(strings.TrimSpace(problems), "Error: "))
	}
	var r actions.Request
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// executeRequests executes the requests with the given numbers, and returns these requests with
// their outcomes.
func (c *Command) executeRequests(ctx context.Context, cfg *config.Config, ids ...uint64) (list []actions.Request,
	err error) {
	d, err := c.openHeld(ctx, cfg, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.ExecuteRequests(ctx, ids...)
}

// runExecute executes the requests with the given numbers, and prints each request with the outcome
// as a line of JSON.
func (c *Command) runExecute(ctx context.Context, cfg *config.Config, ids []uint64) error {
	list, err := c.executeRequests(ctx, cfg, ids...)
	for _, r := range list {
		if err == nil {
			err = c.printJSON(r)
		}
	}
	return err
}
