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
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

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
		return failure("name the directory of a crawl with --data", fmt.Errorf("there is no archive in %s", cfg.Data))
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
	if err != nil {
		return err
	}
	out.Problems = append(out.Problems, problems...)
	switch {
	case r.JSON && r.Repair:
		err = c.printJSON(out)
	case r.JSON:
		err = c.printJSON(out.Problems)
	default:
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
	return findings(problems)
}

// findings is what a verb ends with that has found problems.
func findings(problems []archive.Problem) error {
	sentence := "1 problem was found."
	if n := len(problems); n != 1 {
		sentence = number(n) + " problems were found."
	}
	return &fault{status: statusNothing, err: errors.New(sentence), try: remedy(problems)}
}

// remedy says what to do about problems: what does the most first.
func remedy(problems []archive.Problem) string {
	const repair = "acapcrawl archive verify --repair"
	try := ""
	for _, p := range problems {
		switch {
		case p.Repairable && strings.HasPrefix(p.Where, "capture "):
			return repair + ", which gives up what was lost; or restore a backup"
		case p.Repairable:
			try = repair
		case try == "" && p.Remedy == holdings.SweepRemedy:
			try = "acapcrawl sweep"
		case p.Remedy != "" && p.Remedy != holdings.SweepRemedy && try != repair:
			try = p.Remedy
		}
	}
	return try
}

// verify checks the data directory, and repairs it before. Where archive and index cannot even be brought together, the archive is checked
// alone.
func (c *Command) verify(ctx context.Context, cfg *config.Config, repair bool, told func(archive.Repaired)) (problems []archive.Problem, err error) {
	who, err := recorded(cfg)
	if err != nil {
		return nil, err
	}
	s, err := c.openStore(cfg, who, policy.Options{}, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	open := func() (*holdings.Holdings, error) {
		return s.hold(ctx, terms.Sources{Policies: held{s.policy}}, holdings.Options{NoArchive: cfg.Policy.NoarchivePreserve})
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
