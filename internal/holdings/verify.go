package holdings

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
)

// SweepRemedy is the Remedy of problems that a sweep would solve.
const SweepRemedy = "sweep"

const endAndRepair = "stop all processes that use the data directory, then repair it: the index is rebuilt"

// Verify checks everything stored. It checks what archive.Verify checks with the options o, every segment of the
// index, and that archive and index agree with each other. It also checks that nothing is stored
// that the last known policy or a time limit no longer permits. Others may read and write at the
// same time. An error means that the check could not be done, not that it found problems.
func (h *Holdings) Verify(ctx context.Context, o archive.VerifyOptions) ([]archive.Problem, error) {
	found, err := h.archive.Verify(ctx, o)
	if err != nil {
		return found, err
	}
	rest, err := h.verifyRest(ctx)
	return append(found, rest...), err
}

// verifyRest does those checks of Verify that archive.Verify does not do. An archive that is too
// damaged to be read is reported as a problem.
func (h *Holdings) verifyRest(ctx context.Context) (found []archive.Problem, err error) {
	if err := h.indexer.index.Verify(ctx); err != nil {
		if !errors.Is(err, index.ErrCorrupt) {
			return nil, err
		}
		found = append(found, archive.Problem{Where: "index", What: "cannot be read: " + oneLine(err),
			Remedy: endAndRepair})
	}
	discord, err := h.compare(ctx)
	for _, d := range discord {
		found = append(found, archive.Problem{Where: d.url, What: d.what, Repairable: true})
	}
	if err == nil {
		err = h.unfinishedEnds(func(address string, ended archive.Part) error {
			found = append(found, archive.Problem{Where: address,
				What: "is no longer available, but data made from it is still stored: " +
					oneLine(errors.New(ended.Why)),
				Remedy: SweepRemedy})
			return nil
		})
	}
	if err == nil {
		var l *lister
		l, err = h.sweepAllDry(ctx, func(s Swept) { found = append(found, overdue(s)) })
		found = append(found, l.problems()...)
	}
	if errors.Is(err, archive.ErrCorrupt) || errors.Is(err, index.ErrCorrupt) {
		found = append(found, archive.Problem{Where: "archive and index",
			What:   "could not be compared with each other and with policy: " + oneLine(err),
			Remedy: "repair the archive first"})
		err = nil
	}
	return found, err
}

// oneLine returns the text of an error in one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// overdue returns the problem that the item s is still stored although a sweep would erase it.
func overdue(s Swept) archive.Problem {
	p := archive.Problem{Where: s.URL, What: "is due for sweep: " + s.What, Remedy: SweepRemedy}
	if s.Version > 0 {
		p.What += fmt.Sprintf(" of version %d", s.Version)
	}
	if s.Why != "" {
		p.What += ", " + s.Why
	}
	if s.Line != "" && !strings.Contains(s.Why, s.Line) {
		p.What += " (" + s.Line + ")"
	}
	return p
}

// discord is a URL about which archive and index disagree.
type discord struct{ url, what string }

// compare lists URLs that are in the index but not marked as indexed in the archive, and URLs that
// are marked but not in the index. Changes still in progress are not listed.
func (h *Holdings) compare(ctx context.Context) (list []discord, err error) {
	var suspects []string
	err = h.archive.Each(func(r archive.Resource) error {
		if !r.Indexed {
			return ctx.Err()
		}
		has, err := h.indexer.index.Has(r.URL)
		if err == nil && !has {
			suspects = append(suspects, r.URL)
		}
		return errors.Join(err, ctx.Err())
	})
	if err != nil {
		return nil, err
	}
	for address, err := range h.indexer.index.URLs() {
		if err != nil {
			return nil, err
		}
		r, _, err := h.archive.Resource(address)
		if err != nil {
			return nil, err
		}
		if !r.Indexed {
			suspects = append(suspects, address)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	for _, address := range suspects {
		d, err := h.disagree(address)
		if err != nil {
			return list, err
		}
		if d.what != "" {
			list = append(list, d)
		}
	}
	return list, nil
}

// disagree returns how archive and index disagree about a URL; d.what is "" if they agree or a
// change is in progress.
func (h *Holdings) disagree(address string) (d discord, err error) {
	mu := h.lock(address)
	mu.Lock()
	defer mu.Unlock()
	d.url = address
	if underway, err := h.archive.Unsettled(address); err != nil || underway {
		return d, err
	}
	r, _, err := h.archive.Resource(address)
	if err != nil {
		return d, err
	}
	has, err := h.indexer.index.Has(address)
	switch {
	case err != nil:
	case r.Indexed && !has:
		d.what = "is recorded as indexed but is not in the index"
	case !r.Indexed && has:
		d.what = "is in the index but is not recorded as indexed"
	}
	return d, err
}
