package gate

import (
	"fmt"

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
