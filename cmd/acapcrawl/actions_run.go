package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/site"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// actionsRunRequest holds the arguments of actions run that are not settings.
type actionsRunRequest struct {
	Origins   []string // origins whose policies are read again; none: every origin with archived pages or requests
	NoRefresh bool     // read no policy again
	// read again only policies that were read longer ago than OlderThan; 0: read all policies again
	OlderThan time.Duration
	Soon      []string      // origins whose policies are read again even if they are newer than OlderThan
	Only      bool          // read only the policies of the origins in Soon
	AtMost    time.Duration // after this time, begin to read no further origin and visit no further page; 0: no limit
	JSON      bool
}

// The hidden flags with which the verb watch calls the verb actions run.
const (
	olderThanFlag = "older-than"
	atMostFlag    = "at-most"
	soonFlag      = "soon"
	onlyFlag      = "only-soon"
)

func (c *Command) actionsRunVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Read publishers' requests again, and execute them",
		Long: `Read publishers' requests again, and execute them.

The command reads the robots.txt of every site with archived pages or requests. It erases the pages to be
taken down, visits the pages to be crawled again, and rewrites archive and index without the erased data. It
requests no other page. If a crawl uses the data directory, the crawl makes the visits.

--origin and --no-refresh limit what is read again. Requests that were recorded earlier are executed in any
case.`,
		Example: `  acapcrawl actions run
  acapcrawl actions run --origin https://example.com`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	origins := flags.StringArray("origin", nil, "read only robots.txt of the site `URL` again (repeatable)")
	noRefresh := flags.Bool("no-refresh", false, "read no robots.txt again")
	clusterFlags(cmd)
	out := jsonFlag(cmd)
	visiting(flags)
	olderThan := flags.Duration(olderThanFlag, 0, "read only policies older than about `DURATION` again")
	atMost := flags.Duration(atMostFlag, 0, "start no visit after `DURATION`")
	soon := flags.StringArray(soonFlag, nil, "read `ORIGIN` again before that")
	only := flags.Bool(onlyFlag, false, "read no other origin again")
	flags.MarkHidden(onlyFlag)
	flags.MarkHidden(soonFlag)
	flags.MarkHidden(olderThanFlag)
	flags.MarkHidden(atMostFlag)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := actionsRunRequest{NoRefresh: *noRefresh, OlderThan: *olderThan, Soon: *soon, Only: *only,
			AtMost: *atMost, JSON: out.JSON()}
		if r.NoRefresh && len(*origins) > 0 {
			return misuse("one of them", "--origin and --no-refresh contradict each other")
		}
		var err error
		if r.Origins, err = originKeys(*origins); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		if c.asksNodes(cfg) {
			return c.onEachNode(cmd.Context(), cfg, callOf(cmd, nil), r.JSON)
		}
		return c.runActionsRun(cmd.Context(), cfg, r)
	}
	return cmd
}

// runActionsRun reads the requests of publishers and executes them. If a crawl has the data
// directory open, runActionsRun runs in the process of the crawl, and the crawl visits the pages
// that must be crawled again.
func (c *Command) runActionsRun(ctx context.Context, cfg *config.Config, r actionsRunRequest) (err error) {
	screen := newProgress(c.Stderr)
	d, err := c.open(cfg, site.Options{Log: logger(screen, cfg)})
	if err != nil {
		return c.orNothing(r.JSON, site.RequestsRun{Requests: []actions.Request{}, Erased: []archive.Erasure{}}, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	did, stopped := d.runRequests(ctx, site.RunOptions{Origins: r.Origins, NoRefresh: r.NoRefresh,
		OlderThan: r.OlderThan,
		Soon:      r.Soon, Only: r.Only, AtMost: r.AtMost}, screen)
	if stopped != nil && ctx.Err() == nil {
		return faultOf(stopped)
	}
	if r.JSON {
		err = c.printJSON(did)
	} else {
		err = printActionsRun(c.Stdout, did)
	}
	if err = errors.Join(stopped, err); err == nil && did.Open > 0 && r.AtMost == 0 && c.owner == nil {
		return nothing(several(did.Open, "request") + " could not be executed; acapcrawl actions ls says why.")
	}
	return err
}

// runRequests reads the policies and executes the requests that o selects, and shows the progress
// on screen. If ctx ends, runRequests returns what was done until then.
func (d *directory) runRequests(ctx context.Context, o site.RunOptions, screen *progress) (site.RequestsRun, error) {
	defer screen.Done()
	o.Ready, o.Every = d.serve, redraw
	o.Progress = func(p crawler.Progress) { screen.Set("%s", progressLine(p, time.Now(), ctx.Err() != nil)) }
	return d.RunRequests(ctx, o)
}

// printActionsRun prints a line for each request, and what was read and visited.
func printActionsRun(w io.Writer, did site.RequestsRun) error {
	var b strings.Builder
	for _, r := range did.Requests {
		fmt.Fprintln(&b, actionInWords(r))
	}
	fmt.Fprintf(&b, "%s read again", several(did.Read, "robots.txt file"))
	if did.Unreachable > 0 {
		fmt.Fprintf(&b, ", %s could not be read", number(did.Unreachable))
	}
	if did.Visited > 0 {
		fmt.Fprintf(&b, ", %s visited", several(did.Visited, "page"))
	}
	b.WriteString(".\n")
	_ = printErased(&b, did.Erased)
	_, err := io.WriteString(w, b.String())
	return err
}

// actionInWords returns a request and its outcome as one line of text.
func actionInWords(r actions.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s: %s", r.Action, r.URL, r.State)
	switch {
	case r.Why != "":
		fmt.Fprintf(&b, ", %s", r.Why)
	case lifted(r):
		b.WriteString(", no longer in force")
	case r.State != actions.Done:
	case r.Action == acap.TakeDown && r.Erased == 0:
		b.WriteString(", nothing was archived")
	case r.Action == acap.TakeDown:
		fmt.Fprintf(&b, ", %s erased", copies(r.Erased))
	case r.Status != 0:
		fmt.Fprintf(&b, ", HTTP status %d", r.Status)
	}
	fmt.Fprintf(&b, " (%s)", r.Source)
	return snippet.Plain(b.String())
}

func copies(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return number(n) + " copies"
}
