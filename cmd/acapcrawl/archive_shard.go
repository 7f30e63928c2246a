package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// listName is the hidden verb with which a process of a cluster lists what a node may show to a reader.
const listName = "archive shard"

// listCall is what the verb reads from standard input: a listing, or addresses.
type listCall struct {
	Reader    present.Reader `json:"reader"`
	Listing   string         `json:"listing,omitempty"`   // see view.ListingOf; the answer is an array of present.Entry
	Addresses []string       `json:"addresses,omitempty"` // the answer is a listRefusals
}

// listRefusals are addresses of which nothing may be listed.
type listRefusals struct {
	Refused []string `json:"refused"`
	Unknown []string `json:"unknown"` // there is no policy; only the node that crawls the site refuses them
}

// mostListCall is the greatest size of a listCall in bytes.
const mostListCall = 16 << 20

func (c *Command) archiveShardVerb() *cobra.Command {
	cmd := &cobra.Command{Use: "shard", Hidden: true, Args: noArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		return c.runArchiveShard(cmd.Context(), cfg)
	}
	return cmd
}

func (c *Command) runArchiveShard(ctx context.Context, cfg *config.Config) (err error) {
	d, p, err := c.openPresenter(ctx, cfg, &judging{Known: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	text, err := io.ReadAll(io.LimitReader(c.Stdin, mostListCall))
	if err != nil {
		return err
	}
	var call listCall
	if err := json.Unmarshal(text, &call); err != nil {
		return misuse("", "standard input: %w", err)
	}
	if call.Listing == "" {
		out, err := refusedOf(ctx, p, call)
		if err != nil {
			return err
		}
		return c.printJSON(out)
	}
	l, err := view.ListingOf(call.Listing)
	if err != nil {
		return misuse("", "standard input: %w", err)
	}
	out := bufio.NewWriter(c.Stdout)
	values := jsonArray{w: out}
	for v, err := range p.List(ctx, l, call.Reader) {
		if err != nil {
			return fmt.Errorf("the list ends: %w", err)
		}
		if err := values.add(v.Entry); err != nil {
			return err
		}
	}
	return errors.Join(values.end(), out.Flush())
}

// refusedOf returns which of the addresses of a call may not be listed.
func refusedOf(ctx context.Context, p *present.Presenter, call listCall) (out listRefusals, err error) {
	for _, address := range call.Addresses {
		refused, unknown, err := p.Refuses(ctx, address, call.Reader)
		switch {
		case err != nil:
			return out, err
		case refused:
			out.Refused = append(out.Refused, address)
		case unknown:
			out.Unknown = append(out.Unknown, address)
		}
	}
	return out, nil
}
