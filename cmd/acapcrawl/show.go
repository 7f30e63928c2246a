package main

import (
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// showRequest holds the arguments of show that are not settings.
type showRequest struct {
	judging
	URL     *url.URL
	At      time.Time // the version archived at that time; zero for the current one
	Version int       // from 1; 0 for the current one
	Headers bool
	Framed  bool   // the caller embeds the output in a page of its own
	Query   string // words that a snippet should contain
	JSON    bool

	// At most one of these replaces the copy.
	Snippet, Picture, Original bool
}

func (c *Command) showVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show URL",
		Short: "Print an archived page, a snippet or a thumbnail, if permitted",
		Example: `  acapcrawl show --version 1 https://example.com/news/ferry.html
  acapcrawl show --snippet --query harbour https://example.com/news/ferry.html`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.String("at", "", "print the version that was current at `TIME` (RFC 3339)")
	version := flags.Int("version", 0, "print version `N`, counted from 1")
	headers := flags.Bool("headers", false, "print the response header too")
	snippet := flags.Bool("snippet", false, "print a snippet instead")
	query := flags.String("query", "", "prefer a snippet with `WORDS`")
	picture := flags.Bool("thumbnail", false, "print a thumbnail instead, as JPEG or PNG")
	original := flags.Bool("original", false, "print the address of the original instead, and whether it must be shown in a frame")
	framed := flags.Bool("framed", false, "decide for output that you embed in your own page")
	judgedCrawler(flags)
	setting(flags, "purpose")
	judge := judgingFlags(cmd, "from-now", "reader", "refresh")
	out := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := showRequest{Version: *version, Headers: *headers, Framed: *framed, Query: *query, JSON: out.JSON(),
			Snippet: *snippet, Picture: *picture, Original: *original}
		var err error
		if r.URL, err = oneURL(cmd, args); err != nil {
			return err
		}
		if r.At, err = timeFlag(flags, "at"); err != nil {
			return err
		}
		switch {
		case flags.Changed("version") && r.Version < 1:
			return misuse("--version 1", "--version: %d is out of range", r.Version)
		case flags.Changed("version") && flags.Changed("at"):
			return misuse("", "--at and --version both select a version; give one of them")
		}
		if err := r.contradiction(); err != nil {
			return err
		}
		if r.judging, err = judge(); err != nil {
			return err
		}
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runShow(cmd.Context(), cfg, r)
	}
	return cmd
}

// contradiction returns an error if flags contradict each other.
func (r *showRequest) contradiction() error {
	var one []string
	for _, f := range []struct {
		given bool
		name  string
	}{{r.Headers, "--headers"}, {r.Snippet, "--snippet"}, {r.Picture, "--thumbnail"}, {r.Original, "--original"}} {
		if f.given {
			one = append(one, f.name)
		}
	}
	switch {
	case len(one) > 1:
		return misuse("", "%s select different content; give one of them", strings.Join(one, " and "))
	case r.Query != "" && !r.Snippet:
		return misuse("--snippet", "--query needs --snippet")
	case r.Original && (r.Version != 0 || !r.At.IsZero()):
		return misuse("", "the original has no versions")
	case r.Framed && (r.Snippet || r.Picture): // P1 2.5.5.7 (K04): only copies and originals depend on their context
		return misuse("", "--framed applies to copies and originals only")
	}
	return nil
}
