package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/display"
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
		Long: `Request a take-down or a re-crawl of one resource. You make the request as the operator of this
data directory or, with --cluster, of a cluster. With --to, you make it as a publisher, and send it to the
operator who runs acapcrawl serve at that URL. A take-down is executed at once, and is in force until actions
withdraw ends it: meanwhile the resource is not archived, indexed or shown.`,
		Example: `  acapcrawl actions submit take-down https://example.com/old.html
  acapcrawl actions submit take-down https://example.com/old.html --cluster nats://n1:4222
  acapcrawl actions submit re-crawl https://example.com/news.html --to https://requests.example.org --token-file token`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	key := flags.String("key", "", "use `TEXT` as idempotency key: repetitions have no further effect")
	to := flags.String("to", "", "send the request to acapcrawl serve at `URL`, as a publisher")
	token := flags.String("token-file", "", "with --to: read the token from `FILE`; - is standard input")
	clusterFlags(cmd)
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		known := []string{acap.TakeDown, acap.ReCrawl}
		switch {
		case len(args) != 2:
			return misuse(cmd.CommandPath()+" take-down https://example.com/old.html", "%s takes an action and a URL",
				cmd.CommandPath())
		case args[0] != acap.TakeDown && args[0] != acap.ReCrawl:
			return misuse(config.Nearest(args[0], known), "%q is not an action: the actions are %s", args[0],
				strings.Join(known, " and "))
		case (*to == "") != (*token == ""):
			return misuse("--to https://requests.example.org --token-file FILE", "--to and --token-file go together")
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		r := submitRequest{Action: args[0], URL: args[1], Key: *key, JSON: out.JSON(), To: *to, Token: *token}
		switch {
		case r.To != "":
			return c.sendRequest(cmd.Context(), r)
		case c.asksNamed(cmd, cfg):
			return c.callLedgers(cmd.Context(), cfg, actions.Call{Do: actions.DoSubmit, Action: r.Action, URL: r.URL,
				Key: r.Key}, r.JSON)
		}
		return c.runSubmit(cmd.Context(), cfg, r)
	}
	return cmd
}

func (c *Command) actionsWithdrawVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "withdraw ID",
		Short: "Withdraw a submitted request",
		Long: `Withdraw a submitted request, by its ID in actions ls. A withdrawn take-down no longer
blocks anything, and the page is archived again at its next visit. A request in robots.txt is withdrawn by
removing its line there.`,
		Example: `  acapcrawl actions withdraw 17
  acapcrawl actions withdraw a:17 --cluster nats://n1:4222`,
	}
	clusterFlags(cmd)
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		node, id, err := requestName(cmd, args)
		if err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		switch {
		case err != nil:
			return err
		case node != "" && !c.asksNodes(cfg):
			return noCluster(args[0])
		case node != "":
			return c.callLedgers(cmd.Context(), cfg, actions.Call{Do: actions.DoWithdraw, Node: node, ID: id},
				out.JSON())
		case c.asksNamed(cmd, cfg):
			return misuse("acapcrawl actions ls --cluster …",
				"with --cluster, %s needs the name of the node, as in a:%d", cmd.CommandPath(), id)
		}
		return c.runWithdraw(cmd.Context(), cfg, id, out.JSON())
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

// requestName reads the only argument, the ID of a request, with or without the name of its node.
func requestName(cmd *cobra.Command, args []string) (node string, id uint64, err error) {
	if len(args) != 1 {
		return "", 0, misuse(cmd.CommandPath()+" 17", "%s takes the ID of one request", cmd.CommandPath())
	}
	node, id, ok := actions.ParseName(args[0])
	if !ok || id == 0 {
		return "", 0, misuse("acapcrawl actions ls", "%q is not the ID of a request", args[0])
	}
	return node, id, nil
}

// noCluster is the error if the ID of a request names a node, but no cluster is given.
func noCluster(id string) error {
	return misuse("--cluster nats://…", "%s names a node, but no cluster is given", id)
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

// callLedgers lets a node answer a call of the operator about one request, and prints the request.
func (c *Command) callLedgers(ctx context.Context, cfg *config.Config, call actions.Call, asJSON bool) error {
	n, err := c.openNodes(ctx, cfg)
	if err != nil {
		return err
	}
	defer n.close()
	call.As = actions.AsOperator
	ledgers := nodeLedgers{nodes: n,
		failed: func(err error) { fmt.Fprintln(c.Stderr, "Notice: "+display.Line(err.Error())) }}
	if call.Do == actions.DoSubmit && call.Key == "" {
		call.Key, ledgers.newKey = rand.Text(), true
	}
	a, err := ledgers.Answer(ctx, call)
	switch {
	case err != nil:
		return err
	case a.Code == actions.Unavailable && call.Key != "":
		return failure("the same command again with --key "+shellWord(call.Key), errors.New(a.Why))
	case a.Code != "":
		return rejected(&actions.Rejection{Code: a.Code, Why: a.Why})
	case a.Request == nil:
		return failure("", fmt.Errorf("a node %w", errDamaged))
	}
	err = c.printRequest(*a.Request, asJSON)
	known := a.Request.Spread != nil && len(a.Request.NodesPending) == 0
	if err != nil || asJSON || call.Do != actions.DoSubmit || a.Request.Action != acap.TakeDown || known {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "The other nodes execute it, too: acapcrawl actions show %s%s lists the nodes that "+
		"have executed it.\n", display.Line(a.Request.Name()), namedCluster)
	return err
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
	case r.Code == actions.Unavailable:
		return failure("", r)
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
	_, err := fmt.Fprintln(w, display.Line(fmt.Sprintf("Request %s: %s of %s: %s", r.Name(), r.Action, r.URL,
		stateInWords(r))))
	return err
}
