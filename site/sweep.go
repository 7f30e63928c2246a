package site

import (
	"context"
	"errors"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/holdings"
)

// SweepOptions say how a sweep judges. Functions may be nil.
type SweepOptions struct {
	AsOf     time.Time             // the clock of time limits; zero: now
	DryRun   bool                  // report what would be erased, and change nothing
	Each     func(holdings.Swept)  // is called for each item that was erased or made again
	Progress func(done, total int) // is called at intervals with numbers of pages
}

// SweepSummary is the result of a sweep.
type SweepSummary struct {
	holdings.SweepCounts
	Erased []archive.Erasure `json:"erased"` // with DryRun: what would be
	DryRun bool              `json:"dry_run"`
}

// Sweep judges everything that is held by the policies that were read last, and erases what may no
// longer be held. Then it executes the requests that are open.
func (s *Site) Sweep(ctx context.Context, o SweepOptions) (sum SweepSummary, err error) {
	sum.DryRun, sum.Erased = o.DryRun, []archive.Erasure{}
	h, err := s.held(ctx)
	if err != nil {
		return sum, err
	}
	if !o.DryRun {
		if err := s.withFrontier(s.blockRedirects); err != nil {
			return sum, err
		}
	}
	erased, endWatch := s.erased.watch()
	defer endWatch()
	if o.DryRun {
		erased = &archive.Erasures{}
	}
	takenDown := map[string]string{} // line by address
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
	held, err := s.archive.Stats()
	if err != nil {
		return sum, err
	}
	progress := func(n int) {
		if o.Progress != nil {
			o.Progress(n, held.Resources)
		}
	}
	sum.SweepCounts, err = h.Sweep(ctx, holdings.SweepOptions{AsOf: o.AsOf, DryRun: o.DryRun,
		Policies: s.lastPolicies(),
		Progress: progress}, each)
	if err == nil && !o.DryRun {
		err = s.finishSweep(ctx, takenDown)
	}
	sum.Erased = erased.List()
	return sum, err
}

// finishSweep executes the requests that are open, notes the take-downs that the sweep executed,
// and compacts.
func (s *Site) finishSweep(ctx context.Context, takenDown map[string]string) error {
	err := s.executeOpen(ctx)
	for address, line := range takenDown {
		err = errors.Join(err, noteTakenDown(s.executor(nil), address, line))
	}
	if err == nil && !s.lent { // the process that has the directory compacts in its own time
		err = s.compactBeforeEnd(ctx, s.executor(nil), time.Time{})
	}
	return err
}
