package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/display"
)

// listedErasure is one erasure in archive erasures --json.
type listedErasure struct {
	URL string `json:"url"`
	erasure
}

// runArchiveErasures lists every erasure that the archive remembers, by URL and then by time.
func (c *Command) runArchiveErasures(ctx context.Context, cfg *config.Config, r archiveRequest) (err error) {
	a, done, err := c.openArchive(cfg)
	if err != nil {
		return c.orNothing(r.JSON, []struct{}{}, err)
	}
	defer func() { err = errors.Join(err, done()) }()
	out := bufio.NewWriter(c.Stdout)
	defer func() { err = errors.Join(err, out.Flush()) }()
	values, total, pages, last := jsonArray{w: out}, 0, 0, ""
	err = a.EachTombstone(func(s archive.Tombstone) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := erasureOf(s)
		if total += e.Captures; s.URL != last {
			pages, last = pages+1, s.URL
		}
		if r.JSON {
			return values.add(listedErasure{s.URL, e})
		}
		_, err := fmt.Fprintf(out, "%s  %s  %s erased: %s\n", e.When.Format(time.RFC3339), display.Line(s.URL),
			e.what(), display.Line(e.why()))
		return err
	})
	switch {
	case err != nil:
		return err
	case r.JSON:
		return values.end()
	case pages == 0:
		_, err = fmt.Fprintln(out, "Nothing was erased.")
	default:
		_, err = fmt.Fprintf(out, "%s of %s erased.\n", copies(total), several(pages, "page"))
	}
	return err
}

// erasedInAll counts what the archive remembers of erasures: copies, and pages of which anything
// was erased.
func erasedInAll(a *archive.Archive) (copies, pages int, err error) {
	last := ""
	err = a.EachTombstone(func(s archive.Tombstone) error {
		if copies += s.Captures; s.URL != last {
			pages, last = pages+1, s.URL
		}
		return nil
	})
	return copies, pages, err
}
