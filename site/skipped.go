package site

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/display"
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/view"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// skipped describes an address that was not fetched. The stored reason may quote the page or name machines of the
// operator's network, so only the operator sees it, and only if today's policy is not the reason. Others see a reason
// made from today's policy and the state of the address.
func (o *tallies) skipped(r *crawler.Record, full bool) view.SkippedAddress {
	out := view.SkippedAddress{URL: r.URL, Reason: string(r.State), Why: r.Why, When: r.When}
	public := r.Why
	switch r.State {
	case crawler.Refused:
		var by *acap.Field
		if public, by = o.whyRefused(r); by != nil {
			out.File, out.Line, out.Text = by.URL, by.Line, by.Text
		}
	case crawler.Unreachable:
		public = "Its policy could not be read."
	case crawler.Failed:
		if public = "It did not answer."; r.Status != 0 {
			public = fmt.Sprintf("It answered with status %d.", r.Status)
		}
	}
	if !full || out.File != "" {
		out.Why = public
	}
	return out
}

// skippedLink describes an address that is known only from links. It contains neither the address nor that to which
// it redirects: the reader may not see the page with the link.
func (o *tallies) skippedLink(r *crawler.Record) view.SkippedAddress {
	one := o.skipped(r, false)
	one.URL, one.Count, one.When = "", 1, time.Time{}
	switch r.State {
	case crawler.Unreachable, crawler.Failed:
	case crawler.Refused:
		if r.Led != "" {
			one.Why, one.File, one.Line, one.Text = "It redirects to an address that may not be fetched.", "", 0, ""
		}
	default:
		one.Why = "It is out of the scope or the limits of the crawl."
	}
	return one
}

// countSkipped counts an address with others of the same reason and line.
func (s *side) countSkipped(one view.SkippedAddress) {
	for i := range s.links {
		known := s.links[i]
		if known.Count = one.Count; known == one {
			s.links[i].Count++
			return
		}
	}
	if len(s.links) < mostSkipped {
		s.links = append(s.links, one)
	}
}

// whyRefused says why an address was refused: because of today's policy for it or for the address that it redirects
// to, then with the line that decides; otherwise because of an earlier policy, the page, or the rules of the gate.
func (o *tallies) whyRefused(r *crawler.Record) (why string, by *acap.Field) {
	begin := ""
	at := r.URL
	if r.Led != "" {
		at, begin = r.Led, "It redirects to "+r.Led+". "
	}
	if p, u := o.policyOf(at); p != nil {
		if down := terms.TakeDown(p, u); down != nil {
			why, by = "Its publisher asked for it to be taken down.", down
		} else if d := p.Decide(acap.Crawl, acap.NewResource(u)); !d.Allowed {
			why, by = display.Sentence(explain.Reason(policy.PublicDecision(d))), d.Because
		}
		if by != nil && by.Source == acap.Request { // the ledger has no lines
			by = nil
		}
	}
	switch {
	case why != "":
	case strings.Contains(r.Why, " is not permitted by the page itself: "):
		why = "A statement of the page prohibits it."
	case strings.Contains(r.Why, " is not permitted: "):
		why = "An earlier version of the policy prohibited it."
	default:
		why = "The rules of this crawler exclude the address."
	}
	return begin + why, by
}

// policyOf returns the policy in force for an address; nil if it was never read.
func (o *tallies) policyOf(address string) (*acap.Policy, *url.URL) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil
	}
	p, err := o.site.shownPolicies().Policy(o.ctx, u)
	if err != nil {
		return nil, nil
	}
	return p, u
}
