package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/policy"
)

// actionsRequest holds the arguments of the verbs of actions that are not settings.
type actionsRequest struct {
	actions.Filter
	ID        uint64 // of show
	Receipt   bool   // of show: print only the receipt
	File      string // of show: the file for the receipt, as typed; "": standard output
	Force     bool
	Heads     []actions.Head // of verify: that the chain must have
	Receipts  []string       // of verify: files, as typed
	PublicKey string         // of verify: a file, as typed; "": the key of the configuration
	Known     []uint64       // of verify: entries whose difference the operator acknowledges
	JSON      bool
}

func (c *Command) actionsVerb() *cobra.Command {
	return c.group("actions", "List, submit, execute and verify take-down and re-crawl requests", c.actionsListVerb(), c.actionsShowVerb(),
		c.actionsSubmitVerb(), c.actionsWithdrawVerb(), c.actionsRunVerb(), c.actionsVerifyVerb(), c.credentialsVerb(), c.actionsAnswerVerb(), c.actionsExecuteVerb())
}

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
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		r := actionsRequest{JSON: out.JSON(), Filter: actions.Filter{Action: *action, State: actions.State(*state),
			Standing: *standing, After: *after, Limit: *limit}}
		switch {
		case r.Action != "" && r.Action != acap.TakeDown && r.Action != acap.ReCrawl:
			return misuse("--action take-down", "--action: %q is neither %s nor %s", r.Action, acap.TakeDown, acap.ReCrawl)
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
		return c.runActionsList(cmd.Context(), cfg, r)
	}
	return cmd
}

// originKeys returns the origins of URLs given with --origin.
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
		Short: "Print everything recorded about one request, or its receipt",
		Example: `  acapcrawl actions show 17
  acapcrawl actions show 17 --receipt -o receipt.json`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	receipt := flags.Bool("receipt", false, "print only the receipt, as JSON")
	file := flags.StringP("output", "o", "", "with --receipt: write the receipt to `FILE`")
	force := flags.Bool("force", false, "replace FILE if it exists")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := actionsRequest{JSON: out.JSON(), Receipt: *receipt, File: *file, Force: *force}
		if len(args) != 1 {
			return misuse(cmd.CommandPath()+" 17", "%s takes the ID of one request", cmd.CommandPath())
		}
		var err error
		if r.ID, err = strconv.ParseUint(args[0], 10, 64); err != nil || r.ID == 0 {
			return misuse("acapcrawl actions ls", "%q is not the ID of a request", args[0])
		}
		if r.File != "" && !r.Receipt {
			return misuse("--receipt --output "+r.File, "--output needs --receipt")
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
		Short: "Check that the ledger of requests was not changed",
		Long: `Check that each entry of the ledger is linked to the entry before it, that the rest of the ledger agrees with the entries, and that the
chain ends as the file actions.head says. With actions.receipt_key that end is signed: without the key nobody can write another.

Somebody who can write both files, and has the key, can replace the chain or restore older copies. What others keep reveals that: answers
of the channel and receipts name the head of the chain. --head and --receipt compare the chain with such a head.

With --public-key, receipts are checked by the operator's public key alone; no ledger is needed.`,
		Example: `  acapcrawl actions verify --head 412:9f2c…
  acapcrawl actions verify --receipt receipt.json --public-key operator.pem`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	heads := flags.StringArray("head", nil, "require that the chain contains `SEQ:HASH` (repeatable)")
	receipts := flags.StringArray("receipt", nil, "require that the chain contains the receipt in `FILE`, and its head (repeatable)")
	key := flags.String("public-key", "", "check only receipts, with the key in `FILE` (PEM or JWK)")
	known := flags.UintSlice("acknowledge", nil, "acknowledge the difference that entry `N` describes: it is printed, but no longer an error (repeatable)")
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
			return misuse("--receipt FILE --public-key "+r.PublicKey, "--public-key checks only receipts")
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runActionsVerify(cmd.Context(), cfg, r)
	}
	return cmd
}
