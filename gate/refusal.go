package gate

import (
	"fmt"

	"github.com/acapcrawl/acapcrawl/acap"
)

// The rules of the gate itself, beside the publisher's policy.
const (
	RuleMethod   = "method"    // neither GET nor HEAD
	RuleScheme   = "scheme"    // not an absolute http or https URL
	RuleAddress  = "address"   // an address that is not open to this crawl
	RuleBudget   = "budget"    // the page budget is spent
	RuleTakeDown = "take-down" // its publisher asks that it be taken down (X64)
)

// Refusal is the error of a request that was not sent. It survives errors.As through http.Client
// and url.Error.
type Refusal struct {
	URL      string
	Rule     string        // the gate's own rule that refused; "" where policy did
	Why      string        // one clause for Rule
	Decision acap.Decision // the decision on crawl, where policy refused
	TakeDown *acap.Field   // the request that stands, with RuleTakeDown
}

// Error is one sentence: what, by which rule or which line of which file.
func (r *Refusal) Error() string {
	if err := r.Unwrap(); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s is not fetched: %s", r.URL, r.Why)
}

// Unwrap gives the *acap.Refused where policy refused, else nil.
func (r *Refusal) Unwrap() error {
	if r.Rule != "" {
		return nil
	}
	return r.Decision.Err(r.URL)
}
