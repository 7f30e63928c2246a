package holdings

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/terms"
)

// witness supplies policies for one decision about a page, and records what the decision depends
// on.
type witness struct {
	terms.Policies
	version func(*url.URL) archive.PolicyVersion
	used    map[string]archive.PolicyVersion // by origin: the version that was used
	asked   []*url.URL
	// the decision may change although no policy, no record and no time limit changes
	unsure bool
}

// Policy returns the policy in force for u.
func (w *witness) Policy(ctx context.Context, u *url.URL) (*acap.Policy, error) {
	if w.unsure {
		return w.Policies.Policy(ctx, u)
	}
	is := w.version(u)
	p, err := w.Policies.Policy(ctx, u)
	was, again := w.used[is.Origin]
	switch r := acap.NewResource(u); {
	case err != nil, is.Since.IsZero(), again && !was.Since.Equal(is.Since), waits(p, r),
		p.Decide(acap.Crawl, r).Reason == acap.Unavailable:
		w.unsure = true
	case !again:
		w.used[is.Origin] = is
		w.asked = append(w.asked, u)
	}
	return p, err
}

// At implements terms.Past. What was said in the past does not change, so nothing is recorded.
func (w *witness) At(u *url.URL, t time.Time) *acap.Policy {
	if past, ok := w.Policies.(terms.Past); ok {
		return past.At(u, t)
	}
	return nil
}

// waits reports whether p contains a take-down request for r that is not in force, for instance
// because it must be confirmed. It may come into force without a new version of the policy.
func waits(p *acap.Policy, r acap.Resource) bool {
	for _, a := range p.Actions() {
		if !a.Execute && a.Action == acap.TakeDown && a.URL == r.URL {
			return true
		}
	}
	return false
}

// versions returns the versions of the policies that were used. ok is false if they do not
// determine the decision, for instance because one of them has changed meanwhile.
func (w *witness) versions() (list []archive.PolicyVersion, ok bool) {
	if w.unsure {
		return nil, false
	}
	for _, u := range w.asked {
		is := w.version(u)
		if !is.Since.Equal(w.used[is.Origin].Since) {
			return nil, false
		}
		list = append(list, is)
	}
	return list, true
}

// identity names everything that the decisions of a sweep depend on, except for records, versions
// of policies and the clock.
func (h *Holdings) identity(o SweepOptions) string {
	return fmt.Sprintf("%s, noarchive %t", o.For, h.o.NoArchive)
}

// lists reports whether the archive lists the pages that a sweep must check. Otherwise the sweep
// must check all pages. Except in a dry run, lists first lists the pages whose policy has changed;
// if the last decisions were made for another crawler, these are all pages. changed are the
// policies whose pages are not listed, because this is a dry run.
func (h *Holdings) lists(ctx context.Context, o SweepOptions) (lists bool, changed []archive.PolicyVersion,
	err error) {
	if o.All || h.o.Version == nil {
		return false, nil, nil
	}
	h.listing.Lock()
	defer h.listing.Unlock()
	if lists, err = h.archive.ListsDue(h.identity(o)); err != nil {
		return false, nil, err
	}
	changed, err = h.changedPolicies(o.Origin)
	if err != nil || o.DryRun {
		return lists, changed, err
	}
	if !lists {
		err = h.archive.ListAll(ctx, h.identity(o))
	}
	if err == nil {
		err = h.listChanged(ctx, o, changed)
	}
	if disk.Full(err) { // what may no longer be stored must be erased nevertheless
		return false, nil, nil
	}
	return err == nil, nil, err
}

// listChanged lists the pages whose policy is one of those in changed. If the sweep o checks only
// one origin, it also queues a check of pages of other origins that were listed.
func (h *Holdings) listChanged(ctx context.Context, o SweepOptions, changed []archive.PolicyVersion) error {
	for _, v := range changed {
		others, err := h.archive.ListOrigin(ctx, v)
		if err != nil {
			return err
		}
		if others && o.Origin != "" {
			h.background.add(h, task{})
		}
	}
	return nil
}

// changedPolicies returns today's versions of those policies that have changed since pages were
// decided by them. If origin is not "", it looks only at the policy of this origin.
func (h *Holdings) changedPolicies(origin string) (changed []archive.PolicyVersion, err error) {
	err = h.archive.EachJudged(func(was archive.PolicyVersion) error {
		u, err := url.Parse(was.Origin + "/")
		if err != nil || origin != "" && was.Origin != origin {
			return err
		}
		if is := h.o.Version(u); is.Since.IsZero() || !is.Since.Equal(was.Since) {
			changed = append(changed, archive.PolicyVersion{Origin: was.Origin, Since: is.Since})
		}
		return nil
	})
	return changed, err
}

// eachToCheck calls fn for the pages that a sweep must check, each with the entry of the list of
// due pages that names it. The entry is zero if the page is not listed.
func (h *Holdings) eachToCheck(ctx context.Context, o SweepOptions,
	fn func(archive.Resource, archive.Due) error) error {
	lists, changed, err := h.lists(ctx, o)
	if err != nil {
		return err
	}
	prefix := ""
	if o.Origin != "" {
		prefix = o.Origin + "/"
	}
	if !lists {
		return h.archive.EachUnder(prefix, func(r archive.Resource) error { return fn(r, archive.Due{}) })
	}
	if !o.DryRun {
		return h.archive.EachDue(prefix, o.AsOf, func(d archive.Due) error { return h.withRecord(d, fn) })
	}
	// A dry run must report a page once, even if it is listed twice. Another sweep finds nothing to
	// do the second time.
	once := onceEach(changed)
	if err := h.eachChanged(changed, prefix, once, fn); err != nil {
		return err
	}
	return h.archive.EachDue(prefix, o.AsOf, func(d archive.Due) error {
		if !once(d.URL) {
			return nil
		}
		return h.withRecord(d, fn)
	})
}

// onceEach returns a function that returns true once for each address. It never returns true for
// addresses of the origins in except.
func onceEach(except []archive.PolicyVersion) func(address string) bool {
	seen := map[string]bool{}
	return func(address string) bool {
		again := seen[address] || slices.ContainsFunc(except, func(v archive.PolicyVersion) bool {
			return strings.HasPrefix(address, v.Origin+"/")
		})
		seen[address] = true
		return !again
	}
}

// withRecord calls fn with the record of a page and its entry in the list of due pages.
func (h *Holdings) withRecord(d archive.Due, fn func(archive.Resource, archive.Due) error) error {
	r, _, err := h.archive.Resource(d.URL)
	if err != nil {
		return err
	}
	r.URL = d.URL
	return fn(r, d)
}

// eachChanged calls fn for the pages whose URLs begin with prefix and that were decided by one of
// the policies in changed. It calls fn only for those pages of other origins for which once returns
// true.
func (h *Holdings) eachChanged(changed []archive.PolicyVersion, prefix string, once func(address string) bool,
	fn func(archive.Resource, archive.Due) error) error {
	for _, v := range changed {
		err := h.archive.EachUnder(v.Origin+"/", func(r archive.Resource) error { return fn(r, archive.Due{}) })
		if err != nil {
			return err
		}
		others, err := h.archive.Leaning(v.Origin)
		if err != nil {
			return err
		}
		for _, address := range others {
			if !strings.HasPrefix(address, prefix) || !once(address) {
				continue
			}
			if err := h.withRecord(archive.Due{URL: address}, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// decided returns the result of the plan for SetDecided: until when the page needs no new decision.
// ok is false if the page must be decided again: the plan changes something or is uncertain.
func (d *sweepPlan) decided(entry archive.Due) (out archive.Decided, ok bool) {
	if len(d.swept) > 0 || d.unjudged || d.need != nothing || d.witness == nil {
		return out, false
	}
	out = archive.Decided{Due: entry, Until: *d.next}
	out.Policies, ok = d.witness.versions()
	return out, ok
}

// noteDecided takes those pages off the list of due pages of which nothing has to change now. Each
// list in entries contains one entry for each page in done; an entry without a URL is ignored.
// noteDecided does nothing in a dry run, or if the sweep assumes a later time.
func (h *Holdings) noteDecided(ctx context.Context, o SweepOptions, done []sweptPage, entries ...[]archive.Due) error {
	if o.DryRun || o.AsOf.After(h.o.Now()) {
		return nil
	}
	var list []archive.Decided
	for i := range done {
		d, ok := done[i].decided(archive.Due{})
		if !ok || done[i].err != nil {
			continue
		}
		d.For = h.identity(o)
		for _, of := range entries {
			if d.Due = of[i]; d.URL != "" {
				list = append(list, d)
			}
		}
	}
	if err := h.archive.SetDecided(ctx, list...); !disk.Full(err) {
		return err
	}
	return nil
}

// decideAgain decides again about those pages of a batch that the sweep has changed. They are then
// no longer due. led contains the list entries because of which the pages were decided before.
func (h *Holdings) decideAgain(ctx context.Context, o SweepOptions, done []sweptPage, led []archive.Due) error {
	if o.DryRun || h.o.Version == nil {
		return nil
	}
	var pages []archive.Resource
	var entries, limits []archive.Due
	for i, d := range done {
		if d.err != nil || len(d.swept) == 0 {
			continue
		}
		entry, due, err := h.archive.DueSince(d.known.URL)
		if err != nil {
			return err
		}
		r, known, err := h.archive.Resource(d.known.URL)
		if err != nil {
			return err
		}
		if !due || !known {
			continue
		}
		limit := led[i]
		if limit.At.IsZero() { // this entry was replaced
			limit.URL = ""
		}
		pages, entries, limits = append(pages, r), append(entries, entry), append(limits, limit)
	}
	only := o
	only.DryRun = true
	return h.noteDecided(ctx, o, h.sweepAll(ctx, pages, only), entries, limits)
}

// limitNew is called if nothing is known about the page yet. It decides as a sweep would
// after the page is stored, and puts the decision into the deposit's Limit.
func (h *Holdings) limitNew(ctx context.Context, g *assessment) error {
	if h.o.Version == nil {
		return nil
	}
	o := h.withDefaults(SweepOptions{})
	r, captures := g.deposit.Preview()
	held := heldPage{Resource: r, captures: captures, unwritten: true}
	if p := g.deposit.Picture; p != nil {
		held.pictured = map[int]bool{r.Versions: p.Other}
	}
	d, err := h.planHeld(ctx, held, o)
	if err != nil {
		return ctx.Err() // the page stays due
	}
	if limit, ok := d.decided(archive.Due{URL: r.URL}); ok {
		limit.For = h.identity(o)
		g.deposit.Limit = &limit
	}
	return nil
}
