package site

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/index"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/terms"
)

// Compact rewrites archive and index without erased data. progress, which may be nil, is called
// with the number of bytes processed so far, and in total.
func (s *Site) Compact(ctx context.Context, progress func(done, total int64)) (holdings.CompactStats, error) {
	h, err := s.held(ctx)
	if err != nil {
		return holdings.CompactStats{}, err
	}
	return h.Compact(ctx, progress)
}

// ErasureReceipt returns what was erased of the page at an address, and what is still stored of it.
func (s *Site) ErasureReceipt(ctx context.Context, address string) (archive.Receipt, error) {
	h, err := s.held(ctx)
	if err != nil {
		return archive.Receipt{}, err
	}
	return h.Receipt(address)
}

// Verify checks every digest and reference of the data directory, and returns the problems. o selects
// the bodies to read, unless repair is set. If
// repair is not nil, Verify repairs first, and calls repair for each repair. If archive and index
// cannot be made consistent, it checks only the archive. It calls ready, which may be nil, once
// other methods of the site may be used.
func (s *Site) Verify(ctx context.Context, o archive.VerifyOptions, repair func(archive.Repaired), ready func()) (
	problems []archive.Problem, err error) {
	open := func() (*holdings.Holdings, error) {
		known := s.lastPolicies()
		return s.openHoldings(ctx, terms.Sources{Policies: known},
			holdings.Options{NoArchive: s.cfg.Policy.NoarchivePreserve, Version: known.version})
	}
	h, err := open()
	if repair != nil && errors.Is(err, archive.ErrCorrupt) {
		if problems, err = s.archive.Repair(ctx, repair); err == nil {
			h, err = open()
		}
	}
	switch {
	case errors.Is(err, archive.ErrCorrupt) && repair == nil:
		problems, err = s.archive.Verify(ctx, o)
		return problems, classify(err)
	case errors.Is(err, archive.ErrCorrupt):
		return problems, nil
	case err != nil:
		return nil, classify(err)
	}
	if ready != nil {
		ready()
	}
	if repair != nil {
		problems, err = h.Repair(ctx, repair)
	} else {
		problems, err = h.Verify(ctx, o)
	}
	return problems, classify(err)
}

// ClearDamagedIndex removes the index of the data directory cfg.Data if it is damaged, and calls
// repaired to report the removal. Open then builds the index again from the stored copies. No
// process may have the directory open.
func ClearDamagedIndex(ctx context.Context, cfg *config.Config, repaired func(archive.Repaired)) (err error) {
	a, err := OpenArchive(cfg) // the process that has the archive open has exclusive use of the directory
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
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
	repaired(archive.Repaired{Problem: archive.Problem{Where: "index", What: what, Repairable: true},
		Done: "removed, and rebuilt from the copies that may be indexed; other pages are found again when they " +
			"are crawled"})
	return nil
}
