package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/site"
)

func (c *Command) archiveRecover() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Recover the lost data directory of a node of a cluster",
		Long: `Recover the data directory of a node whose disk was lost, from the copies of its records in the object
store and of its keys in the cluster. The settings cluster_key_file and s3 must be those of the node. The data
directory must be empty, and the node must not run. If the old data directory appears again, it is refused.

Erased pages stay erased. The index is rebuilt. A page is shown only after its policy has been read again: start the
crawl of the node for that.`,
		Example: "  acapcrawl archive recover --cluster nats://n1:4222,nats://n2:4222,nats://n3:4222 --node b --data " +
			"/srv/b",
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	setting(flags, "node")
	reachFlags(cmd)
	setting(flags, "cluster-key-file")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.clusterSettings(cmd)
		if err != nil {
			return err
		}
		if cfg.Cluster.Node == "" {
			return misuse(cmd.CommandPath()+" --node b --data /srv/b", "name the node whose data directory was lost")
		}
		shared, err := c.joinSettings(cmd.Context(), cmd, false)
		if err != nil {
			return err
		}
		done, err := site.RecoverNode(cmd.Context(), shared)
		if err != nil {
			return faultOf(err)
		}
		return c.printRecovered(done, out.JSON())
	}
	return cmd
}

// printRecovered prints what was recovered, and what to do next.
func (c *Command) printRecovered(r site.Recovered, asJSON bool) error {
	if asJSON {
		if err := c.printJSON(r); err != nil {
			return err
		}
	} else {
		for _, done := range r.Repaired {
			fmt.Fprintln(c.Stdout, done)
		}
		for _, p := range r.Problems {
			fmt.Fprintln(c.Stdout, p)
		}
		fmt.Fprintf(c.Stdout, "%s contains the data directory of node %s: %s, %s in the index.\n", r.Data, r.Node,
			several(r.Captures, "capture"), several(r.Indexed, "page"))
	}
	if len(r.Problems) > 0 {
		return findings(r.Problems, false)
	}
	fmt.Fprintf(c.Stderr, "Notice: pages are shown only after a crawl has read their policies again.\nTry: acapcrawl "+
		"crawl --cluster … --node %s --data %s\n", r.Node, r.Data)
	return nil
}
