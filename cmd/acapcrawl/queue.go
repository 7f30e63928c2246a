package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/site"
)

func (c *Command) queueVerb() *cobra.Command {
	return c.group("queue", "Show what is queued", c.queueListVerb())
}

// queueRequest holds the arguments of queue ls that are not settings.
type queueRequest struct {
	Job, Host string // list only these; "": all
	JSON      bool
}

func (c *Command) queueListVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List what is queued, when it is due, and why not now", Args: noArgs,
		Long: `List what is queued, by the job and the seed from which it was found and by host: how many addresses, when the
host may be requested next, and why not now. A crawl may run meanwhile.`,
		Example: "  acapcrawl queue ls\n  acapcrawl queue ls --job news\n" +
			"  acapcrawl queue ls --host example.com --json",
	}
	job := cmd.Flags().String("job", "", "list only what the seeds of the job `JOB` lead to, in its data directory")
	host := cmd.Flags().String("host", "", "list only `HOST`, with a port if it is not the default")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *job != "" {
			j, err := c.namedJob(cmd, *job)
			if err != nil {
				return err
			}
			c.job = j.Name
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runQueueList(cmd, cfg, queueRequest{Job: *job, Host: *host, JSON: out.JSON()})
	}
	localOnly(cmd, "each node has the queue of its own hosts", "acapcrawl cluster status, which counts them")
	return cmd
}

func (c *Command) runQueueList(cmd *cobra.Command, cfg *config.Config, r queueRequest) (err error) {
	d, err := c.open(cfg, site.Options{})
	if err != nil {
		return c.orNothing(r.JSON, []struct{}{}, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	all, crawls, err := d.Queue(cfg.Jobs)
	if err != nil {
		return err
	}
	list := []site.QueuedHost{}
	for _, q := range all {
		if (r.Job == "" || slices.Contains(q.Jobs, r.Job)) && (r.Host == "" || q.Host == r.Host) {
			list = append(list, q)
		}
	}
	if r.JSON {
		return c.printJSON(list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(c.Stderr, "Notice: "+nothingQueued(all, r))
		return err
	}
	return printQueue(c.Stdout, list, crawls, time.Now())
}

// nothingQueued says that r selects nothing of all, and which hosts the user may have meant.
func nothingQueued(all []site.QueuedHost, r queueRequest) string {
	if r.Host == "" {
		return "nothing is queued"
	}
	text, near := "nothing of the host "+r.Host+" is queued", []string{}
	for _, q := range all {
		if name, _, err := net.SplitHostPort(q.Host); err == nil && name == r.Host && !slices.Contains(near, q.Host) {
			near = append(near, q.Host)
		}
	}
	if len(near) > 0 {
		text += "; hosts with this name are " + strings.Join(near, ", ")
	}
	return text
}

func printQueue(w io.Writer, list []site.QueuedHost, crawls bool, now time.Time) error {
	lines := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	group := ""
	for _, q := range list {
		if name := groupOf(q); name != group {
			group = name
			if err := lines.Flush(); err != nil {
				return err
			}
			fmt.Fprintln(lines, group)
		}
		when := "now"
		switch {
		case q.Due.After(now):
			when = "in " + span(q.Due.Sub(now)) + ", because " + q.Why
		case q.Why != "":
			when = "not now, because " + q.Why
		}
		fmt.Fprintf(lines, "  %s\t%s\t%s\n", number(q.Queued), q.Host, when)
	}
	return lines.Flush()
}

// groupOf returns the heading under which a host is listed.
func groupOf(q site.QueuedHost) string {
	seed := q.Seed
	if seed == "" {
		seed = "from no seed"
	}
	if len(q.Jobs) == 0 {
		return seed
	}
	return "job " + strings.Join(q.Jobs, ", job ") + ": " + seed
}
