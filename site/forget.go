package site

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
)

// ForgetOptions say what the operator wants to be erased. Functions may be nil.
type ForgetOptions struct {
	URLs   []string  // addresses, in all their spellings
	Hosts  []string  // hosts, with a port if it is not the default; everything stored of them, over http and https
	All    bool      // everything that is stored; needs Before
	Before time.Time // erase only what was fetched before that time; zero: everything
	Why    string    // the reason, as the operator words it
	DryRun bool
	Each   func(holdings.Forgotten) // called for each page of which something was erased, or would be
}

// ForgetSummary is the result of Forget.
type ForgetSummary struct {
	Pages  int               `json:"pages"`  // pages of which something was erased, or would be
	Copies int               `json:"copies"` // copies that were erased, or would be
	Erased []archive.Erasure `json:"erased"`
	DryRun bool              `json:"dry_run"`
}

// Forget erases stored data because the operator wants it so, and compacts archive and index, so that no file contains
// it any longer. If another process has the data directory open, that process compacts them later. After an error, the
// summary says what was erased before.
func (s *Site) Forget(ctx context.Context, o ForgetOptions) (sum ForgetSummary, err error) {
	sum.DryRun, sum.Erased = o.DryRun, []archive.Erasure{}
	h, err := s.held(ctx)
	if err != nil {
		return sum, err
	}
	list, err := s.forgettable(h, o)
	if err != nil {
		return sum, err
	}
	erased, endWatch := s.erased.watch()
	defer endWatch()
	because := archive.Tombstone{Reason: archive.ReasonForgotten, Why: o.Why}
	for _, at := range list {
		if err = ctx.Err(); err != nil {
			break
		}
		var f holdings.Forgotten
		var is bool
		if f, is, err = h.Forget(ctx, at, because, o.Before, o.DryRun); err != nil {
			break
		}
		if !is {
			continue
		}
		sum.Pages++
		sum.Copies += f.Copies
		if o.Each != nil {
			o.Each(f)
		}
	}
	// a lent site is compacted by the process that owns the directory, when compaction is due
	if !o.DryRun && !s.lent && sum.Pages > 0 { // also after an interruption, for what was erased before
		err = errors.Join(err, s.compactBeforeEnd(context.WithoutCancel(ctx), s.executor(nil), time.Time{}))
	}
	sum.Erased = erased.List()
	return sum, err
}

// forgettable returns the addresses that o selects, of which something is stored.
func (s *Site) forgettable(h *holdings.Holdings, o ForgetOptions) (list []string, err error) {
	for _, each := range o.URLs {
		normal, err := address.Normal(each)
		if err != nil {
			return nil, err
		}
		spellings, err := h.Spellings(normal)
		if err != nil {
			return nil, err
		}
		list = append(list, spellings...)
	}
	prefixes := []string{}
	for _, host := range o.Hosts {
		for _, scheme := range []string{"https", "http"} {
			prefix, err := address.Normal((&url.URL{Scheme: scheme, Host: host, Path: "/"}).String())
			if err != nil {
				return nil, err
			}
			prefixes = append(prefixes, prefix)
		}
	}
	if o.All {
		prefixes = append(prefixes, "")
	}
	for _, prefix := range prefixes {
		err := s.archive.EachAddress(prefix, func(at string) error {
			list = append(list, at)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}
