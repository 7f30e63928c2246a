package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/terms"
)

// listed is one capture in archive ls --json.
type listed struct {
	URL       string     `json:"url"`
	Version   int        `json:"version"`
	Fetched   time.Time  `json:"fetched"`
	Status    int        `json:"status"`
	MIME      string     `json:"mime"`
	Digest    string     `json:"digest"`
	Bytes     int64      `json:"bytes"`
	Until     *time.Time `json:"until"` // the first instant at which it may no longer be kept; null: no limit
	Recrawled bool       `json:"until_recrawled,omitempty"`
	Truncated bool       `json:"truncated"`      // the end of the page is missing
	Cuts      []string   `json:"cuts,omitempty"` // what of it was not kept, read or indexed, since it was too large
	Permitted bool       `json:"permitted"`      // it may be kept today
}

func (c *Command) runArchiveList(ctx context.Context, cfg *config.Config, r archiveRequest) (err error) {
	s, _, err := c.openPresenter(ctx, cfg, &r.judging)
	if err != nil {
		return c.orNothing(r.JSON, []struct{}{}, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	s.serve()
	out := bufio.NewWriter(c.Stdout)
	values, lines := jsonArray{w: out}, tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	n := 0
	err = s.archive.EachCapture(func(cp archive.Capture) error {
		if terms.TakenDown(ctx, s.held(), cp.URL) != nil { // it is invisible before it is erased (P04)
			return ctx.Err()
		}
		d, f, err := s.preserve(ctx, cp, r.judging)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		l := listed{URL: cp.URL, Version: cp.Version, Fetched: cp.Fetched, Status: cp.Status, MIME: cp.MIME, Digest: cp.Digest, Bytes: cp.Bytes,
			Truncated: cp.Truncated, Cuts: cp.Cuts, Permitted: d.Allowed}
		limits := d.Limits(f)
		l.Recrawled = limits.UntilRecrawled
		if !limits.Until.IsZero() {
			l.Until = &limits.Until
		}
		if r.JSON {
			return values.add(l)
		}
		l.print(lines)
		if n++; n%aligned == 0 {
			return lines.Flush()
		}
		return nil
	})
	switch {
	case err != nil:
	case r.JSON:
		err = values.end()
	default:
		err = lines.Flush()
	}
	if rest := out.Flush(); err == nil {
		err = rest
	}
	return err
}

// aligned is how many captures have their columns in line with each other.
const aligned = 1000

// print prints a capture as one line of a table.
func (l listed) print(w io.Writer) {
	until := ""
	switch {
	case !l.Permitted:
		until = "no longer permitted"
	case l.Until != nil:
		until = "until " + l.Until.Format(time.RFC3339)
	case l.Recrawled:
		until = "until crawled again"
	}
	bytes := size(l.Bytes)
	if l.Truncated || len(l.Cuts) > 0 {
		bytes += " (cut)"
	}
	fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\t%s\n", l.Fetched.Format(time.RFC3339), l.Version, l.URL, l.Status, l.MIME,
		bytes, until)
}

// preserve decides by today's policy whether a capture may be kept.
func (s *store) preserve(ctx context.Context, cp archive.Capture, j judging) (acap.Decision, acap.Facts, error) {
	res, _, err := s.archive.Resource(cp.URL)
	if err != nil {
		return acap.Decision{}, acap.Facts{}, err
	}
	f := acap.Facts{Now: time.Now().UTC(), FirstCrawled: res.FirstCrawled, FirstIndexed: res.FirstIndexed, FirstPreserved: res.FirstPreserved,
		FirstPresented: res.FirstPresented, Recrawled: !cp.Current, Target: j.Reader}
	u, err := url.Parse(cp.URL)
	if err != nil {
		return acap.Decision{}, f, err
	}
	origin, err := s.held().Policy(ctx, u)
	if err != nil {
		return acap.Decision{Usage: acap.Preserve, Reason: acap.Unavailable}, f, nil
	}
	return terms.Held(ctx, origin, u, res.Own, nil, terms.Sources{}, f).Decide(acap.Preserve), f, nil
}
