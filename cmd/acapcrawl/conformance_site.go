package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/conformance/course"
)

// conformanceSiteRequest is what conformance site was asked for.
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
		Short: "Serve the course, on which any crawler can be tested, and judge its visitors",
		Long: `Serve the course, a publisher's site with traps, and judge its visitors by their requests: which requirements of RFC 9309, of
conventional tags and of ACAP each kept, violated, or was not tested by. It ends after --for, with Ctrl-C, or with the crawler that --run
starts; in its command {URL} is the address of the index, and {URLS} are those of all origins. All requests of this crawler are judged as
one visitor, whatever User-Agents it sends. With --judge nothing is served: visits are judged that --log wrote before.

The exit status is 1 if a requirement of RFC 9309 was violated. Violations of ACAP are counted, and set the exit status, only for a crawler
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
	flags.StringVar(&r.Listen, "listen", "127.0.0.1:0", "serve at `ADDRESS` and the ports after it; port 0 takes free ones")
	flags.StringVar(&r.Log, "log", "", "add visits to `FILE`, a line of JSON each")
	flags.DurationVar(&r.For, "for", 0, "end after `DURATION`")
	flags.StringVar(&r.Run, "run", "", "start the crawler that the shell `COMMAND` runs, and judge when it ends")
	flags.BoolVar(&r.Judge, "judge", false, "judge the visits in the files given, or standard input, and serve nothing")
	flags.StringArrayVar(&r.Told.Crawler, "crawler", nil, "judge the crawler alone that answers to `NAME` (repeat it for all its names; taken from the User-Agent otherwise)")
	flags.StringArrayVar(&r.Told.Purposes, "purpose", nil, "the judged crawler collects for `P` (repeatable)")
	protocols := flags.StringArray("protocol", nil,
		"count violations of `P` alone, whatever the crawler reads: "+strings.Join(words(course.Protocols()),
			", ")+" (repeatable)")
	r.Out = c.reportFlags(cmd, textForm, jsonForm, sarifForm, junitForm, htmlForm)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0 && !r.Judge:
			return misuse(cmd.CommandPath()+" --judge "+args[0], "only --judge takes files, not %q", args[0])
		case r.Judge && (r.Run != "" || r.For != 0 || r.Log != "" || flags.Changed("listen")):
			return misuse("", "--judge serves nothing: --listen, --log, --for and --run do not go with it")
		case r.For < 0:
			return misuse("", "--for takes a time to come, not %s", r.For)
		case r.Run != "" && !strings.Contains(r.Run, "{URL}") && !strings.Contains(r.Run, "{URLS}"):
			return misuse(`--run 'wget -r {URL}'`, "the command of --run has no {URL} and no {URLS}: the crawler would not know where to go")
		}
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
		for _, p := range *protocols {
			if !slices.Contains(course.Protocols(), course.Protocol(p)) {
				return unknown("--protocol", p, "a protocol", words(course.Protocols()))
			}
			r.Told.Protocols = append(r.Told.Protocols, course.Protocol(p))
		}
		r.Logs = args
		return c.runConformanceSite(cmd.Context(), r)
	}
	return cmd
}
