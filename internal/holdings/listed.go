package holdings

import (
	"context"
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
)

// lister checks during a sweep of all pages that the list of due pages contains each page by the
// time at which a sweep must check it.
type lister struct {
	*Holdings
	due     map[string]bool // pages that the list contains now
	changed map[string]bool // origins whose pages will be listed, because their policies have changed
	lacking []string
}

// newLister returns a lister for the sweep o. It returns nil if the list is not complete:
// then every page is due.
func (h *Holdings) newLister(o SweepOptions) (*lister, error) {
	if h.o.Version == nil {
		return nil, nil
	}
	if lists, err := h.archive.ListsDue(h.identity(o)); err != nil || !lists {
		return nil, err
	}
	l := &lister{Holdings: h, due: map[string]bool{}, changed: map[string]bool{}}
	changed, err := h.changedPolicies("")
	for _, v := range changed {
		l.changed[v.Origin] = true
	}
	if err != nil {
		return nil, err
	}
	return l, h.archive.EachDue("", o.AsOf, func(d archive.Due) error {
		l.due[d.URL] = true
		return nil
	})
}

// check adds a page to l.lacking if the list lacks it. d is what a sweep would do with the page.
func (l *lister) check(d *sweepPlan) error {
	if l == nil || d.witness == nil || l.due[d.known.URL] {
		return nil
	}
	for origin := range d.witness.used {
		if l.changed[origin] {
			return nil
		}
	}
	limit, never := time.Time{}, false
	if decided, ok := d.decided(archive.Due{}); ok {
		limit, never = decided.Until, decided.Until.IsZero()
	}
	lists, err := l.archive.Lists(d.known.URL, limit)
	if err == nil && !never && !lists {
		l.lacking = append(l.lacking, d.known.URL)
	}
	return err
}

// problems returns the problems that check has found.
func (l *lister) problems() (list []archive.Problem) {
	if l == nil {
		return nil
	}
	for _, address := range l.lacking {
		list = append(list, archive.Problem{Where: address,
			What: "is missing from the list of pages that a sweep checks", Repairable: true})
	}
	return list
}

// sweepAllDry calls told with everything that a sweep of all pages would do. It returns a lister
// with the pages that the list of due pages lacks, or nil if the list is not complete.
func (h *Holdings) sweepAllDry(ctx context.Context, told func(Swept)) (l *lister, err error) {
	o := h.withDefaults(SweepOptions{DryRun: true, All: true})
	if l, err = h.newLister(o); err != nil {
		return nil, err
	}
	o.examine = l.check
	if _, err = h.Sweep(ctx, o, told); err != nil || l == nil {
		return l, err
	}
	lacking := l.lacking
	l.lacking = nil
	for _, address := range lacking { // a page may have changed after it was checked
		r, _, err := h.archive.Resource(address)
		if err != nil {
			return l, err
		}
		d, err := h.planSweep(ctx, r, o)
		if err == nil {
			err = l.check(&d)
		}
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

// listLacking adds to the list of due pages what it lacks.
func (h *Holdings) listLacking(ctx context.Context, told func(archive.Repaired)) error {
	l, err := h.sweepAllDry(ctx, nil)
	if err != nil || l == nil {
		return ctx.Err() // other errors are ignored here, because verifyRest reports them
	}
	if err := h.archive.List(ctx, l.lacking...); err != nil {
		return err
	}
	for _, p := range l.problems() {
		if told != nil {
			told(archive.Repaired{Problem: p, Done: "the next sweep checks it"})
		}
	}
	return nil
}
