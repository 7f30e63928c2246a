package site

import (
	"context"
	"errors"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
)

// SweepOptions are the settings of a sweep. Functions may be nil.
type SweepOptions struct {
	AsOf   time.Time // the time used to check time limits; zero: now
	DryRun bool      // report what would be erased, but change nothing
	// called for each stored item that was erased, and for each index entry that was made again
	Each     func(holdings.Swept)
	Progress func(done int) // called at regular intervals with the number of pages done so far
}

// SweepSummary is the result of a sweep.
type SweepSummary struct {
	holdings.SweepCounts
	Erased []archive.Erasure `json:"erased"` // erased data; with DryRun, data that would be erased
	DryRun bool              `json:"dry_run"`
}

// Sweep checks all stored data against the policies as they were last read, and erases what may no
// longer be kept. Then it executes the open requests.
func (s *Site) Sweep(ctx context.Context, o SweepOptions) (sum SweepSummary, err error) {
	sum.DryRun, sum.Erased = o.DryRun, []archive.Erasure{}
	h, err := s.held(ctx)
	if err != nil {
		return sum, err
	}
	if !o.DryRun {
		if err := s.withOwnFrontier(s.blockRedirects); err != nil {
			return sum, err
		}
	}
	erased, endWatch := s.erased.watch()
	defer endWatch()
	if o.DryRun {
		erased = &archive.Erasures{}
	}
	takenDown := map[string]string{} // address of each page taken down → the policy line that decided
	each := func(item holdings.Swept) {
		if o.DryRun && item.What == holdings.SweptCopy {
			erased.Add(archive.Tombstone{URL: item.URL, Captures: 1, Reason: item.Reason, Line: item.Line})
		}
		if item.TakenDown {
			takenDown[item.URL] = item.Line
		}
		if o.Each != nil {
			o.Each(item)
		}
	}
	sum.SweepCounts, err = h.Sweep(ctx, holdings.SweepOptions{AsOf: o.AsOf, DryRun: o.DryRun,
		Policies: s.lastPolicies(), For: s.decider(), Progress: o.Progress}, each)
	if err == nil && !o.DryRun {
		err = s.finishSweep(ctx, takenDown)
	}
	sum.Erased = erased.List()
	return sum, err
}

// finishSweep executes the open requests, records that the sweep executed the take-downs of
// takenDown, and compacts archive and index.
func (s *Site) finishSweep(ctx context.Context, takenDown map[string]string) error {
	err := s.executeOpen(ctx)
	for address, line := range takenDown {
		err = errors.Join(err, noteTakenDown(s.executor(nil), address, line))
	}
	// a lent site is compacted by the process that owns the directory, when compaction is due
	if err == nil && !s.lent {
		err = s.compactBeforeEnd(ctx, s.executor(nil), time.Time{})
	}
	return err
}
