package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/site"
)

// forgetRequest holds the arguments of archive forget that are not settings.
type forgetRequest struct {
	URLs, Hosts []string
	Older       time.Duration // erase only what is older; 0: everything
	Why         string
	DryRun      bool
	JSON        bool
}

func (c *Command) archiveForget() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forget [URL|HOST…]",
		Short: "Erase what you no longer want to keep",
		Long: `Erase what is stored of the URLs and hosts given: copies, index entries, thumbnails and records. A host
without a port means all its ports; HOST:PORT means one. With --older, erase only what was fetched longer ago; without
a URL or host, of all pages. Without --older, pages that scripts made from what is erased (crawl --render) are erased,
too. The files are rewritten, so that nothing of it is left there, nor of what was erased before; if another process
uses them, it does that later. The archive keeps the reason of each erasure, without content: archive erasures lists it,
and archive verify --erased URL shows the receipt.

A later crawl may fetch the pages again; exclude them with --exclude. Backups and exports made before contain them
still. The queue still lists the addresses, and the policies that were read of the hosts are kept.`,
		Example: `  acapcrawl archive forget --reason 'asked by the person named there' https://example.com/person.html
  acapcrawl archive forget --reason 'project has ended' example.com
  acapcrawl archive forget --reason 'kept for one year' --older 365d --dry-run`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	older := flags.String("older", "", "erase only what was fetched longer than `TIME` ago: 365d, 12h")
	why := flags.String("reason", "", "keep `TEXT` as the reason of the erasure")
	dryRun := flags.Bool("dry-run", false, "print what would be erased; change nothing")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := forgetOf(cmd, args, *older)
		if err != nil {
			return err
		}
		if r.Why = strings.TrimSpace(*why); r.Why == "" {
			return misuse(`--reason "project has ended"`, "%s needs a reason, which is kept", cmd.CommandPath())
		}
		r.DryRun, r.JSON = *dryRun, out.JSON()
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runForget(cmd.Context(), cfg, r)
	}
	localOnly(cmd, "each node erases what it has itself",
		"acapcrawl archive forget --data DIR … on the machine of each node")
	return cmd
}

// forgetOf reads the arguments that say what to erase.
func forgetOf(cmd *cobra.Command, args []string, older string) (r forgetRequest, err error) {
	for _, arg := range args {
		if !strings.Contains(arg, "://") {
			host, err := hostArgument(arg)
			if err != nil {
				return r, err
			}
			r.Hosts = append(r.Hosts, host)
			continue
		}
		u, err := webURL(arg)
		if err != nil {
			return r, err
		}
		r.URLs = append(r.URLs, u.String())
	}
	if older != "" {
		if r.Older, err = config.Age(older); err != nil {
			return r, misuse("--older 365d", "--older: %w", err)
		}
	}
	if len(args) == 0 && r.Older == 0 {
		return r, misuse(cmd.CommandPath()+" --older 365d", "%s needs a URL, a host or --older", cmd.CommandPath())
	}
	return r, nil
}

// hostArgument returns a host in the form in which addresses contain it, with the port if arg has one.
func hostArgument(arg string) (string, error) {
	u, err := url.Parse("https://" + arg)
	if err != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil || u.Hostname() == "" {
		return "", misuse("example.com", "%q is neither a URL nor a host", arg)
	}
	normal, err := address.Parse(u.String())
	if err != nil {
		return "", misuse("example.com", "%q is not a host: %w", arg, err)
	}
	if normal.Port() == "" && u.Port() != "" {
		return normal.Host + ":443", nil // the normal form leaves out the port of https
	}
	return normal.Host, nil
}

func (c *Command) runForget(ctx context.Context, cfg *config.Config, r forgetRequest) (err error) {
	d, err := c.openHeld(ctx, cfg, false)
	if err != nil {
		return c.orNothing(r.JSON, site.ForgetSummary{DryRun: r.DryRun}, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	screen := newProgress(c.Stderr)
	defer screen.Done()
	o := site.ForgetOptions{URLs: r.URLs, Hosts: r.Hosts, All: len(r.URLs)+len(r.Hosts) == 0, Why: r.Why,
		DryRun: r.DryRun}
	if r.Older > 0 {
		o.Before = time.Now().Add(-r.Older)
	}
	done := 0
	o.Each = func(f holdings.Forgotten) {
		done++
		screen.Count(done, 0, "page")
		if !r.JSON {
			screen.Done()
			fmt.Fprintln(c.Stdout, forgottenInWords(f, r.DryRun))
		}
	}
	sum, err := d.Forget(ctx, o)
	screen.Done()
	if r.JSON {
		err = errors.Join(err, c.printJSON(sum))
	} else {
		err = errors.Join(err, printForgotten(c.Stdout, cfg.Data, sum))
	}
	if err != nil {
		return err
	}
	return nothingForgotten(sum, r.Older > 0)
}

// nothingForgotten returns an error that names each argument without anything to erase. It returns nil if there is no
// such argument.
func nothingForgotten(sum site.ForgetSummary, older bool) error {
	var none []error
	for _, of := range sum.Of {
		switch {
		case of.Pages > 0:
		case older:
			none = append(none, nothing(fmt.Sprintf("Nothing that is stored of %s was fetched longer ago.", of.Of)))
		default:
			none = append(none, nothing(fmt.Sprintf("Nothing is stored of %s.", of.Of)))
		}
	}
	if len(sum.Of) == 0 && sum.Pages == 0 {
		return nothing("Nothing that is stored was fetched longer ago.")
	}
	return errors.Join(none...)
}

// forgottenInWords says on one line what was erased of a page.
func forgottenInWords(f holdings.Forgotten, dry bool) string {
	what := copies(f.Copies)
	switch {
	case f.Whole && f.Copies == 0:
		what = "the record and the index entry"
	case f.Whole:
		what = "everything, " + what
	default:
		what = "older: " + what
	}
	if dry {
		return display.Line(fmt.Sprintf("%s: %s would be erased", f.URL, what))
	}
	return display.Line(fmt.Sprintf("%s: %s erased", f.URL, what))
}

// printForgotten prints what was erased, and whether the files in the data directory dir still contain remains of it.
func printForgotten(w io.Writer, dir string, sum site.ForgetSummary) error {
	if sum.DryRun && sum.Pages == 0 {
		return nil
	}
	if sum.DryRun {
		_, err := fmt.Fprintf(w, "%s of %s would be erased.\n", copies(sum.Copies), several(sum.Pages, "page"))
		return err
	}
	err := printErased(w, sum.Erased)
	sentence := ""
	switch {
	case sum.Rewritten:
		sentence = "The files are rewritten: they contain nothing that was erased."
	case sum.Pending && sum.Within > 0 && ownerCompacts(dir):
		sentence = fmt.Sprintf("The files are rewritten within %s by the process that uses them.", span(sum.Within))
	case sum.Pending:
		sentence = "The files contain remains of it, which nobody can read: acapcrawl archive compact rewrites them."
	}
	if sentence != "" {
		_, failed := fmt.Fprintln(w, sentence)
		err = errors.Join(err, failed)
	}
	return err
}

// ownerCompacts reports whether the process that has dir open rewrites its files when that is due, or before it ends.
func ownerCompacts(dir string) bool {
	o, ok := readOwner(dir)
	return ok && !strings.HasPrefix(o.Verb, "archive ")
}
