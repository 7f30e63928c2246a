package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// searchRequest holds the arguments of search that are not settings.
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
		Short: "Search the index, and print what may be shown of the results",
		Long: `Search the index, and print what may be shown of each result, best results first.

A result contains all words of the query, in any grammatical form; pages with the words as written come first. A "phrase" is found as
written. A minus excludes a word. The search is restricted by site:HOST, lang:XX, type:KIND (html, text, markdown, feed, pdf, image, or a
media type), before:DAY and after:DAY; a day is 2026-05-31, 2026-05 or 2026. If the publisher permits no link, the address is marked
"address only".`,
		Example: `  acapcrawl search harbour ferry
  acapcrawl search '"winter timetable" -cancelled site:example.com'
  acapcrawl search -- harbour -ferry`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	limit := flags.Int("limit", 10, "print at most `N` results")
	skip := flags.Int("skip", 0, "skip the first `N` results")
	why := flags.Bool("why", false, "print what may not be shown, and which line decides")
	judgedCrawler(flags)
	setting(flags, "purpose")
	judge := judgingFlags(cmd, "from-now", "reader", "refresh")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := searchRequest{Query: strings.TrimSpace(strings.Join(args, " ")), Skip: *skip, Limit: *limit, Why: *why,
			JSON: out.JSON()}
		if r.Query == "" {
			return misuse("acapcrawl search harbour", "search needs a query")
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
