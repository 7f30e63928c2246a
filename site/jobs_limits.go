package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
)

// jobLimits says which pages belong to the job of a crawl, and for how long its neighbours keep pages.
type jobLimits struct {
	seeds  []string // those of the crawl, and earlier ones of its job
	others []keeper // the other jobs of the data directory
}

// keeper is a job that keeps pages for some time.
type keeper struct {
	name   string
	keep   time.Duration             // 0: for ever
	covers func(address string) bool // reports whether an address is in the scope of the job
}

// jobLimits returns the limits of a crawl, and records its seeds as those of its job. An earlier seed that another job
// has now belongs to that job.
func (s *Site) jobLimits(o CrawlOptions) (l jobLimits, err error) {
	l.seeds = slices.Clone(o.Seeds)
	if o.Job == "" {
		return l, nil
	}
	list, err := s.cfg.Neighbours()
	if err != nil {
		return l, err
	}
	taken := []string{}
	for _, cfg := range list {
		j, _, _ := cfg.FindJob(cfg.Job)
		if j.Name == o.Job {
			continue
		}
		k := keeper{name: j.Name, keep: j.Keep}
		seeds := normalSeeds(j.Seeds)
		if k.covers, err = (crawler.Extent{Scope: crawler.Scope(cfg.Scope), Include: cfg.Include, Exclude: cfg.Exclude,
			Seeds: seeds}).Covers(); err != nil {
			return l, err
		}
		taken, l.others = append(taken, seeds...), append(l.others, k)
	}
	return l, s.updateJob(o.Job, func(run *JobRun) bool {
		for _, seed := range normalSeeds(run.Seeds) {
			if !slices.Contains(taken, seed) {
				l.seeds = append(l.seeds, seed)
			}
		}
		known := len(run.Seeds)
		run.Seeds = slices.Compact(slices.Sorted(slices.Values(normalSeeds(slices.Concat(run.Seeds, o.Seeds)))))
		return len(run.Seeds) != known // a full disk does not prevent a crawl, which executes take-downs
	})
}

// normalSeeds returns seeds in normal form.
func normalSeeds(seeds []string) (list []string) {
	for _, seed := range seeds {
		if normal, err := crawler.Link(seed, nil); err == nil { // the crawl reports the others
			list = append(list, normal)
		}
	}
	return list
}

// applyLimits erases what is older than o permits, and returns how many decoded bytes of bodies may be stored until the
// quota of o is used up; 0 if there is no quota. The error says that it is used up.
func (s *Site) applyLimits(ctx context.Context, o crawlOrder) (left int64, err error) {
	if o.Keep > 0 {
		h, err := s.held(ctx)
		if err == nil {
			err = s.retain(ctx, h, o)
		}
		if err != nil {
			return 0, err
		}
	}
	if o.Quota <= 0 {
		return 0, nil
	}
	used := int64(0)
	err = s.eachFrom(ctx, o.limits.seeds, func(address string) error {
		list, err := s.archive.Captures(address)
		for _, c := range list {
			used += c.Bytes
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	if used >= o.Quota {
		return 0, &FailedError{fmt.Errorf("the quota of %s is used up: %d of %d bytes are kept", o.subject(),
			used, o.Quota),
			"a larger quota, or acapcrawl archive forget"}
	}
	return o.Quota - used, nil
}

// subject says whose limits o contains.
func (o CrawlOptions) subject() string {
	if o.Job == "" {
		return "this crawl"
	}
	return "the job " + o.Job
}

// retain erases what was fetched longer ago than o permits, of the pages that belong to it. A page that is in the scope
// of other jobs too is kept for the longest of their times.
func (s *Site) retain(ctx context.Context, h *holdings.Holdings, o crawlOrder) error {
	if o.Keep <= 0 {
		return nil
	}
	now := time.Now()
	return s.eachFrom(ctx, o.limits.seeds, func(address string) error {
		keep, by := o.Keep, o.subject()
		for _, other := range o.limits.others {
			switch longer := other.keep == 0 || other.keep > keep; {
			case !longer || !other.covers(address):
			case other.keep == 0:
				return nil
			default:
				keep, by = other.keep, "the job "+other.name
			}
		}
		_, _, err := h.Forget(ctx, address, archive.Tombstone{Reason: archive.ReasonKept,
			Why: fmt.Sprintf("%s keeps pages for %s", by, keep)}, now.Add(-keep), false)
		return err
	})
}

// eachFrom calls fn for each address that was found from one of the seeds, and that is not the address of a required
// resource. fn may change the archive.
func (s *Site) eachFrom(ctx context.Context, seeds []string, fn func(address string) error) error {
	return s.withFrontier(func(f *crawler.Frontier) error {
		numbers, err := f.SeedNumbers()
		if err != nil {
			return err
		}
		wanted := map[uint64]bool{}
		for _, seed := range normalSeeds(seeds) {
			if numbers[seed] >= crawler.FirstSeed {
				wanted[numbers[seed]] = true
			}
		}
		return eachRecord(ctx, f, func(r crawler.Record) error {
			if !wanted[r.From()] {
				return nil
			}
			if err := fn(r.URL); err != nil && !errors.Is(err, archive.ErrNotHeld) {
				return err
			}
			return nil
		})
	})
}

// eachRecord calls fn for each record of the queue, without those of required resources. No transaction is open during
// fn.
func eachRecord(ctx context.Context, f *crawler.Frontier, fn func(crawler.Record) error) error {
	for after := ""; ; {
		list, err := f.Records("", after, tallyBatch)
		if err = cmp.Or(err, ctx.Err()); err != nil || len(list) == 0 {
			return err
		}
		for _, r := range list {
			if strings.HasPrefix(r.URL, "part:") {
				continue
			}
			if err := fn(r); err != nil {
				return err
			}
		}
		after = list[len(list)-1].URL
	}
}
