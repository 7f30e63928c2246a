package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/site"
)

// watchRequest holds the arguments of watch that are not settings.
type watchRequest struct {
	JSON  bool
	Flags []string // flags to pass to actions run

	// a received value begins a turn at once; the value is the origin whose robots.txt is read, or
	// "" to only execute what is due. May be nil
	Wake <-chan string
	// a received value makes watch read the configuration file at once. May be nil
	Reload <-chan os.Signal
}

func (c *Command) watchVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Execute publishers' requests as they appear, and crawl due jobs",
		Long: `Read publishers' requests in robots.txt again and again, and execute them, until Ctrl-C. Start each job of the
configuration file that is due by its schedule, one after the other.

The command does what actions run does: first for every archived site, then again for each site within the
time of the setting actions.seen_within. If a robots.txt cannot be read, the pauses grow, and a Retry-After is
obeyed. Between two runs the data directory is free for other verbs. A crawl executes requests by itself. The
command prints a line for everything that it did.

Before each job and every minute, unless a job runs, the command reads a changed configuration file. The signal
SIGHUP makes it read the file at once, or after the job that runs. If the file cannot be used, the command prints
why, and the previous settings stay in force.`,
		Example: `  acapcrawl watch
  acapcrawl watch --json`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	out := jsonFlag(cmd)
	visiting(flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := watchRequest{JSON: out.JSON(), Flags: given(cmd)}
		var stop func()
		r.Reload, stop = listenForReload()
		defer stop()
		return c.runWatchAll(cmd.Context(), func() (*config.Config, error) { return c.settings(cmd) }, r)
	}
	localOnly(cmd, "nodes that crawl execute the requests of publishers by themselves",
		"acapcrawl actions run --cluster …, to do so at once")
	return cmd
}

// visiting adds the flags for fetching the pages that actions run must crawl again.
func visiting(flags *pflag.FlagSet) {
	for _, name := range []string{"delay", "concurrency", "per-host", "timeout", "allow-private", "chromium"} {
		setting(flags, name)
	}
}

// given returns, as command-line arguments for another verb, the flags of cmd that the user gave
// and that set configuration keys.
func given(cmd *cobra.Command) (args []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if len(f.Annotations[keyOfFlag]) > 0 || f.Name == "config" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

const (
	// maximum time of a turn: after it, watch lets other processes use the data directory even if
	// there is more to do
	turn    = 20 * time.Second
	breathe = time.Second // minimum time between turns, in which other processes can use the data directory
)

// nothingToWatch returns the error of a configuration that gives watch nothing to do.
func nothingToWatch() error {
	return misuse("ACAPCRAWL_ACTIONS_SEEN_WITHIN=1h acapcrawl watch",
		"actions.seen_within is 0s: there is no time within which requests are to be seen")
}

// leftOver is the time after which failed work is tried again if policies are not read regularly.
const leftOver = 10 * time.Minute

// runWatch reads and executes the requests of publishers in turns until ctx ends. Between turns it
// keeps no file of the data directory open.
func (c *Command) runWatch(ctx context.Context, cfg *config.Config, r watchRequest) error {
	within := cfg.Actions.SeenWithin
	if within <= 0 && r.Wake == nil {
		return nothingToWatch()
	}
	w := watcher{command: c, cfg: cfg, request: r, screen: newProgress(c.Stderr), within: within}
	defer w.screen.Done()
	var soon []string
	for first := true; ctx.Err() == nil; first = false {
		began := time.Now()
		did, ok, err := w.look(ctx, first, soon)
		if err != nil {
			return err
		}
		wait := w.pause(did)
		if within > 0 {
			w.screen.Set("%s read again; the next at %s. Ctrl-C ends this.", several(did.Read, "robots.txt file"),
				time.Now().Add(wait).Format(time.TimeOnly))
		}
		took := min(time.Since(began), wait)
		sleep(ctx, took)          // limits how often values in r.Wake cause archive and index to be rewritten
		if !ok && len(soon) > 0 { // the turn failed, and a client waits for its result: try again
			sleep(ctx, breathe)
			continue
		}
		soon = append(did.Later, r.await(ctx, wait-took)...)
	}
	return nil
}

// await waits for d, or until r.Wake has a value, and returns all values that r.Wake has then.
func (r *watchRequest) await(ctx context.Context, d time.Duration) (origins []string) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case origin := <-r.Wake:
		origins = append(origins, origin)
	case <-timer.C:
	case <-ctx.Done():
	}
	for {
		select {
		case origin := <-r.Wake:
			origins = append(origins, origin)
		default:
			return origins
		}
	}
}

// watcher runs the turns of watch. It prints what each turn did, and does not repeat a problem that
// it has already printed.
type watcher struct {
	command *Command
	cfg     *config.Config
	request watchRequest
	screen  *progress
	// within is the maximum age of a policy until it is read again; 0: only the policies of origins
	// received from Wake are read.
	within time.Duration
	said   string
}

// pause returns how long to wait for a value in Wake before the next turn. did is the result of the
// last turn.
func (w *watcher) pause(did site.RequestsRun) time.Duration {
	switch {
	case did.More:
		return breathe
	case len(did.Later) > 0:
		return max(time.Until(did.Next), breathe)
	case w.within > 0:
		return site.UntilNext(did.Next, w.within)
	case did.Left:
		return leftOver
	}
	return math.MaxInt64
}

// look runs one turn: it executes what is due, and prints what was done. ok is false if the turn
// failed; look prints the failure, and the next call tries again. If first is true, look reads all
// policies again. soon are origins whose policies are read at once. err is only an error of usage
// or of printing.
func (w *watcher) look(ctx context.Context, first bool, soon []string) (did site.RequestsRun, ok bool, err error) {
	o := site.RunOptions{AtMost: turn, Only: w.within <= 0}
	if !first {
		o.OlderThan = max(w.within, 0)
	}
	for _, origin := range soon {
		if origin != "" {
			o.Soon = append(o.Soon, origin)
		}
	}
	did, problems, status := w.command.runDue(ctx, w.cfg, o, w.request.Flags)
	if ctx.Err() != nil {
		return did, false, nil
	}
	if status == statusUsage {
		io.WriteString(w.screen, problems)
		return did, false, &fault{status: status, err: errors.New("")}
	}
	if problems != w.said {
		io.WriteString(w.screen, problems)
		w.said = problems
	}
	if status == statusFailed {
		return did, false, nil
	}
	for _, a := range did.Requests {
		if !a.Settled() {
			continue
		}
		w.screen.Done()
		if w.request.JSON {
			err = errors.Join(err, w.command.printJSON(a))
		} else {
			_, e := fmt.Fprintf(w.command.Stdout, "%s %s\n", time.Now().Format(time.RFC3339), actionInWords(a))
			err = errors.Join(err, e)
		}
	}
	if len(did.Erased) > 0 {
		w.screen.Done()
		err = errors.Join(err, w.printErased(did.Erased))
	}
	return did, true, err
}

// printErased prints what a turn erased: for each reason and policy line one line with the time, or
// one JSON object.
func (w *watcher) printErased(list []archive.Erasure) error {
	if w.request.JSON {
		return w.command.printJSON(map[string][]archive.Erasure{"erased": list})
	}
	var text strings.Builder
	err := printErased(&text, list)
	for line := range strings.Lines(text.String()) {
		_, e := fmt.Fprintf(w.command.Stdout, "%s %s", time.Now().Format(time.RFC3339), line)
		err = errors.Join(err, e)
	}
	return err
}

// runDue reads the policies and executes the requests that o selects, in this process or in the
// process that has the data directory open. flags are the command-line flags that pass the settings
// to the other process. problems says in words what went wrong.
func (c *Command) runDue(ctx context.Context, cfg *config.Config, o site.RunOptions,
	flags []string) (did site.RequestsRun, problems string, status int) {
	var stderr bytes.Buffer
	did, err := c.other(ctx, &stderr, actionsRunName).openAndRun(ctx, cfg, o)
	if _, taken := errors.AsType[*busy](err); !taken {
		status = report(&stderr, err)
		return did, stderr.String(), status
	}
	args := append([]string{"actions", "run", "--json", "--" + atMostFlag, o.AtMost.String()}, flags...)
	if o.Only {
		args = append(args, "--"+onlyFlag)
	} else if o.OlderThan > 0 {
		args = append(args, "--"+olderThanFlag, o.OlderThan.String())
	}
	for _, origin := range o.Soon {
		args = append(args, "--"+soonFlag+"="+origin)
	}
	out, problems, status := c.inside(ctx, cfg, nil, args)
	if status != statusFailed && status != statusUsage && json.Unmarshal(out, &did) != nil {
		status = statusFailed
	}
	return did, problems, status
}

// openAndRun opens the data directory, reads the policies, and executes the requests that o
// selects.
func (c *Command) openAndRun(ctx context.Context, cfg *config.Config, o site.RunOptions) (did site.RequestsRun,
	err error) {
	defer defect.Catch(&err, "acapcrawl actions run", nil)
	d, err := c.open(cfg, site.Options{})
	if err != nil {
		return did, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.runRequests(ctx, o, newProgress(c.Stderr))
}

// other returns a Command with which this verb can run another verb in this process.
func (c *Command) other(ctx context.Context, stderr io.Writer, verb string) *Command {
	return &Command{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: newProgress(stderr), Env: c.Env,
		Resolver: c.Resolver, verb: verb, over: ctx.Done()}
}

// inside runs another verb in this process with in as standard input, and returns its output. If
// another process has the data directory open, the verb runs there. The verb uses the content that
// the configuration file had when cfg was loaded.
func (c *Command) inside(ctx context.Context, cfg *config.Config, in []byte, args []string) (out []byte,
	problems string, status int) {
	var stdout, stderr bytes.Buffer
	verb := Command{Stdin: bytes.NewReader(in), Stdout: &stdout, Stderr: &stderr, Env: c.Env, Resolver: c.Resolver,
		configText: cfg.Text()}
	status = verb.Main(ctx, args)
	return stdout.Bytes(), stderr.String(), status
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
