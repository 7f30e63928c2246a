package main

import (
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
)

// explainRequest is what explain was asked for, beside the configuration.
type explainRequest struct {
	judging
	URL      *url.URL
	Usages   []acap.Usage // empty: all fourteen
	Page     bool         // fetch the page, for what it says of itself
	PageFile string       // stands in for the page; "-" is standard input
	Robots   string       // stands in for robots.txt: nothing is requested; "-" is standard input
	All      bool         // list what speaks to others or of other resources too
	Out      *output
}

// asked are the usages to be explained.
func (r *explainRequest) asked() []acap.Usage {
	if len(r.Usages) > 0 {
		return r.Usages
	}
	return acap.Usages()
}

func (c *Command) explainVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain URL",
		Short: "Say what this crawler may do with a URL, by which line and under which limits",
		Long: `Say what this crawler may do with a URL, by which line and under which limits, and which lines lost against it.
With --robots FILE a robots.txt is judged before it is published: nothing is requested, and a page may be given with
--page-file FILE. FILE may be - for standard input. --target-ip, --target-domain and --target-country are other names of
--reader-ip, --reader-domain and --reader-country.`,
		Example: `  acapcrawl explain --usage index --purpose news https://example.com/a.html
  acapcrawl explain --robots robots.txt --page-file a.html --as-of 2026-12-31T00:00:00Z https://example.com/a.html`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	usages := flags.StringArray("usage", nil, "only usage type `U` (repeatable)")
	page := flags.Bool("page", false, "fetch the page too, for what it says of itself")
	pageFile := flags.String("page-file", "", "take `FILE` for the page")
	robots := flags.String("robots", "", "take `FILE` for robots.txt, and request nothing")
	all := flags.Bool("all", false, "list lines that speak to others or of other resources too")
	judgedCrawler(flags)
	for _, name := range []string{"purpose", "strict", "dialect", "allow-private"} {
		setting(flags, name)
	}
	cannot := flags.StringArray("cannot", nil, "be unable to interpret `X`: a usage type, a qualifier type or element-level (repeatable)")
	flags.SetAnnotation("cannot", keyOfFlag, []string{"cannot"})
	judge := judgingFlags(cmd, "as-of", "reader")
	flags.SetNormalizeFunc(targetIsReader)
	out := c.reportFlags(cmd, textForm, jsonForm)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := explainRequest{Page: *page, PageFile: *pageFile, Robots: *robots, All: *all, Out: out}
		var err error
		if r.URL, err = oneURL(cmd, args); err != nil {
			return err
		}
		switch {
		case r.Page && r.Robots != "":
			return misuse("--page-file FILE", "--page makes a request, and with --robots none is made")
		case r.Page && r.PageFile != "":
			return misuse("", "--page and --page-file both name the page")
		case r.Robots == "-" && r.PageFile == "-":
			return misuse("", "--robots and --page-file cannot both be standard input")
		}
		if r.Usages, err = usagesNamed(*usages); err != nil {
			return err
		}
		for _, name := range *cannot {
			if !slices.Contains(acap.Capabilities(), name) {
				return unknown("--cannot", name, "a usage type, a qualifier type or "+acap.ElementLevel, acap.Capabilities())
			}
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

// targetIsReader gives the flags of the reader the names of P1 2.5.5.9 as well.
func targetIsReader(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "target-ip", "target-domain", "target-country":
		name = "reader-" + strings.TrimPrefix(name, "target-")
	}
	return pflag.NormalizedName(name)
}

// usagesNamed reads the values of --usage.
func usagesNamed(names []string) (list []acap.Usage, err error) {
	for _, name := range names {
		u, err := usage(name)
		if err != nil {
			return nil, unknown("--usage", name, "a usage type", usageNames())
		}
		list = append(list, u)
	}
	return list, nil
}

func usageNames() []string {
	var names []string
	for _, u := range acap.Usages() {
		names = append(names, string(u))
	}
	return names
}

// unknown is the error of a word that is none of words; it names the nearest, or all where none is near.
func unknown(flag, word, what string, words []string) error {
	if near := config.Nearest(strings.ToLower(word), words); near != "" {
		return misuse(flag+" "+near, "%s: %q is not %s", flag, word, what)
	}
	return misuse("", "%s: %q is not one of %s", flag, word, strings.Join(words, ", "))
}
