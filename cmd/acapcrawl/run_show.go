package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/present"
	"github.com/acapcrawl/acapcrawl/snippet"
	"github.com/acapcrawl/acapcrawl/thumbnail"
)

func (c *Command) runShow(ctx context.Context, cfg *config.Config, r showRequest) (err error) {
	if out, ok := c.Stdout.(*results); ok && r.Picture && !r.JSON && out.terminal() {
		return misuse("> FILE, or --json", "a picture cannot be written to a terminal")
	}
	s, p, err := c.openPresenter(ctx, cfg, &r.judging)
	if err != nil {
		return c.orNothing(r.JSON, nil, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	address, err := crawler.Normal(r.URL.String())
	if err != nil {
		return err
	}
	which, who := present.Which{At: r.At, Version: r.Version}, present.Reader{Target: r.Reader, AsOf: r.AsOf, Framed: r.Framed}
	switch {
	case r.Picture:
		return c.showPicture(ctx, p, address, which, who, r.JSON)
	case r.Snippet:
		return c.showSnippet(ctx, p, address, r.Query, which, who, r.JSON)
	case r.Original:
		return c.showOriginal(ctx, p, address, who, r.JSON)
	}
	cp, err := p.Copy(ctx, address, which, who)
	switch {
	case errors.Is(err, present.ErrNotHeld):
		return notHeld("copy", address, which)
	case err != nil:
		return err
	case r.JSON:
		return c.printJSON(cp)
	}
	if cp.Cut {
		fmt.Fprintln(c.Stderr, "Parts of the page that may not be kept or shown are cut out.")
	}
	if cp.Truncated {
		fmt.Fprintln(c.Stderr, "The end is missing: the page was longer than what was kept of it.")
	}
	c.sayBeside(cp.Include)
	var out bytes.Buffer
	if r.Headers {
		fmt.Fprintf(&out, "HTTP/1.1 %d\r\n", cp.Status)
		if err := cp.Header.Write(&out); err != nil {
			return err
		}
		out.WriteString("\r\n")
	}
	out.Write(cp.Body)
	_, err = c.Stdout.Write(out.Bytes())
	return err
}

func notHeld(what, address string, which present.Which) error {
	if which != (present.Which{}) {
		return nothing(fmt.Sprintf("No such version of %s is held.", address))
	}
	return nothing(fmt.Sprintf("No %s of %s is held.", what, address))
}

// sayBeside names what must be shown with what goes to standard output.
func (c *Command) sayBeside(include []snippet.Include) {
	for _, in := range include {
		fmt.Fprintf(c.Stderr, "To be shown with it: %s\n", included(in))
	}
}

func (c *Command) showPicture(ctx context.Context, p *present.Presenter, address string, which present.Which, who present.Reader, asJSON bool) error {
	picture, err := p.Thumbnail(ctx, address, which, who)
	switch {
	case errors.Is(err, present.ErrNotHeld):
		return notHeld("copy, and no thumbnail,", address, which)
	case errors.Is(err, thumbnail.ErrNone):
		return nothing(fmt.Sprintf("%s: %v.", address, err))
	case err != nil:
		return err
	case asJSON:
		return c.printJSON(picture)
	}
	c.sayBeside(picture.Include)
	_, err = c.Stdout.Write(picture.Body)
	return err
}

func (c *Command) showSnippet(ctx context.Context, p *present.Presenter, address, query string, which present.Which, who present.Reader, asJSON bool) error {
	passage, err := p.Snippet(ctx, address, query, which, who)
	switch {
	case errors.Is(err, present.ErrNotHeld):
		return notHeld("text", address, which)
	case err != nil:
		return err
	case asJSON:
		return c.printJSON(passage)
	}
	text := marked(passage.Snippet.Text, passage.Snippet.Marks, c.Bold) + "\n"
	for _, in := range passage.Snippet.Include {
		if in.Role != "extract" { // it stands in the snippet
			text += "    " + included(in) + "\n"
		}
	}
	_, err = c.Stdout.Write([]byte(text))
	return err
}

func (c *Command) showOriginal(ctx context.Context, p *present.Presenter, address string, who present.Reader, asJSON bool) error {
	lead, err := p.Original(ctx, address, who)
	switch {
	case errors.Is(err, present.ErrNotHeld):
		return nothing(fmt.Sprintf("What %s says of itself is not known: it is not held.", address))
	case err != nil:
		return err
	case asJSON:
		return c.printJSON(lead)
	}
	text := snippet.Plain(lead.URL) + "\n"
	if lead.Framed {
		text += "    to be shown within a frame\n"
	}
	for _, limit := range limitsInWords(lead.Limits) {
		text += "    " + printable(limit) + "\n"
	}
	for _, in := range lead.Include {
		text += "    " + included(in) + "\n"
	}
	_, err = c.Stdout.Write([]byte(text))
	return err
}

// included is a part that must be shown, in a line.
func included(in snippet.Include) string {
	return snippet.Plain(in.Role + ": " + in.Text + " " + in.Href)
}
