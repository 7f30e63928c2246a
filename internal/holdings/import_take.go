package holdings

import (
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/defect"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
	"github.com/acapcrawl/acapcrawl/warc"
)

// importSafely calls importResponse. If importResponse panics, importSafely sets the outcome Broken
// and the reason.
func (m *importer) importSafely(x *incoming) (err error) {
	defer func() {
		if isPanic(err) {
			x.result.Outcome, x.result.Why, err = Broken, err.Error(), nil
		}
	}()
	defer defect.Catch(&err, x.url, m.Holdings.o.Defect)
	return m.importResponse(x)
}

// importResponse decides about one response and stores the response if the policies permit. It sets
// the result of x.
func (m *importer) importResponse(x *incoming) error {
	u, err := url.Parse(x.url)
	if err != nil {
		return err
	}
	origin, err := m.o.Policies.Policy(m.ctx, u)
	if err != nil {
		x.refuse(err.Error(), "")
		return m.ctx.Err()
	}
	// X02: a page that may not be crawled is treated as never lawfully fetched
	if d := origin.Decide(acap.Crawl, acap.NewResource(u)); !d.Allowed {
		x.refuse(d.Why(), d.Because.String())
		return nil
	}
	if down := terms.TakeDown(origin, u); down != nil {
		x.refuse(takenDown, down.String())
		return nil
	}
	stone, gone, err := m.erasedSince(x.url, x.at, archive.Tombstone.TakenDown)
	if err != nil {
		return err
	}
	if gone {
		x.refuse(takenDown+" on "+stone.When.Format(time.DateOnly), stone.Line)
		return nil
	}
	if x.revisit {
		switch found, err := m.original(x); {
		case err != nil:
			return err
		case !found && x.redirect: // a redirect is imported even without its body
			x.truncated, x.bare = true, true
		case !found && !m.last:
			x.waits = true
			return nil
		case !found:
			x.skip(m.revisits.why(x))
			return nil
		}
	}
	if x.redirect {
		return m.keepRedirect(x, u, origin)
	}
	for range sweepTries {
		if err = m.importPage(x, u, origin); !errors.Is(err, errMoved) {
			break
		}
	}
	return err
}

// importPage decides about a response and stores it if permitted. The decision depends on the
// current archive record of the response's address. If this record changes before the response is
// stored, importPage returns errMoved.
func (m *importer) importPage(x *incoming, u *url.URL, origin *acap.Policy) error {
	known, _, err := m.archive.Resource(x.url)
	if err != nil {
		return err
	}
	if again, err := m.alreadyStored(x, known); err != nil || again {
		return err
	}
	if refused, err := m.refuseForgotten(x); err != nil || refused {
		return err
	}
	ctx, lease := m.Holdings.o.Budget.Lease(m.ctx)
	defer lease.Release()
	pg, err := m.page(ctx, x)
	if pg == nil || err != nil {
		return err
	}
	weight, risky := pg.Weight()
	if err := lease.Hold(ctx, weight); err != nil {
		return err
	}
	if risky {
		if err := lease.Alone(ctx, pg.Parse); err != nil {
			return err
		}
	}
	return m.storePage(x, u, origin, known, pg)
}

// erasedSince reports whether something of an address was erased, for a reason that is true for because, after the time
// at, when a response was received. A response that was taken down stays erased, although the take-down request is no
// longer in the policy.
func (m *importer) erasedSince(address string, at time.Time, because func(archive.Tombstone) bool) (
	stone archive.Tombstone, gone bool, err error) {
	stones, err := m.archive.Tombstones(address)
	for _, t := range stones {
		if because(t) && !at.After(t.When) {
			return t, true, nil
		}
	}
	return stone, false, err
}

// refuseForgotten refuses x if the operator has erased the page after x was received, and the import does not ask for
// such captures.
func (m *importer) refuseForgotten(x *incoming) (refused bool, err error) {
	if m.o.Forgotten {
		return false, nil
	}
	stone, forgotten, err := m.erasedSince(x.url, x.at, archive.Tombstone.Forgotten)
	if forgotten {
		x.result.Outcome = Forgot
		x.result.Why = "erased by the operator on " + stone.When.Format(time.DateOnly) + ": " + stone.Why
	}
	return forgotten, err
}

func (x *incoming) refuse(why, line string) {
	x.result.Outcome, x.result.Why, x.result.Line = Barred, why, line
}

// original finds the payload of the revisit record x. It looks among the captures of this import and of those that
// share its Revisits, and among the stored captures of the address that x names.
func (m *importer) original(x *incoming) (bool, error) {
	id := x.repeats
	if id == 0 {
		address, err := m.o.Normal(x.refersURL)
		if err != nil {
			return false, nil
		}
		captures, err := m.archive.Captures(address)
		if err != nil {
			return false, err
		}
		for _, c := range captures {
			if same, err := m.matches(c, x.digest); err != nil {
				return false, err
			} else if same {
				id = c.ID
			}
		}
	}
	c, err := m.archive.Capture(id)
	if err == nil {
		x.payload, err = m.archive.Wire(id)
	}
	if errors.Is(err, archive.ErrNotHeld) {
		return false, nil
	}
	if x.message.Line == "" {
		x.message.Line, x.message.Head, x.message.Header = "HTTP/1.1 200 OK", c.Head, c.Header
	}
	x.truncated = c.Truncated
	x.verified = true
	if c.Cut {
		x.cut, x.bare, x.said = true, true, append(x.said, c.Own)
	}
	return true, err
}

// matches reports whether the payload of a capture has the given digest, which names its hash
// function.
func (m *importer) matches(c archive.Capture, digest string) (bool, error) {
	if c.Payload == digest {
		return true, nil
	}
	wire, err := m.archive.Wire(c.ID)
	if errors.Is(err, archive.ErrNotHeld) {
		return false, nil
	}
	same, _ := warc.Matches(digest, wire)
	return same, err
}

// alreadyStored reports whether a capture with the same time and payload is already stored. A capture
// without the rendered document counts, too: it may have been left out when the page was imported.
func (m *importer) alreadyStored(x *incoming, known archive.Resource) (bool, error) {
	if known.Versions == 0 {
		return false, nil
	}
	ids, err := m.versionsAt(x.url, x.at)
	if err != nil {
		return false, err
	}
	digest := archive.Digest(x.payload)
	for _, id := range ids {
		c, err := m.archive.Capture(id)
		if errors.Is(err, archive.ErrNotHeld) { // erased since the times were read
			continue
		}
		if err != nil {
			return false, err
		}
		if c.Payload == digest || c.Cut || x.redirect && c.Redirect() {
			x.result.Outcome, x.result.Version = Already, c.Version
			m.revisits.take(x, c.ID)
			return true, nil
		}
	}
	return false, nil
}

// storePage decides about a page of the past and stores it if permitted. It decides as if the first
// dates of the page, including those in the file, had always been known. If the address was crawled
// later or redirects elsewhere now, the page becomes an earlier version (H11).
func (m *importer) storePage(x *incoming, u *url.URL, origin *acap.Policy, known archive.Resource,
	pg *page.Page) error {
	final, err := m.archive.Resolve(x.url)
	if err != nil {
		return err
	}
	facts := acap.Facts{Now: m.Holdings.o.Now().UTC(), FirstCrawled: earliest(known.FirstCrawled, x.at),
		FirstIndexed:   known.FirstIndexed,
		FirstPreserved: earliest(known.FirstPreserved, x.at), FirstPresented: known.FirstPresented,
		Recrawled: known.LastCrawled.After(x.at) || final != x.url}
	own := pg.Own()
	for _, said := range x.said {
		own = terms.WithLost(own, said)
	}
	now := own
	if facts.Recrawled && known.Own.URL != "" {
		now = terms.Earlier(known.Own, own)
	}
	t := terms.Held(m.ctx, origin, u, now, pg, terms.Sources{Policies: m.o.Policies}, facts)
	g := m.assessPage(t, pg, nil, archive.Resource{}, true)
	g.deposit.Cuts = cuts(pg, g.Cuts)
	switch {
	case g.Discarded:
		d := t.Decide(acap.Crawl)
		x.refuse(d.Why(), d.Because.String())
		return nil
	case !g.Stored:
		if d := t.Preserving(m.Holdings.o.NoArchive); d.Allowed {
			x.refuse(g.copy.ground.why, g.copy.ground.line)
		} else {
			x.refuse(d.Why(), d.Because.String())
		}
		return nil
	}
	g.deposit.Past = true
	g.deposit.Resource.Own = own
	g.deposit.Cut = g.deposit.Cut || x.cut
	if g.deposit.Aliases, err = m.newAliases(g.deposit.Hops, x.url); err != nil {
		return err
	}
	c, err := m.writeCapture(x.url, final, known, g)
	if err != nil {
		return err
	}
	if err := m.eraseTakenDownHops(m.ctx, m.o.Policies, g.deposit.Hops); err != nil {
		return err
	}
	// a resource from which scripts made the page may have been taken down since the page was judged
	if last := pg.Last(); len(last.Made)+len(last.Ran) > 0 {
		g, err := m.sourceErased(x)
		if err != nil {
			return err
		}
		if g != nil {
			x.refuse(g.why, g.line)
			return m.eraseDerived(m.ctx, x.url, *g, func(archive.Resource) bool { return true })
		}
	}
	x.result.Outcome, x.result.Version, x.result.Cuts = TakenIn, c.Version, g.deposit.Cuts
	m.revisits.take(x, c.ID)
	m.noteVersion(x.url, c)
	return m.recheckCapture(x, u, origin, c.ID)
}

// earliest returns the earlier of two times. A zero time means that the time is not known.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// writeCapture writes a capture to archive and index. If the page was crawled later, the later
// version stays current and its index entry stays unchanged. final is where address redirected when
// the decision was made, and was is the record of address at that time.
func (m *importer) writeCapture(address, final string, was archive.Resource, g assessment) (c archive.Capture,
	err error) {
	large := g.document != nil && len(g.document.Text) > largeText
	wait, err := m.applyChange(m.ctx, address, change{doc: g.document, url: address, wait: g.wait || large},
		func(known archive.Resource) (bool, error) {
			leads, err := m.archive.Resolve(address)
			switch {
			case err != nil:
				return false, err
			case leads != final || moved(known, was):
				return false, errMoved
			case final != address || known.LastCrawled.After(g.deposit.Fetched):
				err = m.preparePast(address, known, g.deposit)
			default: // the earlier versions stay, and so must the resources from which scripts made them
				g.deposit.Resource.Kept.AddMade(known.Kept.Of[terms.Data], known.Kept.Of[terms.Scripts])
			}
			if err != nil {
				return false, err
			}
			c, err = m.archive.Receive(m.ctx, g.deposit)
			return c.Current && (g.document != nil || known.Indexed), err
		})
	if err == nil {
		err = wait()
	}
	return c, err
}

// preparePast changes known, the record of a page, before d is stored as an earlier version: storing it changes
// only dates in the record. preparePast sets LastCrawled to a time after the fetch, so that d does not become the
// current version. It adds the resources from which scripts made the rendered document of d, so that a take-down
// of one of them erases d.
func (m *importer) preparePast(address string, known archive.Resource, d archive.Deposit) error {
	made := d.Resource.Kept.Of[terms.Scripts]
	crawled := known.LastCrawled
	if !crawled.After(d.Fetched) {
		crawled = d.Fetched.Add(time.Nanosecond)
	}
	if crawled.Equal(known.LastCrawled) && !slices.ContainsFunc(made,
		func(source string) bool { return !known.Kept.MadeByScripts(source) }) {
		return nil
	}
	return m.archive.Update(m.ctx, address, func(r *archive.Resource) {
		r.LastCrawled = crawled
		r.Kept = r.Kept.Clone() // the archive compares it with the record before the change
		r.Kept.AddMade(d.Resource.Kept.Of[terms.Data], made)
	})
}

// newAliases returns those addresses in hops that may be recorded as aliases of address. These are
// the addresses after the last one that was crawled as a page or that now redirects elsewhere.
func (m *importer) newAliases(hops []archive.Via, address string) (aliases []string, err error) {
	for _, hop := range hops {
		known, _, err := m.archive.Resource(hop.URL)
		if err != nil {
			return nil, err
		}
		to, err := m.archive.Resolve(hop.URL)
		if err != nil {
			return nil, err
		}
		if aliases = append(aliases, hop.URL); !known.LastCrawled.IsZero() || to != hop.URL && to != address {
			aliases = nil
		}
	}
	return aliases, nil
}

// recheckCapture erases the imported capture if the policy has changed during the import and does
// not permit the capture. judged is the policy used for the import.
func (m *importer) recheckCapture(x *incoming, u *url.URL, judged *acap.Policy, id uint64) error {
	origin, err := m.o.Policies.Policy(m.ctx, u)
	if err != nil {
		return m.ctx.Err()
	}
	d, down, err := m.recheck(m.ctx, x.url, u, judged, origin, SweepOptions{Policies: m.o.Policies})
	if down != nil {
		x.refuse(takenDown, down.String())
	}
	for _, s := range d.swept {
		if s.capture == id {
			x.refuse(s.Why, s.Line)
		}
	}
	return err
}
