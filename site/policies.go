package site

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/archive"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/address"
	"github.com/acapcrawl/acapcrawl/policy"
	"github.com/acapcrawl/acapcrawl/terms"
)

// lastPolicies returns for each origin the version of the policy that was read last, with the
// take-downs in force. It makes no request, because showing stored pages must not cause requests
// (H11).
type lastPolicies struct {
	*policy.Authority
	ledger *actions.Ledger
	// the crawler obeys other vocabularies than ACAP, which may need other files than robots.txt
	vocabularies bool
	hides        func(origin string) bool // reports whether nothing of an origin may be shown now; nil: no
	since        time.Time                // policies that were read before have no effect
}

func (s *Site) lastPolicies() lastPolicies {
	return lastPolicies{Authority: s.policy, ledger: s.ledger, vocabularies: len(s.who.Vocabularies) > 0}
}

// shownPolicies is lastPolicies for decisions about what is shown. It permits nothing of origins that are hidden. If
// the data directory was recovered, a policy that was read before has no effect, because its publisher may have changed
// it while the node was lost.
func (s *Site) shownPolicies() lastPolicies {
	p := s.lastPolicies()
	p.hides, p.since = s.hides, s.recovered
	return p
}

// LastPolicies returns the policies as they were last read, with the take-downs in force. It makes
// no request. It permits nothing of origins that are hidden.
func (s *Site) LastPolicies() terms.Policies { return s.shownPolicies() }

// PolicyRead returns when the statements in the document at address were last read: those of an archived page when it
// was crawled, those of robots.txt and of files that belong to it when robots.txt was read. It is zero if they never
// were.
func (s *Site) PolicyRead(address string) time.Time {
	u, err := url.Parse(address)
	if err != nil {
		return time.Time{}
	}
	if r, known, err := s.archive.Resource(address); err == nil && known && u.Path != "/robots.txt" {
		return r.LastCrawled
	}
	o, known := s.policy.Held(u)
	if !known {
		return time.Time{}
	}
	return o.Fetched
}

// errHidden is the reason why nothing of an origin is shown.
const errHidden = "this node of the cluster does not know yet what the publisher asked for last"

// Policy returns the policy of u's origin that was read last.
func (p lastPolicies) Policy(_ context.Context, u *url.URL) (*acap.Policy, error) {
	if key, err := policy.Key(u); err == nil && p.hides != nil && p.hides(key) {
		return acap.Unreachable(key+"/robots.txt", errHidden), nil
	}
	o, known := p.Held(u)
	if !known {
		return nil, fmt.Errorf("the policy of %s was never read", u.Host)
	}
	if o.Fetched.Before(p.since) {
		return nil, fmt.Errorf("the policy of %s was not read again since the data directory was recovered", u.Host)
	}
	return p.ledger.Bind(o.Key, o.Policy)
}

// version returns the stored version of the policy in force for u; zero if none was read. It is
// zero, too, if a file for another vocabulary is missing: when the file is read, the policy
// changes, but not its version.
func (p lastPolicies) version(u *url.URL) archive.PolicyVersion {
	key, since, err := p.Since(u)
	if err != nil || since.IsZero() {
		return archive.PolicyVersion{}
	}
	if p.vocabularies {
		o, known := p.HeldOf(key)
		missing := func(r acap.Reference) bool { return errors.Is(r.Err, policy.ErrNotRead) }
		if !known || slices.ContainsFunc(o.References, missing) {
			return archive.PolicyVersion{}
		}
	}
	return archive.PolicyVersion{Origin: key, Since: since}
}

// mayBeTakenDown reports whether a take-down of the page at an address is in force. If the policy
// cannot be read completely, mayBeTakenDown returns true.
func (s *Site) mayBeTakenDown(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	o, known := s.policy.Held(u)
	if !known || o.Status == policy.Unreachable || o.Incomplete || s.hides(o.Key) {
		return true
	}
	p, err := s.lastPolicies().Policy(context.Background(), u)
	return err != nil || terms.TakeDown(p, u) != nil
}

// blockTakenDown blocks those pages in the queue whose take-down o requests. It queues pages again
// if o no longer requests their take-down. f is the queue; it may be nil.
func (s *Site) blockTakenDown(f *crawler.Frontier, o *policy.Origin) error {
	if f == nil {
		return nil
	}
	down, err := s.takenDownBy(o)
	if err == nil {
		err = f.Bar(down...)
	}
	if err == nil {
		err = s.lift(f, o.Key)
	}
	return err
}

// lift queues the pages of an origin again whose take-down is no longer in force.
func (s *Site) lift(f *crawler.Frontier, origin string) error {
	_, err := f.Lift(origin+"/", s.mayBeTakenDown)
	return err
}

// blockRedirects blocks addresses in the queue that redirect to pages that are taken down. It must
// run before the archive erases its records of the redirects.
func (s *Site) blockRedirects(f *crawler.Frontier) error {
	origins, err := s.policy.Origins()
	if err != nil {
		return err
	}
	for _, key := range origins {
		o, known := s.policy.HeldOf(key)
		if !known {
			continue
		}
		down, err := s.takenDownBy(o)
		if err != nil {
			return err
		}
		for _, address := range down {
			if err := blockRedirectsTo(s.holdings, f, address); err != nil {
				return err
			}
		}
	}
	return nil
}

// takenDownBy returns the addresses of the pages whose take-down o requests, in every spelling
// under which pages are stored.
func (s *Site) takenDownBy(o *policy.Origin) (addresses []string, err error) {
	p, err := s.ledger.Bind(o.Key, o.Policy)
	if err != nil {
		return nil, err
	}
	for _, a := range p.Actions() {
		address, err := address.Normal(a.URL)
		if err != nil || a.Action != acap.TakeDown || !a.Execute {
			continue
		}
		spelt, err := s.holdings.Spellings(address)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, spelt...)
	}
	return addresses, nil
}
