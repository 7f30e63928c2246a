package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/site"
	"github.com/acapcrawl/acapcrawl/snippet"
)

// runActionsRun does what the open requests and those of the policies of today ask for. While a crawl has the data directory it is done
// there, and the crawl visits what is to be crawled again.
func (c *Command) runActionsRun(ctx context.Context, cfg *config.Config, r actionsRunRequest) (err error) {
	screen := newProgress(c.Stderr)
	d, err := c.open(cfg, site.Options{Log: logger(screen, cfg)})
	if err != nil {
		return c.orNothing(r.JSON, site.RequestsRun{Requests: []actions.Request{}, Erased: []archive.Erasure{}}, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	did, stopped := d.runRequests(ctx, site.RunOptions{Origins: r.Origins, NoRefresh: r.NoRefresh, OlderThan: r.OlderThan,
		Soon: r.Soon, Only: r.Only, AtMost: r.AtMost}, screen)
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

// runRequests reads the policies and executes the requests that o names, and shows how far it is. If ctx ends, it returns
// what was done until then.
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

// actionInWords is a request and what came of it, on one line.
func actionInWords(r actions.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s: %s", r.Action, r.URL, r.State)
	switch {
	case r.Why != "":
		fmt.Fprintf(&b, ", %s", r.Why)
	case lifted(r):
		b.WriteString(", no longer asked for")
	case r.State != actions.Done:
	case r.Action == acap.TakeDown && r.Erased == 0:
		b.WriteString(", no copy was held")
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
