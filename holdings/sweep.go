package holdings

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/defect"
	"github.com/acapcrawl/acapcrawl/terms"
)

const (
	sweepBatch  = 256 // pages judged before what became of them is told
	sweepers    = 64  // pages under way at a time: those that wait for the disk share a write
	sweepTries  = 3   // how often a page is judged that is received meanwhile
	sweepErrors = 20  // errors told of pages that could not be judged
)

// SweepOptions say what is swept, and under which clock.
type SweepOptions struct {
	AsOf     time.Time       // the clock of time limits; zero: now
	DryRun   bool            // tell what would go and change nothing
	Origin   string          // what is held of this origin alone, named as archive.PolicyVersion does; "": everything
	Policies terms.Policies  // whose word counts, without a request; nil: Options.Known
	Progress func(pages int) // is told now and then how many were judged; may be nil
}

// Swept is one thing that may no longer be held as it is.
type Swept struct {
	URL     string `json:"url"`
	What    string `json:"what"`              // SweptCopy, SweptEntry, SweptExcerpt, SweptPicture or SweptRecord
	Version int    `json:"version,omitempty"` // of a copy, or of a thumbnail
	Anew    bool   `json:"anew,omitempty"`    // an index entry that was not dropped but made again, as it may be now
	// as in archive.Erasure; empty where something else of the page is the reason
	Reason string `json:"reason,omitempty"`
	Why    string `json:"why"`            // a clause
	Line   string `json:"line,omitempty"` // the line that decided, if one did

	TakenDown bool `json:"taken_down,omitempty"` // at the publisher's request

	capture uint64 // of a copy
}

// What is swept.
const (
	SweptCopy    = "copy"
	SweptEntry   = "index entry"
	SweptExcerpt = "excerpt"   // what is kept to present the page: title, excerpt, parts of other resources
	SweptPicture = "thumbnail" // one that is held beside the copy
	SweptRecord  = "record"    // what is known of a page beside them: title, excerpt, its own statements
)

// SweepCounts count what a sweep did, or would do.
type SweepCounts struct {
	Pages    int `json:"pages"`      // judged
	Copies   int `json:"copies"`     // gone
	Entries  int `json:"entries"`    // index entries gone
	Renewed  int `json:"renewed"`    // index entries made again
	Excerpts int `json:"excerpts"`   // pages of which what is kept to present them is gone, or some of it
	Pictures int `json:"thumbnails"` // gone, of those that are held beside copies
	Records  int `json:"records"`    // pages of which nothing was left but their record, which is gone too
	// pages left as they are, since no policy could be read that would say otherwise (X63)
	Unjudged int `json:"unjudged"`
}

func (c *SweepCounts) add(d due) {
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

// Sweep judges what is held by the policy last read and by the clock, and ends what may no longer
// be held: copies, index entries, and with the last of them what is known of the page; its dates
// stay. Policy that could not be read ends nothing (X63). told is called for every item, in the
// order of URLs, and may be nil. It may run beside Receive and other sweeps. A page whose record is
// damaged is passed over; the error names it.
func (h *Holdings) Sweep(ctx context.Context, o SweepOptions, told func(Swept)) (SweepCounts, error) {
	return h.sweep(ctx, o, told, func() {})
}

// sweep is Sweep; between is called after each batch.
func (h *Holdings) sweep(ctx context.Context, o SweepOptions, told func(Swept), between func()) (counts SweepCounts,
	err error) {
	o = h.settled(o)
	prefix := ""
	if o.Origin != "" {
		prefix = o.Origin + "/"
	}
	var failed []error
	batch := make([]archive.Resource, 0, sweepBatch)
	flush := func() error {
		for _, r := range h.sweepAll(ctx, batch, o) {
			switch {
			case r.err != nil && (ctx.Err() != nil || !errors.Is(r.err, archive.ErrCorrupt) && !broken(r.err)):
				return r.err
			case r.err != nil:
				if len(failed) < sweepErrors {
					failed = append(failed, fmt.Errorf("%s could not be judged: %w", r.known.URL, r.err))
				}
				continue
			}
			counts.add(r.due)
			for _, s := range r.swept {
				if told != nil {
					told(s)
				}
			}
		}
		batch = batch[:0]
		if o.Progress != nil {
			o.Progress(counts.Pages)
		}
		between()
		return ctx.Err()
	}
	err = h.archive.EachUnder(prefix, func(r archive.Resource) error {
		if batch = append(batch, r); len(batch) < cap(batch) {
			return ctx.Err()
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return counts, errors.Join(append(failed, err)...)
}

// settled gives o with the defaults in place.
func (h *Holdings) settled(o SweepOptions) SweepOptions {
	if o.Policies == nil {
		o.Policies = h.o.Known
	}
	if o.AsOf.IsZero() {
		o.AsOf = h.o.Now()
	}
	o.AsOf = o.AsOf.UTC()
	return o
}

type sweptPage struct {
	due
	err error
}

// sweepAll sweeps some pages, several at a time.
func (h *Holdings) sweepAll(ctx context.Context, pages []archive.Resource, o SweepOptions) []sweptPage {
	out := make([]sweptPage, len(pages))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(sweepers, len(pages)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(pages)); i = next.Add(1) - 1 {
				out[i].due, out[i].err = h.sweepPage(ctx, pages[i], o)
			}
		})
	}
	wg.Wait()
	return out
}

// sweepPage sweeps one page, of which r is known.
func (h *Holdings) sweepPage(ctx context.Context, r archive.Resource, o SweepOptions) (d due, err error) {
	defer func() {
		if broken(err) {
			d = due{known: r}
		}
	}()
	defer defect.Catch(&err, r.URL, h.o.Defect)
	for range sweepTries {
		if err := ctx.Err(); err != nil {
			return due{known: r}, err
		}
		d, err = h.due(ctx, r, o)
		if err == nil && !o.DryRun {
			err = h.carryOut(ctx, d)
		}
		lost := errors.Is(err, archive.ErrNotHeld)
		if !errors.Is(err, errMoved) && !lost {
			return d, err
		}
		was, missing := r, err
		if r, _, err = h.archive.Resource(r.URL); err != nil {
			return d, err
		}
		if err = errMoved; lost && !moved(r, was) { // nobody took it
			err = fmt.Errorf("what is known of it is %w: %w", archive.ErrCorrupt, missing)
		}
	}
	if !errors.Is(err, errMoved) {
		return due{known: r}, err
	}
	return due{known: r, plan: plan{held: d.held}}, nil // it is received all the time, and judged each time
}

// broken reports whether err is a panic on one page: the others are judged all the same.
func broken(err error) bool {
	_, is := errors.AsType[*defect.Error](err)
	return is
}

// errMoved: the page was received, or swept, after it was judged.
var errMoved = errors.New("received at the same time")

// moved reports whether a page of which was was known has been received, or swept, since.
func moved(now, was archive.Resource) bool {
	return !now.LastCrawled.Equal(was.LastCrawled) || now.Current != was.Current || now.Versions != was.Versions ||
		now.Indexed != was.Indexed ||
		now.Kept.Digest() != was.Kept.Digest()
}

// carryOut does what is due. What may stay of the index is made again first, and the archive is
// written before the index forgets: cut short anywhere, it leaves what another sweep, or the next
// opening, brings to its end.
func (h *Holdings) carryOut(ctx context.Context, d due) error {
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
		return h.enter(change{url: address, wait: true})
	case d.whole:
		h.archive.Done(address) // it was not to be found
	}
	return nil
}

// rewrite writes what is made again of a page, before anything of it goes.
func (h *Holdings) rewrite(ctx context.Context, d due) error {
	address := d.known.URL
	for _, part := range d.awaits {
		if err := h.archive.Await(ctx, part, archive.ForAnswer, address); err != nil {
			return err
		}
	}
	if d.barred {
		if err := h.unawait(ctx, address, every); err != nil {
			return err
		}
	}
	if d.document != nil {
		if err := h.enter(change{doc: d.document, url: address, wait: true}); err != nil {
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

// enter passes a change on to the index and waits until it has it.
func (h *Holdings) enter(c change) error {
	wait, err := h.indexer.send(c)
	if err != nil {
		return err
	}
	return wait()
}

// dropSome ends copies, or the index entry, of a page of which something is left.
func (h *Holdings) dropSome(ctx context.Context, d due) error {
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
		archive.Tombstone{Reason: s.Reason, Why: s.Why, Line: s.Line, Asked: s.TakenDown})
	if errors.Is(err, archive.ErrNotHeld) {
		return nil
	}
	return err
}

// dropAll ends all that is held of a page. An address that leads elsewhere by now goes on doing so.
// Of a page of which nothing was held but its record none but dates and status stay, and no
// tombstone says so: it would be buried again after each crawl.
func (h *Holdings) dropAll(ctx context.Context, d due) error {
	final, err := h.archive.Resolve(d.known.URL)
	if err != nil {
		return err
	}
	last := d.swept[len(d.swept)-1]
	for _, s := range d.swept { // what was made of another resource goes by that one's line
		if s.What != SweptExcerpt {
			last = s
		}
	}
	elsewhere := final != d.known.URL && !last.TakenDown
	for _, s := range d.swept {
		if elsewhere || s.Why != last.Why || s.Line != last.Line { // a tombstone names one line
			if err := h.dropCopy(ctx, s); err != nil {
				return err
			}
		}
	}
	if elsewhere || last.What == SweptRecord && !last.TakenDown {
		if err := h.archive.ErasePicture(ctx, d.known.URL, 0); err != nil {
			return err
		}
		return h.archive.Update(ctx, d.known.URL, func(r *archive.Resource) {
			*r = archive.Resource{LastCrawled: r.LastCrawled, Status: r.Status}
		})
	}
	_, err = h.archive.Erase(ctx, archive.Tombstone{URL: d.known.URL, Reason: last.Reason, Why: last.Why,
		Line: last.Line, Asked: last.TakenDown})
	return err
}
