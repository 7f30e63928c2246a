package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// searchRequest is what search was asked for, beside the configuration.
type searchRequest struct {
	judging
	Query string
	Skip  int
	Limit int
	Why   bool
	JSON  bool
}

func (c *Command) searchVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search what is held; show what may be shown",
		Long: `Search what is held, and show what may be shown of it, best first.

Words are found in any form that their language has, a "phrase" as it is written. Pages with the words as you write them come
first. All must be there; a minus before one excludes it.
site:HOST, lang:XX, type:KIND (html, text, markdown, feed, pdf, image, or a media type), before:DAY and after:DAY narrow the search
down; a day is written 2026-05-31, 2026-05 or 2026. An address to which the publisher permits no link is marked "address only".`,
		Example: `  acapcrawl search harbour ferry
  acapcrawl search '"winter timetable" -cancelled site:example.com'
  acapcrawl search -- harbour -ferry`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	limit := flags.Int("limit", 10, "show at most `N` results")
	skip := flags.Int("skip", 0, "leave out the first `N`")
	why := flags.Bool("why", false, "tell what may not be shown, and which line decides")
	judgedCrawler(flags)
	setting(flags, "purpose")
	judge := judgingFlags(cmd, "from-now", "reader", "refresh")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := searchRequest{Query: strings.TrimSpace(strings.Join(args, " ")), Skip: *skip, Limit: *limit, Why: *why,
			JSON: out.JSON()}
		if r.Query == "" {
			return misuse("acapcrawl search harbour", "search needs something to search for")
		}
		for _, n := range []struct {
			flag         string
			value, least int
		}{{"limit", r.Limit, 1}, {"skip", r.Skip, 0}} {
			if n.value < n.least {
				return misuse("", "--%s: %d is out of range", n.flag, n.value)
			}
		}
		var err error
		if r.judging, err = judge(); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runSearch(cmd.Context(), cfg, r)
	}
	return cmd
}
