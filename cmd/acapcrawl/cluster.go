package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/cluster"
	"github.com/acapcrawl/acapcrawl/site"
)

// reachCluster lists the settings that say how to reach the servers of a cluster.
var reachCluster = []string{"cluster", "cluster-credentials", "cluster-tls-ca", "cluster-tls-certificate",
	"cluster-tls-key"}

// reachFlags adds to a verb the flags that say how to reach the servers of a cluster.
func reachFlags(cmd *cobra.Command) {
	for _, name := range reachCluster {
		setting(cmd.Flags(), name)
	}
}

func (c *Command) clusterVerb() *cobra.Command {
	return c.group("cluster", "Show and change a crawl that several machines share", c.clusterStatusVerb(),
		c.clusterDrainVerb(), c.clusterRemoveVerb(), c.clusterSetVerb())
}

func (c *Command) clusterStatusVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print the nodes of a cluster, their partitions and queues",
		Long: `Print the nodes of a cluster, their partitions and queues. The table has these columns:

  epoch        a number that increases with each new lease of the node
  lease until  when the lease ends, if the node does not renew it
  queued       queued addresses
  hosts        hosts with queued addresses
  visits       visits in progress
  pages        pages that the node has requested
  lag          age of the oldest link from another partition that is not queued`,
		Example: "  acapcrawl cluster status --cluster nats://n1:4222,nats://n2:4222,nats://n3:4222",
		Args:    noArgs,
	}
	out := jsonFlag(cmd)
	reachFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.clusterSettings(cmd)
		if err != nil {
			return err
		}
		s, err := cluster.QueryStatus(cmd.Context(), site.ClusterOptions(cfg))
		if err != nil {
			return clusterFault(err)
		}
		if out.JSON() {
			return c.printJSON(s)
		}
		return c.printStatus(s)
	}
	return cmd
}

// clusterSettings returns the settings of a verb that needs a cluster.
func (c *Command) clusterSettings(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := c.settings(cmd)
	if err == nil && cfg.Cluster.Servers == "" {
		err = misuse("--cluster nats://n1:4222,nats://n2:4222,nats://n3:4222", "no cluster is given")
	}
	return cfg, err
}

// printStatus prints the status of a cluster as a table.
func (c *Command) printStatus(s cluster.Status) error {
	quorum := "has a quorum"
	if !s.Quorum {
		quorum = "has no quorum, so nothing is crawled"
	}
	fmt.Fprintf(c.Stdout, "The cluster %s %s. Of %d partitions, %d belong to running nodes, and %d are moving.\n",
		s.Cluster, quorum, s.Partitions.Total, s.Partitions.Owned, s.Partitions.Moving)
	if s.Queue == nil {
		fmt.Fprintln(c.Stdout, "While no node crawls, it is not known how many addresses are queued.")
	} else {
		fmt.Fprintf(c.Stdout, "%d addresses are queued, and %d visits are in progress.\n", *s.Queue, s.InProgress)
	}
	if r := s.Replicas; r != nil && r.Fewest < r.Wanted {
		fmt.Fprintf(c.Stdout, "Some streams are complete on %s only. They become complete on %d while three servers "+
			"and a node that crawls are running.\n", several(r.Fewest, "NATS server"), r.Wanted)
	}
	fmt.Fprintln(c.Stdout)
	if len(s.Nodes) == 0 {
		fmt.Fprintln(c.Stdout, "No node runs.")
		return c.printOneNode(s)
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "node\tepoch\tpartitions\tlease until\tqueued\thosts\tvisits\tpages\tlag\tversion")
	for _, n := range s.Nodes {
		name := n.Node
		if n.Draining {
			name += " (leaving)"
		}
		if n.Reader {
			name += " (only read)"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%d\t%d\t%d\t%d\t%.1f s\t%s\n", name, n.Epoch, n.Partitions,
			n.LeaseUntil.Format(time.RFC3339), n.Queue, n.Due, n.InProgress, n.Pages, n.Lag, n.Version)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return c.printOneNode(s)
}

// shownRanges is the maximum number of ranges of partitions that are printed for a node.
const shownRanges = 12

// printOneNode prints the partitions whose pages would be lost with the disk of a node.
func (c *Command) printOneNode(s cluster.Status) error {
	var b strings.Builder
	for _, n := range s.OneNode {
		name := n.Node
		if !n.Running {
			name += " (does not run)"
		}
		fmt.Fprintf(&b, "  %s: %s\n", name, rangesInWords(n.Partitions))
	}
	switch {
	case s.OneNode == nil:
		fmt.Fprintln(c.Stdout, "\nWithout a quorum, it is not known which pages are on one node only.")
	case b.Len() > 0:
		fmt.Fprintf(c.Stdout, "\nPages of these partitions are on one node only and would be lost with its "+
			"disk:\n%sSet s3.bucket and cluster_key_file to keep copies.\n", b.String())
	}
	return nil
}

// rangesInWords returns ranges of partitions as text: "0-340, 512".
func rangesInWords(ranges [][2]int) string {
	if ranges == nil {
		return "it has not reported its partitions yet"
	}
	var list []string
	left := 0
	for i, r := range ranges {
		switch {
		case i >= shownRanges:
			left += r[1] - r[0] + 1
		case r[0] == r[1]:
			list = append(list, strconv.Itoa(r[0]))
		default:
			list = append(list, fmt.Sprintf("%d-%d", r[0], r[1]))
		}
	}
	text := strings.Join(list, ", ")
	if left > 0 {
		text += fmt.Sprintf(", … and %d more (--json lists all)", left)
	}
	return text
}

func (c *Command) clusterDrainVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Hand the partitions of a node over to the others",
		Long: `Hand the partitions of a node over to the other nodes, and wait until that is done. The node completes its
visits in progress, and its crawl ends with exit status 0. Its archived pages stay in its data directory: to keep them
searchable, run acapcrawl serve --cluster … --data DIR there.`,
		Example: "  acapcrawl cluster drain b --cluster nats://n1:4222,nats://n2:4222,nats://n3:4222",
	}
	reachFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return misuse(cmd.CommandPath()+" b", "drain needs the name of one node")
		}
		cfg, err := c.clusterSettings(cmd)
		if err != nil {
			return err
		}
		return c.drain(cmd.Context(), cfg, args[0])
	}
	return cmd
}

func (c *Command) clusterRemoveVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove NODE",
		Short: "Remove a node that will not run again",
		Long: `Remove a node that will not run again, for example because its disk is lost. Take-downs no longer wait for
it. Its data directory cannot be used in this cluster any more, because it may have pages that are taken down later:
delete it.`,
		Example: "  acapcrawl cluster remove b --cluster nats://n1:4222,nats://n2:4222,nats://n3:4222",
	}
	reachFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return misuse(cmd.CommandPath()+" b", "remove needs the name of one node")
		}
		cfg, err := c.clusterSettings(cmd)
		if err != nil {
			return err
		}
		if err := cluster.Remove(cmd.Context(), site.ClusterOptions(cfg), args[0]); err != nil {
			return clusterFault(err)
		}
		fmt.Fprintf(c.Stdout, "The node %s is removed.\n", args[0])
		return nil
	}
	return cmd
}

func (c *Command) drain(ctx context.Context, cfg *config.Config, node string) error {
	line := newProgress(c.Stderr)
	err := cluster.Drain(ctx, site.ClusterOptions(cfg), node, func(left int) {
		line.Set("%s has %d partitions left", node, left)
	})
	line.Done()
	if err != nil {
		return clusterFault(err)
	}
	fmt.Fprintf(c.Stdout, "The node %s has handed over all its partitions.\n", node)
	return nil
}

func (c *Command) clusterSetVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set KEY=VALUE…",
		Short: "Change settings that all nodes of a cluster share",
		Long: `Change settings that all nodes of a cluster share, such as delay, scope or purposes. Running nodes complete
their visits in progress and continue with the new settings. A node that is started later with another value is
refused.`,
		Example: "  acapcrawl cluster set delay=2s scope=domain --cluster nats://n1:4222,nats://n2:4222,nats://n3:4222",
	}
	reachFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return misuse(cmd.CommandPath()+" delay=2s", "set needs at least one setting as KEY=VALUE")
		}
		cfg, err := c.clusterSettings(cmd)
		if err != nil {
			return err
		}
		values := map[string]any{}
		for _, arg := range args {
			key, text, ok := strings.Cut(arg, "=")
			if !ok {
				return misuse(cmd.CommandPath()+" delay=2s", "%q is not of the form KEY=VALUE", arg)
			}
			key = strings.ReplaceAll(key, "-", "_")
			if values[key], err = config.Read(key, text); err != nil {
				return err
			}
		}
		if err := site.SetShared(cmd.Context(), cfg, values); err != nil {
			return clusterFault(err)
		}
		fmt.Fprintln(c.Stdout, "The settings are changed. Running nodes continue with them.")
		return nil
	}
	return cmd
}

// joinSettings returns the settings of a verb that may take part in a cluster. Those that all nodes share come from the
// cluster, unless this machine states them itself; if first is true, they come from the cluster in any case.
func (c *Command) joinSettings(ctx context.Context, cmd *cobra.Command, first bool) (*config.Config, error) {
	cfg, err := c.settings(cmd)
	if err != nil || cfg.Cluster.Servers == "" {
		return cfg, err
	}
	shared, err := site.SharedSettings(ctx, cfg, func() {
		fmt.Fprintf(c.Stderr, "Notice: too few servers of the cluster answer; they are asked again for %s\n",
			cluster.ElectionTime)
	})
	if err != nil {
		return nil, faultOf(err)
	}
	return c.sharedSettings(cmd, shared, first)
}

// clusterFault returns an error of a verb that only asks the servers of a cluster.
func clusterFault(err error) error {
	var refused *cluster.DrainError
	switch {
	case errors.As(err, &refused):
		return misuse("acapcrawl cluster status", "%v", err)
	case errors.Is(err, cluster.ErrNoCluster):
		return failure("acapcrawl crawl --cluster … --node a https://example.com/", err)
	}
	return faultOf(site.ClusterError(err))
}
