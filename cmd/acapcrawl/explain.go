package main

import (
	"net/url"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/acap"
)

// explainRequest is what explain was asked for, beside the configuration.
type explainRequest struct {
	judging
	URL    *url.URL
	Usages []acap.Usage // empty: all fourteen
	Page   bool         // fetch the page, for what it says of itself
	JSON   bool
}

func (c *Command) explainVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "explain URL",
		Short:   "Say what this crawler may do with a URL, by which line and under which limits",
		Example: `  acapcrawl explain --usage index --purpose news https://example.com/a.html`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	usages := flags.StringArray("usage", nil, "only usage type `U` (repeatable)")
	page := flags.Bool("page", false, "fetch the page too, for what it says of itself")
	for _, name := range []string{"crawler", "purpose", "strict", "allow-private"} {
		setting(flags, name)
	}
	judge := judgingFlags(cmd, "as-of", "reader")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := explainRequest{Page: *page, JSON: *asJSON}
		var err error
		if r.URL, err = oneURL(cmd, args); err != nil {
			return err
		}
		for _, name := range *usages {
			u, err := usage(name)
			if err != nil {
				return err
			}
			r.Usages = append(r.Usages, u)
		}
		if r.judging, err = judge(); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runExplain(cmd.Context(), cfg, r)
	}
	return cmd
}
