package main

import (
	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/policy"
)

// actionsRequest holds the arguments of the verbs of actions that are not settings.
type actionsRequest struct {
	actions.Filter
	ID        uint64 // the request that show prints
	Receipt   bool   // show prints only the receipt
	File      string // the file to which show writes the receipt, as typed; "": standard output
	Force     bool
	Heads     []actions.Head // chain heads that verify must find in the chain
	Receipts  []string       // names of the receipt files that verify checks, as typed
	PublicKey string         // file with the key by which verify checks receipts, as typed; "": the configured key
	Known     []uint64       // numbers of changed entries that the operator acknowledges to verify
	JSON      bool
}

func (c *Command) actionsVerb() *cobra.Command {
	return c.group("actions", "List, submit, execute and verify take-down and re-crawl requests", c.actionsListVerb(),
		c.actionsShowVerb(),
		c.actionsSubmitVerb(), c.actionsWithdrawVerb(), c.actionsRunVerb(), c.actionsVerifyVerb(), c.credentialsVerb(),
		c.actionsAnswerVerb(), c.actionsExecuteVerb())
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
