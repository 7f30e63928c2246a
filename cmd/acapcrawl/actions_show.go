package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/site"
	"github.com/spf13/cobra"
)

func (c *Command) actionsShowVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Print everything recorded about one request, or its receipt",
		Example: `  acapcrawl actions show 17
  acapcrawl actions show 17 --receipt -o receipt.json
  acapcrawl actions show a:17 --cluster nats://n1:4222`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	receipt := flags.Bool("receipt", false, "print only the receipt, as JSON")
	file := flags.StringP("output", "o", "", "with --receipt: write the receipt to `FILE`")
	force := flags.Bool("force", false, "replace FILE if it exists")
	clusterFlags(cmd)
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := actionsRequest{JSON: out.JSON(), Receipt: *receipt, File: *file, Force: *force}
		var node string
		var err error
		if node, r.ID, err = requestName(cmd, args); err != nil {
			return err
		}
		if r.File != "" && !r.Receipt {
			return misuse("--receipt --output "+r.File, "--output needs --receipt")
		}
		cfg, err := c.settings(cmd)
		switch {
		case err != nil:
			return err
		case c.asksNodes(cfg):
			reach := ""
			if c.asksNamed(cmd, cfg) {
				reach = namedCluster
			}
			return c.showActionOfNode(cmd.Context(), cfg, node, reach,
				callOf(cmd, []string{strconv.FormatUint(r.ID, 10)}), r)
		case node != "":
			return noCluster(args[0])
		}
		return c.runActionsShow(cfg, r)
	}
	return cmd
}

// shownAction is what actions show --json prints.
type shownAction struct {
	Request actions.Request `json:"request"`
	History []shownEntry    `json:"history"`
	Receipt json.RawMessage `json:"receipt,omitempty"`
}

// shownEntry is an entry of the ledger's hash chain, with the hash of the entry.
type shownEntry struct {
	actions.Entry
	Hash string `json:"hash"`
}

func (c *Command) runActionsShow(cfg *config.Config, r actionsRequest) (err error) {
	if r.File != "" {
		if err := site.CheckOutput(cfg.Data, c.path(r.File), r.Force); err != nil {
			return faultOf(err)
		}
	}
	ledger, done, err := c.openLedger(cfg)
	if err != nil {
		return c.orNothing(r.JSON, nil, err)
	}
	defer func() { err = errors.Join(err, done()) }()
	a, known, err := ledger.Get(r.ID)
	if err != nil {
		return err
	}
	if !known {
		return nothing(fmt.Sprintf("There is no request %d.", r.ID))
	}
	receipt, settled, err := ledger.Receipt(r.ID)
	switch {
	case err != nil:
		return err
	case r.Receipt && !settled:
		return nothing(fmt.Sprintf("Request %d, which is %s, has no receipt yet.", r.ID, a.State))
	case r.Receipt:
		return c.writeReceipt(append(receipt, '\n'), r)
	}
	history, err := ledger.History(r.ID)
	if err != nil {
		return err
	}
	out := shownAction{Request: a, History: []shownEntry{}, Receipt: receipt}
	for _, e := range history {
		out.History = append(out.History, shownEntry{e, fmt.Sprintf("%x", e.Hash)})
	}
	if r.JSON {
		return c.printJSON(out)
	}
	return out.print(c.Stdout, "")
}

// writeReceipt writes a receipt, byte for byte, to the file of r or to standard output.
func (c *Command) writeReceipt(text []byte, r actionsRequest) error {
	put := func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
	if r.File == "" || r.File == "-" {
		return put(c.Stdout)
	}
	return faultOf(site.WriteFile(c.path(r.File), r.File, r.Force, put))
}

// print prints a request and all ledger entries about this request. reach is the flag that the printed command needs to
// ask the same cluster; "": none.
func (s *shownAction) print(out io.Writer, reach string) error {
	a, w := s.Request, tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, display.Line(value))
		}
	}
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339)
	}
	state := string(a.State)
	if a.Why != "" {
		state += ": " + a.Why
	}
	standing := "no longer"
	if a.Standing {
		standing = "yes"
	}
	line("request", fmt.Sprintf("%s: %s of %s", a.Name(), a.Action, a.URL))
	line("requested by", a.Source)
	line("file", strings.Join(strings.Fields(a.From.File+" "+a.From.Digest), ", "))
	line("credential", a.From.Credential)
	line("in force", standing)
	line("state", state)
	line("requested", when(a.Asked))
	line("confirmed", when(a.Confirmed))
	line("done", when(a.Done))
	line("gone from files", when(a.Gone))
	if a.Spread != nil {
		line("done on", strings.Join(a.NodesDone, ", "))
		line("still to do on", strings.Join(a.NodesPending, ", "))
	}
	if a.Erased > 0 {
		line("erased", several(a.Erased, "capture"))
	}
	if a.Status > 0 {
		line("answer", fmt.Sprint(a.Status))
	}
	if s.Receipt != nil {
		line("receipt", fmt.Sprintf("acapcrawl actions show %s --receipt%s", a.Name(), reach))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, e := range s.History {
		line(fmt.Sprintf("entry %d\t%s\t%s", e.Seq, e.Time.Format(time.RFC3339), display.Line(e.Event)),
			fmt.Sprintf("%.16s", e.Hash))
	}
	return w.Flush()
}
