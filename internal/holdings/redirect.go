package holdings

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/internal/coding"
	"github.com/acapcrawl/acapcrawl/page"
	"github.com/acapcrawl/acapcrawl/terms"
)

// longestRedirect is the greatest number of bytes stored of the body of a redirect.
const longestRedirect = 256 << 10

// keepRedirects stores the redirects among hops that may be preserved, each as a capture of its own
// address and under the policy of that address.
func (h *Holdings) keepRedirects(ctx context.Context, hops []page.Hop) error {
	var kept []archive.Via
	for _, hop := range hops {
		if !isRedirect(hop) {
			continue
		}
		u, err := url.Parse(hop.URL)
		if err != nil {
			return err
		}
		origin, err := h.sources.Policies.Policy(ctx, u)
		if err != nil { // without a policy nothing may be stored
			continue
		}
		d, may := h.decideRedirect(ctx, origin, u, hop, h.sources)
		if !may.Allowed {
			continue
		}
		if _, err := h.archive.Receive(ctx, d); err != nil {
			return err
		}
		kept = append(kept, archive.Via{URL: hop.URL})
	}
	return h.eraseTakenDownHops(ctx, h.o.Known, kept)
}

// isRedirect reports whether a hop is a redirect (RFC 9110 15.4).
func isRedirect(hop page.Hop) bool {
	switch hop.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return hop.Header.Get("Location") != ""
	}
	return false
}

// decideRedirect decides whether a redirect may be preserved, by the policy of its own address and
// by its own statements, and returns its deposit.
func (h *Holdings) decideRedirect(ctx context.Context, origin *acap.Policy, u *url.URL, hop page.Hop,
	s terms.Sources) (archive.Deposit, acap.Decision) {
	if max(len(hop.Wire), len(hop.Body)) > longestRedirect {
		hop.Body, hop.Wire, hop.Undone, hop.Truncated = hop.Body[:min(len(hop.Body), longestRedirect)], nil,
			coding.Undone{}, true
	}
	pg, now := page.New([]page.Hop{hop}), h.o.Now().UTC()
	at := hop.Start.UTC()
	if hop.Start.IsZero() {
		at = now
	}
	facts := acap.Facts{Now: now, FirstCrawled: at, FirstPreserved: at}
	if known, _, err := h.archive.Resource(hop.URL); err == nil {
		facts.FirstCrawled, facts.FirstPreserved = earliest(known.FirstCrawled, at), earliest(known.FirstPreserved, at)
	}
	t := terms.Held(ctx, origin, u, pg.Own(), pg, s, facts)
	if may := t.Decide(acap.Crawl); !may.Allowed {
		return archive.Deposit{}, may
	}
	holding := t.HoldingCopy(h.o.NoArchive)
	may := holding.Preserve
	copied := decide(&evidence{facts: facts, noPreserve: h.o.NoPreserve, takenDown: terms.TakeDown(origin, u),
		received: &holding}).copy
	if !copied.held() {
		may.Allowed = false
		return archive.Deposit{}, may
	}
	d := archive.Deposit{Resource: archive.Resource{URL: hop.URL, Status: hop.Status, Own: pg.Own(),
		MIME: pg.MIME()}, Fetched: at,
		Body: holding.Body, Truncated: hop.Truncated, Cut: holding.Cut, Address: hop.Address, Header: hop.Header,
		Sent: hop.Sent,
		Head: hop.Head, Policy: h.version(u), Decided: decided(t, u), Replace: copied.recrawled}
	if !holding.Cut {
		d.Wire, d.Undone, d.Encoding = hop.Wire, hop.Undone, coding.Join(coding.Of(hop.Header))
	}
	return d, may
}

// superseded reports whether the capture c was replaced by a later crawl of its URL (H05). r is the
// archive record of the URL.
func superseded(c archive.Capture, r archive.Resource) bool {
	return !c.Current && (!c.Redirect() || c.Version < r.Versions || r.LastCrawled.After(c.Fetched))
}

// keepRedirect stores a redirect of the imported file.
func (m *importer) keepRedirect(x *incoming, u *url.URL, origin *acap.Policy) error {
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
	undone, readable, err := m.decodePayload(m.ctx, x, longestRedirect)
	if err != nil || !readable {
		return err
	}
	hop := x.hop()
	hop.Wire, hop.Body, hop.Undone, hop.Truncated = x.payload, undone.Body, undone, x.truncated || undone.Short
	d, may := m.decideRedirect(m.ctx, origin, u, hop, terms.Sources{Policies: m.o.Policies})
	if !may.Allowed {
		x.refuse(may.Why(), may.Because.String())
		return nil
	}
	d.Past = true
	c, err := m.archive.Receive(m.ctx, d)
	if err != nil {
		return err
	}
	x.result.Outcome, x.result.Version = TakenIn, c.Version
	m.revisits.take(x, c.ID)
	m.noteVersion(x.url, c)
	return m.eraseTakenDownHops(m.ctx, m.o.Policies, []archive.Via{{URL: x.url}})
}

// recordRedirects records the targets of the redirects in the file. A redirect is recorded if
// nothing else is known about its address and if its target is stored. The latest redirect comes
// first, because other redirects may have its address as target. If an address now redirects to
// another target than in the file, redirects to that address are not recorded.
func (m *importer) recordRedirects() error {
	elsewhere := map[string]bool{}
	for _, each := range slices.Backward(m.loose) {
		from, to := each[0], each[1]
		if elsewhere[from] = elsewhere[to]; elsewhere[to] {
			continue
		}
		if terms.TakenDown(m.ctx, m.o.Policies, from) != nil || terms.TakenDown(m.ctx, m.o.Policies, to) != nil {
			continue
		}
		aliases, err := m.newAliases([]archive.Via{{URL: from}}, to)
		kept, errKept := m.archive.Holds(from)
		held, errHeld := m.archive.Holds(to)
		if err := errors.Join(err, errKept, errHeld); err != nil {
			return err
		}
		elsewhere[from] = len(aliases) == 0
		if elsewhere[from] || !kept || !held || from == to {
			continue
		}
		if err := m.archive.Lead(m.ctx, aliases, to); err != nil {
			return err
		}
	}
	return nil
}
