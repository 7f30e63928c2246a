package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
)

// submitRequest is what actions submit was asked for, beside the configuration.
type submitRequest struct {
	Action string
	URL    string // as typed
	Key    string // of idempotency, "" for none
	JSON   bool

	To    string // base URL of the serve that it is sent to; "": the data directory
	Token string // file that holds the token, "-" for standard input
}

func (c *Command) actionsSubmitVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submit take-down|re-crawl URL",
		Short: "Ask for a take-down or a re-crawl of one resource",
		Long: `Ask for a take-down or a re-crawl of one resource, as the operator of this data directory, or with --to as a publisher of whoever
runs acapcrawl serve there. A take-down is executed at once, and stands until actions withdraw takes it back: meanwhile nothing of the
resource is fetched to be kept, indexed or shown.`,
		Example: `  acapcrawl actions submit take-down https://example.com/old.html
  acapcrawl actions submit re-crawl https://example.com/news.html --to https://requests.example.org --token-file token`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	key := flags.String("key", "", "`TEXT` that makes repetitions of this very request harmless")
	to := flags.String("to", "", "send it to acapcrawl serve at `URL`, as a publisher")
	token := flags.String("token-file", "", "with --to: read the token from `FILE`; - is standard input")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		actions := []string{acap.TakeDown, acap.ReCrawl}
		switch {
		case len(args) != 2:
			return misuse(cmd.CommandPath()+" take-down https://example.com/old.html", "%s takes an action and a URL", cmd.CommandPath())
		case args[0] != acap.TakeDown && args[0] != acap.ReCrawl:
			return misuse(config.Nearest(args[0], actions), "%q is no action: they are %s", args[0], strings.Join(actions, " and "))
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
	return cmd
}

func (c *Command) actionsWithdrawVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "withdraw ID",
		Short: "Take a request back that was submitted: a take-down bars nothing any more",
		Long: `Take a request back that was submitted, by its number in actions ls. A take-down bars nothing any more, and the page comes back
when it is visited. What a line of robots.txt asks for is taken back there.`,
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

// actionsAnswerVerb is how serve has a call of a publisher answered: a Call as JSON on standard input, an Answer on standard output.
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

// actionsExecuteVerb executes the requests of those numbers that are due, and prints what became of them.
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
		return c.runExecute(cmd.Context(), cfg, ids, true)
	}
	return cmd
}
