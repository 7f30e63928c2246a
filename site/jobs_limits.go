package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
)

// least returns the smaller of two limits, of which 0 and less mean that there is none.
func (o crawlOrder) least(limit int64) int64 {
	if o.left > 0 && (limit <= 0 || o.left < limit) {
		return o.left
	}
	return limit
}

// applyLimits erases what is older than o permits, and returns how many bytes of bodies may be received until the
// quota of o is used up; 0 if there is no quota. The error says that it is used up.
func (s *Site) applyLimits(ctx context.Context, o CrawlOptions) (left int64, err error) {
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
	err = s.eachFrom(ctx, o.Seeds, func(address string) error {
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

// retain erases what was fetched longer ago than o permits, of the pages that were found from the seeds of o.
func (s *Site) retain(ctx context.Context, h *holdings.Holdings, o CrawlOptions) error {
	if o.Keep <= 0 {
		return nil
	}
	before, why := time.Now().Add(-o.Keep), fmt.Sprintf("%s keeps pages for %s", o.subject(), o.Keep)
	return s.eachFrom(ctx, o.Seeds, func(address string) error {
		_, _, err := h.Forget(ctx, address, why, before, false)
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
		for _, seed := range seeds {
			if normal, err := crawler.Link(seed, nil); err == nil && numbers[normal] >= crawler.FirstSeed {
				wanted[numbers[normal]] = true
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
