package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
)

func (c *Command) runArchiveCompact(ctx context.Context, cfg *config.Config, r archiveRequest) error {
	if c.asksNodes(cfg) {
		return c.onEachNode(ctx, cfg, r.call, r.JSON)
	}
	err := c.withHeld(ctx, cfg, func(d *directory) error {
		screen := newProgress(c.Stderr)
		s, err := d.Compact(ctx, func(done, total int64) { screen.Set("%s of %s", size(done), size(total)) })
		screen.Done()
		switch {
		case err != nil:
			return err
		case r.JSON:
			return c.printJSON(s)
		}
		_, err = fmt.Fprintf(c.Stdout, "archive %10s, was %s\nindex   %10s, was %s\n",
			size(s.Archive.After), size(s.Archive.Before), size(s.Index.After), size(s.Index.Before))
		return err
	})
	return c.orNothing(r.JSON, holdings.CompactStats{}, err)
}

// withHeld opens the data directory and calls fn with it. withHeld sends no HTTP request.
func (c *Command) withHeld(ctx context.Context, cfg *config.Config, fn func(*directory) error) (err error) {
	d, err := c.openHeld(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return fn(d)
}

// receipt is the form in which archive verify --erased --json prints an archive.Receipt.
type receipt struct {
	URL      string    `json:"url"`
	Verified bool      `json:"verified"` // something was erased, and nothing of the erased data is left
	Erasures []erasure `json:"erasures"`
	Left     []remnant `json:"left"`
	// when the last completed compaction began; null: no compaction has been completed
	Compacted *time.Time `json:"compacted"`
	// the last compaction began after the last erasure, so the files contain no erased data
	Settled bool `json:"settled"`
}

// remnant is stored data that should have been erased.
type remnant struct {
	Where string `json:"where"`
	What  string `json:"what"` // what is left there, as text to print after Where
}

type erasure struct {
	When   time.Time `json:"when"`
	Reason string    `json:"reason"`
	Why    string    `json:"why"`
	Line   string    `json:"line,omitempty"`
	// number of the version if only one version was erased; 0: all versions were erased
	Version  int `json:"version,omitempty"`
	Captures int `json:"captures"`
	Pictures int `json:"thumbnails"` // number of thumbnails erased
	Aliases  int `json:"aliases"`    // number of addresses that redirected to the page
	Hops     int `json:"hops"`       // number of redirects from the page, stored with their target pages
	// number of other pages whose stored data lost something derived from this page
	Derived int      `json:"derived"`
	Entry   bool     `json:"index"` // the page had an index entry
	Keys    []uint64 `json:"keys"`  // numbers of the slots whose encryption keys were destroyed
}

func receiptOf(r archive.Receipt) receipt {
	out := receipt{URL: r.URL, Verified: r.Verified(), Erasures: []erasure{}, Left: []remnant{}, Settled: r.Settled()}
	for _, s := range r.Erasures {
		out.Erasures = append(out.Erasures, erasureOf(s))
	}
	for _, p := range r.Left {
		out.Left = append(out.Left, remnant{p.Where, p.What})
	}
	if !r.Compacted.IsZero() {
		out.Compacted = &r.Compacted
	}
	return out
}

// runArchiveErased prints the receipt for the erasures of one URL. The exit status is 1 if nothing
// was ever erased or if erased data is still stored.
func (c *Command) runArchiveErased(ctx context.Context, cfg *config.Config, r archiveRequest) error {
	address, err := address.Normal(r.Erased)
	if err != nil {
		return misuse("acapcrawl archive verify --erased https://example.com/page.html", "--erased: %v", err)
	}
	err = c.withHeld(ctx, cfg, func(d *directory) error {
		found, err := d.ErasureReceipt(ctx, address)
		if err != nil {
			return err
		}
		out := receiptOf(found)
		if r.JSON {
			err = c.printJSON(out)
		} else {
			err = c.printReceipt(out)
		}
		switch {
		case err != nil:
			return err
		case len(out.Erasures) == 0:
			return nothing(fmt.Sprintf("Nothing was ever erased of %s%s.", address, stillHeld(found.Left)))
		case len(out.Left) > 0:
			return nothing(fmt.Sprintf("Of %s %s still stored.", address, isOrAre(len(out.Left))))
		}
		return nil
	})
	return c.orNothing(r.JSON, receiptOf(archive.Receipt{URL: address}), err)
}

// stillHeld returns text to add to a sentence, which says that a copy is archived, or "" if the
// problems in left contain no archived copy.
func stillHeld(left []archive.Problem) string {
	if slices.ContainsFunc(left, func(p archive.Problem) bool { return strings.HasPrefix(p.Where, "version ") }) {
		return "; a copy is archived"
	}
	return ""
}

func isOrAre(n int) string {
	if n == 1 {
		return "1 item is"
	}
	return number(n) + " items are"
}

func erasureOf(s archive.Tombstone) erasure {
	return erasure{When: s.When, Reason: s.Reason, Why: s.Why, Line: s.Line, Version: s.Version, Captures: s.Captures,
		Pictures: s.Pictures,
		Aliases:  s.Aliases, Hops: s.Hops, Derived: s.Derived, Entry: s.Entry, Keys: append([]uint64{}, s.Keys...)}
}

// why returns the reason of an erasure, with the policy line that caused the erasure.
func (e erasure) why() string {
	if e.Line == "" || strings.Contains(e.Why, e.Line) {
		return e.Why
	}
	return e.Why + " (" + e.Line + ")"
}

// what returns in words what was erased.
func (e erasure) what() string {
	var parts []string
	switch {
	case e.Version != 0:
		parts = append(parts, fmt.Sprintf("version %d", e.Version))
	case e.Captures > 0:
		parts = append(parts, copies(e.Captures))
	case e.Pictures > 0:
		parts = append(parts, several(e.Pictures, "thumbnail"))
	}
	if e.Captures == 0 && e.Entry {
		parts = append(parts, "the index entry")
	}
	if e.Hops > 0 {
		parts = append(parts, several(e.Hops, "redirect")+" to other pages")
	}
	if e.Derived > 0 {
		parts = append(parts, "data derived from it for "+several(e.Derived, "page"))
	}
	if len(parts) == 0 {
		parts = append(parts, "the record of the page")
	}
	return strings.Join(parts, " and ")
}

func (c *Command) printReceipt(r receipt) error {
	var keys int
	for _, e := range r.Erasures {
		keys += len(e.Keys)
		fmt.Fprintf(c.Stdout, "%s  %s erased: %s\n", e.When.Format(time.RFC3339), e.what(), display.Line(e.why()))
	}
	for _, p := range r.Left {
		fmt.Fprintln(c.Stdout, p.Where, p.What)
	}
	if !r.Verified {
		return nil
	}
	_, err := fmt.Fprintf(c.Stdout, "Nothing that was erased can be read or found: %s destroyed.\n",
		several(keys, "key"))
	if err == nil && r.Settled {
		_, err = fmt.Fprintf(c.Stdout, "Since %s no file contains anything of it.\n",
			r.Compacted.Format(time.RFC3339))
	} else if err == nil {
		_, err = fmt.Fprintln(c.Stdout, "Its encrypted data and its words remain in unused parts of the files "+
			"until archive compact.")
	}
	return err
}
