package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/policy"
)

// actionsRequest is what a verb of actions was asked for, beside the configuration.
type actionsRequest struct {
	actions.Filter
	ID        uint64 // of show
	Receipt   bool   // of show: it alone
	File      string // of show: where the receipt goes, as typed; "" is standard output
	Force     bool
	Heads     []actions.Head // of verify: that are known
	Receipts  []string       // of verify: files, as typed
	PublicKey string         // of verify: a file, as typed; "" is the key of the configuration
	Known     []uint64       // of verify: entries that differ, of which the operator knows
	JSON      bool
}

func (c *Command) actionsVerb() *cobra.Command {
	return c.group("actions", "What publishers ask for, take-downs and re-crawls: list, submit, execute and check it", c.actionsListVerb(), c.actionsShowVerb(),
		c.actionsSubmitVerb(), c.actionsWithdrawVerb(), c.actionsRunVerb(), c.actionsVerifyVerb(), c.credentialsVerb(), c.actionsAnswerVerb(), c.actionsExecuteVerb())
}

func (c *Command) actionsListVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the action requests, by whom and by which line, and what came of them",
		Example: `  acapcrawl actions ls --origin https://example.com --standing
  acapcrawl actions ls --state failed --json`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	origins := flags.StringArray("origin", nil, "only those of the site `URL` (repeatable)")
	action := flags.String("action", "", "only those for `ACTION`: take-down, re-crawl")
	state := flags.String("state", "", "only those that are `STATE`: seen, confirmed, refused, due, running, done, failed")
	resource := flags.String("url", "", "only those about `URL`")
	flags.String("since", "", "only those first seen at `TIME` or later")
	standing := flags.Bool("standing", false, "only those that are still asked for")
	after := flags.Uint64("after", 0, "only those with an ID above `N`")
	limit := flags.Int("limit", 0, "at most `N` of them; 0: all")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		r := actionsRequest{JSON: out.JSON(), Filter: actions.Filter{Action: *action, State: actions.State(*state),
			Standing: *standing, After: *after, Limit: *limit}}
		switch {
		case r.Action != "" && r.Action != acap.TakeDown && r.Action != acap.ReCrawl:
			return misuse("--action take-down", "--action: %q is neither %s nor %s", r.Action, acap.TakeDown, acap.ReCrawl)
		case r.State != "" && !r.State.Known():
			return misuse("--state done", "--state: %q is no state of a request", r.State)
		case r.Limit < 0:
			return misuse("--limit 100", "--limit: %d is less than none", r.Limit)
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
		return c.runActionsList(cmd.Context(), cfg, r)
	}
	return cmd
}

// originKeys are the origins of URLs that were given with --origin.
func originKeys(urls []string) (keys []string, err error) {
	for _, text := range urls {
		u, err := webURL(text)
		if err != nil {
			return nil, err
		}
		key, err := policy.Key(u)
		if err != nil {
			return nil, misuse("", "--origin: %v", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func (c *Command) actionsShowVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one action request: all that was noted of it, or its receipt",
		Example: `  acapcrawl actions show 17
  acapcrawl actions show 17 --receipt -o receipt.json`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	receipt := flags.Bool("receipt", false, "print the receipt, which is JSON, and nothing else")
	file := flags.StringP("output", "o", "", "with --receipt: write it to `FILE`")
	force := flags.Bool("force", false, "replace FILE if it exists")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := actionsRequest{JSON: out.JSON(), Receipt: *receipt, File: *file, Force: *force}
		if len(args) != 1 {
			return misuse(cmd.CommandPath()+" 17", "%s takes the ID of one request", cmd.CommandPath())
		}
		var err error
		if r.ID, err = strconv.ParseUint(args[0], 10, 64); err != nil || r.ID == 0 {
			return misuse("acapcrawl actions ls", "%q is no ID of a request", args[0])
		}
		if r.File != "" && !r.Receipt {
			return misuse("--receipt --output "+r.File, "--output is for a receipt")
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runActionsShow(cfg, r)
	}
	return cmd
}

func (c *Command) actionsVerifyVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that the ledger of action requests is what was written",
		Long: `Check that each entry of the ledger is linked to the one before it, that everything else there follows from the entries, and that their
chain ends as actions.head says. With actions.receipt_key, that end is signed, and who has not the key cannot write another.

Who can write both files, and sign where that is configured, can make a chain anew, or put back older copies of both. That shows by what
others keep: the head that answers of the channel and receipts name. Give one with --head or --receipt, and the chain is compared with it.

With --public-key, receipts are checked for themselves, by the key that the operator gives out; there need be no ledger here.`,
		Example: `  acapcrawl actions verify --head 412:9f2c…
  acapcrawl actions verify --receipt receipt.json --public-key operator.pem`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	heads := flags.StringArray("head", nil, "the chain must have this `SEQ:HASH` (repeatable)")
	receipts := flags.StringArray("receipt", nil, "the chain must have the receipt in `FILE`, and its head (repeatable)")
	key := flags.String("public-key", "", "check receipts alone, by the key in `FILE`: PEM, or JWK")
	known := flags.UintSlice("acknowledge", nil, "note that you know how the chain once differed, as entry `N` says: it is shown, and no break any more (repeatable)")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := actionsRequest{JSON: out.JSON(), Receipts: *receipts, PublicKey: *key}
		for _, n := range *known {
			r.Known = append(r.Known, uint64(n))
		}
		for _, text := range *heads {
			seq, hash, _ := strings.Cut(text, ":")
			n, err := strconv.ParseUint(seq, 10, 64)
			if err != nil || n == 0 || len(hash) != 64 || strings.Trim(hash, "0123456789abcdefABCDEF") != "" {
				return misuse("--head SEQ:HASH, as receipts name it", "--head: %q is not the number of an entry and 64 hexadecimal digits", text)
			}
			r.Heads = append(r.Heads, actions.Head{Seq: n, Hash: strings.ToLower(hash)})
		}
		if r.PublicKey != "" && (len(r.Receipts) == 0 || len(r.Heads) > 0 || len(r.Known) > 0) {
			return misuse("--receipt FILE --public-key "+r.PublicKey, "--public-key is for receipts alone")
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runActionsVerify(cmd.Context(), cfg, r)
	}
	return cmd
}
