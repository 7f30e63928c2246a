package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/display"
	"github.com/acapcrawl/acapcrawl/site"
)

// submitRequest holds the arguments of actions submit that are not settings.
type submitRequest struct {
	Action string
	URL    string // the address, as typed
	Key    string // idempotency key; "": none
	JSON   bool

	// base URL of the acapcrawl serve to which the request is sent; "": write the request to the
	// data directory
	To    string
	Token string // name of the file with the access token; "-" is standard input
}

func (c *Command) actionsSubmitVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submit take-down|re-crawl URL",
		Short: "Request a take-down or a re-crawl of one resource",
		Long: `Request a take-down or a re-crawl of one resource: as the operator of this data directory, or
with --to as a publisher from an operator that runs acapcrawl serve there. A take-down is executed at once,
and is in force until actions withdraw ends it: meanwhile the resource is not archived, indexed or shown.`,
		Example: `  acapcrawl actions submit take-down https://example.com/old.html
  acapcrawl actions submit re-crawl https://example.com/news.html --to https://requests.example.org --token-file token`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	key := flags.String("key", "", "use `TEXT` as idempotency key: repetitions have no further effect")
	to := flags.String("to", "", "send the request to acapcrawl serve at `URL`, as a publisher")
	token := flags.String("token-file", "", "with --to: read the token from `FILE`; - is standard input")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		actions := []string{acap.TakeDown, acap.ReCrawl}
		switch {
		case len(args) != 2:
			return misuse(cmd.CommandPath()+" take-down https://example.com/old.html", "%s takes an action and a URL",
				cmd.CommandPath())
		case args[0] != acap.TakeDown && args[0] != acap.ReCrawl:
			return misuse(config.Nearest(args[0], actions), "%q is not an action: the actions are %s", args[0],
				strings.Join(actions, " and "))
		case (*to == "") != (*token == ""):
			return misuse("--to https://requests.example.org --token-file FILE", "--to and --token-file go together")
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		r := submitRequest{Action: args[0], URL: args[1], Key: *key, JSON: out.JSON(), To: *to, Token: *token}
		if r.To != "" {
			return c.sendRequest(cmd.Context(), r)
		}
		return c.runSubmit(cmd.Context(), cfg, r)
	}
	localOnly(cmd, "a request is submitted at one node, which passes it on to the others",
		"acapcrawl actions submit … --data DIR on the machine of a node")
	return cmd
}

func (c *Command) actionsWithdrawVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "withdraw ID",
		Short: "Withdraw a submitted request",
		Long: `Withdraw a submitted request, by its number in actions ls. A withdrawn take-down no longer
blocks anything, and the page is archived again at its next visit. A request in robots.txt is withdrawn by
removing its line there.`,
		Example: `  acapcrawl actions withdraw 17`,
	}
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ids, err := requestIDs(cmd, args)
		if err != nil {
			return err
		}
		if len(ids) != 1 {
			return misuse("acapcrawl actions ls", "%s takes the number of one request", cmd.CommandPath())
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runWithdraw(cmd.Context(), cfg, ids[0], out.JSON())
	}
	return cmd
}

// actionsAnswerVerb returns the hidden verb that serve runs to answer a publisher. The verb reads
// an actions.Call as JSON from standard input and prints an actions.Answer.
func (c *Command) actionsAnswerVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "answer", Hidden: true, Args: noArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runAnswer(cmd.Context(), cfg)
	}
	return cmd
}

// actionsExecuteVerb returns the hidden verb that executes due requests by number, and prints their
// outcome.
func (c *Command) actionsExecuteVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "execute ID…", Hidden: true}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ids, err := requestIDs(cmd, args)
		if err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runExecute(cmd.Context(), cfg, ids)
	}
	return cmd
}

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

// rejected returns err with the matching exit status if err says that the ledger rejected the
// request.
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

// requestInWords prints number, action, URL and state of a request on one line.
func requestInWords(w io.Writer, r actions.Request) error {
	_, err := fmt.Fprintln(w, display.Line(fmt.Sprintf("Request %d: %s of %s: %s", r.ID, r.Action, r.URL,
		stateInWords(r))))
	return err
}
