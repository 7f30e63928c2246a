package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/spf13/cobra"
)

func (c *Command) actionsVerifyVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that the ledger of requests was not changed",
		Long: `Check that each entry of the ledger is linked to the entry before it, that the rest of the
ledger agrees with the entries, and that the chain ends as the file actions.head says. With
actions.receipt_key that end is signed: without the key nobody can write another.

Somebody who can write both files, and has the key, can replace the chain or restore older copies. What others
keep reveals that: answers of the channel and receipts name the head of the chain. --head and --receipt
compare the chain with such a head.

With --public-key, receipts are checked with only the operator's public key; no ledger is needed. With
--cluster, each node checks its ledger; heads and receipts are compared on the machine of the node.`,
		Example: `  acapcrawl actions verify --head 412:9f2c…
  acapcrawl actions verify --receipt receipt.json --public-key operator.pem`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	heads := flags.StringArray("head", nil, "require that the chain contains `SEQ:HASH` (repeatable)")
	receipts := flags.StringArray("receipt", nil, "require that the chain contains the receipt in `FILE`, and its "+
		"head (repeatable)")
	key := flags.String("public-key", "", "check only receipts, with the key in `FILE` (PEM or JWK)")
	known := flags.UintSlice("acknowledge", nil, "acknowledge the difference that entry `N` describes: it is "+
		"printed, but no longer an error (repeatable)")
	clusterFlags(cmd)
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
				return misuse("--head SEQ:HASH, as receipts name it",
					"--head: %q is not the number of an entry and 64 hexadecimal digits", text)
			}
			r.Heads = append(r.Heads, actions.Head{Seq: n, Hash: strings.ToLower(hash)})
		}
		if r.PublicKey != "" && (len(r.Receipts) == 0 || len(r.Heads) > 0 || len(r.Known) > 0) {
			return misuse("--receipt FILE --public-key "+r.PublicKey, "--public-key checks only receipts")
		}
		cfg, err := c.settings(cmd)
		switch {
		case err != nil:
			return err
		case !c.asksNamed(cmd, cfg):
			return c.runActionsVerify(cmd.Context(), cfg, r)
		case len(r.Heads)+len(r.Receipts)+len(r.Known) > 0:
			return misuse("the same command without --cluster on the machine of the node",
				"--head, --receipt and --acknowledge are about the ledger of one node")
		}
		return c.onEachNode(cmd.Context(), cfg, callOf(cmd, nil), r.JSON)
	}
	return cmd
}

func (c *Command) runActionsVerify(ctx context.Context, cfg *config.Config, r actionsRequest) (err error) {
	if r.PublicKey != "" {
		return c.verifyReceipts(r)
	}
	ledger, done, err := c.openLedger(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	for _, entry := range r.Known {
		if err := rejected(ledger.Acknowledge(entry)); err != nil {
			return err
		}
	}
	heads := r.Heads
	var wrong []actions.Break
	for _, name := range r.Receipts {
		text, err := c.readFile("--receipt", name)
		if err != nil {
			return err
		}
		receipt, err := ledger.VerifyReceipt(text)
		if errors.Is(err, actions.ErrDamaged) {
			return err
		}
		if err != nil {
			wrong = append(wrong, actions.Break{Where: name, What: err.Error()})
		}
		if receipt.Ledger.Seq > 0 {
			heads = append(heads, receipt.Ledger)
		}
	}
	v, err := ledger.Verify(ctx, heads...)
	if err != nil {
		return err
	}
	v.Breaks = append(v.Breaks, wrong...)
	if r.JSON {
		err = c.printJSON(v)
	} else {
		err = printVerification(c.Stdout, v)
	}
	if err != nil {
		return err
	}
	return broken(len(v.Breaks) + v.More)
}

// broken returns the error for a verb that found n breaks in the chain of the ledger.
func broken(n int) error {
	switch n {
	case 0:
		return nil
	case 1:
		return nothing("The ledger was changed or is damaged: 1 break was found.")
	}
	return nothing(fmt.Sprintf("The ledger was changed or is damaged: %s breaks were found.", number(n)))
}

func printVerification(w io.Writer, v actions.Verification) error {
	for _, b := range v.Breaks {
		fmt.Fprintln(w, display.Line(b.String()))
	}
	if v.More > 0 {
		fmt.Fprintf(w, "… and %s more\n", number(v.More))
	}
	for _, b := range v.Known {
		fmt.Fprintln(w, display.Line(b.String()))
	}
	if len(v.Breaks) == 0 {
		fmt.Fprintln(w, "Every entry is linked to the entry before it, and the rest of the ledger agrees with the "+
			"entries.")
	}
	signed := "Its end is not signed.\n"
	if v.Signed != nil {
		signed = fmt.Sprintf("Its end is signed, since entry %d of %s, with the key %s.\n", v.Signed.Since,
			v.Signed.Time.Format(time.RFC3339), v.Signed.Key)
	}
	_, err := fmt.Fprintf(w, "The chain has %s and ends with %d:%s\n%s", chainLength(v.Entries), v.Head.Seq,
		v.Head.Hash, signed)
	return err
}

func chainLength(n uint64) string {
	if n == 1 {
		return "1 entry"
	}
	return number(int64(n)) + " entries"
}

// verifyReceipts checks receipts without a ledger. It uses the public key of the operator who
// signed the receipts.
func (c *Command) verifyReceipts(r actionsRequest) error {
	text, err := c.readFile("--public-key", r.PublicKey)
	if err != nil {
		return err
	}
	key, err := actions.PublicKey(text)
	if err != nil {
		return misuse("openssl pkey -in key.pem -pubout", "--public-key: %s: %v", r.PublicKey, err)
	}
	wrong := []actions.Break{}
	for _, name := range r.Receipts {
		receipt, err := c.verifyReceipt(name, key)
		switch fault, is := errors.AsType[*badReceipt](err); {
		case is:
			wrong = append(wrong, actions.Break{Where: name, What: fault.Error()})
		case err != nil:
			return err
		case !r.JSON:
			fmt.Fprintf(c.Stdout, "%s has a valid signature: %s of %s, done at %s.\n", name, receipt.Action,
				display.Line(receipt.URL), receipt.Done.Format(time.RFC3339))
		}
	}
	if r.JSON {
		err = c.printJSON(struct {
			Breaks []actions.Break `json:"breaks"`
		}{wrong})
	} else {
		for _, b := range wrong {
			fmt.Fprintln(c.Stdout, display.Line(b.String()))
		}
	}
	if err != nil || len(wrong) == 0 {
		return err
	}
	return nothing("A receipt was changed, or the operator did not sign it.")
}

// badReceipt is the reason why a receipt is not valid.
type badReceipt struct{ error }

func (c *Command) verifyReceipt(name string, key ed25519.PublicKey) (r actions.Receipt, err error) {
	text, err := c.readFile("--receipt", name)
	if err != nil {
		return r, err
	}
	if r, err = actions.ReadReceipt(text, key); err != nil {
		return r, &badReceipt{err}
	}
	return r, nil
}
