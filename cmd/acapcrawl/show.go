package main

import (
	"net/url"
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
	Picture bool // a thumbnail instead of the copy
	JSON    bool
}

func (c *Command) showVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "show URL", Short: "Print a preserved copy, if it may be presented now"}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.String("at", "", "the version that was held at `TIME` (RFC 3339)")
	version := flags.Int("version", 0, "version `N`, counted from 1")
	headers := flags.Bool("headers", false, "print the response header too")
	picture := flags.Bool("thumbnail", false, "a small picture of it instead, as JPEG or PNG")
	setting(flags, "crawler")
	setting(flags, "purpose")
	judge := judgingFlags(cmd, "from-now", "reader", "refresh")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r := showRequest{Version: *version, Headers: *headers, Picture: *picture, JSON: *asJSON}
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
		case r.Headers && r.Picture:
			return misuse("", "--headers is of a copy, and --thumbnail makes a picture; give one of them")
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
