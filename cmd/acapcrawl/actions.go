package main

import (
	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/policy"
)

// actionsRequest holds the arguments of the verbs of actions that are not settings.
type actionsRequest struct {
	actions.Filter
	ID       uint64 // number of the request that show prints
	Receipt  bool   // show prints only the receipt
	File     string // the file to which show writes the receipt, as typed; "": standard output
	Force    bool
	Heads    []actions.Head // chain heads that verify must find in the chain
	Receipts []string       // names of the receipt files that verify checks, as typed
	// name, as typed, of the file with the public key that verify uses to check receipts; "": use
	// the configured key
	PublicKey string
	// numbers of chain entries that the operator knows to be changed; verify does not fail because
	// of them
	Known []uint64
	JSON  bool
}

func (c *Command) actionsVerb() *cobra.Command {
	return c.group("actions", "List, submit, execute and verify take-down and re-crawl requests", c.actionsListVerb(),
		c.actionsShowVerb(),
		c.actionsSubmitVerb(), c.actionsWithdrawVerb(), c.actionsRunVerb(), c.actionsVerifyVerb(), c.credentialsVerb(),
		c.actionsAnswerVerb(), c.actionsExecuteVerb())
}

// originKeys returns the origin of each URL that was given with --origin.
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
