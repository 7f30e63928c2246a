package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/policy"
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
	Permitted bool       `json:"permitted"` // it may be kept today
}

func (c *Command) runArchiveList(ctx context.Context, cfg *config.Config, r archiveRequest) (err error) {
	who, err := recorded(cfg)
	if err != nil {
		return err
	}
	s, err := c.openStore(cfg, who, policy.Options{}, false)
	if err != nil {
		return c.orNothing(r.JSON, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if r.Refresh {
		if err := c.refresh(ctx, s); err != nil {
			return err
		}
	}
	list := []listed{}
	err = s.archive.EachCapture(func(cp archive.Capture) error {
		l := listed{URL: cp.URL, Version: cp.Version, Fetched: cp.Fetched, Status: cp.Status, MIME: cp.MIME, Digest: cp.Digest, Bytes: cp.Bytes}
		d, f, err := s.preserve(ctx, cp, r.judging)
		if err != nil {
			return err
		}
		l.Permitted = d.Allowed
		limits := d.Limits(f)
		l.Recrawled = limits.UntilRecrawled
		if !limits.Until.IsZero() {
			l.Until = &limits.Until
		}
		list = append(list, l)
		return ctx.Err()
	})
	switch {
	case err != nil:
		return err
	case r.JSON:
		return c.printJSON(list)
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 8, 2, ' ', 0)
	for _, l := range list {
		until := ""
		switch {
		case !l.Permitted:
			until = "no longer permitted"
		case l.Until != nil:
			until = "until " + l.Until.Format(time.RFC3339)
		case l.Recrawled:
			until = "until crawled again"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\t%s\n", l.Fetched.Format(time.RFC3339), l.Version, l.URL, l.Status, l.MIME, size(l.Bytes), until)
	}
	return w.Flush()
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
	origin, err := held{s.policy}.Policy(ctx, u)
	if err != nil {
		return acap.Decision{Usage: acap.Preserve, Reason: acap.Unavailable}, f, nil
	}
	return terms.Held(ctx, origin, u, res.Own, nil, terms.Sources{}, f).Decide(acap.Preserve), f, nil
}

func (c *Command) runArchiveStats(_ context.Context, cfg *config.Config, r archiveRequest) (err error) {
	a, done, err := c.openArchive(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	st, err := a.Stats()
	switch {
	case err != nil:
		return err
	case r.JSON:
		return c.printJSON(st)
	}
	_, err = fmt.Fprintf(c.Stdout, "%8d captures of %d resources, %s\n%8d bodies, %s as sent, %s stored\n%8d addresses that lead elsewhere\n%8d erasures\n",
		st.Captures, st.Resources, size(st.Bytes), st.Bodies, size(st.Raw), size(st.Stored), st.Aliases, st.Tombstones)
	return err
}

func (c *Command) runArchiveVerify(ctx context.Context, cfg *config.Config, r archiveRequest) (err error) {
	if empty(cfg.Data) {
		return failure("name the directory of a crawl with --data", fmt.Errorf("there is no archive in %s", cfg.Data))
	}
	a, done, err := c.openArchive(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	problems, err := a.Verify(ctx)
	if err != nil {
		return err
	}
	if r.JSON {
		if problems == nil {
			problems = []archive.Problem{}
		}
		if err := c.printJSON(problems); err != nil {
			return err
		}
	} else {
		for _, p := range problems {
			fmt.Fprintln(c.Stdout, p)
		}
	}
	if len(problems) > 0 {
		return nothing(fmt.Sprintf("%d problems were found.", len(problems)))
	}
	if !r.JSON {
		fmt.Fprintln(c.Stdout, "Every digest and reference is right.")
	}
	return nil
}

// openArchive opens the archive alone, until done is called.
func (c *Command) openArchive(cfg *config.Config) (a *archive.Archive, done func() error, err error) {
	if c.owner != nil {
		return c.owner.archive, func() error { return nil }, nil
	}
	if empty(cfg.Data) {
		return nil, nil, errEmpty(cfg.Data)
	}
	if a, err = archive.Open(cfg.Data, archive.Options{}); err != nil {
		return nil, nil, (&store{dir: cfg.Data}).fault(err)
	}
	return a, a.Close, nil
}
