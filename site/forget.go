package site

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
)

// ForgetOptions say what the operator wants to be erased. Functions may be nil.
type ForgetOptions struct {
	URLs   []string  // addresses, in all their spellings
	Hosts  []string  // hosts: everything stored of them, over http and https; without a port, of all ports
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
	Of     []ForgottenOf     `json:"of"`     // the same for each of URLs and Hosts
	Erased []archive.Erasure `json:"erased"`
	DryRun bool              `json:"dry_run"`
	// the files were rewritten without what was erased, now or before
	Rewritten bool `json:"rewritten"`
	// the files contain remains of what was erased, which cannot be read, until they are rewritten
	Pending bool `json:"pending"`
	// if another process uses the data directory: within which time a process rewrites the files, by the settings of
	// that process; 0: none does
	Within time.Duration `json:"-"`
}

// ForgottenOf says how much was erased of one element of ForgetOptions.URLs or Hosts. An address that belongs to
// several elements counts for each.
type ForgottenOf struct {
	Of     string `json:"of"`
	Pages  int    `json:"pages"`
	Copies int    `json:"copies"`
}

// Forget erases stored data because the operator wants it so, and compacts archive and index, so that no file contains
// it any longer, nor anything that was erased before. If another process has the data directory open, that process
// compacts them later. After an error, the summary says what was erased before.
func (s *Site) Forget(ctx context.Context, o ForgetOptions) (sum ForgetSummary, err error) {
	sum.DryRun, sum.Of, sum.Erased = o.DryRun, []ForgottenOf{}, []archive.Erasure{}
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
	copies := map[string]int{} // of the addresses of which something was erased
	for _, each := range list {
		of := ForgottenOf{Of: each.of}
		for _, at := range each.addresses {
			if err = forgetOnce(ctx, h, at, o, copies); err != nil {
				break
			}
			if n, is := copies[at]; is {
				of.Pages++
				of.Copies += n
			}
		}
		if each.of != "" {
			sum.Of = append(sum.Of, of)
		}
		if err != nil {
			break
		}
	}
	for _, n := range copies {
		sum.Pages++
		sum.Copies += n
	}
	err = errors.Join(err, s.rewriteForgotten(context.WithoutCancel(ctx), &sum))
	sum.Erased = erased.List()
	return sum, err
}

// forgetOnce erases what is stored of an address, unless copies has it, and notes it there.
func forgetOnce(ctx context.Context, h *holdings.Holdings, at string, o ForgetOptions, copies map[string]int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, done := copies[at]; done {
		return nil
	}
	because := archive.Tombstone{Reason: archive.ReasonForgotten, Why: o.Why}
	f, is, err := h.Forget(ctx, at, because, o.Before, o.DryRun)
	if err != nil || !is {
		return err
	}
	copies[at] = f.Copies
	if o.Each != nil {
		o.Each(f)
	}
	return nil
}

// rewriteForgotten compacts what is due, also after an interruption and for what an earlier process erased, and notes
// in sum what was done. A lent site is compacted by the process that owns the directory, when compaction is due.
func (s *Site) rewriteForgotten(ctx context.Context, sum *ForgetSummary) error {
	since, _, err := s.archive.Uncompacted()
	if err == nil && !sum.DryRun && !s.lent {
		err = s.compactBeforeEnd(ctx, s.executor(nil), time.Time{})
	}
	left, _, failed := s.archive.Uncompacted()
	sum.Pending, sum.Rewritten = !left.IsZero(), !since.IsZero() && left.IsZero()
	if s.lent {
		sum.Within = s.compactWithin().Other
	}
	return errors.Join(err, failed)
}

// forgettable is what one element of ForgetOptions selects.
type forgettable struct {
	of        string // the element; "": everything
	addresses []string
}

// forgettable returns the addresses that o selects, of which something may be stored.
func (s *Site) forgettable(h *holdings.Holdings, o ForgetOptions) (list []forgettable, err error) {
	for _, each := range o.URLs {
		normal, err := address.Normal(each)
		if err != nil {
			return nil, err
		}
		spellings, err := h.Spellings(normal)
		if err != nil {
			return nil, err
		}
		list = append(list, forgettable{each, spellings})
	}
	for _, host := range o.Hosts {
		prefixes, err := s.originsOf(host)
		if err != nil {
			return nil, err
		}
		addresses, err := s.addressesUnder(prefixes...)
		if err != nil {
			return nil, err
		}
		list = append(list, forgettable{host, addresses})
	}
	if o.All {
		addresses, err := s.addressesUnder("")
		return append(list, forgettable{"", addresses}), err
	}
	return list, nil
}

// originsOf returns how the addresses of a host begin: those of one port, or of all ports of which something is stored.
func (s *Site) originsOf(host string) (prefixes []string, err error) {
	named, err := url.Parse("//" + host)
	if err != nil {
		return nil, err
	}
	if named.Port() == "" {
		err := s.archive.EachOrigin(func(origin string) error {
			if u, err := url.Parse(origin); err == nil && u.Hostname() == named.Hostname() {
				prefixes = append(prefixes, origin+"/")
			}
			return nil
		})
		return prefixes, err
	}
	for _, scheme := range []string{"https", "http"} {
		prefix, err := address.Normal((&url.URL{Scheme: scheme, Host: host, Path: "/"}).String())
		if err != nil {
			return nil, err
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

// addressesUnder returns the addresses that begin with one of the prefixes and of which something is stored.
func (s *Site) addressesUnder(prefixes ...string) (list []string, err error) {
	for _, prefix := range prefixes {
		err = errors.Join(err, s.archive.EachAddress(prefix, func(at string) error {
			list = append(list, at)
			return nil
		}))
	}
	return list, err
}
