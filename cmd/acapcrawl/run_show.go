package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/present"
)

func (c *Command) runShow(ctx context.Context, cfg *config.Config, r showRequest) (err error) {
	s, p, err := c.openPresenter(ctx, cfg, &r.judging)
	if err != nil {
		return c.orNothing(r.JSON, nil, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	address, err := crawler.Normal(r.URL.String())
	if err != nil {
		return err
	}
	cp, err := p.Copy(ctx, address, present.Which{At: r.At, Version: r.Version}, present.Reader{Target: r.Reader, AsOf: r.AsOf})
	switch {
	case errors.Is(err, present.ErrNotHeld):
		which := "No copy of"
		if r.Version != 0 || !r.At.IsZero() {
			which = "No such version of"
		}
		return nothing(fmt.Sprintf("%s %s is held.", which, address))
	case err != nil:
		return err
	case r.JSON:
		return c.printJSON(cp)
	}
	if cp.Cut {
		fmt.Fprintln(c.Stderr, "Parts of the page that may not be shown are cut out.")
	}
	for _, in := range cp.Include {
		fmt.Fprintf(c.Stderr, "To be shown with it: %s %s %s\n", in.Role, in.Text, in.Href)
	}
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
