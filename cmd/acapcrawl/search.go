package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// searchRequest is what search was asked for, beside the configuration.
type searchRequest struct {
	judging
	Query string
	Limit int
	JSON  bool
}

func (c *Command) searchVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search what is held; show what may be shown",
		Long: `Search what is held, and show what may be shown of it, best first.

Words are found in any form that their language has, a "phrase" as it is written. All must be there; a minus before one excludes it.
site:HOST, lang:XX, type:KIND (html, text, markdown, feed, pdf, image, or a media type), before:DAY and after:DAY narrow the search
down; a day is written 2026-05-31, 2026-05 or 2026.`,
		Example: `  acapcrawl search harbour ferry
  acapcrawl search '"winter timetable" -cancelled site:example.com'`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	limit := flags.Int("limit", 10, "show at most `N` results")
	setting(flags, "crawler")
	setting(flags, "purpose")
	judge := judgingFlags(cmd, "from-now", "reader", "refresh")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := searchRequest{Query: strings.TrimSpace(strings.Join(args, " ")), Limit: *limit, JSON: *asJSON}
		if r.Query == "" {
			return misuse("acapcrawl search harbour", "search needs something to search for")
		}
		if r.Limit < 1 {
			return misuse("", "--limit: %d is out of range", r.Limit)
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
