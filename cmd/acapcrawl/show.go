package main

import (
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// showRequest is what show was asked for, beside the configuration.
type showRequest struct {
	judging
	URL     *url.URL
	At      time.Time // the version held at that time; zero for the current one
	Version int       // from 1; 0 for the current one
	Headers bool
	Framed  bool   // within a frame or page of whoever asks
	Query   string // words that a snippet should hold
	JSON    bool

	// One of these may stand in the place of the copy.
	Snippet, Picture, Original bool
}

func (c *Command) showVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show URL",
		Short: "Print a preserved copy, or a snippet or a thumbnail of it, if it may be presented now",
		Example: `  acapcrawl show --version 1 https://example.com/news/ferry.html
  acapcrawl show --snippet --query harbour https://example.com/news/ferry.html`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.String("at", "", "the version that was held at `TIME` (RFC 3339)")
	version := flags.Int("version", 0, "version `N`, counted from 1")
	headers := flags.Bool("headers", false, "print the response header too")
	snippet := flags.Bool("snippet", false, "a snippet of it instead")
	query := flags.String("query", "", "prefer a snippet with these `WORDS`")
	picture := flags.Bool("thumbnail", false, "a small picture of it instead, as JPEG or PNG")
	original := flags.Bool("original", false, "where the original is, and whether it must be shown within a frame, instead")
	framed := flags.Bool("framed", false, "judge as for a frame or page of yours around it")
	judgedCrawler(flags)
	setting(flags, "purpose")
	judge := judgingFlags(cmd, "from-now", "reader", "refresh")
	asJSON := flags.Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := showRequest{Version: *version, Headers: *headers, Framed: *framed, Query: *query, JSON: *asJSON,
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
			return misuse("", "--at and --version both name a version; give one of them")
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

// contradiction tells of flags that cannot stand together.
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
		return misuse("", "%s ask for different things; give one of them", strings.Join(one, " and "))
	case r.Query != "" && !r.Snippet:
		return misuse("--snippet", "--query is for a snippet")
	case r.Original && (r.Version != 0 || !r.At.IsZero()):
		return misuse("", "the original has no versions")
	case r.Framed && (r.Snippet || r.Picture): // K04
		return misuse("", "--framed is for copies and originals; no other form depends on what stands around it")
	}
	return nil
}
