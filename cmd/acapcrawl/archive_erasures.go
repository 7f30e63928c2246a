package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/display"
)

// listedErasure is one erasure in archive erasures --json.
type listedErasure struct {
	URL string `json:"url"`
	erasure
}

// runArchiveErasures lists every recorded erasure, by URL and then by time.
func (c *Command) runArchiveErasures(ctx context.Context, cfg *config.Config, r archiveRequest) (err error) {
	if c.asksNodes(cfg) {
		return c.erasuresOfNodes(ctx, cfg, r)
	}
	a, done, err := c.openArchive(cfg)
	if err != nil {
		return c.orNothing(r.JSON, []struct{}{}, err)
	}
	defer func() { err = errors.Join(err, done()) }()
	out := bufio.NewWriter(c.Stdout)
	defer func() { err = errors.Join(err, out.Flush()) }()
	values, sum := jsonArray{w: out}, erasedSum{}
	err = a.EachTombstone(func(s archive.Tombstone) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := listedErasure{s.URL, erasureOf(s)}
		sum.add(s.URL, s.Captures)
		if r.JSON {
			return values.add(e)
		}
		return e.print(out)
	})
	switch {
	case err != nil:
		return err
	case r.JSON:
		return values.end()
	}
	return sum.print(out)
}

// print prints an erasure as one line.
func (e listedErasure) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s  %s  %s erased: %s\n", e.When.Format(time.RFC3339), display.Line(e.URL), e.what(),
		display.Line(e.why()))
	return err
}

// erasedSum counts erasures that come ordered by URL: the erased copies, and the pages of which something was erased.
type erasedSum struct {
	copies, pages int
	last          string
}

func (s *erasedSum) add(url string, captures int) {
	if s.copies += captures; url != s.last {
		s.pages, s.last = s.pages+1, url
	}
}

func (s *erasedSum) print(w io.Writer) (err error) {
	if s.pages == 0 {
		_, err = fmt.Fprintln(w, "Nothing was erased.")
	} else {
		_, err = fmt.Fprintf(w, "%s of %s erased.\n", copies(s.copies), several(s.pages, "page"))
	}
	return err
}

// erasedInAll counts over all recorded erasures the erased copies, and the pages of which something
// was erased.
func erasedInAll(a *archive.Archive) (copies, pages int, err error) {
	sum := erasedSum{}
	err = a.EachTombstone(func(s archive.Tombstone) error {
		sum.add(s.URL, s.Captures)
		return nil
	})
	return sum.copies, sum.pages, err
}

// shownErasures is the maximum number of erasures that a verb prints separately.
const shownErasures = 20

// printErased prints one sentence for all erasures in list that have the same reason and the same
// policy line.
func printErased(w io.Writer, list []archive.Erasure) error {
	rest := archive.Erasure{}
	for i, e := range list {
		if i >= shownErasures {
			rest.Copies, rest.Pages = rest.Copies+e.Copies, rest.Pages+e.Pages
			continue
		}
		if _, err := fmt.Fprintln(w, display.Line(e.String())); err != nil {
			return err
		}
	}
	if len(list) <= shownErasures {
		return nil
	}
	_, err := fmt.Fprintf(w, "Erased %s of %s by %s more: acapcrawl archive erasures lists all.\n", copies(rest.Copies),
		several(rest.Pages, "page"), several(len(list)-shownErasures, "line"))
	return err
}
