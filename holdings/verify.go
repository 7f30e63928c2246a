package holdings

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/index"
)

// SweepRemedy is the Remedy of what is due for sweep.
const SweepRemedy = "sweep"

const endAndRepair = "end what uses the data directory, then repair it: the index is rebuilt"

// Verify checks all that is held: what archive.Verify checks, every segment of the index, that
// archive and index agree both ways, and that nothing is held that may no longer be, by the policy
// last read and the clock. Others may read and write meanwhile. The error tells that it could not
// be done, not that something is wrong.
func (h *Holdings) Verify(ctx context.Context) ([]archive.Problem, error) {
	found, err := h.archive.Verify(ctx)
	if err != nil {
		return found, err
	}
	rest, err := h.beyond(ctx)
	return append(found, rest...), err
}

// beyond checks what archive.Verify does not. Where the archive is so damaged that it cannot be
// gone through, that is a problem.
func (h *Holdings) beyond(ctx context.Context) (found []archive.Problem, err error) {
	if err := h.indexer.index.Verify(ctx); err != nil {
		if !errors.Is(err, index.ErrCorrupt) {
			return nil, err
		}
		found = append(found, archive.Problem{Where: "index", What: "cannot be read: " + sentence(err),
			Remedy: endAndRepair})
	}
	discord, err := h.compare(ctx)
	for _, d := range discord {
		found = append(found, archive.Problem{Where: d.url, What: d.what, Repairable: true})
	}
	if err == nil {
		err = h.unfinishedEnds(func(address string, ended archive.Part) error {
			found = append(found, archive.Problem{Where: address,
				What:   "has ended, and not all is gone that was made of it: " + sentence(errors.New(ended.Why)),
				Remedy: SweepRemedy})
			return nil
		})
	}
	if err == nil {
		_, err = h.Sweep(ctx, SweepOptions{DryRun: true}, func(s Swept) { found = append(found, overdue(s)) })
	}
	if errors.Is(err, archive.ErrCorrupt) || errors.Is(err, index.ErrCorrupt) {
		found = append(found, archive.Problem{Where: "archive and index",
			What:   "could not be compared with each other and with policy: " + sentence(err),
			Remedy: "repair the archive first"})
		err = nil
	}
	return found, err
}

// sentence is an error in one line.
func sentence(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// overdue is the problem that something is held that would be swept.
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

// discord is a URL of which archive and index say different things.
type discord struct{ url, what string }

// compare looks for URLs that the index holds and the archive does not say so, and the other way
// round. What is on its way from the one to the other is none.
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

// disagree says in what archive and index disagree of a URL for good.
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
		d.what = "is to be found and is not in the index"
	case !r.Indexed && has:
		d.what = "is in the index and is not to be found"
	}
	return d, err
}
