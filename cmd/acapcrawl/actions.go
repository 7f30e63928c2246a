package main

import (
	"github.com/spf13/cobra"

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
