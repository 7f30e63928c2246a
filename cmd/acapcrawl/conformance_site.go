package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/internal/conformance"
	"github.com/acapcrawl/acapcrawl/internal/conformance/course"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/site"
)

// conformanceSiteRequest holds the arguments of conformance site.
type conformanceSiteRequest struct {
	Listen string
	Log    string        // name of a file to which the recorded requests are appended; may be empty
	For    time.Duration // how long to serve; 0: until Ctrl-C
	Run    string        // command that starts a crawler; may be empty
	// names of files with recorded requests; if given, these requests are judged and no server is
	// started
	Logs  []string
	Judge bool
	Told  course.Told
	Out   *output
}

func (c *Command) conformanceSite() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "site",
		Short: "Serve a test site and judge the crawlers that visit it",
		Long: `Serve a publisher's site with traps, and judge its visitors by their requests: the report
lists the requirements of RFC 9309, of conventional tags, of ACAP, of TDMRep and of RSL that each visitor
kept, violated, or was not tested for. The command ends after --for, with Ctrl-C, or with the crawler that
--run starts. In the command of --run, {URL} is the address of the index and {URLS} are the addresses of all
origins. All requests of this crawler count as one visitor, whatever User-Agents it sends. With --judge
nothing is served: the command judges visits that --log has written.

The exit status is 1 if a requirement of RFC 9309 was violated. Violations of ACAP, TDMRep and RSL count,
and set the exit status, only for a crawler that shows a sign of reading them. With --protocol only
violations of the named protocols count; --protocol acap judges every crawler by ACAP.`,
		Example: `  acapcrawl conformance site
  acapcrawl conformance site --run 'wget -q -r -l 6 --tries=1 -H -P "$(mktemp -d)" {URLS}' --format html -o wget.html
  acapcrawl conformance site --run 'acapcrawl crawl --data "$(mktemp -d)" --delay 0 --allow-private {URLS}'
  acapcrawl conformance site --judge --protocol rep visits.jsonl`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	r := conformanceSiteRequest{}
	flags.StringVar(&r.Listen, "listen", "127.0.0.1:0", "serve at `ADDRESS` and the following ports; port 0: at free "+
		"ports")
	flags.StringVar(&r.Log, "log", "", "append visits to `FILE`, a line of JSON each")
	flags.DurationVar(&r.For, "for", 0, "end after `DURATION`")
	flags.StringVar(&r.Run, "run", "", "start a crawler with the shell `COMMAND`, and judge it when it ends")
	flags.BoolVar(&r.Judge, "judge", false, "judge the visits in files or standard input, and serve nothing")
	flags.StringArrayVar(&r.Told.Crawler, "crawler", nil, "judge only the crawler `NAME` (repeat it for all its "+
		"names; default: those in the User-Agent)")
	flags.StringArrayVar(&r.Told.Purposes, "purpose", nil, "the judged crawler declares the purpose `P` (repeatable)")
	protocols := flags.StringArray("protocol", nil,
		"count only violations of `P`, whatever the crawler reads: "+strings.Join(words(course.Protocols()),
			", ")+" (repeatable)")
	r.Out = c.reportFlags(cmd, textForm, jsonForm, sarifForm, junitForm, htmlForm)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := r.check(cmd, args, *protocols); err != nil {
			return err
		}
		r.Logs = args
		return c.runConformanceSite(cmd.Context(), r)
	}
	return cmd
}

// check returns an error if arguments and flags are wrong or contradict each other.
func (r *conformanceSiteRequest) check(cmd *cobra.Command, args, protocols []string) error {
	listens := cmd.Flags().Changed("listen")
	switch {
	case len(args) > 0 && !r.Judge:
		return misuse(cmd.CommandPath()+" --judge "+args[0], "only --judge takes files, not %q", args[0])
	case r.Judge && (r.Run != "" || r.For != 0 || r.Log != "" || listens):
		return misuse("", "--judge serves nothing: it cannot be combined with --listen, --log, --for and --run")
	case r.For < 0:
		return misuse("", "--for: %s is negative", r.For)
	case r.Run != "" && !strings.Contains(r.Run, "{URL}") && !strings.Contains(r.Run, "{URLS}"):
		return misuse(`--run 'wget -r {URL}'`, "the command of --run contains neither {URL} nor {URLS}: the crawler "+
			"would not know the address")
	}
	return r.checkVisitor(protocols)
}

// checkVisitor returns an error if the user gave a wrong crawler name, purpose or protocol.
// checkVisitor stores the protocols in r.Told.Protocols.
func (r *conformanceSiteRequest) checkVisitor(protocols []string) error {
	for _, name := range r.Told.Crawler {
		if !course.Name(name) {
			return misuse("--crawler NAME", "%q is not a crawler's name", name)
		}
	}
	for _, p := range r.Told.Purposes {
		if p == "" || strings.ContainsFunc(p, func(r rune) bool {
			return r <= ' ' || r == 0x7f || r == 0xa0 ||
				r == '#'
		}) {
			return misuse("--purpose P", "%q is not a purpose", p)
		}
	}
	for _, p := range protocols {
		if !slices.Contains(course.Protocols(), course.Protocol(p)) {
			return unknown("--protocol", p, "a protocol", words(course.Protocols()))
		}
		r.Told.Protocols = append(r.Told.Protocols, course.Protocol(p))
	}
	return nil
}

// runConformanceSite serves the test site while the crawler under test visits it. Then it reports
// what the recorded requests show about the crawler.
func (c *Command) runConformanceSite(ctx context.Context, r conformanceSiteRequest) error {
	left := 0
	visits, err := c.recordedVisits(r)
	if !r.Judge {
		visits, left, err = c.serveCourse(ctx, r)
	}
	if err != nil && len(visits) == 0 {
		return err
	}
	incomplete := err // for example, the log could not be written; the recorded requests are judged nevertheless
	report, err := course.Judge(context.WithoutCancel(ctx), visits, r.Told)
	if err != nil {
		return err
	}
	report.Left += left
	if err := c.writeReport(r.Out, func(w io.Writer) error {
		return printVisitors(w, r.Out.Form, report)
	}); err != nil {
		return err
	}
	judged, violations := 0, 0
	for _, v := range report.Visitors {
		violations += v.Failures()
		if v.Unjudged == "" {
			judged++
		}
	}
	switch {
	case incomplete != nil:
		return incomplete
	case violations > 0:
		return nothing("")
	case judged == 0:
		return nothing("no crawler that could be judged visited the course")
	}
	return nil
}

func printVisitors(w io.Writer, as form, report *course.Report) error {
	switch as {
	case jsonForm:
		e := display.Encoder(w)
		e.SetIndent("", "  ")
		return e.Encode(report)
	case sarifForm:
		return report.Problems().WriteSARIF(w, site.Version)
	case junitForm:
		return report.Tests().WriteJUnit(w)
	case htmlForm:
		return report.WriteHTML(w)
	}
	return report.WriteText(w)
}

// recordedVisits reads the requests of a crawler from the named logs, or from standard input.
func (c *Command) recordedVisits(r conformanceSiteRequest) ([]course.Visit, error) {
	if !r.Judge {
		return nil, nil
	}
	ins, closeAll, err := c.inputs(r.Logs)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	var visits []course.Visit
	for i, in := range ins {
		name := "standard input"
		if i < len(r.Logs) && r.Logs[i] != "-" {
			name = r.Logs[i]
		}
		list, err := course.ReadVisits(name, in)
		switch {
		case errors.Is(err, course.ErrUnfinished):
			fmt.Fprintf(c.Stderr, "Notice: %s.\n", display.Line(err.Error()))
		case err != nil:
			return nil, misuse("", "%w", err)
		}
		visits = append(visits, list...)
	}
	return visits, nil
}

// serveCourse serves the test site until the crawler of --run ends, the time is over, or ctx ends.
// It returns the recorded requests, and in left the number of requests that were not recorded.
func (c *Command) serveCourse(ctx context.Context, r conformanceSiteRequest) (visits []course.Visit, left int,
	err error) {
	o := course.Options{Listen: r.Listen, Crawler: r.Told.Crawler, Purposes: r.Told.Purposes}
	if r.Run != "" {
		o.Run = time.Now().UTC().Format(time.RFC3339Nano)
	}
	if r.Log != "" {
		log, err := os.OpenFile(c.path(r.Log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			return nil, 0, err
		}
		defer func() { err = errors.Join(err, log.Close()) }()
		o.Log = log
	}
	s, err := course.Serve(ctx, o)
	if err != nil {
		return nil, 0, misuse("--listen 127.0.0.1:0", "%w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Fprintf(c.Stderr, "The course answers at %s; start a crawler there. Its other seeds:\n",
		s.URL(course.Seeds()[0]))
	for _, o := range course.Seeds()[1:] {
		fmt.Fprintf(c.Stderr, "  %s/\n", s.URL(o))
	}
	until := ctx
	if r.For > 0 {
		var cancel context.CancelFunc
		until, cancel = context.WithTimeout(ctx, r.For)
		defer cancel()
	}
	if r.Run == "" {
		<-until.Done()
	} else {
		err = c.runCrawler(until, r.Run, s)
	}
	return s.Visits(), s.Left(), err
}

// runCrawler runs the crawler that the user named with --run, until the crawler or ctx ends. The
// exit status of the crawler does not matter; only its requests are judged.
func (c *Command) runCrawler(ctx context.Context, command string, s *course.Server) error {
	var seeds []string
	for _, o := range course.Seeds() {
		seeds = append(seeds, s.URL(o)+"/")
	}
	command = strings.NewReplacer("{URLS}", strings.Join(seeds, " "), "{URL}", seeds[0]).Replace(command)
	cmd := conformance.Shell(ctx, command)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.dir, c.Stderr, c.Stderr, 5*time.Second
	err := cmd.Run()
	conformance.EndGroup(cmd)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(c.Stderr, "The crawler was stopped.")
	case errors.As(err, &exit):
		fmt.Fprintf(c.Stderr, "The crawler ended with %s.\n", exit.ProcessState)
	case err != nil:
		return failure("", fmt.Errorf("the crawler could not be started: %w", err))
	}
	return nil
}
