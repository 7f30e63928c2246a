package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/holdings"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/terms"
)

func (c *Command) runArchiveStats(_ context.Context, cfg *config.Config, r archiveRequest) (err error) {
	a, done, err := c.openArchive(cfg)
	if err != nil {
		return c.orNothing(r.JSON, archive.Stats{}, err)
	}
	defer func() { err = errors.Join(err, done()) }()
	st, err := a.Stats()
	switch {
	case err != nil:
		return err
	case r.JSON:
		return c.printJSON(st)
	}
	erased, pages, err := erasedInAll(a)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "%8d captures of %d resources, %s\n%8d bodies, %s as sent, %s stored\n%8d thumbnails that no copy gives\n"+
		"%8d addresses that lead elsewhere\n%8d copies of %d pages erased\n",
		st.Captures, st.Resources, size(st.Bytes), st.Bodies, size(st.Raw), size(st.Stored), st.Pictures, st.Aliases,
		erased, pages)
	return err
}

// verified is what archive verify --repair --json prints.
type verified struct {
	Repaired []archive.Repaired `json:"repaired"`
	Problems []archive.Problem  `json:"problems"`
}

func (c *Command) runArchiveVerify(ctx context.Context, cfg *config.Config, r archiveRequest) (err error) {
	if r.Erased != "" {
		return c.runArchiveErased(ctx, cfg, r)
	}
	if c.owner == nil && empty(cfg.Data) {
		err := errEmpty(cfg.Data)
		if r.JSON {
			err = errors.Join(c.printVerified(verified{Repaired: []archive.Repaired{}, Problems: []archive.Problem{}}, r.Repair), err)
		}
		return err
	}
	out := verified{Repaired: []archive.Repaired{}, Problems: []archive.Problem{}}
	told := func(done archive.Repaired) {
		out.Repaired = append(out.Repaired, done)
		if !r.JSON {
			fmt.Fprintf(c.Stdout, "Repaired: %s\n", done)
		}
	}
	if r.Repair {
		if err := c.clearIndex(ctx, cfg, told); err != nil {
			return err
		}
	}
	problems, err := c.verify(ctx, cfg, r.Repair, told)
	switch damaged := errors.Is(err, archive.ErrCorrupt) || errors.Is(err, index.ErrCorrupt); {
	case damaged && r.Repair:
		return failure(restoreVerb+"; this cannot be repaired", err)
	case damaged:
		return failure(repairVerb, err)
	case err != nil:
		return err
	}
	out.Problems = append(out.Problems, problems...)
	if r.JSON {
		err = c.printVerified(out, r.Repair)
	} else {
		for _, p := range problems {
			fmt.Fprintln(c.Stdout, p)
		}
		if len(problems) == 0 {
			fmt.Fprintln(c.Stdout, "Every digest and reference is right.")
		}
	}
	if err != nil || len(problems) == 0 {
		return err
	}
	return findings(problems, r.Repair)
}

// printVerified prints what was found as JSON; with repair, what was done before too.
func (c *Command) printVerified(out verified, repair bool) error {
	if repair {
		return c.printJSON(out)
	}
	return c.printJSON(out.Problems)
}

// What a damaged data directory can be helped with.
const (
	repairVerb  = "acapcrawl archive verify --repair"
	restoreVerb = "acapcrawl archive restore of a backup, into another directory with --data"
)

// findings is what a verb ends with that has found problems; repaired: those that a repair has left.
func findings(problems []archive.Problem, repaired bool) error {
	sentence := "1 problem was found."
	if n := len(problems); n != 1 {
		sentence = number(n) + " problems were found."
	}
	return &fault{status: statusNothing, err: errors.New(sentence), try: remedy(problems, repaired)}
}

// remedy says what to do about problems: what does the most first.
func remedy(problems []archive.Problem, repaired bool) string {
	try := ""
	for _, p := range problems {
		switch {
		case p.Repairable && repaired, p.Remedy != "" && strings.HasPrefix(p.Remedy, "restore ") && try != repairVerb:
			try = restoreVerb
		case p.Repairable && strings.HasPrefix(p.Where, "capture "):
			return repairVerb + ", which gives up what was lost; or restore a backup"
		case p.Repairable:
			try = repairVerb
		case try == "" && p.Remedy == holdings.SweepRemedy:
			try = "acapcrawl sweep"
		case p.Remedy != "" && p.Remedy != holdings.SweepRemedy && try != repairVerb && try != restoreVerb:
			try = p.Remedy
		}
	}
	return try
}

// verify checks the data directory, and repairs it before. Where archive and index cannot even be brought together, the archive is checked
// alone.
func (c *Command) verify(ctx context.Context, cfg *config.Config, repair bool, told func(archive.Repaired)) (problems []archive.Problem, err error) {
	s, err := c.openRecorded(cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	open := func() (*holdings.Holdings, error) {
		return s.hold(ctx, terms.Sources{Policies: s.held()}, holdings.Options{NoArchive: cfg.Policy.NoarchivePreserve})
	}
	h, err := open()
	if repair && errors.Is(err, archive.ErrCorrupt) {
		if problems, err = s.archive.Repair(ctx, told); err == nil {
			h, err = open()
		}
	}
	switch {
	case errors.Is(err, archive.ErrCorrupt):
		if !repair {
			problems, err = s.archive.Verify(ctx)
		} else {
			err = nil
		}
		return problems, err
	case err != nil:
		return nil, err
	}
	s.serve()
	if repair {
		return h.Repair(ctx, told)
	}
	return h.Verify(ctx)
}

// clearIndex removes an index that is damaged: opening makes it anew from the copies held. Where another process has the data
// directory, it is left.
func (c *Command) clearIndex(ctx context.Context, cfg *config.Config, told func(archive.Repaired)) (err error) {
	if c.owner != nil {
		return nil
	}
	_, done, err := c.openArchive(cfg) // who has it owns the directory
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	dir := filepath.Join(cfg.Data, "index")
	ix, err := index.Open(dir)
	if err == nil {
		err = errors.Join(ix.Verify(ctx), ix.Close())
	}
	if !errors.Is(err, index.ErrCorrupt) {
		return err
	}
	what := "cannot be read: " + err.Error()
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	told(archive.Repaired{Problem: archive.Problem{Where: "index", What: what, Repairable: true},
		Done: "removed, and made anew from the copies that may be indexed; other pages are found again when they are crawled"})
	return nil
}
