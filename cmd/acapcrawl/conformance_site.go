package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/conformance/course"
)

// conformanceSiteRequest holds the arguments of conformance site.
type conformanceSiteRequest struct {
	Listen string
	Log    string        // file that visits are added to; may be empty
	For    time.Duration // 0: until Ctrl-C
	Run    string        // a crawler to start; may be empty
	Logs   []string      // visits to judge instead of serving
	Judge  bool
	Told   course.Told
	Out    *output
}

func (c *Command) conformanceSite() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "site",
		Short: "Serve a test site and judge the crawlers that visit it",
		Long: `Serve a publisher's site with traps, and judge its visitors by their requests: the report lists the requirements of RFC 9309, of
conventional tags and of ACAP that each visitor kept, violated, or was not tested for. The command ends after --for, with Ctrl-C, or with
the crawler that --run starts. In the command of --run, {URL} is the address of the index and {URLS} are the addresses of all origins.
All requests of this crawler count as one visitor, whatever User-Agents it sends. With --judge nothing is served: the command judges
visits that --log has written.

The exit status is 1 if a requirement of RFC 9309 was violated. Violations of ACAP count, and set the exit status, only for a crawler
that shows a sign of reading ACAP. With --protocol only violations of the named protocols count; --protocol acap judges every crawler by
ACAP.`,
		Example: `  acapcrawl conformance site
  acapcrawl conformance site --run 'wget -q -r -l 6 --tries=1 -H -P "$(mktemp -d)" {URLS}' --format html -o wget.html
  acapcrawl conformance site --run 'acapcrawl crawl --data "$(mktemp -d)" --delay 0 --allow-private --sitemaps --requisites --canonical {URLS}'
  acapcrawl conformance site --judge --protocol rep visits.jsonl`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	r := conformanceSiteRequest{}
	flags.StringVar(&r.Listen, "listen", "127.0.0.1:0", "serve at `ADDRESS` and the following ports; port 0: at free ports")
	flags.StringVar(&r.Log, "log", "", "append visits to `FILE`, a line of JSON each")
	flags.DurationVar(&r.For, "for", 0, "end after `DURATION`")
	flags.StringVar(&r.Run, "run", "", "start a crawler with the shell `COMMAND`, and judge it when it ends")
	flags.BoolVar(&r.Judge, "judge", false, "judge the visits in files or standard input, and serve nothing")
	flags.StringArrayVar(&r.Told.Crawler, "crawler", nil, "judge only the crawler `NAME` (repeat it for all its names; default: those in the User-Agent)")
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
		return misuse(`--run 'wget -r {URL}'`, "the command of --run contains neither {URL} nor {URLS}: the crawler would not know the address")
	}
	return r.checkVisitor(protocols)
}

// checkVisitor returns an error if a name, a purpose or a protocol is wrong. It fills r.Told.Protocols.
func (r *conformanceSiteRequest) checkVisitor(protocols []string) error {
	for _, name := range r.Told.Crawler {
		if !course.Name(name) {
			return misuse("--crawler NAME", "%q is not a crawler's name", name)
		}
	}
	for _, p := range r.Told.Purposes {
		if p == "" || strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xa0 || r == '#' }) {
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
