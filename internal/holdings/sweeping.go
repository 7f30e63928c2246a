package holdings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/acapcrawl/acapcrawl/archive"
)

// sweep does the same as Sweep, and calls between after each batch of pages.
func (h *Holdings) sweep(ctx context.Context, o SweepOptions, told func(Swept), between func()) (SweepCounts, error) {
	if told == nil {
		told = func(Swept) {}
	}
	s := sweeping{Holdings: h, ctx: ctx, o: h.withDefaults(o), told: told, between: between}
	err := h.eachToCheck(ctx, s.o, s.add)
	if err == nil {
		err = s.flush()
	}
	return s.counts, errors.Join(append(s.failed, err)...)
}

// sweeping is a sweep that is running.
type sweeping struct {
	*Holdings
	ctx     context.Context
	o       SweepOptions
	told    func(Swept)
	between func()

	counts  SweepCounts
	failed  []error            // pages that could not be checked
	batch   []archive.Resource // pages that wait to be checked
	entries []archive.Due      // the entries of the list of due pages that name them
}

// add adds a page to the batch, and checks the batch if it is full.
func (s *sweeping) add(r archive.Resource, entry archive.Due) error {
	// a page that is listed twice must not be swept twice at the same time
	twice := func(b archive.Resource) bool { return b.URL == r.URL }
	if !entry.At.IsZero() && slices.ContainsFunc(s.batch, twice) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.batch, s.entries = append(s.batch, r), append(s.entries, entry)
	if len(s.batch) < sweepBatch {
		return s.ctx.Err()
	}
	return s.flush()
}

// flush sweeps the pages of the batch.
func (s *sweeping) flush() error {
	done := s.sweepAll(s.ctx, s.batch, s.o)
	for i := range done {
		if err := s.report(&done[i]); err != nil {
			return err
		}
	}
	err := s.noteDecided(s.ctx, s.o, done, s.entries)
	if err == nil {
		err = s.decideAgain(s.ctx, s.o, done, s.entries)
	}
	if err != nil {
		return err
	}
	s.batch, s.entries = s.batch[:0], s.entries[:0]
	if s.o.Progress != nil {
		s.o.Progress(s.counts.Pages)
	}
	s.between()
	return s.ctx.Err()
}

// report counts and reports what was done with a page. It returns an error if the sweep cannot
// continue.
func (s *sweeping) report(p *sweptPage) error {
	switch {
	case p.err != nil && (s.ctx.Err() != nil || !errors.Is(p.err, archive.ErrCorrupt) && !isPanic(p.err)):
		return p.err
	case p.err != nil:
		if len(s.failed) < sweepErrors {
			s.failed = append(s.failed, fmt.Errorf("%s could not be checked: %w", p.known.URL, p.err))
		}
		return nil
	}
	if s.o.examine != nil {
		if err := s.o.examine(&p.sweepPlan); err != nil {
			return err
		}
	}
	s.counts.add(p.sweepPlan)
	for _, item := range p.swept {
		s.told(item)
	}
	return nil
}

type sweptPage struct {
	sweepPlan
	err error
}

// sweepAll sweeps several pages at the same time.
func (h *Holdings) sweepAll(ctx context.Context, pages []archive.Resource, o SweepOptions) []sweptPage {
	out := make([]sweptPage, len(pages))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(sweepers, len(pages)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(pages)); i = next.Add(1) - 1 {
				out[i].sweepPlan, out[i].err = h.sweepPage(ctx, pages[i], o)
			}
		})
	}
	wg.Wait()
	return out
}
