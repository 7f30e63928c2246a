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
	"github.com/acapcrawl/acapcrawl/display"
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

// erasedInAll counts over all recorded erasures the erased copies, and the pages of which something
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
