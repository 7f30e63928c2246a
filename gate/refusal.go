package gate

import (
	"fmt"
	"net/url"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
)

// The rules of the gate, in addition to the policy of the publisher.
const (
	RuleMethod   = "method"    // the method is neither GET nor HEAD
	RuleScheme   = "scheme"    // the URL is not an absolute http or https URL
	RuleAddress  = "address"   // the address is private, loopback or otherwise special
	RuleBudget   = "budget"    // the page budget is spent
	RuleTakeDown = "take-down" // the publisher requests that the resource is taken down
	RuleLease    = "lease"     // another machine owns the host, or the lease of this machine has run out
)

// Refusal is the error of a request that was not sent. errors.As finds it in the errors of
// http.Client and in url.Error.
type Refusal struct {
	URL      string
	Rule     string        // the rule of the gate that refused; "" if the policy refused
	Why      string        // a clause that explains why the rule refused the request
	Decision acap.Decision // the decision on crawl if the policy refused
	TakeDown *acap.Field   // the take-down request in force if Rule is RuleTakeDown
	Cause    error         // if Rule is RuleLease: the error of Options.Tenure, such as ErrForeign or ErrPaused
}

// RefusedBy returns the refusal of a request for u by the policy of its origin, or by a take-down. It
// returns nil if the request may be sent now.
func RefusedBy(policy *acap.Policy, u *url.URL) *Refusal {
	r := acap.NewResource(u)
	if d := policy.Decide(acap.Crawl, r).At(acap.Facts{Now: time.Now()}); !d.Allowed {
		return &Refusal{URL: u.String(), Decision: d}
	}
	if down := policy.TakeDown(r); down != nil {
		return RefusedTakeDown(u, down)
	}
	return nil
}

// RefusedTakeDown returns the refusal of a request for u because of the take-down in force: a resource
// is not fetched again until the publisher withdraws the request (P1 2.6.1, P05, X64).
func RefusedTakeDown(u *url.URL, down *acap.Field) *Refusal {
	return &Refusal{URL: u.String(), Rule: RuleTakeDown, TakeDown: down,
		Why: "its publisher asks that it be taken down: " + down.String()}
}

// Error returns one sentence: the URL, and the rule or the line of the policy file that refused it.
func (r *Refusal) Error() string {
	if r.Rule == "" && !r.Decision.Allowed {
		return r.Decision.Err(r.URL).Error()
	}
	return fmt.Sprintf("%s is not fetched: %s", r.URL, r.Why)
}

// Unwrap returns an *acap.Refused if the policy refused, and Cause if the lease refused.
func (r *Refusal) Unwrap() error {
	if r.Rule != "" {
		return r.Cause
	}
	return r.Decision.Err(r.URL)
}
