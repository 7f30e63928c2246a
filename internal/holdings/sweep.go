package holdings

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/terms"
)

const (
	sweepBatch  = 256 // number of pages checked before their results are reported
	sweepers    = 64  // greatest number of pages processed at the same time: pages that wait for the disk share a write
	sweepTries  = 3   // how often a page is checked if it is received at the same time
	sweepErrors = 20  // greatest number of pages named in the error because they could not be checked
)

// SweepOptions selects what to sweep, and at what time.
type SweepOptions struct {
	AsOf     time.Time       // the time used to check time limits; zero means now
	DryRun   bool            // report what would be erased, and change nothing
	Origin   string          // sweep only this origin, named as in archive.PolicyVersion; "" means everything
	Policies terms.Policies  // policies to apply, without requests; nil means Options.Known
	For      string          // as Options.For, for Policies; if Policies is set and For is "", All is implied
	All      bool            // check all pages, also those that are not due
	Progress func(pages int) // called from time to time with the number of pages checked so far; may be nil

	examine func(*sweepPlan) error // called for each page that could be checked; may be nil
}

// Swept is one stored item that a sweep erased or made again.
type Swept struct {
	URL     string `json:"url"`
	What    string `json:"what"`              // SweptCopy, SweptEntry, SweptExcerpt, SweptPicture or SweptRecord
	Version int    `json:"version,omitempty"` // version of the copy or thumbnail
	// the index entry was not deleted but replaced by one that today's policy permits
	Anew bool `json:"anew,omitempty"`
	// as in archive.Erasure; empty if the item is erased because of another erased item of the page
	Reason string `json:"reason,omitempty"`
	Why    string `json:"why"`            // explanation, as a clause
	Line   string `json:"line,omitempty"` // the policy line that decided; "" if no line did

	TakenDown bool `json:"taken_down,omitempty"` // the publisher requested the erasure of the page

	asked   bool   // as in ground
	capture uint64 // ID of the erased copy
}

// These are the values of Swept.What.
const (
	SweptCopy    = "copy"
	SweptEntry   = "index entry"
	SweptExcerpt = "excerpt"   // data to present the page: title, excerpt, parts of other resources
	SweptPicture = "thumbnail" // a thumbnail stored separately from the copy
	SweptRecord  = "record"    // other data about the page: title, excerpt, its own statements
)

// SweepCounts counts what a sweep did, or would do.
type SweepCounts struct {
	Pages    int `json:"pages"`      // pages checked
	Copies   int `json:"copies"`     // copies erased
	Entries  int `json:"entries"`    // index entries deleted
	Renewed  int `json:"renewed"`    // index entries made again
	Excerpts int `json:"excerpts"`   // pages that lost data to present them
	Pictures int `json:"thumbnails"` // erased thumbnails that were stored separately from copies
	Records  int `json:"records"`    // pages that had only a record, which was erased
	// pages left unchanged, because no policy could be read (X63)
	Unjudged int `json:"unjudged"`
}

func (c *SweepCounts) add(d sweepPlan) {
	switch {
	case !d.held:
		return
	case d.unjudged:
		c.Unjudged++
	}
	c.Pages++
	for _, s := range d.swept {
		switch {
		case s.What == SweptCopy:
			c.Copies++
		case s.Anew:
			c.Renewed++
		case s.What == SweptEntry:
			c.Entries++
		case s.What == SweptExcerpt:
			c.Excerpts++
		case s.What == SweptPicture:
			c.Pictures++
		default:
			c.Records++
		}
	}
}

// Sweep checks the stored pages that are due against the last known policy and the clock, and
// erases what may no longer be stored: copies and index entries. Pages are due if they have changed
// since the last check, if their policy has changed, or if they have reached a time limit. When
// nothing else is left of a page, Sweep erases its record, except for the dates. A policy that
// could not be read erases nothing (X63).
//
// Sweep calls told, which may be nil, for every item; all items of a page come together. Sweep may
// run at the same time as Receive and other sweeps. It skips pages whose records are damaged; the
// error names these pages.
func (h *Holdings) Sweep(ctx context.Context, o SweepOptions, told func(Swept)) (SweepCounts, error) {
	return h.sweep(ctx, o, told, func() {})
}

// withDefaults returns o with defaults filled in.
func (h *Holdings) withDefaults(o SweepOptions) SweepOptions {
	if o.Policies == nil {
		o.Policies, o.For = h.o.Known, h.o.For
	} else if o.For == "" {
		o.All = true
	}
	if o.AsOf.IsZero() {
		o.AsOf = h.o.Now()
	}
	o.AsOf = o.AsOf.UTC()
	return o
}

// sweepPage sweeps one page; r is its archive record.
func (h *Holdings) sweepPage(ctx context.Context, r archive.Resource, o SweepOptions) (d sweepPlan, err error) {
	defer func() {
		if isPanic(err) {
			d = sweepPlan{known: r}
		}
	}()
	defer defect.Catch(&err, r.URL, h.o.Defect)
	for range sweepTries {
		if err := ctx.Err(); err != nil {
			return sweepPlan{known: r}, err
		}
		d, err = h.planSweep(ctx, r, o)
		if err == nil && !o.DryRun {
			err = h.executePlan(ctx, d)
		}
		if err == nil && !o.DryRun && d.again {
			h.o.Again(r.URL)
		}
		lost := errors.Is(err, archive.ErrNotHeld)
		if !errors.Is(err, errMoved) && !lost {
			return d, err
		}
		was, missing := r, err
		if r, _, err = h.archive.Resource(r.URL); err != nil {
			return d, err
		}
		// if the record of the page is unchanged, the missing capture was not erased by another
		// goroutine
		if err = errMoved; lost && !moved(r, was) {
			err = fmt.Errorf("its record is %w: %w", archive.ErrCorrupt, missing)
		}
	}
	if !errors.Is(err, errMoved) {
		return sweepPlan{known: r}, err
	}
	// give up: the page is received again and again, and each time it is received, it is checked
	return sweepPlan{known: r, plan: plan{held: d.held}}, nil
}

// isPanic reports whether err comes from a panic on one page, after which other pages are still
// processed.
func isPanic(err error) bool {
	_, is := errors.AsType[*defect.Error](err)
	return is
}

// errMoved means that the page was received or swept between the decision about the page and the
// writing.
var errMoved = errors.New("received at the same time")

// moved reports whether a page was received or swept between two reads of its archive record: was
// is the earlier record, now the later one.
func moved(now, was archive.Resource) bool {
	return !now.LastCrawled.Equal(was.LastCrawled) || now.Current != was.Current || now.Versions != was.Versions ||
		now.Indexed != was.Indexed ||
		now.Kept.Digest() != was.Kept.Digest()
}

// executePlan executes the plan d. It first rebuilds the index entries that may stay, then writes
// to the archive, then deletes from the index. If it is interrupted, the next sweep or the next
// Open completes the plan.
func (h *Holdings) executePlan(ctx context.Context, d sweepPlan) error {
	if len(d.swept) == 0 {
		return nil
	}
	address := d.known.URL
	mu := h.lock(address)
	mu.Lock()
	defer mu.Unlock()
	known, _, err := h.archive.Resource(address)
	switch {
	case err != nil:
		return err
	case moved(known, d.known):
		return errMoved
	}
	if err := h.rewrite(ctx, d); err != nil {
		return err
	}
	if d.whole {
		err = h.dropAll(ctx, d)
	} else {
		err = h.dropSome(ctx, d)
	}
	switch {
	case err != nil:
		return err
	case known.Indexed && (d.whole || d.forget):
		return h.writeIndex(change{url: address, wait: true})
	case d.whole:
		h.archive.Done(address) // the page was not in the index
	}
	return nil
}

// rewrite writes the items of a page that are made again. This comes before anything is erased.
func (h *Holdings) rewrite(ctx context.Context, d sweepPlan) error {
	address := d.known.URL
	for _, part := range d.awaits {
		if err := h.archive.Await(ctx, part, archive.ForAnswer, address); err != nil {
			return err
		}
	}
	if d.barred {
		if err := h.stopAwaiting(ctx, address, everyPart); err != nil {
			return err
		}
	}
	if d.document != nil {
		if err := h.writeIndex(change{doc: d.document, url: address, wait: true}); err != nil {
			return err
		}
	}
	if d.saved != nil {
		if err := h.archive.SetPicture(ctx, address, 0, *d.saved); err != nil {
			return err
		}
	}
	if d.kept != nil {
		err := h.archive.Update(ctx, address, func(r *archive.Resource) { r.Kept = *d.kept })
		if err != nil {
			return err
		}
	}
	return nil
}

// writeIndex sends a change to the index and waits until it is written.
func (h *Holdings) writeIndex(c change) error {
	wait, err := h.indexer.send(c)
	if err != nil {
		return err
	}
	return wait()
}

// dropSome erases copies or the index entry of a page, if other items of the page stay.
func (h *Holdings) dropSome(ctx context.Context, d sweepPlan) error {
	for _, s := range d.swept {
		err := h.dropCopy(ctx, s)
		if s.What == SweptPicture {
			err = h.archive.ErasePicture(ctx, s.URL, s.Version)
		}
		if err != nil {
			return err
		}
	}
	if !d.forget {
		return nil
	}
	err := h.archive.Update(ctx, d.known.URL, func(r *archive.Resource) {
		r.Kept.Index, r.Kept.Aside, r.Kept.Same = "", nil, ""
		r.Indexed = false
	})
	for _, s := range d.swept {
		if err == nil && s.What == SweptEntry {
			h.o.Erased(archive.Tombstone{URL: s.URL, Entry: true, Reason: s.Reason, Why: s.Why, Line: s.Line})
		}
	}
	return err
}

func (h *Holdings) dropCopy(ctx context.Context, s Swept) error {
	if s.capture == 0 {
		return nil
	}
	err := h.archive.EraseCapture(ctx, s.capture,
		archive.Tombstone{Reason: s.Reason, Why: s.Why, Line: s.Line, Asked: s.asked})
	if errors.Is(err, archive.ErrNotHeld) {
		return nil
	}
	return err
}

// dropAll erases everything stored for a page. If the address of the page redirects elsewhere now,
// it continues to redirect. If the page had only a record, its dates and status stay, and no
// tombstone is written, because otherwise every crawl would add a tombstone.
func (h *Holdings) dropAll(ctx context.Context, d sweepPlan) error {
	final, err := h.archive.Resolve(d.known.URL)
	if err != nil {
		return err
	}
	last := d.swept[len(d.swept)-1]
	// the reason of an excerpt is not used for the tombstone, because it may be a policy line about
	// another resource
	for _, s := range d.swept {
		if s.What != SweptExcerpt {
			last = s
		}
	}
	elsewhere := final != d.known.URL && !last.asked
	for _, s := range d.swept {
		if elsewhere || s.Why != last.Why || s.Line != last.Line { // a tombstone names one policy line
			if err := h.dropCopy(ctx, s); err != nil {
				return err
			}
		}
	}
	if elsewhere || last.What == SweptRecord && !last.asked {
		if err := h.archive.ErasePicture(ctx, d.known.URL, 0); err != nil {
			return err
		}
		return h.archive.Update(ctx, d.known.URL, func(r *archive.Resource) {
			*r = archive.Resource{LastCrawled: r.LastCrawled, Status: r.Status}
		})
	}
	_, err = h.archive.Erase(ctx, archive.Tombstone{URL: d.known.URL, Reason: last.Reason, Why: last.Why,
		Line: last.Line, Asked: last.asked})
	return err
}
